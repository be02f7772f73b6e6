"""Claims about the scheduler in the other reading of its state, beside the verdict that counts (FRL-A12).

Our agent z-scores the times, as the report says; its code divides each column by its norm besides.
A verdict that holds in one reading only rests on the reading, and its evidence says so.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING

from fedlib.papers import Verdict
from fedlib.papers import frl_measures as measure

if TYPE_CHECKING:
    import pandas as pd

READ, OTHER = "schedulerfl", "schedulerfl_unit"


def as_coded(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The rows with the code's reading in place of ours; empty if it was not run.

    rows: of the agents' training (column `method`), or runs as `frl_measures.named` gives them
    (column `variant`), whose other policies stay.
    """
    column = "variant" if "variant" in rows else "method"
    if not (rows[column] == OTHER).any():
        return rows.iloc[:0]
    return rows[rows[column] != READ].replace({column: {OTHER: READ}})


def in_both_readings(decide: "Callable[[pd.DataFrame], Verdict]") -> "Callable[[pd.DataFrame], Verdict]":
    """`decide`, its evidence followed by what the code's reading would give, and whether that differs."""

    @wraps(decide)
    def decided(rows: "pd.DataFrame") -> Verdict:
        rows = measure.named(rows) if "method_options" in rows else rows
        found, other = decide(rows), as_coded(rows)
        if other.empty:
            return replace(found, evidence=f"{found.evidence}; the code's reading of A12 was not run")
        second = decide(other)
        same = "the same" if second.verdict == found.verdict else f"it would be {second.verdict}"
        text = f"{found.evidence}; in the code's reading of A12 {same}: {second.evidence}"
        return replace(found, evidence=text)

    return decided
