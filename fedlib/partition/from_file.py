"""Partitions from a JSON file `{client: [index, ...]}`, the format of the FedDRL authors' own files."""

import json
from pathlib import Path

import numpy as np

from fedlib.errors import UsageError, check
from fedlib.partition.sampling import Partition, check_choice, finish
from fedlib.paths import data_folder


def partition_from_file(
    labels: np.ndarray, *, num_clients: int, path: str | Path, allow_repeats: bool = False
) -> Partition:
    """Read the indices of every client; whole-number client names are put in rising order.

    path: as it is, or below the data folder. labels: [n], only their number counts: indices are
    0..n-1. allow_repeats: accept an image that
    occurs more than once, within a client or over clients, as in the authors' PA files
    (FEDDRL-A32); within a client it then counts as often as it is named.
    """
    check_choice("from_file", "allow_repeats", allow_repeats, (False, True))
    content = _read(path)
    check(
        len(content) == num_clients,
        f"partition file {path}: {len(content)} clients; allowed: {num_clients}, as asked for",
    )
    clients = [_indices(path, client, content[client], len(labels)) for client in _ordered(content)]
    if not allow_repeats:
        _refuse_repeats(path, _ordered(content), clients)
    return finish("from_file", clients)


def _read(path: str | Path) -> dict[str, list[int]]:
    try:
        text = partition_file(path).read_text(encoding="utf-8")
        content = json.loads(text)
    except (OSError, TypeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"partition file {path}: {reason}; allowed: a JSON file {{client: [index, ...]}}"
        ) from error
    except ValueError as error:
        raise UsageError(
            f"partition file {path} is not JSON: {error}; allowed: {{client: [index, ...]}}"
        ) from error
    check(
        isinstance(content, dict) and all(isinstance(indices, list) for indices in content.values()),
        f"partition file {path} is not of the form {{client: [index, ...]}}",
    )
    return content


def partition_file(path: str | Path) -> Path:
    """The file of a division: the path as it is, or below the data folder."""
    here = Path(path)
    return here if here.is_absolute() or here.is_file() else data_folder() / here


def _ordered(content: dict[str, list[int]]) -> list[str]:
    return sorted(content, key=int) if all(name.isdecimal() for name in content) else list(content)


def _indices(path: str | Path, client: str, given: list[int], num_images: int) -> np.ndarray:
    for index in given:
        check(
            type(index) is int and 0 <= index < num_images,
            f"partition file {path}: client {client} has index {index!r}; allowed: 0 to {num_images - 1}",
        )
    return np.array(given, dtype=np.int64)


def _refuse_repeats(path: str | Path, names: list[str], clients: list[np.ndarray]) -> None:
    owners = np.repeat(np.arange(len(clients)), [len(indices) for indices in clients])
    images = np.concatenate(clients) if clients else np.empty(0, dtype=np.int64)
    order = np.argsort(images, kind="stable")
    twice = np.flatnonzero(np.diff(images[order]) == 0)
    if len(twice):
        first, second = order[twice[0]], order[twice[0] + 1]
        raise UsageError(
            f"partition file {path}: index {images[first]} occurs twice, in client {names[owners[first]]} "
            f"and client {names[owners[second]]}; allowed: once, or option allow_repeats"
        )
