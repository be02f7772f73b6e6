"""Tables that several claims, numbers and figures take from the same rows, and columns, computed once."""

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import pandas as pd

Table = Callable[..., pd.DataFrame]
Found = TypeVar("Found")


def map_distinct(values: pd.Series, read: Callable[[Any], Any]) -> pd.Series:
    """`values.map(read)` for a column of few distinct values: each is read once."""
    return values.map({value: read(value) for value in values.unique()})


def kept_per_frame(table: Callable[..., Found]) -> Callable[..., Found]:
    """Decorate `table(rows, *options)`: computed once per frame and options, kept as long as the frame.

    For frames that nobody changes in place, as those of a loader. Every call returns the same object, so
    that what is kept for it is found again; nobody may change it either.
    """
    kept: dict[int, dict[tuple, Found]] = {}

    @functools.wraps(table)
    def found(rows: pd.DataFrame, *options: object) -> Found:
        own = kept.get(id(rows), {})
        if options in own:
            return own[options]
        made = table(rows, *options)
        if made is not rows:  # else it would keep itself
            if id(rows) not in kept:
                weakref.finalize(rows, kept.pop, id(rows)).atexit = False
            kept.setdefault(id(rows), {})[options] = made
        return made

    return found


def once_per_frame(table: Table) -> Table:
    """`kept_per_frame`, with a copy of its own for each call."""
    shared = kept_per_frame(table)

    @functools.wraps(table)
    def found(rows: pd.DataFrame, *options: object) -> pd.DataFrame:
        return shared(rows, *options).copy(deep=False)

    return found
