"""Local training of a cohort as one computation (design.md, section 3).

Rows are sorted by falling number of mini-batches, so the rows that still work at a step are
a prefix of the stacked tensors: ragged clients cost no masked work, and a finished row is
out of reach of the step. Only the last, smaller batch of an epoch needs a mask.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from fedlib.errors import MemoryShortage
from fedlib.local.batches import Samples, Work, make_schedule, on_device
from fedlib.local.capture import forget_captures, run_captured
from fedlib.local.forward import StackedForward, VmapForward, make_forward, single_layout
from fedlib.local.fused import fuses, sgd_updates
from fedlib.local.gpu import first_line, is_out_of_memory
from fedlib.local.loop import train_one_client
from fedlib.local.memory import copy_of
from fedlib.local.objective import Objective
from fedlib.local.optimizers import LocalOptimizer, State
from fedlib.local.passes import PassLimit, by_falling_steps, cut
from fedlib.local.precision import products_in
from fedlib.local.stacked import Update
from fedlib.local.steps import run_steps
from fedlib.models import count_parameters

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class LocalState:
    """Local models of C rows: parameters, buffers, optimiser state and steps taken, [C, ...] each."""

    params: Tensors
    buffers: Tensors
    optimizer: State
    steps: Tensor  # [C] float32

    def select(self, rows: Tensor | slice) -> "LocalState":
        """Some rows: views for a slice, copies for a tensor of row numbers."""
        return LocalState(
            {n: t[rows] for n, t in self.params.items()},
            {n: t[rows] for n, t in self.buffers.items()},
            {slot: [t[rows] for t in tensors] for slot, tensors in self.optimizer.items()},
            self.steps[rows],
        )

    def empty(self) -> "LocalState":
        """Zeros of the same shapes, in memory of their own."""
        return LocalState(
            {n: torch.zeros_like(t) for n, t in self.params.items()},
            {n: torch.zeros_like(t) for n, t in self.buffers.items()},
            {slot: [torch.zeros_like(t) for t in tensors] for slot, tensors in self.optimizer.items()},
            torch.zeros_like(self.steps),
        )

    def copy_(self, other: "LocalState") -> None:
        """Take over the values of `other`."""
        for mine, theirs in zip(self._tensors(), other._tensors(), strict=True):
            mine.copy_(theirs)

    def write(self, rows: Tensor, other: "LocalState") -> None:
        """Put `other`'s rows at the row numbers `rows`."""
        for mine, theirs in zip(self._tensors(), other._tensors(), strict=True):
            mine[rows] = theirs

    def _tensors(self) -> list[Tensor]:
        slots = [t for tensors in self.optimizer.values() for t in tensors]
        return [*self.params.values(), *self.buffers.values(), *slots, self.steps]


@dataclass(frozen=True)
class Trained:
    """Result of local training: the local models and each row's mean training loss [C], in nats."""

    state: LocalState
    loss: Tensor


