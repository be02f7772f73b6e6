"""Trainer: the settings of local training that all lanes share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from fedlib.engine.forward import Forward, make_forward, single_layout
from fedlib.engine.hardware.memory import copy_of
from fedlib.engine.hardware.pass_size import PassLimit
from fedlib.engine.layers.fused_sgd import Update, fuses, sgd_updates
from fedlib.engine.local_rule import LocalRule
from fedlib.engine.objective import Objective
from fedlib.engine.optimizers import LocalOptimizer
from fedlib.engine.state import LocalState, Tensors


@dataclass(frozen=True)
class Trainer:
    """Settings of local training.

    max_lanes: at most so many lanes in one pass; lanes of like length share a pass. limit: what was
    learned about the device's memory, shared by all trainers made from this one. capture: record
    steps as CUDA graphs; None: on a GPU.
    """

    model: nn.Module
    backend: str  # loop, vmap or stacked; see `choose_backend`
    optimizer: LocalOptimizer
    batch_size: int
    objective: Objective = field(default_factory=Objective)
    max_lanes: int | None = None
    precision: str = "float32"  # of local training; see `fedlib.engine.hardware.precision`
    capture: bool | None = None
    limit: PassLimit = field(default_factory=PassLimit, compare=False)

    @cached_property
    def forward(self) -> Forward:
        """The vectorised forward pass, built once."""
        return make_forward(self.model, self.backend)

    @cached_property
    def arrange(self) -> Callable[[Tensor], Tensor]:
        """Memory layout of a client's images for the plain model (backend loop)."""
        return single_layout(self.model, next(self.model.parameters()).device)

    def start(self, params: Tensors, buffers: Tensors) -> LocalState:
        """Fresh local state from [C, ...] tensors (copied): what a client has after a download."""
        copies = {n: copy_of(t) for n, t in params.items()}
        steps = torch.zeros(len(next(iter(params.values()))), device=next(iter(params.values())).device)
        return LocalState(
            copies, {n: t.clone() for n, t in buffers.items()}, self.optimizer.init([*copies.values()]), steps
        )

    @property
    def fuses(self) -> bool:
        """Whether the backward pass updates the weights of linear layers by itself (`layers.fused_sgd`)."""
        return self.backend == "stacked" and fuses(self.optimizer)

    def fused_updates(
        self, params: Tensors, rule: LocalRule | None, rate: float | Tensor
    ) -> dict[str, Update]:
        """The weights that it updates, and how."""
        if not self.fuses:
            return {}
        return sgd_updates(self.forward.model.fusable, params, rule, rate)
