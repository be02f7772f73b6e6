"""The data, partitions and network that a run's configuration names, with fedlib's own loaders."""

from collections.abc import Mapping
from functools import lru_cache

from flwr.app import UserConfigValue

from fedlib.federation import Task, prepare
from fedlib.run import Run


def run_of(config: Mapping[str, UserConfigValue]) -> Run:
    """The run that the configuration describes, as fedlib's own federation would train it."""
    return Run(
        paper="start",
        artifact="flower",
        profile="smoke",
        method="fedavg",
        dataset=str(config["dataset"]),
        partition=str(config["partition"]),
        model=str(config["model"]),
        num_clients=int(config["num-partitions"]),
        rounds=int(config["num-server-rounds"]),
        local_epochs=int(config["local-epochs"]),
        batch_size=int(config["batch-size"]),
        local_learning_rate=float(config["learning-rate"]),
        seed=int(config["seed"]),
    )


def task_of(config: Mapping[str, UserConfigValue]) -> Task:
    """Its task, built once in a process."""
    return _task_of(tuple(sorted(config.items())))


@lru_cache(maxsize=2)
def _task_of(config: tuple[tuple[str, UserConfigValue], ...]) -> Task:
    return prepare([run_of(dict(config))])
