"""The building blocks of a method's round: download, ClientUpdate, aggregation, random streams."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.engine import LocalRule, LocalState, Trained, Trainer, Work, make_work, stream_keys, train
from fedlib.engine.batches import on_device
from fedlib.engine.hardware.memory import picked
from fedlib.engine.mixup import BalancedMixUp
from fedlib.errors import check
from fedlib.federation.aggregate import Tensors, aggregate, in_type_of, model_bytes, weighted_sum
from fedlib.federation.cohort import Cohort
from fedlib.federation.state import RoundReport, ServerState
from fedlib.federation.task import Task
from fedlib.models import make_model

# Of all local models at once where their average is all that is asked for: with the download and a pass
# at work 2.2 times as much. None of the artifacts comes near it.
LOCAL_MODELS_BYTES = 4 << 30


def initial_state(task: Task) -> ServerState:
    """Fresh global models: replica r's weights depend on its seed only, or are `Task.starts_with`'s."""
    run = task.run
    models = [
        task.starts_with
        or make_model(
            run.model, image_shape=task.dataset.image_shape, num_classes=task.dataset.num_classes,
            generator_seed=(seed, "weights"), **run.model_options,
        ).to(task.device)
        for seed in task.seeds
    ]  # fmt: skip
    return ServerState(
        round=0,
        params=_stack([dict(m.named_parameters()) for m in models]),
        buffers=_stack([dict(m.named_buffers()) for m in models]),
    )


def restarted(task: Task, state: ServerState) -> ServerState:
    """The state with the initial models and the memory that it has: a new episode for what learns."""
    start = initial_state(task)
    return replace(state, params=start.params, buffers=start.buffers)


def _stack(models: list[dict[str, Tensor]]) -> Tensors:
    return {name: torch.stack([m[name].detach() for m in models]) for name in models[0]}


def broadcast(tensors: Tensors, replica: Tensor) -> Tensors:
    """The download: lane c gets the tensors of its replica, [R, ...] -> [C, ...]."""
    return {name: picked(tensor, replica) for name, tensor in tensors.items()}


def train_cohort(
    task: Task,
    state: ServerState,
    cohort: Cohort,
    *,
    personal: Tensors | None = None,
    rule: LocalRule | None = None,
    **work: Any,
) -> Trained:
    """ClientUpdate for all clients of all replicas at once; lanes are replica by replica.

    personal: parameters and buffers that the clients keep, [R * K, ...]; they complete or replace
    the downloaded ones. rule: a proximal term and an offset of the gradient, for lanes [R * K, ...];
    its anchor is the download unless it has another one. work: overrides of `make_work` (epochs,
    learning_rate, steps_limit, first_epoch, order); scalars or one value per lane.
    """
    plan = cohort_work(task, cohort, **work)
    tensors = {**broadcast({**state.params, **state.buffers}, plan.replica), **(personal or {})}
    params = {name: tensors[name] for name, _ in task.trainer.model.named_parameters()}
    local = task.trainer.start(
        params, {name: tensors[name] for name, _ in task.trainer.model.named_buffers()}
    )
    rule = None if rule is None else rule.at(params)
    return train(local_trainer(task), task.train, local, plan, rule)


def cohort_work(task: Task, cohort: Cohort, **work: Any) -> Work:
    """The mini-batches of a round's clients, lanes replica by replica; work: overrides of `make_work`."""
    run = task.run
    settings: dict[str, Any] = {
        "epochs": run.local_epochs,
        "learning_rate": run.local_learning_rate,
        "order": run.sample_order,
        "steps_limit": run.local_steps,
    }
    settings |= work
    indices = [task.clients[r][k] for r, k in zip(cohort.replica, cohort.client, strict=True)]
    key = stream_keys([task.seeds[r] for r in cohort.replica], cohort.round, cohort.client)
    return make_work(
        indices, replica=cohort.replica, client=cohort.client, key=key, device=task.device, **settings
    )


def local_trainer(task: Task) -> Trainer:
    """The task's trainer, with Balanced-MixUp of the clients' samples if the run asks for it."""
    alpha, lambdas = task.run.mixup_alpha, task.run.mixup_lambda
    if alpha is None:
        return task.trainer

    def mixing() -> Trainer:
        labels, classes = task.train.labels, task.dataset.num_classes
        mixup = BalancedMixUp.of(task.clients, labels, classes, alpha=alpha, lambdas=lambdas)
        return replace(task.trainer, objective=replace(task.trainer.objective, inputs=mixup))

    return task.once("mixup", mixing)


def gather(kept: Tensors, clients: np.ndarray) -> Tensors:
    """State of clients [R, K]: tensors of all clients [R, N, ...] -> lanes [R * K, ...]."""
    at = _positions(clients, kept)
    return {name: tensor[at].flatten(0, 1) for name, tensor in kept.items()}


def put_back(kept: Tensors, clients: np.ndarray, lanes: Tensors) -> Tensors:
    """Copies of `kept` [R, N, ...] with the clients' new tensors from `lanes` [R * K, ...]."""
    at = _positions(clients, kept)
    after = {name: tensor.clone() for name, tensor in kept.items()}
    for name, tensor in after.items():
        tensor[at] = lanes[name].detach().unflatten(0, clients.shape)
    return after


