"""The papers' printed numbers, and their errata recomputed from them."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from fedlib.errors import check_name
from fedlib.paths import published_folder


def load_published(name: str) -> pd.DataFrame:
    """A printed table, e.g. `feddrl_table3`: one row per printed number.

    Columns paper, artifact, dataset, partition, n_clients, method, metric, value, unit, note; `value` is
    numeric where every entry of the file is a number. Raises UsageError for an unknown name.
    """
    known = sorted(path.stem for path in published_folder().glob("*.csv"))
    return pd.read_csv(published_folder() / f"{check_name('published table', name, known)}.csv")


def printed_rows(table: str, **where: object) -> pd.DataFrame:
    """Rows of a printed table whose columns have these values, compared as text; "" is an empty cell."""
    rows = load_published(table)
    for column, value in where.items():
        rows = rows[rows[column].map(str).where(rows[column].notna(), "") == str(value)]
    return rows


def printed_value(table: str, **where: object) -> float:
    """The first number of `printed_rows`; IndexError if there is none."""
    return float(printed_rows(table, **where).value.iloc[0])


def printed_values(table: str, *by: str, **where: object) -> pd.Series:
    """The numbers of `printed_rows` by the columns `by`, as floats."""
    return printed_rows(table, **where).set_index(list(by) if by[1:] else by[0]).value.astype(float)


@dataclass(frozen=True)
class Erratum:
    """Something in a paper that does not agree with itself, shown by computing it again."""

    id: str  # e.g. FEDDRL-E1
    statement: str  # what is claimed or printed, and where
    compute: Callable[[], tuple[str, str, bool]]  # -> printed, recomputed, do they agree
