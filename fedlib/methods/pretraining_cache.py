"""In-process cache of pretraining results shared by runs that differ only in later settings.

FedDisk's phase 1, the workers of FedDRL and the agents of FedDdrl are pure functions of images, clients,
seeds and settings, and take as long as the rounds that follow or longer. Runs that differ only in what
comes later (controls, weights, rounds) find them under the key of all that they depend on.
"""

import hashlib
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from fedlib.engine.layers.stackable import prints_all
from fedlib.federation import Task
from fedlib.run import Run

_all: list["LruCache"] = []


class LruCache:
    """The last `most` values, by `cache_key`; a value without a key is not kept."""

    def __init__(self, most: int = 4) -> None:  # as many as a grid has data sets
        self.most = most
        self._values: dict[Hashable, Any] = {}  # the least recently used first
        _all.append(self)

    def get(self, key: Hashable | None) -> Any:
        """The value kept under a key, or None."""
        if key in self._values:
            self._values[key] = self._values.pop(key)
        return self._values.get(key)

    def keep(self, key: Hashable | None, value: Any) -> None:
        """Keep a value, which must not be changed afterwards, in place of the one not used for longest."""
        if key is None:
            return
        self._values.pop(key, None)
        if len(self._values) >= self.most:
            self._values.pop(next(iter(self._values)))
        self._values[key] = value


def forget() -> None:
    """Empty the cache."""
    for remembered in _all:
        remembered._values.clear()


def before_round_1(run: Run, rounds: int) -> Run:
    """The run without its names, its method and who evaluates: what pretraining of so many rounds sees."""
    named: dict[str, Any] = {"seed": -1, "artifact": "", "profile": "", "method": "", "method_options": {}}
    return replace(run, **named, rounds=rounds, eval_every=1, client_eval="none")


def cache_key(task: Task, *settings: Any, method: object = None) -> Hashable | None:
    """Of data, clients, model, seeds, device and engine of a task, and of what else decides the value.

    settings: anything whose `repr` tells all of it. method: whose rounds, on the task's model, make the
    value; None for a value that needs neither. Returns None, and nothing is kept, for a model with a layer
    whose printed form does not say all that it computes.
    """
    if method is None:
        return _digest(task, *settings)
    layers = [*task.model.modules()]
    if not all(prints_all(layer) for layer in layers):
        return None
    # A class defined anew, as in a cell of a notebook, may compute something else under the same name
    return _digest(task, *settings), type(method), *map(type, layers)


def _digest(task: Task, *settings: Any) -> str:
    trainer, train = task.trainer, task.train
    engine = (trainer.backend, trainer.max_lanes, trainer.precision, trainer.capture)
    scale = [None if values is None else values.tolist() for values in (train.mean, train.std)]
    told = (task.device, task.seeds, engine, train.inputs.shape, train.inputs.dtype, scale)
    found = hashlib.sha256(repr((*told, str(task.model), *settings)).encode())
    given = [] if task.starts_with is None else task.starts_with.state_dict().values()
    for tensor in (train.inputs, train.labels, *given):
        found.update(tensor.cpu().contiguous().numpy().data)
    for lists in task.clients:
        for index in lists:
            found.update(index.tobytes() + b"|")
    return found.hexdigest()
