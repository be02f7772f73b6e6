"""Which runs a command means: an artifact's grid, narrowed, changed, and checked before any work."""

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fedlib.errors import UsageError, check, check_name
from fedlib.option_types import check_option
from fedlib.papers import PROFILES, Artifact
from fedlib.run import Run

# Fields that say where a run belongs; the artifact, --profile and --seeds decide them.
_IDENTITY = ("paper", "artifact", "profile", "seed")
_OPTIONS = {
    "dataset": "dataset_options",
    "partition": "partition_options",
    "method": "method_options",
    "model": "model_options",
    "local_optimizer": "local_optimizer_options",
}
_TYPES = typing.get_type_hints(Run)
FIELDS = tuple(name for name in _TYPES if name not in _IDENTITY and name not in _OPTIONS.values())

_JSON_NAMES = {int: "a whole number", float: "a number", str: "text", types.NoneType: "null"}


def parse_seeds(text: str) -> list[int]:
    """`3` means seeds 0, 1, 2; a list with a comma (`0,4` or `7,`) means itself."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        raise UsageError(f"seeds {text!r} given; allowed: a count such as 3, or a list such as 0,1,2")
    if "," not in text:
        check(int(text) > 0, f"seeds {text!r} given; allowed: a count of 1 or more")
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
        return key, json.loads(value, parse_constant=_refuse)
    except ValueError:
        return key, value


def _refuse(constant: str) -> None:
    raise UsageError(f"{constant} given in a setting; allowed: finite numbers")


def override(run: Run, settings: Mapping[str, Any]) -> Run:
    """The run with fields (`rounds`) and options (`partition.delta`) changed.

    A new name for a data set, partition, method, model or optimiser drops the options of the old one.
    Raises UsageError for a key that does not exist or a value of the wrong type.
    """
    for key, value in settings.items():
        head, dot, option = key.partition(".")
        if dot and head in _OPTIONS and option:
            continue
        keys = [*FIELDS, *(f"{name}.<option>" for name in _OPTIONS)]
        check_name("setting", key, keys)
        _check_type(key, value)
    fields = {key: _number(key, value) for key, value in settings.items() if "." not in key}
    dropped = {
        _OPTIONS[name]: {} for name in _OPTIONS if name in fields and fields[name] != getattr(run, name)
    }
    run = dataclasses.replace(run, **fields, **dropped)
    for key, value in settings.items():
        head, dot, option = key.partition(".")
        if dot:
            field = _OPTIONS[head]
            run = dataclasses.replace(run, **{field: {**getattr(run, field), option: value}})
    return run


def _check_type(field: str, value: Any) -> None:
    allowed = typing.get_args(_TYPES[field]) or (_TYPES[field],)
    fits = type(value) in allowed or (float in allowed and type(value) is int)
    names = " or ".join(_JSON_NAMES[kind] for kind in allowed)
    check(fits, f"{field}={json.dumps(value)} given; allowed: {names}")


def _number(field: str, value: Any) -> Any:
    """1 where a float belongs is 1.0, so that both describe the same run."""
    return float(value) if _TYPES[field] is float else value


def narrow(runs: Sequence[Run], field: str, name: str) -> list[Run]:
    """The runs with this data set, partition or method; if there are none, all runs with it put in."""
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
    check_name("profile", profile, PROFILES)
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
    """Runs that differ in their seed only, together; in the order of their first member.

    joined: also runs of FedAvg and FedProx that differ in method, its options or partition.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.joint_key if joined else run.group_key, []).append(run)
    return list(groups.values())


def group_label(members: Sequence[Run]) -> str:
    """Short text for progress lines about runs that train as one computation."""
    run = members[0]
    partitions, methods, seeds = (
        ",".join(dict.fromkeys(str(value) for value in values))
        for values in zip(*((r.partition, r.method_label, r.seed) for r in members), strict=True)
    )
    different = len({member.group_key for member in members})
    several = f" ({different} descriptions joined)" if different > 1 else ""
    return f"{run.id} {run.dataset} {partitions} N={run.num_clients} {methods} seeds {seeds}{several}"


def check_names(run: Run) -> None:
    """Refuse a run whose names or options do not exist, before anything is loaded or computed."""
    from fedlib.data import dataset_names
    from fedlib.federation.task import OWN_DATASET_OPTIONS
    from fedlib.local import PRECISIONS, SAMPLE_ORDERS, make_optimizer
    from fedlib.local.optimizers import OPTION_TYPES
    from fedlib.methods import make_method, method_class, method_options
    from fedlib.models import MODELS, model_options
    from fedlib.partition import PARTITIONS, check_options, partition_options

    check_name("data set", run.dataset, dataset_names())
    for option, hint in OWN_DATASET_OPTIONS.items():
        if option in run.dataset_options:
            check_option(f"data set {run.dataset!r}", option, run.dataset_options[option], hint)
    check_options(run.partition, dict(run.partition_options))
    makers = (
        ("partition", PARTITIONS[run.partition], partition_options(run.partition)),
        ("method", method_class(run.method), method_options(run.method)),
        ("model", MODELS[check_name("model", run.model, MODELS)], model_options(run.model)),
    )
    for kind, maker, defaults in makers:
        _check_values(kind, getattr(run, kind), getattr(run, f"{kind}_options"), maker, defaults)
    method = make_method(run.method, run.method_options)
    if hasattr(method, "check_run"):
        method.check_run(run)
    for option, value in run.local_optimizer_options.items():
        hint = OPTION_TYPES.get(option, float)
        check_option(f"local optimizer {run.local_optimizer!r}", option, value, hint)
    make_optimizer(run.local_optimizer, run.local_optimizer_options)
    check_name("precision", run.precision, PRECISIONS)
    check_name("sample order", run.sample_order, SAMPLE_ORDERS)


def _check_values(
    kind: str, name: str, given: Mapping[str, Any], maker: Callable[..., Any], defaults: Mapping[str, Any]
) -> None:
    """Options must exist and have a type that the maker's annotations allow; null only where these do."""
    hints = typing.get_type_hints(maker)
    for option, value in given.items():
        check(bool(defaults), f"{kind} {name!r} has no options, but {option!r} was given")
        check_name(f"option of {kind} {name!r}", option, defaults)
        default = defaults[option]
        told = "" if default is inspect.Parameter.empty else f" (default {default})"
        check_option(f"{kind} {name!r}", option, value, hints.get(option, Any), told)
