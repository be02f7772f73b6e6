"""Plain SGD inside the backward pass: the gradient of a weight is added to it and never stored.

For a fully connected layer `w <- w - eta g^T x` is one matrix product that accumulates into w. A
gradient of its own would be written once and read once, and for these networks memory is what a
step waits for (benchmarks/NOTES.md, note 8). Algebra as in `fedlib.engine.reference_loop`, rounding differs.
"""

from collections.abc import Callable, Collection, Iterable

from torch import Tensor

from fedlib.engine.local_rule import LocalRule
from fedlib.engine.optimizers import LocalOptimizer

# weight <- weight - rate * (grad^T x + ...), in place; grad [C, B, out], x [C, B, in]
Update = Callable[[Tensor, Tensor, Tensor], None]


def fuses(optimizer: LocalOptimizer) -> bool:
    """Whether a step is `w <- w - eta * gradient` and nothing else."""
    return optimizer.name == "sgd" and not any(optimizer.options.values())


def sgd_update(rate: float | Tensor, rule: LocalRule, name: str) -> Update:
    """`w <- w - eta (g^T x + mu (w - anchor) + offset)` in place, for w [C, out, in].

    rate: eta, a float or [C]. name: the parameter's, in the local rule.
    """
    anchor, offset = rule.terms(name)
    if isinstance(rate, float):
        pull = None if anchor is None else rule.proximal.view(-1, 1, 1) * rate

        def update(weight: Tensor, grad: Tensor, x: Tensor) -> None:
            if pull is not None:
                weight.lerp_(anchor, pull)  # w - eta mu (w - anchor)
            if offset is not None:
                weight.add_(offset, alpha=-rate)
            weight.baddbmm_(grad.transpose(1, 2), x, alpha=-rate)

        return update

    def update_by_lane(weight: Tensor, grad: Tensor, x: Tensor) -> None:
        rates = rate.view(-1, 1, 1)  # read anew at every step: recorded steps find new values there
        if anchor is not None:
            weight.lerp_(anchor, rule.proximal.view(-1, 1, 1) * rates)
        if offset is not None:
            weight.addcmul_(offset, rates, value=-1)
        weight.baddbmm_((grad * rates).transpose(1, 2), x, alpha=-1)

    return update_by_lane


def sgd_updates(
    fusable: Collection[str], params: Iterable[str], rule: LocalRule | None, rate: float | Tensor
) -> dict[str, Update]:
    """An update for each parameter that is `fusable`."""
    rule = rule or LocalRule()
    return {name: sgd_update(rate, rule, name) for name in params if name in fusable}
