"""Whether numbers of a command and values of options are allowed; options by their annotations.

Annotations known here: int, float, bool, str, Path, None, unions, Sequence and Mapping. Any other one,
of a method that a user brings along, lets every value but null pass.

pydantic, strict, refuses 5.0 for a whole number and text for a path; lax, it takes "5" for a number.
"""

import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedlib.errors import check

LARGEST = 2**63
_WORDS = {
    int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "text",
    types.NoneType: "null",
}  # fmt: skip


def fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value (or a tuple for a list) belongs to a type; 5 is a number, and 5.0 a whole one."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, part) for part in parts)
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(fits(one, parts[0]) for one in value)
    if (origin or hint) is Mapping:
        return isinstance(value, Mapping)
    if hint in (int, float):
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
        return number and (hint is float or float(value).is_integer())
    if hint in (str, Path):
        return isinstance(value, str | Path)
    return isinstance(value, hint) if hint in _WORDS else value is not None or hint is Any


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
    if origin is Sequence:
        return f"a list of {words_of(parts[0]).removeprefix('a ')}s"
    return "a mapping" if (origin or hint) is Mapping else _WORDS.get(hint, f"a value of type {hint}")


def check_option(owner: str, option: str, value: Any, hint: Any, default: str = "") -> None:
    """UsageError unless the value fits; owner: whose option it is, e.g. `method 'fedavg'`."""
    given = repr(value) if isinstance(value, str | Path) else json.dumps(value)
    check(fits(value, hint), f"{owner}: {option}={given} given; allowed: {words_of(hint)}{default}")


def check_command_numbers(
    max_replicas: int | None, max_clients_per_pass: int | None, checkpoint_seconds: float
) -> None:
    """UsageError for numbers of a command that no work can be done with."""
    for name, most in (("max_replicas", max_replicas), ("max_clients_per_pass", max_clients_per_pass)):
        check(most is None or most >= 1, f"{name}={most} given; allowed: 1 or more")
    seconds = checkpoint_seconds
    check(math.isfinite(seconds) and seconds >= 0, f"checkpoint_seconds={seconds} given; allowed: 0 or more")