def _positions(clients: np.ndarray, kept: Tensors) -> tuple[Tensor, Tensor]:
    device = next(iter(kept.values())).device  # an index on the host would be waited for, tensor by tensor
    return torch.arange(len(clients), device=device)[:, None], on_device(clients, device)


def replica_of_lanes(task: Task, clients: np.ndarray) -> Tensor:
    """[R * K] int64, on the device: the replica of each lane, of clients [R, K]."""
    return on_device(np.repeat(np.arange(len(clients)), clients.shape[1]), task.device)


def sample_shares(task: Task, cohort: Cohort) -> Tensor:
    """[R, K] n_k / n over the cohort, FedAvg's weights (float32)."""
    sizes = task.sizes(cohort.clients)
    return on_device((sizes / sizes.sum(axis=1, keepdims=True)).astype(np.float32), task.device)


def uniform_shares(task: Task, cohort: Cohort) -> Tensor:
    """[R, K] 1 / K."""
    return torch.full(cohort.clients.shape, 1 / cohort.clients.shape[1], device=task.device)


def finish_round(
    task: Task, state: ServerState, cohort: Cohort, trained: Trained, weights: Tensor, **memory: Any
) -> tuple[ServerState, RoundReport]:
    """Aggregate the local models with `weights` [R, K] and account for an up- and download each.

    Only what the server's state has is averaged and sent; the rest stays with the clients. UsageError for
    weights of another shape.
    """
    _check_shape(weights, cohort)
    local: LocalState = trained.state
    params, buffers = aggregate(
        {n: local.params[n] for n in state.params}, {n: local.buffers[n] for n in state.buffers}, weights
    )
    sent = model_bytes(state.params, state.buffers) * cohort.clients.shape[1]
    report = RoundReport(cohort.clients, weights, trained.loss.view(weights.shape), sent, sent)
    return state.advance(params, buffers, **memory), report


def _check_shape(weights: Any, cohort: Cohort) -> None:
    shape = cohort.clients.shape
    given = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
    check(given == shape, f"weights given: {given}; allowed: a tensor [R, K] = {list(shape)}")


def method_rng(task: Task, replica: int, *names: int | str) -> np.random.Generator:
    """A random stream of a method's own, e.g. `method_rng(task, r, "explore", cohort.round)`.

    It follows from the replica's seed and cell (`Run.cell`): two cells have no draws in common.
    """
    run = task.runs[replica]
    return seeds.rng(run.seed, "method", run.cell, *names)


def method_streams(task: Task, *names: int | str) -> list[np.random.Generator]:
    """`method_rng` of every replica."""
    return [method_rng(task, replica, *names) for replica in range(len(task.runs))]


def method_generators(task: Task, *names: int | str) -> list[torch.Generator]:
    """Generators for the first parameters of a method's agents, one per replica; by seed and cell."""
    return [seeds.torch_generator(run.seed, "method", run.cell, *names) for run in task.runs]


def train_and_average(
    task: Task, state: ServerState, cohort: Cohort, weights: Tensor, *, rule: LocalRule | None = None
) -> tuple[ServerState, RoundReport]:
    """`train_cohort` and `finish_round` where the weights [R, K] are known before the training.

    Not all local models have to exist at once then: a cohort whose models take more than
    LOCAL_MODELS_BYTES trains part by part, and the parts' weighted sums are added up (the last digits
    differ from those of one sum). rule: as in `train_cohort`.
    """
    _check_shape(weights, cohort)
    at_once = clients_at_once(model_bytes(state.params, state.buffers) * len(weights))
    size = cohort.clients.shape[1]
    if size <= at_once:
        return finish_round(task, state, cohort, train_cohort(task, state, cohort, rule=rule), weights)
    sums: Tensors = {}
    losses = []
    for part in np.array_split(np.arange(size), -(-size // at_once)):
        some = replace(cohort, clients=cohort.clients[:, part])
        own = None if rule is None else rule.select(_lanes_of(cohort, part))
        trained = train_cohort(task, state, some, rule=own)
        losses.append(trained.loss.view(some.clients.shape))
        for name, local in {**trained.state.params, **trained.state.buffers}.items():
            summed = weighted_sum(local, weights[:, part])
            sums[name] = sums[name].add_(summed) if name in sums else summed
    params, buffers = (
        {name: in_type_of(sums[name], like) for name, like in tensors.items()}
        for tensors in (state.params, state.buffers)
    )
    sent = model_bytes(state.params, state.buffers) * size
    report = RoundReport(cohort.clients, weights, torch.cat(losses, dim=1), sent, sent)
    return state.advance(params, buffers), report


def clients_at_once(client_bytes: int) -> int:
    """Number of clients, of `client_bytes` in all replicas, that train before their models are averaged."""
    return max(1, LOCAL_MODELS_BYTES // client_bytes)


def _lanes_of(cohort: Cohort, slots: np.ndarray) -> np.ndarray:
    """Lanes of some slots of the cohort, replica by replica."""
    return np.arange(cohort.clients.size).reshape(cohort.clients.shape)[:, slots].reshape(-1)
