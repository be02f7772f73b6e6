"""Methods, partitions and models by name, or from a module of the user's by `package.module:name`."""

import inspect
import pkgutil
from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fedlib.errors import UsageError, check, check_name

Entry = TypeVar("Entry")


class Registry(UserDict[str, Entry]):
    """Holds fedlib's own entries and those that a session adds under names that fedlib does not use.

    A session's entry may be replaced. UsageError for replacing one of fedlib's, whose name stored rows carry.
    """

    def __init__(self, kind: str, own: Mapping[str, Entry]):
        self._kind, self._own = kind, dict(own)
        super().__init__(own)

    def __setitem__(self, name: str, entry: Entry) -> None:
        check(
            self._own.get(name, entry) is entry,
            f"{self._kind} {name!r} is fedlib's own, and stored rows carry its name; allowed: another name",
        )
        super().__setitem__(name, entry)


def find_named(kind: str, name: str, known: Mapping[str, Any], registry: str) -> Any:
    """`known[name]`, or what `package.module:name` defines; UsageError for an unknown one.

    kind: method, partition or model. registry: the dotted name of `known`, for the error line.
    """
    if ":" not in name:
        return known[check_name(kind, name, known, more=", or package.module:name of your own")]
    try:
        found = pkgutil.resolve_name(name)
    except (ImportError, ValueError, AttributeError, SyntaxError) as error:
        raise UsageError(
            f"{kind} {name!r} cannot be imported ({error}); allowed: a name of `{registry}`, or "
            "package.module:name of a module on Python's path"
        ) from error
    check(callable(found), f"{kind} {name!r} given; allowed: a class or function, see docs/adding.md")
    return found


def check_takes(
    what: str, function: Callable[..., Any], *given: str, allowed: str, options: bool = False
) -> None:
    """UsageError unless a function takes these arguments, by position, and needs no other.

    what: e.g. `model 'own:network'`. options: further ones may be needed, which are checked elsewhere.
    """
    try:
        signature = inspect.signature(function)
        (signature.bind_partial if options else signature.bind)(*given)
    except (TypeError, ValueError) as error:  # ValueError: a built-in function without a signature
        found = "arguments that cannot be told" if isinstance(error, ValueError) else str(signature)
        raise UsageError(f"{what} takes {found}; allowed: {allowed}") from error
