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
    lane: int,
) -> Tensor:
    """Train lane `lane` of `state` in place; returns its mean training loss (scalar tensor, nats)."""
    model = trainer.model.train()
    with at_lane(model, state.params, state.buffers, lane):
        return _train(trainer, model, samples, state, work, schedule, rule, lane)


def _train(
    trainer: Trainer,
    model: nn.Module,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    rule: LocalRule | None,
    lane: int,
) -> Tensor:
    names = dict(model.named_parameters())
    optimizer = _torch_optimizer(trainer, names, state, float(work.learning_rate[lane]), lane)
    losses, sizes = [], []
    for x, batch in _batches(trainer, samples, work, schedule, lane):
        loss = _batch_loss(trainer, model, samples, x, batch)
        losses.append(loss.detach())
        sizes.append(batch.index.numel())
        if rule is not None:
            loss = loss + rule.penalty(names, lane)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    state.steps[lane] += len(losses)
    _store(names, optimizer, state, lane)
    return _mean(losses, sizes, samples.device)


def _mean(losses: list[Tensor], sizes: list[int], device: torch.device) -> Tensor:
    """The mean loss per sample of mini-batches of these sizes; 0 without any."""
    if not losses:
        return torch.zeros((), device=device)
    counts = on_device(np.array(sizes, np.float32), device)
    return (torch.stack(losses) * counts).sum() / counts.sum()


@contextmanager
def at_lane(model: nn.Module, params: Tensors, buffers: Tensors, lane: int) -> Iterator[None]:
    """Inside, the module's parameters and buffers are lane `lane` of stacked tensors, not copies of it."""
    pairs = [(p, params[name][lane]) for name, p in model.named_parameters()]
    pairs += [(b, buffers[name][lane]) for name, b in model.named_buffers()]
    own = [tensor.data for tensor, _ in pairs]
    for tensor, values in pairs:
        tensor.data = values
    try:
        yield
    finally:
        for (tensor, _), values in zip(pairs, own, strict=True):
            tensor.data = values


def _batches(
    trainer: Trainer, samples: Samples, work: Work, schedule: Schedule, lane: int
) -> Iterator[tuple[Tensor | None, Batch]]:
    """The lane's mini-batches, gathered a few at once; inputs None: the objective makes its own."""
    count = sum(lane < active for active in schedule.active)
    own = trainer.objective.inputs is not None
    replica, client = work.replica[lane], work.client[lane]
    ones = torch.ones(trainer.batch_size, device=samples.device)
    longest = chunk_steps(samples, 1, trainer.batch_size)
    for start in range(0, count, longest):
        steps = slice(start, min(start + longest, count))
        index = schedule.index[steps, lane]
        inputs = [None] * len(index) if own else samples.fetch(index).unbind()
        parts = (index.unbind(), samples.labels[index].unbind(), schedule.key[steps, lane].unbind())
        at_steps = range(steps.start, steps.stop)
        for at, x, chosen, targets, key in zip(at_steps, inputs, *parts, strict=True):
            size = _size(schedule, at, lane)
            yield (
                x if x is None else trainer.arrange(x[:size]),
                Batch(chosen[:size], ones[:size], targets[:size], replica, client, key),
            )


def _size(schedule: Schedule, step: int, lane: int) -> int:
    """Samples of a mini-batch: the last of an epoch may be smaller."""
    return schedule.mask.shape[2] if schedule.full[step] else int(schedule.mask[step, lane].sum())


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
    trainer: Trainer, names: dict[str, nn.Parameter], state: LocalState, rate: float, lane: int
) -> torch.optim.Optimizer:
    """torch.optim's optimiser, continuing from the lane's stored state."""
    spec = trainer.optimizer
    optimizer = spec.torch_class(names.values(), lr=rate, **spec.torch_options)
    if state.steps[lane] > 0:
        for at, p in enumerate(names.values()):
            kept = {key: tensors[at][lane].clone() for key, tensors in state.optimizer.items()}
            optimizer.state[p] = {"step": state.steps[lane].clone().cpu(), **kept}
    return optimizer


def _store(
    names: dict[str, nn.Parameter], optimizer: torch.optim.Optimizer, state: LocalState, lane: int
) -> None:
    for at, p in enumerate(names.values()):
        for key, tensors in state.optimizer.items():
            if key in optimizer.state[p]:  # no gradient, no state: a frozen parameter
                tensors[at][lane] = optimizer.state[p][key]
