"""Local optimisers on stacked parameters.

All of them are elementwise, so the formulas are those of `torch.optim`; only the learning
rate and the step count have the lane axis. State keys are torch.optim's own, so that the
loop backend can hand its state over. The lanes that take part are a prefix: the tensors
given are views [:active] of the full ones, hence the others cannot change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fedlib.engine.local_rule import spread
from fedlib.errors import check, check_name

State = dict[str, list[Tensor]]  # torch.optim's state key -> one [C, ...] tensor per parameter


@dataclass(frozen=True)
class LocalOptimizer:
    """`update(params, grads, state, learning_rate, steps)` changes params and state in place.

    learning_rate: a float, or [C] where lanes differ. steps: [C] float, steps taken by each
    lane including this one. state_keys: what is kept of each parameter, 0 at first.
    """

    name: str
    options: dict[str, Any]
    state_keys: tuple[str, ...]
    update: Callable[[list[Tensor], list[Tensor], State, Tensor, Tensor], None]
    torch_class: type[torch.optim.Optimizer]
    torch_options: dict[str, Any] = field(default_factory=dict)

    def init(self, params: list[Tensor]) -> State:
        """Fresh state for stacked parameters."""
        return {key: [torch.zeros_like(p) for p in params] for key in self.state_keys}


def _descend(params: list[Tensor], directions: list[Tensor], rate: Tensor | float) -> None:
    if isinstance(rate, float):
        torch._foreach_add_(params, directions, alpha=-rate)
        return
    for p, d in zip(params, directions, strict=True):
        p.sub_(spread(rate, p) * d)


def _sgd(momentum: float = 0.0, nesterov: bool = False) -> Callable:
    def update(params, grads, state, rate, steps):
        if momentum:
            buffers = state["momentum_buffer"]
            # torch.optim starts the buffer at the first gradient: 0 * momentum + gradient is the same
            torch._foreach_mul_(buffers, momentum)
            torch._foreach_add_(buffers, grads)
            grads = torch._foreach_add(grads, buffers, alpha=momentum) if nesterov else buffers
        _descend(params, grads, rate)

    return update


def _adagrad(eps: float = 1e-10) -> Callable:
    def update(params, grads, state, rate, steps):
        if isinstance(rate, float) and steps.device.type == "cpu":
            # torch.optim's own kernel for one model: elementwise, hence as good for a stack of them, and
            # one pass over the memory instead of four
            torch._fused_adagrad_(
                params, [g.contiguous() for g in grads], state["sum"], [torch.ones(())] * len(params),
                lr=rate, lr_decay=0.0, weight_decay=0.0, eps=eps, maximize=False,
            )  # fmt: skip
            return
        torch._foreach_addcmul_(state["sum"], grads, grads)
        denominators = torch._foreach_sqrt(state["sum"])
        torch._foreach_add_(denominators, eps)
        if isinstance(rate, float):  # the same rate for all: one pass over the memory
            torch._foreach_addcdiv_(params, grads, denominators, -rate)
            return
        _descend(params, torch._foreach_div(grads, denominators), rate)

    return update


def _adam(betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> Callable:
    beta1, beta2 = betas

    def update(params, grads, state, rate, steps):
        torch._foreach_lerp_(state["exp_avg"], grads, 1 - beta1)
        torch._foreach_mul_(state["exp_avg_sq"], beta2)
        torch._foreach_addcmul_(state["exp_avg_sq"], grads, grads, value=1 - beta2)
        steps = steps.to(torch.float64)
        rates = (torch.as_tensor(rate, device=steps.device) / (1 - beta1**steps)).float()
        correction = (1 - beta2**steps).sqrt().float()
        for p, m, v in zip(params, state["exp_avg"], state["exp_avg_sq"], strict=True):
            p.sub_(spread(rates, p) * m / (v.sqrt() / spread(correction, p) + eps))

    return update


def _adadelta(rho: float = 0.9, eps: float = 1e-6) -> Callable:
    def update(params, grads, state, rate, steps):
        squares, deltas = state["square_avg"], state["acc_delta"]
        torch._foreach_mul_(squares, rho)
        torch._foreach_addcmul_(squares, grads, grads, value=1 - rho)
        directions = torch._foreach_sqrt(torch._foreach_add(deltas, eps))
        torch._foreach_div_(directions, torch._foreach_sqrt(torch._foreach_add(squares, eps)))
        torch._foreach_mul_(directions, grads)
        torch._foreach_mul_(deltas, rho)
        torch._foreach_addcmul_(deltas, directions, directions, value=1 - rho)
        _descend(params, directions, rate)

    return update


_BUILDERS: dict[str, tuple[Callable, type[torch.optim.Optimizer], tuple[str, ...]]] = {
    "sgd": (_sgd, torch.optim.SGD, ()),
    "adagrad": (_adagrad, torch.optim.Adagrad, ("sum",)),
    "adam": (_adam, torch.optim.Adam, ("exp_avg", "exp_avg_sq")),
    "adadelta": (_adadelta, torch.optim.Adadelta, ("square_avg", "acc_delta")),
}

_OPTIONS = {
    "sgd": ("momentum", "nesterov", "weight_decay"),
    "adagrad": ("eps", "weight_decay"),
    "adam": ("betas", "eps", "weight_decay"),
    "adadelta": ("rho", "eps", "weight_decay"),
}


# Of their values; those not named here are numbers.
OPTION_TYPES: dict[str, Any] = {"nesterov": bool, "betas": Sequence[float]}


def _check_together(options: Mapping[str, Any]) -> None:
    """UsageError for values that the formulas of torch.optim do not allow."""
    moving = options.get("momentum", 0) > 0
    check(
        moving or not options.get("nesterov"),
        "nesterov=True given without momentum; allowed: momentum above 0",
    )
    betas, rho = options.get("betas", (0, 0)), options.get("rho", 0)
    check(len(betas) == 2 and max(betas) < 1, f"betas={betas} given; allowed: two numbers from 0 to below 1")
    check(rho <= 1, f"rho={rho} given; allowed: 0 to 1")


def make_optimizer(name: str, options: Mapping[str, Any] | None = None) -> LocalOptimizer:
    """A local optimiser by name: sgd (momentum, nesterov), adagrad, adam, adadelta.

    `weight_decay` works with all of them as in torch.optim. Raises UsageError for a wrong
    name, a wrong option or a value out of range.
    """
    check_name("local optimizer", name, _BUILDERS)
    options = dict(options or {})
    for option, value in options.items():
        check_name(f"option of local optimizer {name!r}", option, _OPTIONS[name])
        numbers = value if isinstance(value, (list, tuple)) else [value]
        check(all(v >= 0 for v in numbers), f"{option}={value} given for {name!r}; allowed: 0 or more")
    _check_together(options)
    builder, torch_class, keys = _BUILDERS[name]
    torch_options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    own = {k: v for k, v in torch_options.items() if k != "weight_decay"}
    if name == "sgd" and own.get("momentum"):
        keys = ("momentum_buffer",)
    return LocalOptimizer(name, options, keys, builder(**own), torch_class, torch_options)