@dataclass(frozen=True)
class Trainer:
    """How clients train: everything that is the same for all rows.

    max_rows: at most so many rows in one pass; rows of like length share a pass. limit: what was
    learned about the device's memory, shared by all trainers made from this one. capture: record
    steps as CUDA graphs; None: on a GPU.
    """

    model: nn.Module
    backend: str  # loop, vmap or stacked; see `choose_backend`
    optimizer: LocalOptimizer
    batch_size: int
    objective: Objective = field(default_factory=Objective)
    max_rows: int | None = None
    precision: str = "float32"  # of local training; see `fedlib.local.precision`
    capture: bool | None = None
    limit: PassLimit = field(default_factory=PassLimit, compare=False)

    @cached_property
    def forward(self) -> StackedForward | VmapForward:
        """The vectorised forward pass, built once."""
        return make_forward(self.model, self.backend)

    @cached_property
    def arrange(self) -> Callable[[Tensor], Tensor]:
        """What lays out one client's images for the plain model (backend loop)."""
        return single_layout(self.model, next(self.model.parameters()).device)

    def start(self, params: Tensors, buffers: Tensors) -> LocalState:
        """Fresh local state from [C, ...] tensors (copied): what a client has after a download."""
        copies = {n: copy_of(t) for n, t in params.items()}
        steps = torch.zeros(len(next(iter(params.values()))), device=next(iter(params.values())).device)
        return LocalState(
            copies, {n: t.clone() for n, t in buffers.items()}, self.optimizer.init([*copies.values()]), steps
        )

    def train(
        self, samples: Samples, state: LocalState, work: Work, anchor: Tensors | None = None
    ) -> Trained:
        """Run `work` on `state`, which is changed in place and returned.

        anchor: parameters w^t [C, ...] that FedProx's term pulls to; needed with `work.proximal`.
        A pass that runs out of the GPU's memory is begun anew as two halves, with a warning.
        """
        loss = torch.zeros(len(work), device=samples.device)
        anchor = None if work.proximal is None else anchor
        with products_in(self.precision, samples.device):
            for part in cut(by_falling_steps(work.steps(self.batch_size)), self.max_rows):
                while len(part):
                    rows = part[: self.limit.width(len(part))]
                    if self._fits(samples, state, work, anchor, rows, loss):
                        part = part[len(rows) :]
                    else:
                        forget_captures()
                        self.limit.too_wide(len(rows), samples.device)
        return Trained(state, loss)

    def _fits(self, samples, state, work, anchor, rows, loss) -> bool:
        """Train some rows; False, with `state` as it was, if memory does not suffice for them."""
        try:
            self._train_pass(samples, state, work, anchor, rows, loss)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if len(rows) == 1:
                raise self._shortage(samples.device, error) from error
            if self._in_place(samples, rows):  # the state may have changed already
                raise
            return False
        self.limit.proven[self.batch_size] = max(self.limit.proven.get(self.batch_size, 0), len(rows))
        return True

    def _shortage(self, device: torch.device, error: BaseException) -> MemoryShortage:
        return MemoryShortage(
            f"training a single client of {count_parameters(self.model):,} parameters in batches of "
            f"{self.batch_size} does not fit in the memory of {device} ({first_line(error)}); take a smaller "
            "batch size or model, fewer clients or seeds at once, or another device"
        )

    def _train_pass(
        self,
        samples: Samples,
        state: LocalState,
        work: Work,
        anchor: Tensors | None,
        rows: np.ndarray,
        loss: Tensor,
    ) -> None:
        whole = len(rows) == len(work) and bool((rows == np.arange(len(work))).all())
        in_place = self._in_place(samples, rows)
        at = slice(rows[0], rows[-1] + 1) if in_place else on_device(rows, samples.device)
        part = state.select(at)
        part_work = work if whole else work.select(rows)
        near = anchor if whole or anchor is None else {n: t[at] for n, t in anchor.items()}
        schedule = make_schedule(part_work, self.batch_size)
        if self.backend == "loop":
            losses = torch.stack(
                [
                    train_one_client(self, samples, part, part_work, schedule, near, row)
                    for row in range(len(rows))
                ]
            )
        elif self._captures(samples):
            part, losses = run_captured(self, samples, part, part_work, schedule, near)
        else:
            losses = run_steps(self, samples, part, part_work, schedule, near)
        loss[at] = losses
        if not in_place:
            state.write(at, part)

    def _in_place(self, samples: Samples, rows: np.ndarray) -> bool:
        """Whether a pass may work on the state itself: neighbouring rows that surely fit in memory."""
        fits = samples.device.type == "cpu" or len(rows) <= self.limit.proven.get(self.batch_size, 0)
        return fits and not self._captures(samples) and bool((np.diff(rows) == 1).all())

    def _captures(self, samples: Samples) -> bool:
        wanted = samples.device.type == "cuda" if self.capture is None else self.capture
        return wanted and self.backend != "loop"

    @property
    def fuses(self) -> bool:
        """Whether the backward pass updates the weights of linear layers by itself (`fedlib.local.fused`)."""
        return self.backend == "stacked" and self.precision != "bf16" and fuses(self.optimizer)

    def fused_updates(
        self, params: Tensors, near: Tensors | None, proximal: Tensor | None, rate: float | Tensor
    ) -> dict[str, Update]:
        """The weights that it updates, and how."""
        if not self.fuses:
            return {}
        return sgd_updates(self.forward.model.fusable, params, near, proximal, rate)
