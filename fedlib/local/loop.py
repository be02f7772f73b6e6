"""The readable reference: one client trains alone, with plain PyTorch and torch.optim.

This is ClientUpdate of FedAvg (McMahan et al., AISTATS 2017, Algorithm 1) with FedProx's
term (Li et al., MLSys 2020): `w <- w - eta * grad of the mini-batch loss`. The vectorised
backends are held to it by the tests. No padding occurs here: a small last batch is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fedlib.local.batches import Batch, Samples, Schedule, Work
from fedlib.models.layers import step_key

if TYPE_CHECKING:
    from fedlib.local.train import LocalState, Tensors, Trainer


def train_one_client(
    trainer: Trainer,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    anchor: Tensors | None,
    row: int,
) -> Tensor:
    """Train row `row` of `state` in place; returns its mean training loss (scalar tensor, nats)."""
    model = trainer.model.train()
    with at_row(model, state.params, state.buffers, row):
        return _train(trainer, model, samples, state, work, schedule, anchor, row)


def _train(
    trainer: Trainer,
    model: nn.Module,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    anchor: Tensors | None,
    row: int,
) -> Tensor:
    names = dict(model.named_parameters())
    optimizer = _torch_optimizer(trainer, names, state, float(work.learning_rate[row]), row)
    near = None if anchor is None else {n: anchor[n][row] for n in names}
    total, count = torch.zeros((), device=samples.device), 0
    for step in range(len(schedule)):
        if row >= schedule.active[step]:
            break
        batch = _batch(samples, work, schedule, step, row)
        loss = _batch_loss(trainer, model, samples, batch)
        total += loss.detach() * batch.index.numel()
        count += batch.index.numel()
        if near is not None:  # FedProx: + (mu / 2) ||w - w^t||^2, FEDDRL-A40
            distance = sum(((w - near[n]) ** 2).sum() for n, w in names.items())
            loss = loss + work.proximal[row] / 2 * distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state.steps[row] += 1
    _store_slots(names, optimizer, state, row)
    return total / max(count, 1)


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


def _batch(samples: Samples, work: Work, schedule: Schedule, step: int, row: int) -> Batch:
    size = int(schedule.mask[step, row].sum()) if not schedule.full[step] else schedule.mask.shape[2]
    index = schedule.index[step, row, :size]
    return Batch(
        index=index,
        mask=torch.ones(size, device=index.device),
        targets=samples.labels[index],
        replica=work.replica[row],
        client=work.client[row],
        key=schedule.key[step, row],
    )


def _batch_loss(trainer: Trainer, model: nn.Module, samples: Samples, batch: Batch) -> Tensor:
    if trainer.objective.inputs is not None:
        x, batch = trainer.objective.inputs(samples, batch)
    else:
        x = samples.fetch(batch.index)
    with step_key(batch.key):
        return trainer.objective.losses(model(x), batch).mean()


def _torch_optimizer(
    trainer: Trainer, names: dict[str, nn.Parameter], state: LocalState, rate: float, row: int
) -> torch.optim.Optimizer:
    """torch.optim's optimiser, continuing from the row's stored state."""
    spec = trainer.optimizer
    optimizer = spec.torch_class(names.values(), lr=rate, **spec.torch_options)
    if state.steps[row] > 0:
        for at, p in enumerate(names.values()):
            slots = {slot: tensors[at][row].clone() for slot, tensors in state.optimizer.items()}
            optimizer.state[p] = {"step": state.steps[row].clone().cpu(), **slots}
    return optimizer


def _store_slots(
    names: dict[str, nn.Parameter], optimizer: torch.optim.Optimizer, state: LocalState, row: int
) -> None:
    for at, p in enumerate(names.values()):
        for slot, tensors in state.optimizer.items():
            tensors[at][row] = optimizer.state[p][slot]
