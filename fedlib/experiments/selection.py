"""Which runs a command means: an artifact's grid, narrowed, changed, and checked before any work."""

import dataclasses
import json
import math
import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from fedlib.data import check_dataset
from fedlib.errors import UsageError, check, check_name, shortened
from fedlib.experiments.artifact import Artifact
from fedlib.run import Run
from fedlib.validation import as_number, check_value

# Fields that say where a run belongs; the artifact, --profile and --seeds decide them.
_IDENTITY = ("paper", "artifact", "profile", "seed")
OPTIONS = {  # field -> the field of its options
    "dataset": "dataset_options",
    "partition": "partition_options",
    "method": "method_options",
    "model": "model_options",
    "local_optimizer": "local_optimizer_options",
}
MOST_DIGITS = 18  # of a whole number: more do not fit into 64 bits
MOST_SEEDS = 1000  # of one description
SEEDS_HELP = "a count (3: seeds 0, 1, 2) or a list (0,4; one seed alone: 0,)"
_SEED = re.compile("[0-9]{1,9}")  # more than enough: all digits enter the hashes that seed the streams
_TYPES = typing.get_type_hints(Run)
FIELDS = tuple(name for name in _TYPES if name not in _IDENTITY and name not in OPTIONS.values())


def parse_seeds(text: str) -> list[int]:
    """`3` means seeds 0, 1, 2; a list with a comma (`0,4` or `7,`) means itself."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(_SEED.fullmatch(part) for part in parts):
        raise UsageError(
            f"seeds {shortened(text)!r} given; allowed: a count such as 3, or a list such as 0,1,2, "
            "of up to 9 digits each"
        )
    if "," not in text:
        check(
            0 < int(text) <= MOST_SEEDS,
            f"seeds {text!r} given; allowed: a count of 1 to {MOST_SEEDS}, or a list; "
            f"seed {int(text)} alone is written '{int(text)},'",
        )
        return list(range(int(text)))
    return list(dict.fromkeys(int(part) for part in parts))


def parse_setting(text: str) -> tuple[str, Any]:
    """`key=value` with a JSON value; anything that is not JSON is text."""
    key, equals, value = text.partition("=")
    check(
        bool(equals and key),
        f"setting {text!r} given; allowed: key=value, e.g. rounds=5 or partition.delta=0.4",
    )
    try:
        return key, json.loads(value, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
    except ValueError:
        return key, value
    except RecursionError:
        raise UsageError(f"setting {shortened(text)!r} given; allowed: fewer brackets") from None


def _refuse(constant: str) -> NoReturn:
    raise UsageError(f"{shortened(constant)} given in a setting; allowed: finite numbers")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _whole(text: str) -> int:
    return int(text) if len(text) <= MOST_DIGITS else _refuse(text)


def override(run: Run, settings: Mapping[str, Any]) -> Run:
    """The run with fields (`rounds`) and options (`partition.delta`) changed.

    A new name for a data set, partition, method, model or optimiser drops the options of the old one. A data
    set may be spelt as its file is; the run has its name.
    Raises UsageError for a key that does not exist or a value of the wrong type.
    """
    for key, value in settings.items():
        head, dot, option = key.partition(".")
        if dot and head in OPTIONS and option:
            continue
        keys = [*FIELDS, *(f"{name}.<option>" for name in OPTIONS)]
        check_name("setting", key, keys)
        check_value(key, value, _TYPES[key])
    fields = {key: as_number(value, _TYPES[key]) for key, value in settings.items() if "." not in key}
    if "dataset" in fields:
        fields["dataset"] = check_dataset(fields["dataset"])
    for name, options in OPTIONS.items():
        kept = {} if fields.get(name, getattr(run, name)) != getattr(run, name) else getattr(run, options)
        given = {key.partition(".")[2]: v for key, v in settings.items() if key.startswith(f"{name}.")}
        fields[options] = {**kept, **given}
    return dataclasses.replace(run, **fields)


def narrow(runs: Sequence[Run], field: str, name: str) -> list[Run]:
    """The runs with this data set, partition or method; if there are none, all runs with it put in."""
    name = check_dataset(name) if field == "dataset" else name
    kept = [run for run in runs if getattr(run, field) == name]
    return kept or _distinct(override(run, {field: name}) for run in runs)


def expand(
    artifact: Artifact,
    profile: str,
    *,
    seeds: Iterable[int] | int | None = None,
    names: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> list[Run]:
    """The runs of an artifact at a profile, every seed of one description next to each other.

    seeds: a count, a list, or None for the artifact's own number. names: `dataset`, `partition`,
    `method` to narrow to (see `narrow`). settings: overrides (see `override`).
    """
    artifact.check_profile(profile)
    runs = artifact.runs(profile)
    for field, name in (names or {}).items():
        runs = narrow(runs, field, name)
    runs = _distinct(override(run, settings or {}) for run in runs)
    seeds = artifact.seeds[profile] if seeds is None else seeds
    seeds = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    check(len(seeds) > 0, "no seeds given; allowed: one or more")
    return [dataclasses.replace(run, seed=seed) for run in runs for seed in seeds]


def _distinct(runs: Iterable[Run]) -> list[Run]:
    return list({run.key: run for run in runs}.values())


def group(runs: Sequence[Run], *, joined: bool = False) -> list[list[Run]]:
    """Runs that differ in their seed only, each once, together; in the order of their first member.

    joined: also runs of FedAvg and FedProx that differ in method, its options or partition.
    """
    groups: dict[str, list[Run]] = {}
    for run in _distinct(runs):
        groups.setdefault(run.joint_key if joined else run.group_key, []).append(run)
    return list(groups.values())


def joins_methods(device: str) -> bool:
    """Whether runs of FedAvg and FedProx that share all shapes train as one computation: on a GPU.

    A CPU is busy with one group's clients already (benchmarks/NOTES.md, note 14).
    """
    return device == "cuda"
