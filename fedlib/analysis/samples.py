"""Samples of a claim's part by seed and cell, and the data sets that they are made of."""

from collections.abc import Callable, Sequence
from typing import Protocol

import pandas as pd

from fedlib.errors import UsageError


class Estimating(Protocol):
    """A part of a claim (`fedlib.analysis.claims.Part`), as far as its samples need it."""

    @property
    def estimand(self) -> Callable[[pd.DataFrame], pd.DataFrame | pd.Series]: ...


def samples_of(part: Estimating, rows: pd.DataFrame) -> pd.DataFrame:
    """The part's estimand by seed and cell, for the seeds that all cells have."""
    table = part.estimand(rows) if len(rows) else pd.DataFrame()
    table = table.to_frame("all") if isinstance(table, pd.Series) else table
    return table.dropna(axis="columns", how="all").dropna()


def rows_that_count(
    parts: Sequence[Estimating], rows: pd.DataFrame, samples: Sequence[pd.DataFrame]
) -> pd.DataFrame:
    """The rows of the data sets without which a sample of these parts changes; all, where none does.

    samples: of each part, from all the rows.
    """
    names = rows["dataset"].dropna().unique() if "dataset" in rows else ()
    if len(names) < 2:
        return rows
    idle = [name for name in names if _alike(parts, rows[rows["dataset"] != name], samples)]
    return rows if len(idle) == len(names) else rows[~rows["dataset"].isin(idle)]


def _alike(parts: Sequence[Estimating], rows: pd.DataFrame, samples: Sequence[pd.DataFrame]) -> bool:
    try:
        return all(samples_of(part, rows).equals(own) for part, own in zip(parts, samples, strict=True))
    except UsageError:  # these rows lack what is compared
        return False
