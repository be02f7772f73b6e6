"""FedDisk, phase 1: the local MADEs of all clients and the global MADE, each a stacked computation.

FedDisk (IEEE TAI), section IV.B; FEDDISK-A7, A9 to A12.

* Local MADEs `ld_k`: every client trains on its own until its validation loss has had no new minimum
  for `patience` epochs. A client that has stopped is left out of the further epochs.
* Global MADE `gd`: rounds of local training and averaging, eq. (11), until the validation loss,
  averaged over the clients, has had no new minimum for `patience` rounds.
* Both return to their best epoch or round. A tenth of a client's training part is for validation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from fedlib import seeds
from fedlib.errors import UsageError, check
from fedlib.federation import Task, aggregate, broadcast, method_rng
from fedlib.federation.aggregate import Tensors
from fedlib.local import (
    Batch,
    LocalOptimizer,
    Objective,
    Samples,
    Trainer,
    Work,
    make_optimizer,
    make_work,
    pass_rows,
)
from fedlib.models import count_parameters
from fedlib.models.made import make_made, negative_log_likelihood
from fedlib.partition import split_within_clients

LEAST_SAMPLES = 20  # fewer leave a single sample, or none, for validation
_VALUES_PER_PASS = 4_000_000  # of MADE outputs, held at once


@dataclass(frozen=True)
class MadeSettings:
    """How MADEs are built and trained; `FedDisk` documents the fields."""

    hidden: int
    optimizer: str
    learning_rate: float
    batch_size: int
    max_rounds: int
    patience: int
    mask_seed: int
    binarize: bool
    local_steps: int = 0


@dataclass(frozen=True)
class Fitted:
    """MADEs of G rows: params [G, ...] of the best epoch or round, whose number is `best` [G].

    train_loss, validation_loss: [steps, G] mean negative log-likelihood in nats; NaN once stopped.
    """

    params: Tensors
    best: Tensor
    train_loss: Tensor
    validation_loss: Tensor


class Patience:
    """Which rows still train: those with a new minimum, lower by `least`, within `patience` steps."""

    def __init__(self, rows: int, patience: int, device: torch.device, least: float = 0.0) -> None:
        self.patience, self.least = patience, least
        self.minimum = torch.full((rows,), torch.inf, device=device)
        self.at = torch.zeros(rows, dtype=torch.int64, device=device)
        self.active = torch.ones(rows, dtype=torch.bool, device=device)

    def update(self, step: int, losses: Tensor) -> Tensor:
        """[rows] whether this step (counted from 1) is a row's new best; ends rows out of patience."""
        better = self.active & (losses < self.minimum - self.least)
        self.minimum = torch.where(better, losses, self.minimum)
        self.at = torch.where(better, step, self.at)
        self.active &= step - self.at < self.patience
        return better


def pixels(task: Task) -> Samples:
    """The task's images as they are, in [0, 1], without normalisation; UsageError if any is outside."""
    inputs = task.train.inputs
    if inputs.is_floating_point():
        low, high = float(inputs.min()), float(inputs.max())
        check(
            low >= 0 and high <= 1,
            f"method 'feddisk' takes images in [0, 1]; data set {task.run.dataset!r} has values "
            f"from {low:g} to {high:g}",
        )
    if task.train.mean is None:
        return task.train
    zeros, ones = torch.zeros_like(task.train.mean), torch.ones_like(task.train.std)
    return replace(task.train, mean=zeros, std=ones)


def made_trainer(task: Task, made: MadeSettings) -> Trainer:
    """The engine for MADEs: one template with the shared masks, inputs as targets."""

    def inputs(samples: Samples, batch: Batch) -> tuple[Tensor, Batch]:
        x = samples.fetch(batch.index).flatten(batch.index.ndim)
        x = (x >= 0.5).to(x.dtype) if made.binarize else x
        return x, replace(batch, targets=x)

    objective = Objective(lambda logits, batch: negative_log_likelihood(logits, batch.targets), inputs)
    model = _make_made(task, made, task.run.seed).to(task.device)
    return stacked_trainer(model, make_optimizer(made.optimizer), made.batch_size, objective, task.device)


def stacked_trainer(
    model: nn.Module, optimizer: LocalOptimizer, batch_size: int, objective: Objective, device: torch.device
) -> Trainer:
    """A trainer of stacked copies, as many in one pass as the engine's rule for the device has it."""
    widest = pass_rows(count_parameters(model), "stacked", device)
    return Trainer(model, "stacked", optimizer, batch_size, objective, max_rows=widest)


def initial_made(task: Task, made: MadeSettings) -> Tensors:
    """[R, ...] fresh MADEs: weights from the replica's seed, masks from `mask_seed` (A7)."""
    models = [dict(_make_made(task, made, seed).named_parameters()) for seed in task.seeds]
    return {n: torch.stack([m[n].detach() for m in models]).to(task.device) for n in models[0]}


def _make_made(task: Task, made: MadeSettings, seed: int):
    features = task.train.inputs[0].numel()
    stream = (seed, "made")
    return make_made(features, hidden=made.hidden, mask_seed=made.mask_seed, generator_seed=stream)


def row_work(task: Task, lists: list[list[np.ndarray]], rate: float, *stream: int | str) -> Work:
    """One epoch for every client of every replica; rows are replica by replica, streams by name."""
    count = task.run.num_clients
    names = [seeds.derive(seed, *stream, client) for seed in task.seeds for client in range(count)]
    return make_work(
        [index for clients in lists for index in clients],
        replica=np.repeat(np.arange(len(lists)), count),
        client=np.tile(np.arange(count), len(lists)),
        key=torch.tensor(names, dtype=torch.int64) & 0xFFFFFFFF,
        epochs=1,
        learning_rate=rate,
        device=task.device,
    )


