"""A number computed anew from its committed runs, and compared with its committed value.

Its expected value is that of the committed rows; a repetition may lie within the number's tolerance of it.
"""

from dataclasses import dataclass

import pandas as pd

from fedlib.analysis.intervals import Interval
from fedlib.analysis.numbers import Number, RowsOf, words
from fedlib.errors import DataError
from fedlib.experiments.budget import Budget
from fedlib.experiments.measurements import compute_measurement
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import Store
from fedlib.papers import find_artifact
from fedlib.reporting.numbers import Committed
from fedlib.reporting.verdicts import loader


@dataclass(frozen=True)
class Comparison:
    """A number as committed and as this machine's runs give it."""

    number: Number
    committed: Interval
    here: Interval

    @property
    def apart(self) -> float:
        return abs(self.here.mean - self.committed.mean)

    @property
    def agrees(self) -> bool:
        low, high = self.number.within(self.committed)
        return low <= self.here.mean <= high

    def line(self) -> str:
        """The comparison in a line."""
        values = f"{words(self.here)} here, {words(self.committed)} committed"
        apart = f"{self.apart:.3g} apart, {self.number.within_words(self.committed)} allowed"
        unit = f" {self.number.unit}".rstrip()
        return f"{self.number.id}: {values}{unit}: {'agrees' if self.agrees else 'DIFFERS'} ({apart})"


def reproduce(
    number: Number, store: Store, *, device: str = "auto", budget: Budget | None = None
) -> Comparison:
    """Compute what the store lacks of a number's runs, and compare; DataError where nothing is committed."""
    known = Committed()
    committed = known.value(number)
    if committed is None:
        raise DataError(f"{number.id}: no rows of {', '.join(number.artifacts)} are committed")
    options = {"device": device, "store": store, "budget": budget}
    for artifact in map(find_artifact, number.artifacts):
        if artifact.measurement:
            compute_measurement(artifact.measurement, known.profile(artifact.id), store, budget=budget)
        run_runs(known.runs(artifact), **options)
    here = number.value(_rows_here(known, store))
    if here is None:
        raise DataError(f"{number.id}: its runs failed, or do not reach as far as the committed ones")
    return Comparison(number, committed, here)


def _rows_here(known: Committed, store: Store) -> RowsOf:
    """The store's rows of the committed runs, whatever else it holds."""
    load = loader(store, source="store")

    def rows_of(artifact_id: str) -> pd.DataFrame:
        rows = load(artifact_id, known.profile(artifact_id))
        keys = {run.key for run in known.runs(find_artifact(artifact_id))}
        return rows[rows["run"].isin(keys)] if keys and len(rows) else rows

    return rows_of
