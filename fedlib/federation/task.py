"""Tasks: the data, partition, model and trainer of a group of runs, constant over its rounds."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from fedlib.data import load_dataset
from fedlib.data.dataset import Dataset
from fedlib.engine import (
    SAMPLE_ORDERS,
    RaggedIndex,
    Samples,
    Trainer,
    check_precision,
    choose_backend,
    choose_precision,
    keep_freed_memory,
    make_optimizer,
    pass_lanes,
)
from fedlib.engine.mixup import check_alpha, check_lambdas
from fedlib.errors import UsageError, check, check_name
from fedlib.federation import client_data
from fedlib.models import check_fits, count_parameters, make_model
from fedlib.partition import Partition
from fedlib.run import JOINED_METHODS, Run
from fedlib.validation import check_fields

CLIENT_EVALS = ("none", "cohort", "all")
_LEAST = {"seed": 0, "rounds": 1, "local_epochs": 1, "batch_size": 1, "eval_every": 1}
Made = TypeVar("Made")


@dataclass(frozen=True)
class Task:
    """A group of R runs with equal `Run.joint_key`, ready to train as replicas.

    clients[r][k]: positions in `train` of client k's samples in replica r. held_out[r][k]:
    those of the client's own test part, which it does not train on (data-set option
    `local_test`); None: the clients have none. server: the part of the test data that the server
    measures its rewards on, disjoint from `test` (option `server_share`, FEDDDRL-A9); None: it has
    none. facts: provenance that is known once the task is built (parameters, backend, client
    sizes). max_clients_per_pass: what was asked for, see `prepare`. starts_with: a module whose weights all
    global models have before round 1; None: drawn by the model's name and each seed.
    """

    runs: tuple[Run, ...]
    dataset: Dataset
    train: Samples
    test: Samples
    clients: list[list[np.ndarray]]
    model: nn.Module
    trainer: Trainer
    device: torch.device
    facts: dict[str, Any] = field(default_factory=dict)
    held_out: list[Partition] | None = None
    server: Samples | None = None
    max_clients_per_pass: int | None = None
    starts_with: nn.Module | None = None

    @property
    def run(self) -> Run:
        """The settings that all runs of the group share (what differs is the first one's)."""
        return self.runs[0]

    @property
    def seeds(self) -> list[int]:
        return [run.seed for run in self.runs]

    @property
    def cohort_size(self) -> int:
        return self.run.clients_per_round

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Cached result of `make`, called when this task is first asked for `key`.

        For what a method needs in every round: tables that stay the same, and trainers, whose steps are
        recorded anew on a GPU where their model or objective is another object.
        """
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def train_index(self, clients: np.ndarray) -> list[RaggedIndex]:
        """Index the training data of clients [R, K], for `evaluate_clients`; of all clients it is kept."""
        return self._all_training if self._is_everyone(clients) else _index_of(self, self.clients, clients)

    def held_out_index(self, clients: np.ndarray) -> list[RaggedIndex]:
        """Index the clients' own test parts."""
        if self._is_everyone(clients):
            return self._all_held_out
        return _index_of(self, given(self.held_out, "local_test"), clients)

    def everyone(self) -> np.ndarray:
        """[R, N] all clients of every replica."""
        return np.tile(np.arange(self.run.num_clients), (len(self.runs), 1))

    def _is_everyone(self, clients: np.ndarray) -> bool:
        return np.array_equal(clients, self.everyone())

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    @cached_property
    def _all_training(self) -> list[RaggedIndex]:
        return _index_of(self, self.clients, self.everyone())

    @cached_property
    def _all_held_out(self) -> list[RaggedIndex]:
        return _index_of(self, given(self.held_out, "local_test"), self.everyone())

    @cached_property
    def test_index(self) -> list[RaggedIndex]:
        """The whole test set as one list, for every replica; put on the device once."""
        return self._whole(self.test)

    @cached_property
    def server_index(self) -> list[RaggedIndex]:
        """The server's own images as one list, for every replica."""
        return self._whole(given(self.server, "server_share"))

    def _whole(self, samples: Samples) -> list[RaggedIndex]:
        return [RaggedIndex.of([np.arange(len(samples.labels))], self.device)] * len(self.runs)

    def sizes(self, clients: np.ndarray) -> np.ndarray:
        """Number of samples n_k of clients [R, K], as float64 of the same shape."""
        counts = [[len(self.clients[r][k]) for k in ids] for r, ids in enumerate(clients)]
        return np.array(counts, dtype=np.float64)


def given(part: "Samples | list[Partition] | None", option: str) -> Any:
    """A part of the data that only an option of the data set sets apart; UsageError without it."""
    if part is None:
        raise UsageError(f"the data have no part of their own for this; set dataset.{option} (e.g. 0.1)")
    return part


def _index_of(task: Task, lists: list[Partition], clients: np.ndarray) -> list[RaggedIndex]:
    return [RaggedIndex.of([lists[r][k] for k in ids], task.device) for r, ids in enumerate(clients)]


def prepare(
    runs: Sequence[Run],
    *,
    device: torch.device | str = "cpu",
    backend: str = "auto",
    max_clients_per_pass: int | None = None,
) -> Task:
    """Load the data, draw the partitions and build the trainer of a group of runs.

    max_clients_per_pass: clients that train in one pass at most, in place of the engine's rule
    (`fedlib.engine.pass_lanes`); results differ in their last digits only, memory and time in more.
    Raises UsageError for settings out of range or runs that differ in more than the seed, and
    DataError for an absent data set.
    """
    device = torch.device(device)
    if device.type == "cpu":
        keep_freed_memory()
    check(
        max_clients_per_pass is None or max_clients_per_pass >= 1,
        f"max_clients_per_pass={max_clients_per_pass} given; allowed: 1 or more",
    )
    run = check_runs(runs, device)
    own = {k: v for k, v in run.dataset_options.items() if k in client_data.TASK_OPTIONS}
    loader_options = {k: v for k, v in run.dataset_options.items() if k not in own}
    dataset = client_data.with_classes(load_dataset(run.dataset, **loader_options), own.get("num_classes"))
    train, test = (
        client_data.first_of_class(split, own.get(option), option)
        for split, option in ((dataset.train, "train_per_class"), (dataset.test, "test_per_class"))
    )
    test, server = client_data.server_part(test, own.get("server_share"))
    clients = [client_data.draw_partition(r, train, dataset.num_classes) for r in runs]
    model = make_model(
        run.model, image_shape=dataset.image_shape, num_classes=dataset.num_classes,
        generator_seed=(run.seed, "weights"), **run.model_options,
    )  # fmt: skip
    check_fits(run.model, model, dataset.image_shape, dataset.num_classes)
    images, clients = client_data.add_noise(runs, train.images, clients, own.get("client_noise"))
    clients, held_out = client_data.split_off_tests(runs, clients, own.get("local_test"))
    labels = np.tile(train.labels, len(images) // len(train.labels))
    scale: dict[str, Any] = {**client_data.scale_of(dataset, own), "device": device}
    lanes = len(runs) * run.clients_per_round
    trainer = trainer_of(run, model, device, lanes=lanes, backend=backend, max_lanes=max_clients_per_pass)
    return Task(
        runs=tuple(runs),
        dataset=dataset,
        train=Samples.from_arrays(images, labels, **scale),
        test=Samples.from_arrays(test.images, test.labels, **scale),
        clients=clients,
        model=model.to(device),
        trainer=trainer,
        device=device,
        facts={
            **_facts(trainer, clients),
            **({"max_clients_per_pass": max_clients_per_pass} if max_clients_per_pass else {}),
        },
        max_clients_per_pass=max_clients_per_pass,
        held_out=held_out,
        server=None if server is None else Samples.from_arrays(server.images, server.labels, **scale),
    )


def check_runs(runs: Sequence[Run], device: torch.device) -> Run:
    """The first run of a group; UsageError for settings that none trains with, or that differ."""
    run = runs[0]
    check(
        len({r.joint_key for r in runs}) == 1,
        f"runs of a group may differ in their seed only, those of {' and '.join(JOINED_METHODS)} also in "
        "method, its options and partition",
    )
    check_run_numbers(run)
    check_precision(run.precision, device)
    check_name("sample order", run.sample_order, SAMPLE_ORDERS)
    return run


def check_run_numbers(run: Run) -> None:
    """UsageError for numbers of a run that no training is possible with."""
    for whole in (known.name for known in fields(run) if known.type in (int, int | None)):
        value = getattr(run, whole)  # 2.0 would be another key than 2
        check(value is None or type(value) is int, f"{whole}={value!r} given; allowed: a whole number")
    check_fields(run)
    size = run.clients_per_round
    check(run.num_clients >= 1, f"num_clients={run.num_clients} given; allowed: 1 or more")
    check(
        1 <= size <= run.num_clients,
        f"cohort_size={size} given; allowed: 1 to num_clients={run.num_clients} (K clients of N take part)",
    )
    for name, least in _LEAST.items():
        check(getattr(run, name) >= least, f"{name}={getattr(run, name)} given; allowed: {least} or more")
    check(
        run.local_learning_rate > 0, f"local_learning_rate={run.local_learning_rate} given; allowed: above 0"
    )
    check_setting(run)
    check_name("client_eval", run.client_eval, CLIENT_EVALS)


def check_setting(run: Run) -> None:
    """UsageError for a number of local steps, a Balanced-MixUp or an episode that does not exist."""
    steps, length = run.local_steps, run.episode_rounds
    check(steps is None or steps >= 1, f"local_steps={steps} given; allowed: 1 or more, or null for E epochs")
    if run.mixup_alpha is not None:
        check_alpha(run.mixup_alpha)
    check_lambdas(run.mixup_lambda)
    check(length is None or length >= 1, f"episode_rounds={length} given; allowed: 1 or more")
    check(
        length is None or run.rounds % length == 0,
        f"rounds={run.rounds} given for episodes of episode_rounds={length}; allowed: multiples of {length}",
    )


def trainer_of(
    run: Run,
    model: nn.Module,
    device: torch.device,
    *,
    lanes: int,
    backend: str = "auto",
    max_lanes: int | None = None,
    sample: torch.Tensor | None = None,
) -> Trainer:
    """The trainer of a group's first run: precision, backend and width of a pass, by the engine's rules.

    lanes: replicas times clients of a round. max_lanes: clients in one pass at most, in place of the rule.
    sample: an input [1, ...] that need be no vector and no image.
    """
    precision = choose_precision(run.precision, model, device, backend)
    backend = choose_backend(model, device, backend, lanes=lanes, precision=precision, sample=sample)
    max_lanes = max_lanes or pass_lanes(count_parameters(model), backend, device)
    optimizer = make_optimizer(run.local_optimizer, run.local_optimizer_options)
    model = model.to(device)
    return Trainer(model, backend, optimizer, run.batch_size, max_lanes=max_lanes, precision=precision)


def _facts(trainer: Trainer, clients: list[list[np.ndarray]]) -> dict[str, Any]:
    sizes = np.array([[len(index) for index in lists] for lists in clients])
    return {
        "parameters": count_parameters(trainer.model),
        "backend": trainer.backend,
        "train_samples": [int(n) for n in sizes.sum(axis=1)],
        "client_size_min": [int(n) for n in sizes.min(axis=1)],
        "client_size_max": [int(n) for n in sizes.max(axis=1)],
        "precision": trainer.precision,
        "clients_per_pass": trainer.max_lanes,
    }
