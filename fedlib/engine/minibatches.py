"""The mini-batches of a pass, gathered a few steps at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from fedlib.engine.batches import Samples, Schedule
from fedlib.engine.trainer import Trainer

CHUNK_BYTES = {"cpu": 4 << 20, "cuda": 64 << 20}  # inputs gathered at once; on a CPU they stay in the cache


@dataclass(frozen=True)
class Chunk:
    """The mini-batches of a few steps of `active` lanes; every tensor has the steps first.

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


def spans(schedule: Schedule, longest: int) -> Iterator[tuple[slice, int]]:
    """Spans of at most `longest` steps with the same number of active lanes: (steps, active)."""
    start = 0
    for active, steps in groupby(schedule.active):
        stop = start + len(list(steps))
        for at in range(start, stop, longest):
            yield slice(at, min(at + longest, stop)), active
        start = stop


def chunk_steps(samples: Samples, lanes: int, batch_size: int) -> int:
    """Number of steps whose inputs are gathered at once."""
    image = samples.inputs[0].numel() * torch.empty((), dtype=samples.dtype).element_size()
    return max(1, CHUNK_BYTES[samples.device.type] // (lanes * batch_size * image))


def mean_over_steps(losses: Tensor, schedule: Schedule) -> Tensor:
    """[C] mean per sample of the steps' mean losses [S, C]."""
    counts = schedule.mask.sum(dim=2)
    return (losses * counts).sum(dim=0) / counts.sum(dim=0)
