"""Whether numbers of a command, values of options and fields are allowed; these two by their annotations.

Annotations known here: int, float, bool, str, Path, None, Literal, unions, Mapping, and Sequence, list
or tuple of one kind of value. Any other one lets every value but null pass.

pydantic, strict, refuses 5.0 for a whole number and text for a path; lax, it takes "5" for a number.
"""

import dataclasses
import functools
import inspect
import json
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedlib.errors import check, check_name, shortened

LARGEST = 2**63
LARGEST_FLOAT = 3.4e38  # of float32, in which all is computed
_WORDS = {
    int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "text",
    types.NoneType: "null",
}  # fmt: skip


def fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value (or a tuple for a list) belongs to a type; 5 is a number, and 5.0 a whole one."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, part) for part in parts)
    if origin is typing.Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if (kind := _kind_of_list(hint)) is not None:
        return isinstance(value, list | tuple) and all(fits(one, kind) for one in value)
    if (origin or hint) is Mapping:
        return isinstance(value, Mapping)
    if hint in (int, float):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        limit = LARGEST_FLOAT if hint is float and isinstance(value, float) else LARGEST
        return number and abs(value) < limit and (hint is float or float(value).is_integer())
    if hint in (str, Path):
        return isinstance(value, str | Path)
    return isinstance(value, hint) if hint in _WORDS else value is not None or hint is Any


def _kind_of_list(hint: Any) -> Any:
    """The annotation of the values of `Sequence[int]`, `list[int]` or `tuple[int, ...]`, else None."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    return parts[0] if origin in (Sequence, list) or (origin is tuple and parts[1:] == (...,)) else None


def as_number(value: Any, hint: Any) -> Any:
    """1 where a float belongs is 1.0 and 5.0 a whole 5, so that both describe the same run."""
    kinds = typing.get_args(hint) or (hint,)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fitting = (kind for kind in kinds if number and kind in (int, float) and fits(value, kind))
    return next((kind(value) for kind in fitting), value)


def words_of(hint: Any) -> str:
    """The type in words, e.g. `a number or null`."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(dict.fromkeys(words_of(part) for part in parts))
    if origin is typing.Literal:
        return " or ".join(map(repr, parts))
    if (kind := _kind_of_list(hint)) is not None:
        return f"a list of {words_of(kind).removeprefix('a ')}s"
    return "a mapping" if (origin or hint) is Mapping else _WORDS.get(hint, f"a value of type {hint}")


def check_value(name: str, value: Any, hint: Any, default: str = "") -> None:
    """UsageError unless the value fits; name: of the option, e.g. `method 'fedprox': mu`."""
    given = shortened(repr(value) if isinstance(value, str | Path) else json.dumps(value, default=repr))
    large = isinstance(value, float) and LARGEST_FLOAT <= abs(value) < math.inf
    bound = f", of at most {LARGEST_FLOAT:g} in size" * large
    check(fits(value, hint), f"{name}={given} given; allowed: {words_of(hint)}{bound}{default}")


def typed_options(
    owner: str, given: Mapping[str, Any], maker: Callable[..., Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """The options, their numbers as the maker's annotations have them (see `as_number`).

    owner: e.g. `method 'fedprox'`. Raises UsageError for an option that is not in `defaults`, and for a
    value of another type than annotated.
    """
    hints = _hints(maker)
    for option, value in given.items():
        check(bool(defaults), f"{owner} has no options, but {option!r} was given")
        check_name(f"option of {owner}", option, defaults)
        default = defaults[option]
        required = default is inspect.Parameter.empty or default is dataclasses.MISSING
        told = "" if required else f" (default {default})"
        check_value(f"{owner}: {option}", value, hints.get(option, _hint_of(default)), told)
    return {option: as_number(value, hints.get(option, Any)) for option, value in given.items()}


def _hint_of(default: Any) -> Any:
    """The kind of value that an option without annotation takes, by its default; 0 may stand for 0.0."""
    kind = float if type(default) is int else type(default)
    return kind if kind in (bool, float, str) else Any


def check_fields(instance: Any) -> None:
    """UsageError for a field of a dataclass whose value is of another type than annotated."""
    owner, hints = type(instance).__name__, _hints(type(instance))
    for field in dataclasses.fields(instance):
        check_value(f"{owner}: {field.name}", getattr(instance, field.name), hints[field.name])


@functools.cache
def _hints(maker: Callable[..., Any]) -> dict[str, Any]:
    while isinstance(maker, functools.partial):
        maker = maker.func
    named = inspect.isroutine(maker) or inspect.isclass(maker)
    return typing.get_type_hints(maker if named else type(maker).__call__)


def check_command_numbers(
    max_replicas: int | None, max_clients_per_pass: int | None, checkpoint_seconds: float
) -> None:
    """UsageError for numbers of a command that no work can be done with."""
    for name, most in (("max_replicas", max_replicas), ("max_clients_per_pass", max_clients_per_pass)):
        check(most is None or most >= 1, f"{name}={most} given; allowed: 1 or more")
    seconds = checkpoint_seconds
    check(math.isfinite(seconds) and seconds >= 0, f"checkpoint_seconds={seconds} given; allowed: 0 or more")
