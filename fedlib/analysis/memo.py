"""Tables that several claims, numbers and figures take from the same rows, computed once for them."""

import functools
import weakref
from collections.abc import Callable

import pandas as pd

Table = Callable[..., pd.DataFrame]


def once_per_frame(table: Table) -> Table:
    """Decorate `table(rows, *options)`: computed once per frame and options, kept as long as the frame.

    For frames that nobody changes in place, as those of a loader; each call returns a copy of its own.
    """
    kept: dict[int, dict[tuple, pd.DataFrame]] = {}

    @functools.wraps(table)
    def found(rows: pd.DataFrame, *options: object) -> pd.DataFrame:
        if id(rows) not in kept:
            kept[id(rows)] = {}
            weakref.finalize(rows, kept.pop, id(rows)).atexit = False
        own = kept[id(rows)]
        if options not in own:
            own[options] = table(rows, *options)
        return own[options].copy(deep=False)

    return found