def validation_split(task: Task) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]]]:
    """Nine tenths of each client's training part to fit MADEs on, a tenth to stop by (A10)."""
    for lists in task.clients:
        for client, index in enumerate(lists):
            if len(index) < LEAST_SAMPLES:
                raise UsageError(
                    f"client {client} has {len(index)} training samples; method 'feddisk' needs at least "
                    f"{LEAST_SAMPLES}, since a tenth of them stops its density model"
                )
    parts = [
        split_within_clients(lists, 0.9, method_rng(task, r, "made-validation"))
        for r, lists in enumerate(task.clients)
    ]
    return [train for train, _ in parts], [held for _, held in parts]


def fit_local_mades(task: Task, made: MadeSettings) -> Fitted:
    """The clients' own density models `ld_k`, rows [R * N] replica by replica."""
    trainer, samples = made_trainer(task, made), pixels(task)
    fit, held = validation_split(task)
    work = row_work(task, fit, made.learning_rate, "made-local")
    check_work = row_work(task, held, made.learning_rate, "made-local")
    state = trainer.start(broadcast(initial_made(task, made), work.replica), {})
    best = {name: tensor.clone() for name, tensor in state.params.items()}
    patience, history = Patience(len(work), made.patience, task.device), []
    for epoch in range(1, made.max_rounds + 1):
        running = patience.active.clone()
        epochs = epoch - 1 + running.cpu().numpy().astype(np.int64)
        now = replace(work, epochs=epochs, first_epoch=np.full(len(work), epoch - 1))
        train_loss = trainer.train(samples, state, now).loss
        validation = mean_losses(trainer, samples, state.params, check_work)
        _keep(best, state.params, patience.update(epoch, validation))
        history.append(_mask_stopped(running, train_loss, validation))
        if not patience.active.any():
            break
    return _fitted(best, patience, history)


def fit_global_made(task: Task, made: MadeSettings, shares: Tensor) -> Fitted:
    """The density model `gd` of all clients' data, rows [R]; every round all clients take part (A15).

    shares: [R, N] aggregation weights, N_k / N for eq. (11). A round has as many local epochs as
    one of the task model, or as many mini-batches with `local_steps` (A12, A13).
    """
    trainer, samples = made_trainer(task, made), pixels(task)
    fit, held = validation_split(task)
    check_work = row_work(task, held, made.learning_rate, "made-global")
    params = initial_made(task, made)
    best = {name: tensor.clone() for name, tensor in params.items()}
    patience, history = Patience(len(shares), made.patience, task.device), []
    for round_index in range(1, made.max_rounds + 1):
        running = patience.active.clone()
        work = row_work(task, fit, made.learning_rate, "made-global", round_index)
        epochs = task.run.local_epochs * running.cpu().numpy().repeat(shares.shape[1])
        state = trainer.start(broadcast(params, work.replica), {})
        limit = made.local_steps or None
        trained = trainer.train(samples, state, replace(work, epochs=epochs, steps_limit=limit))
        params, _ = aggregate(trained.state.params, {}, shares)  # eq. (11)
        losses = mean_losses(trainer, samples, broadcast(params, work.replica), check_work)
        validation = losses.view(shares.shape).mean(dim=1)
        _keep(best, params, patience.update(round_index, validation))
        history.append(_mask_stopped(running, trained.loss.view(shares.shape).mean(dim=1), validation))
        if not patience.active.any():
            break
    return _fitted(best, patience, history)


def _keep(best: Tensors, params: Tensors, better: Tensor) -> None:
    for name, tensor in best.items():
        tensor[better] = params[name][better]


def _mask_stopped(running: Tensor, *losses: Tensor) -> Tensor:
    return torch.stack([torch.where(running, loss, torch.nan) for loss in losses])


def _fitted(best: Tensors, patience: Patience, history: list[Tensor]) -> Fitted:
    train_loss, validation_loss = torch.stack(history, dim=1)
    check(
        bool((patience.at > 0).all()),
        "a density model never had a finite validation loss; allowed: a smaller made_learning_rate",
    )
    return Fitted(best, patience.at, train_loss, validation_loss)


def evaluate_by_columns(
    trainer: Trainer, samples: Samples, params: Tensors, work: Work
) -> Iterator[tuple[slice, Tensor, Batch]]:
    """Outputs [C, columns, ...] of each row's model on its own samples, some columns of `work.index` a time.

    The batch's mask [C, columns] is 0 where a row has fewer samples.
    """
    sizes = torch.from_numpy(work.sizes).to(samples.device)
    values = len(work) * samples.inputs[0].numel()
    width = max(1, _VALUES_PER_PASS // values)
    for start in range(0, work.index.shape[1], width):
        columns = slice(start, min(start + width, work.index.shape[1]))
        index = work.index[:, columns]
        mask = torch.arange(columns.start, columns.stop, device=samples.device) < sizes[:, None]
        batch = Batch(index, mask.float(), samples.labels[index], work.replica, work.client, work.key)
        with torch.no_grad():
            trainer.forward.bind(params, {}, training=False)
            outputs, batch = trainer.forward(samples, batch, trainer.objective, True)
        yield columns, outputs, batch


def mean_losses(trainer: Trainer, samples: Samples, params: Tensors, work: Work) -> Tensor:
    """[C] each row's mean loss on its own samples."""
    total = torch.zeros(len(work), device=samples.device)
    for _, outputs, batch in evaluate_by_columns(trainer, samples, params, work):
        total += (trainer.objective.losses(outputs, batch) * batch.mask).sum(dim=1)
    return total / torch.from_numpy(work.sizes).to(total)
