"""FedDisk, phase 1: the local MADEs of all clients and the global MADE, each a stacked computation.

FedDisk (IEEE TAI), section IV.B; FEDDISK-A7, A9 to A12.

* Local MADEs `ld_k`: every client trains on its own until its validation loss has had no new minimum
  for `patience` epochs. A client that has stopped is left out of the further epochs.
* Global MADE `gd`: rounds of local training and averaging, eq. (11), until the validation loss,
  averaged over the clients, has had no new minimum for `patience` rounds.
* Both return to their best epoch or round. A tenth of a client's training part is for validation.

Both go a few steps at a time, from one `FitState` to the next, so that phase 1 can be left and resumed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from fedlib import seeds
from fedlib.engine import (
    Batch,
    LocalOptimizer,
    Objective,
    Samples,
    Trainer,
    Work,
    density_losses,
    make_optimizer,
    make_work,
    pass_lanes,
    train,
)
from fedlib.engine.batches import on_device
from fedlib.errors import UsageError, check
from fedlib.federation import Task, aggregate, broadcast
from fedlib.federation.aggregate import Tensors
from fedlib.methods.feddisk.early_stopping import FitState, Fitted, advance, first_state, fitted
from fedlib.models import count_parameters
from fedlib.models.made import make_made
from fedlib.partition import split_within_clients

DIVERGED = "a density model never had a finite validation loss; a smaller made_learning_rate may help"
LEAST_SAMPLES = 20  # fewer leave a single sample, or none, for validation
_VALUES_PER_PASS = 4_000_000  # of MADE outputs, held at once


@dataclass(frozen=True)
class MadeSettings:
    """Settings of the MADEs and their training; `FedDisk` documents the fields."""

    hidden: int
    optimizer: str
    learning_rate: float
    batch_size: int
    max_rounds: int
    patience: int


def pixels(task: Task) -> Samples:
    """The task's images as they are, in [0, 1], without normalisation; UsageError if any is outside."""
    return task.once("pixels", lambda: _pixels(task))


def _pixels(task: Task) -> Samples:
    inputs = task.train.inputs
    if inputs.is_floating_point():
        low, high = float(inputs.min()), float(inputs.max())
        check(
            low >= 0 and high <= 1,
            f"method 'feddisk' takes images in [0, 1]; data set {task.run.dataset!r} has values "
            f"from {low:g} to {high:g}",
        )
    if task.train.mean is None or task.train.std is None:
        return task.train
    zeros, ones = torch.zeros_like(task.train.mean), torch.ones_like(task.train.std)
    return replace(task.train, mean=zeros, std=ones)


def made_trainer(task: Task, made: MadeSettings) -> Trainer:
    """The engine for MADEs: one template with the shared masks, inputs as targets."""
    return task.once(("made", made), lambda: _made_trainer(task, made))


def _made_trainer(task: Task, made: MadeSettings) -> Trainer:
    def inputs(samples: Samples, batch: Batch) -> tuple[Tensor, Batch]:
        x = samples.fetch(batch.index).flatten(batch.index.ndim)
        return x, replace(batch, targets=x)

    objective = Objective(density_losses, inputs)
    model = _make_made(task, made, task.run.seed).to(task.device)
    return stacked_trainer(task, model, make_optimizer(made.optimizer), made.batch_size, objective)


def stacked_trainer(
    task: Task, model: nn.Module, optimizer: LocalOptimizer, batch_size: int, objective: Objective
) -> Trainer:
    """A trainer of stacked copies, as many in one pass as was asked for, or as the engine's rule has it."""
    widest = task.max_clients_per_pass or pass_lanes(count_parameters(model), "stacked", task.device)
    return Trainer(model, "stacked", optimizer, batch_size, objective, max_lanes=widest)


def initial_made(task: Task, made: MadeSettings) -> Tensors:
    """[R, ...] fresh MADEs: weights from the replica's seed, the same masks for all (A7)."""
    models = [dict(_make_made(task, made, seed).named_parameters()) for seed in task.seeds]
    return {n: torch.stack([m[n].detach() for m in models]).to(task.device) for n in models[0]}


def _make_made(task: Task, made: MadeSettings, seed: int):
    return make_made(task.train.inputs[0].numel(), hidden=made.hidden, generator_seed=(seed, "made"))


def lane_work(task: Task, lists: list[list[np.ndarray]], rate: float, *stream: int | str) -> Work:
    """Work of an epoch for every client of every replica; lanes are replica by replica, streams by name."""
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
        split_within_clients(lists, 0.9, seeds.rng(seed, "method", "made-validation"))
        for seed, lists in zip(task.seeds, task.clients, strict=True)
    ]
    return [train for train, _ in parts], [held for _, held in parts]


