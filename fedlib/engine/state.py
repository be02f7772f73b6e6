"""State that local training changes: the stacked local models of the lanes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlib.engine.optimizers import State

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class LocalState:
    """Local models of C lanes: parameters, buffers, optimiser state and steps taken, [C, ...] each."""

    params: Tensors
    buffers: Tensors
    optimizer: State
    steps: Tensor  # [C] float32

    def select(self, lanes: Tensor | slice) -> LocalState:
        """Some lanes: views for a slice, copies for a tensor of lane numbers."""
        return LocalState(
            {n: t[lanes] for n, t in self.params.items()},
            {n: t[lanes] for n, t in self.buffers.items()},
            {key: [t[lanes] for t in tensors] for key, tensors in self.optimizer.items()},
            self.steps[lanes],
        )

    def empty(self) -> LocalState:
        """Zeros of the same shapes, in memory of their own."""
        return LocalState(
            {n: torch.zeros_like(t) for n, t in self.params.items()},
            {n: torch.zeros_like(t) for n, t in self.buffers.items()},
            {key: [torch.zeros_like(t) for t in tensors] for key, tensors in self.optimizer.items()},
            torch.zeros_like(self.steps),
        )

    def copy_(self, other: LocalState) -> None:
        """Take over the values of `other`."""
        for mine, theirs in zip(self._tensors(), other._tensors(), strict=True):
            mine.copy_(theirs)

    def write(self, lanes: Tensor, other: LocalState) -> None:
        """Put `other`'s lanes at the lane numbers `lanes`."""
        for mine, theirs in zip(self._tensors(), other._tensors(), strict=True):
            mine[lanes] = theirs

    def _tensors(self) -> list[Tensor]:
        optimizer = [t for tensors in self.optimizer.values() for t in tensors]
        return [*self.params.values(), *self.buffers.values(), *optimizer, self.steps]


@dataclass(frozen=True)
class Trained:
    """Result of local training: the local models and each lane's mean training loss [C], in nats."""

    state: LocalState
    loss: Tensor
