"""Local training of a cohort as one computation (design.md, section 3).

Rows are sorted by falling number of mini-batches, so the rows that still work at a step are
a prefix of the stacked tensors: ragged clients cost no masked work, and a finished row is
out of reach of the step. Only the last, smaller batch of an epoch needs a mask.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from fedlib.local.batches import Batch, Samples, Schedule, Work, make_schedule
from fedlib.local.forward import StackedForward, VmapForward, make_forward
from fedlib.local.loop import train_one_client
from fedlib.local.objective import Objective, batch_mean
from fedlib.local.optimizers import LocalOptimizer, State

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

    max_rows: at most so many rows in one pass (memory); rows of like length share a pass.
    """

    model: nn.Module
    backend: str  # loop, vmap or stacked; see `choose_backend`
    optimizer: LocalOptimizer
    batch_size: int
    objective: Objective = field(default_factory=Objective)
    max_rows: int | None = None

    @cached_property
    def forward(self) -> StackedForward | VmapForward:
        """The vectorised forward pass, built once."""
        return make_forward(self.model, self.backend)

    def start(self, params: Tensors, buffers: Tensors) -> LocalState:
        """Fresh local state from [C, ...] tensors (copied): what a client has after a download."""
        copies = {n: t.clone() for n, t in params.items()}
        steps = torch.zeros(len(next(iter(params.values()))), device=next(iter(params.values())).device)
        return LocalState(
            copies, {n: t.clone() for n, t in buffers.items()}, self.optimizer.init([*copies.values()]), steps
        )

    def train(
        self, samples: Samples, state: LocalState, work: Work, anchor: Tensors | None = None
    ) -> Trained:
        """Run `work` on `state`, which is changed in place and returned.

        anchor: parameters w^t [C, ...] that FedProx's term pulls to; needed with `work.proximal`.
        """
        steps = work.steps(self.batch_size)
        loss = torch.zeros(len(work), device=samples.device)
        for rows in self._passes(steps):
            self._train_pass(samples, state, work, anchor, rows, loss)
        return Trained(state, loss)

    def _passes(self, steps: np.ndarray) -> Iterator[np.ndarray]:
        """Row numbers by falling number of steps, cut at `max_rows`; rows without work are left out."""
        order = np.argsort(-steps, kind="stable")
        order = order[: int((steps > 0).sum())]
        width = self.max_rows or max(len(order), 1)
        yield from (order[at : at + width] for at in range(0, len(order), width))

    def _train_pass(
        self,
        samples: Samples,
        state: LocalState,
        work: Work,
        anchor: Tensors | None,
        rows: np.ndarray,
        loss: Tensor,
    ) -> None:
        in_place = len(rows) == len(work) and bool((rows == np.arange(len(work))).all())
        at = torch.from_numpy(rows).to(samples.device)
        part = state if in_place else state.select(at)
        part_work = work if in_place else work.select(rows)
        near = None
        if work.proximal is not None:
            near = anchor if in_place else {n: t[at] for n, t in anchor.items()}
        schedule = make_schedule(part_work, self.batch_size)
        if self.backend == "loop":
            losses = [
                train_one_client(self, samples, part, part_work, schedule, near, row)
                for row in range(len(rows))
            ]
            loss[at] = torch.stack(losses)
        else:
            loss[at] = self._train_stacked(samples, part, part_work, schedule, near)
        if not in_place:
            state.write(at, part)

    def _train_stacked(
        self, samples: Samples, state: LocalState, work: Work, schedule: Schedule, anchor: Tensors | None
    ) -> Tensor:
        """All steps of the schedule; returns the rows' mean training loss [C]."""
        forward = self.forward
        total = torch.zeros(len(work), device=samples.device)
        rate = _uniform_rate(work)
        active = 0
        for step in range(len(schedule)):
            if schedule.active[step] != active:
                active = schedule.active[step]
                part = state.select(slice(0, active))
                params = {n: t.detach().requires_grad_() for n, t in part.params.items()}
                near = None if anchor is None else [t[:active] for t in anchor.values()]
                forward.bind(params, part.buffers, training=True)
                leaves = [*params.values()]
            batch = _batch(samples, work, schedule, step, active)
            outputs, batch = forward(samples, batch, self.objective, schedule.full[step])
            losses = batch_mean(self.objective.losses(outputs, batch), batch.mask)
            grads = [*torch.autograd.grad(losses.sum(), leaves)]
            with torch.no_grad():
                total[:active] += losses * batch.mask.sum(dim=-1)
                self._descend(leaves, grads, part, work, near, rate)
        return total / schedule.mask.sum(dim=(0, 2))

    def _descend(
        self,
        leaves: list[Tensor],
        grads: list[Tensor],
        part: LocalState,
        work: Work,
        near: list[Tensor] | None,
        rate,
    ) -> None:
        active = len(part.steps)
        if near is not None:  # gradient of (mu / 2) ||w - w^t||^2, FEDDRL-A40
            for grad, w, w_t in zip(grads, leaves, near, strict=True):
                mu = work.proximal[:active].view(-1, *[1] * (w.ndim - 1))
                grad.addcmul_(mu, w - w_t)
        if decay := self.optimizer.options.get("weight_decay", 0.0):
            torch._foreach_add_(grads, leaves, alpha=decay)
        part.steps.add_(1)
        rates = rate if isinstance(rate, float) else rate[:active]
        self.optimizer.update(leaves, grads, part.optimizer, rates, part.steps)


def _uniform_rate(work: Work) -> float | Tensor:
    rates = work.learning_rate
    return float(rates[0]) if bool((rates == rates[0]).all()) else rates


def _batch(samples: Samples, work: Work, schedule: Schedule, step: int, active: int) -> Batch:
    index = schedule.index[step, :active]
    return Batch(
        index=index,
        mask=schedule.mask[step, :active],
        targets=samples.labels[index],
        replica=work.replica[:active],
        client=work.client[:active],
        key=schedule.key[step, :active],
    )
