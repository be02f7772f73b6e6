"""The hook of the local step: what a method adds to the gradient of a client's mini-batch loss.

With gradient g of the loss at the client's parameters w, every backend descends along

    g + mu (w - anchor) + offset,

the gradient of `loss + (mu / 2) ||w - anchor||^2 + <offset, w>`:

| method | rule |
|---|---|
| FedProx (Li et al., MLSys 2020) | `LocalRule(proximal=mu)`, FEDDRL-A40 |
| SCAFFOLD (Karimireddy et al., ICML 2020, eq. 3) | `LocalRule(offset=c - c_i)` |
| FedDyn (Acar et al., ICLR 2021, eq. 1) | `LocalRule(proximal=alpha, offset=-grad L_i)` |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.engine.batches import on_device
from fedlib.engine.hardware.memory import copy_of
from fedlib.errors import check


@dataclass(frozen=True)
class LocalRule:
    """A penalty towards given parameters and an offset of the gradient; one of each per lane.

    proximal: mu, a number or one per lane [C]. anchor: parameter name -> [C, ...]; None: the
    parameters that training starts from. offset: parameter name -> [C, ...]. Parameters that are
    not named have no such term.
    """

    proximal: float | np.ndarray | Tensor | None = None
    anchor: Mapping[str, Tensor] | None = None
    offset: Mapping[str, Tensor] | None = None

    def at(self, start: Mapping[str, Tensor]) -> LocalRule:
        """The rule with all values given, for lanes that start from parameters `start` [C, ...].

        Raises UsageError for a name that the model does not have and for an anchor without `proximal`.
        """
        for name in {**(self.anchor or {}), **(self.offset or {})}:
            check(name in start, f"local rule for parameter {name!r} given; allowed: {', '.join(start)}")
        check(
            self.anchor is None or self.proximal is not None, "a local rule with an anchor needs `proximal`"
        )
        if self.proximal is None:
            return self
        first = next(iter(start.values()))
        anchor = {n: copy_of(t) for n, t in start.items()} if self.anchor is None else self.anchor
        return replace(self, proximal=_per_lane(self.proximal, len(first), first.device), anchor=anchor)

    def select(self, lanes: Tensor | slice | np.ndarray) -> LocalRule:
        """The rule of some lanes; a number for all of them stays one."""

        def of(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: tensor[lanes] for name, tensor in value.items()}
            return value[lanes] if np.ndim(value) else value

        return LocalRule(of(self.proximal), of(self.anchor), of(self.offset))

    def empty(self) -> LocalRule:
        """Zeros of the same shapes, in memory of their own; `proximal` and `anchor` as `at` gives them."""
        return LocalRule(
            None if self.proximal is None else torch.zeros_like(self.proximal), *map(_zeros, self._named())
        )

    def copy_(self, other: LocalRule) -> None:
        """Take over the values of a rule of the same kind."""
        if self.proximal is not None:
            self.proximal.copy_(other.proximal)
        for mine, theirs in zip(self._named(), other._named(), strict=True):
            for name, tensor in (mine or {}).items():
                tensor.copy_(theirs[name])

    def kind(self) -> tuple:
        """Which terms the rule has, and for which parameters."""
        return self.proximal is not None, *(
            None if named is None else tuple(named) for named in self._named()
        )

    def terms(self, name: str) -> tuple[Tensor | None, Tensor | None]:
        """(anchor, offset) of a parameter, None where it has no such term."""
        return (self.anchor or {}).get(name), (self.offset or {}).get(name)

    def add_to(self, grads: Mapping[str, Tensor], params: Mapping[str, Tensor]) -> None:
        """g <- g + mu (w - anchor) + offset, in place, for [C, ...] tensors."""
        for name, grad in grads.items():
            anchor, offset = self.terms(name)
            if anchor is not None:
                grad.addcmul_(spread(self.proximal, grad), params[name] - anchor)
            if offset is not None:
                grad.add_(offset)

    def penalty(self, params: Mapping[str, Tensor], lane: int) -> Tensor | float:
        """Penalty added to a client's loss: (mu / 2) ||w - anchor||^2 + <offset, w>."""
        distance = sum(((params[n] - w_t[lane]) ** 2).sum() for n, w_t in (self.anchor or {}).items())
        product = sum((params[n] * h[lane]).sum() for n, h in (self.offset or {}).items())
        return product if self.proximal is None else self.proximal[lane] / 2 * distance + product

    def _named(self) -> tuple[Mapping[str, Tensor] | None, Mapping[str, Tensor] | None]:
        return self.anchor, self.offset


def spread(values: Tensor, like: Tensor) -> Tensor:
    """[C] -> [C, 1, ...] with the number of axes of `like`."""
    return values.view(-1, *[1] * (like.ndim - 1))


def _zeros(named: Mapping[str, Tensor] | None) -> dict[str, Tensor] | None:
    return None if named is None else {name: torch.zeros_like(tensor) for name, tensor in named.items()}


def _per_lane(value: float | np.ndarray | Tensor, lanes: int, device: torch.device) -> Tensor:
    if isinstance(value, Tensor):
        return value.to(device, torch.float32).expand(lanes).contiguous()
    return on_device(np.broadcast_to(np.asarray(value, np.float32), (lanes,)), device)
