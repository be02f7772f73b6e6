"""Methods, partitions and models by name, or from a module of the user's by `package.module:name`."""

import pkgutil
from collections.abc import Mapping
from typing import Any

from fedlib.errors import UsageError, check, check_name


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
