"""Suggestions beside an error about --set: the setting that was meant, the method that has an option."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from fedlib.errors import UsageError
from fedlib.run import Run


def of_unknown_setting(
    error: UsageError, settings: Iterable[str], runs: Sequence[Run], names: Mapping[str, str]
) -> UsageError:
    """The error; of a `share` that is an option of a method or partition with `method.share` suggested.

    names: the `method` and `partition` that were named, if any; else they are those of the runs.
    """
    for key in settings:
        text = f"unknown setting {key!r}"
        if str(error).startswith(text) and (meant := _with_owner(key, runs, names)):
            _, allowed, known = str(error).partition("; allowed:")
            return UsageError(f"{text} (did you mean {meant!r}?){allowed}{known}")
    return error


def _with_owner(option: str, runs: Sequence[Run], names: Mapping[str, str]) -> str | None:
    from fedlib.partition import partition_options

    def used(kind: str) -> Iterable[str]:
        return [names[kind]] if kind in names else [getattr(run, kind) for run in runs]

    for name in dict.fromkeys(used("partition")):
        with contextlib.suppress(UsageError):  # of a partition that does not exist
            if option in partition_options(name):
                return f"partition.{option}"
    return f"method.{option}" if _methods_with(option, used("method")) else None


_CONTROLS = {  # value of `agent` that some methods have -> what others have in its place
    "permuted": {"reward_order": "permuted"},
    "untrained": {"policy": "untrained", "episodes": 0},
}


def of_control(error: UsageError, settings: Mapping[str, Any], methods: Collection[str]) -> UsageError:
    """The error; of `method.agent=permuted` or `untrained` with the method's own option for it suggested."""
    value = settings.get("method.agent")
    refused = f"agent={value!r} given" in str(error) or "'agent'; allowed" in str(error)
    for option, own in _CONTROLS.get(value, {}).items() if isinstance(value, str) and refused else ():
        if len(methods) == 1 and _methods_with(option, methods):
            head, _, allowed = str(error).partition("; allowed:")
            return UsageError(f"{head} (did you mean method.{option}={own}?); allowed:{allowed}")
    return error


def of_other_methods_option(
    error: UsageError, settings: Iterable[str], methods: Collection[str]
) -> UsageError:
    """The error, with --method where of several methods only some have the option that it is about."""
    text = str(error)
    for option in (key.removeprefix("method.") for key in settings if key.startswith("method.")):
        if len(methods) > 1 and "method" in text and repr(option) in text:
            having = _methods_with(option, methods)
            if having:
                return UsageError(f"{text}; name the method: --method {having[0]}")
    return error


def _methods_with(option: str, methods: Iterable[str]) -> list[str]:
    """Names of the methods that have this option; imports torch."""
    from fedlib.methods import method_options

    found = []
    for name in dict.fromkeys(methods):
        with contextlib.suppress(UsageError):  # of a method that does not exist
            found += [name] * (option in method_options(name))
    return found
