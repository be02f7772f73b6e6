"""Names of groups of runs for progress lines, with the settings that tell them from their neighbours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fedlib.experiments.selection import FIELDS, OPTIONS
from fedlib.run import Run


def group_label(members: Sequence[Run], told: Mapping[str, str] | None = None) -> str:
    """Short text about runs that train as one computation. told: see `distinctions`."""
    run = members[0]
    partitions, methods, seeds = (
        ",".join(dict.fromkeys(str(value) for value in values))
        for values in zip(*((r.partition, r.method_label, r.seed) for r in members), strict=True)
    )
    different = len({member.group_key for member in members})
    settings = (
        (told or {}).get(run.group_key, "") if different == 1 else f" ({different} descriptions joined)"
    )
    return f"{run.id} {run.dataset} {partitions} N={run.num_clients} {methods}{settings} seeds {seeds}"


def distinctions(runs: Iterable[Run], *, of_cell: bool = True) -> dict[str, str]:
    """Group key -> the settings that tell a description from others of the same name, as `--set` has them.

    E.g. ` local_steps=2`; empty where no other of `runs` has its name, and for settings at null.
    of_cell: False leaves out options of data set and partition, where a label of the cell has them.
    """
    alike: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for run in runs:
        name = (run.id, run.dataset, run.partition, run.num_clients, run.method_label)
        alike.setdefault(name, {})[run.group_key] = dict(_settings(run))
    told = {}
    for described in alike.values():
        names = dict.fromkeys(name for one in described.values() for name in one)
        names = {name: None for name in names if of_cell or not name.startswith(("dataset.", "partition."))}
        differing = [name for name in names if len({str(one.get(name)) for one in described.values()}) > 1]
        for key, one in described.items():
            given = [f"{name}={one[name]}" for name in differing if one.get(name) is not None]
            told[key] = f" {' '.join(given)}" if given else ""
    return told


def _settings(run: Run) -> Iterator[tuple[str, Any]]:
    """Every field and option of a run by its name for `--set`."""
    for name in FIELDS:
        yield name, getattr(run, name)
    for name, options in OPTIONS.items():
        yield from _flat(name, getattr(run, options))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, part in value.items():
        yield from _flat(f"{name}.{key}", part)
