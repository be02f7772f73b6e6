"""Whether a value given for an option is of a type that its annotation allows.

Annotations known here: int, float, bool, str, Path, None, unions, Sequence and Mapping. Any other one,
of a method that a user brings along, lets every value but null pass.
"""

import json
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedlib.errors import check

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
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and (hint is float or float(value).is_integer())
    if hint in (str, Path):
        return isinstance(value, str | Path)
    return isinstance(value, hint) if hint in _WORDS else value is not None or hint is Any


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
