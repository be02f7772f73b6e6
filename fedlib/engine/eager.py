"""A pass, step by step: PyTorch's eager mode."""

from collections.abc import Iterator

import torch
from torch import Tensor

from fedlib.engine.batches import Batch, Samples, Schedule, Work
from fedlib.engine.local_rule import LocalRule
from fedlib.engine.minibatches import Chunk, chunk_steps, mean_over_steps, spans
from fedlib.engine.state import LocalState
from fedlib.engine.steps.choose import make_step
from fedlib.engine.trainer import Trainer


def run_steps(
    trainer: Trainer,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    rule: LocalRule | None,
) -> Tensor:
    """All steps of the schedule on `state`, in place; the lanes' mean training loss [C]."""
    losses = torch.zeros(len(schedule), len(work), device=samples.device)
    rate, step, active = uniform_rate(work), None, 0
    longest = chunk_steps(samples, len(work), trainer.batch_size)
    for steps, now in spans(schedule, longest):
        if now != active:
            active = now
            part = state.select(slice(0, active))
            rates = rate if isinstance(rate, float) else rate[:active]
            own = None if rule is None else rule.select(slice(0, active))
            step = make_step(trainer, part, own, rates)
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


def uniform_rate(work: Work) -> float | Tensor:
    """The lanes' common learning rate as a number, or all of them [C]; always [C] on a GPU: no waiting."""
    rates = work.learning_rate
    if rates.device.type == "cpu" and bool((rates == rates[0]).all()):
        return float(rates[0])
    return rates