def start_local(task: Task, made: MadeSettings) -> FitState:
    """The local MADEs before their first epoch; UsageError for images or clients that cannot be used."""
    pixels(task)
    _check_owners(task)
    work = lane_work(task, validation_split(task)[0], made.learning_rate, "made-local")
    return first_state(made_trainer(task, made), broadcast(initial_made(task, made), work.replica))


def _check_owners(task: Task) -> None:
    """UsageError if clients share an image: eq. (9) has a weight for each client, an image has one here."""
    for lists in task.clients:
        held = np.concatenate(lists)
        repeated = len(held) - len(np.unique(held))
        check(
            not repeated,
            f"method 'feddisk' given clients that hold {repeated} images more than once; allowed: images of "
            "one client each (partition option allow_repeats=false)",
        )


def train_local(task: Task, made: MadeSettings, course: FitState, steps: int) -> FitState:
    """Up to `steps` more epochs of the clients that have not stopped; `course` stays as it is."""
    trainer, samples = made_trainer(task, made), pixels(task)
    fit, held = validation_split(task)
    work = lane_work(task, fit, made.learning_rate, "made-local")
    check_work = lane_work(task, held, made.learning_rate, "made-local")
    state = course.local_state(trainer)

    def epoch(number: int, params: Tensors, running: Tensor) -> tuple[Tensors, Tensor, Tensor]:
        epochs = number - 1 + running.cpu().numpy().astype(np.int64)
        now = replace(work, epochs=epochs, first_epoch=np.full(len(work), number - 1))
        loss = train(trainer, samples, state, now).loss
        return state.params, loss, mean_losses(trainer, samples, state.params, check_work)

    course = advance(replace(course, params=state.params), steps, (made.max_rounds, made.patience), epoch)
    return replace(course, optimizer=state.optimizer, taken=state.steps)


def fit_global_made(task: Task, made: MadeSettings, shares: Tensor) -> Fitted:
    """The density model `gd` of all clients' data, lanes [R]; every round all clients take part (A15).

    shares: [R, N] aggregation weights, N_k / N for eq. (11). UsageError if a model diverged.
    """
    found = fitted(train_global(task, made, shares, start_global(task, made), made.max_rounds))
    check(bool((found.best > 0).all()), DIVERGED)
    return found


def start_global(task: Task, made: MadeSettings) -> FitState:
    """The global MADEs before round 1."""
    return first_state(made_trainer(task, made), initial_made(task, made))


def train_global(task: Task, made: MadeSettings, shares: Tensor, course: FitState, steps: int) -> FitState:
    """Up to `steps` more rounds; `course` stays as it is.

    A round has as many local epochs as one of the task model, or as many mini-batches with
    `local_steps` (A12, A13).
    """
    trainer, samples = made_trainer(task, made), pixels(task)
    fit, held = validation_split(task)
    check_work = lane_work(task, held, made.learning_rate, "made-global")

    def one_round(number: int, params: Tensors, running: Tensor) -> tuple[Tensors, Tensor, Tensor]:
        work = lane_work(task, fit, made.learning_rate, "made-global", number)
        epochs = task.run.local_epochs * running.cpu().numpy().repeat(shares.shape[1])
        state = trainer.start(broadcast(params, work.replica), {})
        work = replace(work, epochs=epochs, steps_limit=task.run.local_steps)
        trained = train(trainer, samples, state, work)
        params, _ = aggregate(trained.state.params, {}, shares)  # eq. (11)
        losses = mean_losses(trainer, samples, broadcast(params, work.replica), check_work)
        training, validation = (loss.view(shares.shape).mean(dim=1) for loss in (trained.loss, losses))
        return params, training, validation

    return advance(course, steps, (made.max_rounds, made.patience), one_round)


def evaluate_by_columns(
    trainer: Trainer, samples: Samples, params: Tensors, work: Work
) -> Iterator[tuple[slice, Tensor, Batch]]:
    """Outputs [C, columns, ...] of each lane's model on its own samples, some columns of `work.index` a time.

    The batch's mask [C, columns] is 0 where a lane has fewer samples.
    """
    sizes = on_device(work.sizes, samples.device)
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
    """[C] each lane's mean loss on its own samples."""
    total = torch.zeros(len(work), device=samples.device)
    for _, outputs, batch in evaluate_by_columns(trainer, samples, params, work):
        total += (trainer.objective.losses(outputs, batch) * batch.mask).sum(dim=1)
    return total / on_device(work.sizes, samples.device).to(total.dtype)
