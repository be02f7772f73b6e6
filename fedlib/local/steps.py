"""The mini-batches of a pass, gathered a few steps at once, and the pass itself, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fedlib.local.batches import Batch, Samples, Schedule, Work
from fedlib.local.chain import make_step

if TYPE_CHECKING:
    from fedlib.local.train import LocalState, Tensors, Trainer

CHUNK_BYTES = {"cpu": 4 << 20, "cuda": 64 << 20}  # inputs gathered at once; on a CPU they stay in the cache


@dataclass(frozen=True)
class Chunk:
    """The mini-batches of a few steps of `active` rows; every tensor has the steps first.

    x: inputs in the layout of the forward pass; None where the objective makes its own.
    """

    x: Tensor | None
    index: Tensor
    mask: Tensor
    share: Tensor
    targets: Tensor
    key: Tensor

    @classmethod
    def gather(
        cls, trainer: Trainer, samples: Samples, schedule: Schedule, steps: slice, active: int
    ) -> Chunk:
        """Steps `steps` of the schedule, gathered with one call per tensor."""
        index, mask = schedule.index[steps, :active], schedule.mask[steps, :active]
        own = trainer.objective.inputs is not None
        return cls(
            x=None if own else trainer.forward.fetch(samples, index),
            index=index,
            mask=mask,
            share=mask / mask.sum(dim=-1, keepdim=True),
            targets=samples.labels[index],
            key=schedule.key[steps, :active],
        )


def segments(schedule: Schedule, longest: int) -> Iterator[tuple[slice, int]]:
    """Runs of at most `longest` steps with the same number of active rows: (steps, active)."""
    start = 0
    for active, steps in groupby(schedule.active):
        stop = start + len(list(steps))
        for at in range(start, stop, longest):
            yield slice(at, min(at + longest, stop)), active
        start = stop


def chunk_steps(samples: Samples, rows: int, batch_size: int) -> int:
    """How many steps' inputs are gathered at once."""
    image = samples.inputs[0].numel() * torch.empty((), dtype=samples.dtype).element_size()
    return max(1, CHUNK_BYTES[samples.device.type] // (rows * batch_size * image))


def run_steps(
    trainer: Trainer,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    anchor: Tensors | None,
) -> Tensor:
    """All steps of the schedule on `state`, in place; the rows' mean training loss [C]."""
    losses = torch.zeros(len(schedule), len(work), device=samples.device)
    rate, step, active = uniform_rate(work), None, 0
    longest = chunk_steps(samples, len(work), trainer.batch_size)
    for steps, now in segments(schedule, longest):
        if now != active:
            active = now
            part = state.select(slice(0, active))
            near = None if anchor is None else {n: t[:active] for n, t in anchor.items()}
            rates = rate if isinstance(rate, float) else rate[:active]
            step = make_step(trainer, part, near, _prefix(work.proximal, active), rates)
        chunk = Chunk.gather(trainer, samples, schedule, steps, active)
        for at, (x, batch, share) in zip(range(steps.start, steps.stop), _batches(chunk, work), strict=True):
            if x is None:
                x, batch = trainer.forward.inputs(samples, batch, trainer.objective)
            losses[at, :active] = step(x, batch, share, schedule.full[at])
    return mean_over_steps(losses, schedule)


def _batches(chunk: Chunk, work: Work) -> Iterator[tuple[Tensor | None, Batch, Tensor]]:
    count, active = chunk.index.shape[:2]
    replica, client = work.replica[:active], work.client[:active]
    xs = [None] * count if chunk.x is None else chunk.x.unbind()
    tensors = (t.unbind() for t in (chunk.index, chunk.mask, chunk.targets, chunk.key, chunk.share))
    for x, index, mask, targets, key, share in zip(xs, *tensors, strict=True):
        yield x, Batch(index, mask, targets, replica, client, key), share


def mean_over_steps(losses: Tensor, schedule: Schedule) -> Tensor:
    """[C] mean per sample of the steps' mean losses [S, C]."""
    counts = schedule.mask.sum(dim=2)
    return (losses * counts).sum(dim=0) / counts.sum(dim=0)


def uniform_rate(work: Work) -> float | Tensor:
    """The rows' common learning rate as a number, or all of them [C]; always [C] on a GPU: no waiting."""
    rates = work.learning_rate
    if rates.device.type == "cpu" and bool((rates == rates[0]).all()):
        return float(rates[0])
    return rates


def _prefix(values: Tensor | None, stop: int) -> Tensor | None:
    return None if values is None else values[:stop]
