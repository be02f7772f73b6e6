"""Checks of what a method returns: the state, the report and its columns, and the memory of a checkpoint.

They hold for methods of a user's own; each names the method, what it returned and what is allowed.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from fedlib.errors import check
from fedlib.federation.cohort import Cohort
from fedlib.federation.method import Method
from fedlib.federation.state import RoundReport, ServerState
from fedlib.run import Run

PLAIN = (Tensor, str, int, float, bool, type(None))  # what `torch.load(weights_only=True)` reads back
TAKEN = frozenset(  # columns that say which run it is, and what every evaluated round measures
    {field.name for field in dataclasses.fields(Run)}
    | {"run", "group", "source", "commit", "round", "status", "episode"}
    | {"train_loss_mean", "test_accuracy", "test_loss"}
)
LISTS = ("clients", "weights")  # a method may give its own, as the JSON text of a list


def is_played(found: Any) -> bool:
    """Whether a value is a pair of state and report, as `Method.apply` has to return."""
    return isinstance(found, tuple) and list(map(type, found)) == [ServerState, RoundReport]


def played(
    method: Method, found: Any, before: ServerState, cohort: Cohort
) -> tuple[ServerState, RoundReport]:
    """State and report that `apply` returned; UsageError unless of this round and of models as before it."""
    name = method.class_name
    allowed = "allowed: (ServerState, RoundReport)"
    check(is_played(found), f"{name}.apply returned {type(found).__name__}; {allowed}")
    server, report = found
    check(
        server.round == cohort.round,
        f"{name}.apply returned the state of round {server.round} in round {cohort.round}; allowed: the "
        "round counted up, as `finish_round` and `ServerState.advance` do",
    )
    report.check_shapes(name, len(cohort.clients))
    check_columns(f"{name}.apply", report.columns, len(cohort.clients))
    for own, other in ((server.params, before.params), (server.buffers, before.buffers)):
        check(own.keys() == other.keys(), f"{name}.apply returned {[*own]}; allowed: {[*other]}")
        for tensor, wanted in other.items():
            kind, shape = own[tensor].dtype, tuple(own[tensor].shape)
            check(
                kind == wanted.dtype and shape == tuple(wanted.shape),
                f"{name}.apply returned {tensor} as {kind} {shape}; allowed: {wanted.dtype} "
                f"{tuple(wanted.shape)}, a model for each replica",
            )
    return server, report


def check_columns(source: str, columns: Mapping[str, Any], replicas: int) -> None:
    """UsageError unless each column has a value for each replica and a name that no other column has.

    source: what returned them, as `FedAvg.apply`.
    """
    for column, values in columns.items():
        each = len(values) if hasattr(values, "__len__") and not isinstance(values, str) else None
        check(
            each == replicas,
            f"{source} reported column {column!r} with {'one value' if each is None else each}; allowed: "
            f"a list of {replicas}, a value for each replica",
        )
        text = column not in LISTS or all(isinstance(value, str) for value in values)
        check(
            column not in TAKEN and text,
            f"{source} reported column {column!r}, which every row has; allowed: another name",
        )


def check_memory(method: Method, memory: Mapping[str, Any]) -> None:
    """UsageError for a memory that a checkpoint could be written with, but not read."""
    for place, value in _not_plain("memory", memory):
        check(
            False,
            f"{method.class_name} keeps {place}, {type(value).__module__}.{type(value).__name__}; allowed in "
            "memory: tensors, numbers, text, None, and lists and dictionaries of these",
        )


def _not_plain(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Each place at which a value holds something that is not plain, and that."""
    if isinstance(value, dict | list | tuple):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _not_plain(f"{place}[{key!r}]", part)
    elif type(value) not in PLAIN and not isinstance(value, Tensor):
        yield place, value
