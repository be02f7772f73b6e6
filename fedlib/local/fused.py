"""Plain SGD inside the backward pass: the gradient of a weight is added to it and never stored.

For a fully connected layer `w <- w - eta g^T x` is one matrix product that accumulates into w. A
gradient of its own would be written once and read once, and for these networks memory is what a
step waits for (benchmarks/NOTES.md, note 8). Algebra as in `fedlib.local.loop`, rounding differs.
"""

from collections.abc import Mapping

from torch import Tensor

from fedlib.local.optimizers import LocalOptimizer
from fedlib.local.stacked import Update


def fuses(optimizer: LocalOptimizer) -> bool:
    """Whether a step is `w <- w - eta * gradient` and nothing else."""
    return optimizer.name == "sgd" and not any(optimizer.options.values())


def sgd_update(rate: float | Tensor, near: Tensor | None, proximal: Tensor | None) -> Update:
    """`w <- w - eta (g^T x + mu (w - w^t))` in place, for w [C, out, in]; FedProx's term: FEDDRL-A40.

    rate: eta, a float or [C]; near: w^t [C, out, in] with proximal mu [C], or None for no term.
    """
    if isinstance(rate, float):
        pull = None if near is None else proximal.view(-1, 1, 1) * rate

        def update(weight: Tensor, grad: Tensor, x: Tensor) -> None:
            if pull is not None:
                weight.lerp_(near, pull)  # w - eta mu (w - w^t)
            weight.baddbmm_(grad.transpose(1, 2), x, alpha=-rate)

        return update

    def update_by_row(weight: Tensor, grad: Tensor, x: Tensor) -> None:
        rates = rate.view(-1, 1, 1)  # read anew at every step: recorded steps find new values there
        if near is not None:
            weight.lerp_(near, proximal.view(-1, 1, 1) * rates)
        weight.baddbmm_((grad * rates).transpose(1, 2), x, alpha=-1)

    return update_by_row


def sgd_updates(
    names: frozenset[str],
    params: Mapping[str, Tensor],
    near: Mapping[str, Tensor] | None,
    proximal: Tensor | None,
    rate: float | Tensor,
) -> dict[str, Update]:
    """An update for each of `names`."""
    return {
        name: sgd_update(rate, None if near is None else near[name], proximal)
        for name in params
        if name in names
    }
