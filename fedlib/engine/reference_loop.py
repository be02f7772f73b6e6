"""The readable reference: one client trains alone, with plain PyTorch and torch.optim.

This is ClientUpdate of FedAvg (McMahan et al., AISTATS 2017, Algorithm 1), `w <- w - eta * grad of the
mini-batch loss`, with what a `LocalRule` adds to that loss. The vectorised
backends are held to it by the tests. No padding occurs here: a small last batch is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from fedlib.engine.batches import Batch, Samples, Schedule, Work, on_device
from fedlib.engine.hardware.precision import in_float32, reduced, type_of_products
from fedlib.engine.local_rule import LocalRule
from fedlib.engine.minibatches import chunk_steps
from fedlib.engine.state import LocalState, Tensors
from fedlib.engine.trainer import Trainer
from fedlib.models.layers import step_key


def train_one_client(
    trainer: Trainer,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    rule: LocalRule | None,
    row: int,
) -> Tensor:
    """Train row `row` of `state` in place; returns its mean training loss (scalar tensor, nats)."""
    model = trainer.model.train()
    with at_row(model, state.params, state.buffers, row):
        return _train(trainer, model, samples, state, work, schedule, rule, row)


def _train(
    trainer: Trainer,
    model: nn.Module,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    rule: LocalRule | None,
    row: int,
) -> Tensor:
    names = dict(model.named_parameters())
    optimizer = _torch_optimizer(trainer, names, state, float(work.learning_rate[row]), row)
    losses, sizes = [], []
    for x, batch in _batches(trainer, samples, work, schedule, row):
        loss = _batch_loss(trainer, model, samples, x, batch)
        losses.append(loss.detach())
        sizes.append(batch.index.numel())
        if rule is not None:
            loss = loss + rule.penalty(names, row)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    state.steps[row] += len(losses)
    _store(names, optimizer, state, row)
    return _mean(losses, sizes, samples.device)


def _mean(losses: list[Tensor], sizes: list[int], device: torch.device) -> Tensor:
    """The mean loss per sample of mini-batches of these sizes; 0 without any."""
    if not losses:
        return torch.zeros((), device=device)
    counts = on_device(np.array(sizes, np.float32), device)
    return (torch.stack(losses) * counts).sum() / counts.sum()


@contextmanager
def at_row(model: nn.Module, params: Tensors, buffers: Tensors, row: int) -> Iterator[None]:
    """Inside, the module's parameters and buffers are row `row` of stacked tensors, not copies of it."""
    pairs = [(p, params[name][row]) for name, p in model.named_parameters()]
    pairs += [(b, buffers[name][row]) for name, b in model.named_buffers()]
    own = [tensor.data for tensor, _ in pairs]
    for tensor, values in pairs:
        tensor.data = values
    try:
        yield
    finally:
        for (tensor, _), values in zip(pairs, own, strict=True):
            tensor.data = values


def _batches(
    trainer: Trainer, samples: Samples, work: Work, schedule: Schedule, row: int
) -> Iterator[tuple[Tensor | None, Batch]]:
    """The row's mini-batches, gathered a few at once; inputs None: the objective makes its own."""
    count = sum(row < active for active in schedule.active)
    own = trainer.objective.inputs is not None
    replica, client = work.replica[row], work.client[row]
    ones = torch.ones(trainer.batch_size, device=samples.device)
    longest = chunk_steps(samples, 1, trainer.batch_size)
    for start in range(0, count, longest):
        steps = slice(start, min(start + longest, count))
        index = schedule.index[steps, row]
        inputs = [None] * len(index) if own else samples.fetch(index).unbind()
        parts = (index.unbind(), samples.labels[index].unbind(), schedule.key[steps, row].unbind())
        at_steps = range(steps.start, steps.stop)
        for at, x, chosen, targets, key in zip(at_steps, inputs, *parts, strict=True):
            size = _size(schedule, at, row)
            yield (
                x if x is None else trainer.arrange(x[:size]),
                Batch(chosen[:size], ones[:size], targets[:size], replica, client, key),
            )


def _size(schedule: Schedule, step: int, row: int) -> int:
    """Samples of a mini-batch: the last of an epoch may be smaller."""
    return schedule.mask.shape[2] if schedule.full[step] else int(schedule.mask[step, row].sum())


def _batch_loss(
    trainer: Trainer, model: nn.Module, samples: Samples, x: Tensor | None, batch: Batch
) -> Tensor:
    if x is None:
        x, batch = trainer.objective.inputs(samples, batch)
        x = trainer.arrange(x)
    with step_key(batch.key):
        with reduced(type_of_products(trainer.precision), samples.device):
            outputs = in_float32(model(x))
        return trainer.objective.losses(outputs, batch).mean()


def _torch_optimizer(
    trainer: Trainer, names: dict[str, nn.Parameter], state: LocalState, rate: float, row: int
) -> torch.optim.Optimizer:
    """torch.optim's optimiser, continuing from the row's stored state."""
    spec = trainer.optimizer
    optimizer = spec.torch_class(names.values(), lr=rate, **spec.torch_options)
    if state.steps[row] > 0:
        for at, p in enumerate(names.values()):
            kept = {key: tensors[at][row].clone() for key, tensors in state.optimizer.items()}
            optimizer.state[p] = {"step": state.steps[row].clone().cpu(), **kept}
    return optimizer


def _store(
    names: dict[str, nn.Parameter], optimizer: torch.optim.Optimizer, state: LocalState, row: int
) -> None:
    for at, p in enumerate(names.values()):
        for key, tensors in state.optimizer.items():
            if key in optimizer.state[p]:  # no gradient, no state: a frozen parameter
                tensors[at][row] = optimizer.state[p][key]
