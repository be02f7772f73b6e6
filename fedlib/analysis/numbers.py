"""A number that a text states, as data: from which rows, and its tolerance.

Texts are README, pages of docs, and notebooks' first screens.

Each paper registers its own in `numbers.py`; `fedlib.reporting.numbers` lists them, `repetition` there
repeats one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from fedlib.analysis.claims import Claim, Part, real_rows
from fedlib.analysis.decisions import EVERYWHERE
from fedlib.analysis.intervals import (
    LOGARITHM,
    Interval,
    Ratio,
    interval_words,
    mean_interval,
    number_words,
)
from fedlib.analysis.samples import samples_of
from fedlib.words import counted

RowsOf = Callable[[str], pd.DataFrame]  # artifact id -> its rows, empty where there are none
README, FINDINGS = "README.md", "docs/findings.md"
TIMES = 3.0  # factor within which another machine's times count as the same


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number, with its interval over seeds where it has one."""

    id: str  # `<paper>-<words>`
    what: str  # in words, unit left out
    unit: str
    artifacts: tuple[str, ...]  # whose rows it takes
    compute: Callable[[RowsOf], Interval | None]  # None where these rows lack what it compares
    places: tuple[str, ...] = (README,)  # files that state it
    tolerance: float | None = None  # in the unit; None: half the width of its interval
    factor: float | None = None  # instead of a tolerance, of times: the largest ratio either way

    def value(self, rows_of: RowsOf) -> Interval | None:
        """The number from these rows; None where an artifact has none."""
        if any(rows_of(name).empty for name in self.artifacts):
            return None
        return self.compute(rows_of)

    def within(self, value: Interval) -> tuple[float, float]:
        """Least and largest value that a repetition may have."""
        if self.factor is not None:
            return value.mean / self.factor, value.mean * self.factor
        off = (value.high - value.low) / 2 if self.tolerance is None else self.tolerance
        return value.mean - off, value.mean + off

    def within_words(self, value: Interval) -> str:
        """`0.5`, a distance in the unit, or `a factor of 3`."""
        if self.factor is not None:
            return f"a factor of {self.factor:g}"
        return f"{self.within(value)[1] - value.mean:.3g}"


def of_claim(
    claims: Sequence[Claim], claim_id: str, part: int, *, id: str, places: tuple[str, ...], artifact: str = ""
) -> Number:
    """The effect of one part of a claim on rows of real data, mean over the cells at hand.

    artifact: whose rows; by default the claim's own, not those of its `fallback`.
    """
    claim = next(one for one in claims if one.id == claim_id)
    chosen, place = claim.parts[part], artifact or claim.artifact

    words = f"{chosen.what}{', mean over its cells' * (chosen.kind == EVERYWHERE)} ({claim_id})"
    return of_part(chosen, id=id, what=words, artifact=place, places=places)


def of_part(part: Part, *, id: str, what: str, artifact: str, places: tuple[str, ...]) -> Number:
    """The effect of a part on an artifact's rows of real data, mean over the cells at hand.

    The logarithm of a ratio is stated as the ratio: `58.8 % longer` would be read as 1.59 times as long.
    """

    def compute(rows_of: RowsOf) -> Interval | None:
        samples = samples_of(part, real_rows(rows_of(artifact)))
        if samples.empty:
            return None
        found = mean_interval(samples.mean(axis=1).to_numpy())
        return Ratio.of(found) if logarithm else found

    logarithm = LOGARITHM in part.what
    what, unit = what.replace(f" {LOGARITHM}", ""), "times" if logarithm else part.unit
    return Number(id=id, what=what, unit=unit, artifacts=(artifact,), compute=compute, places=places)


def single(value: float) -> Interval:
    """A value without an interval."""
    return Interval(float(value), math.nan, math.nan, 1)


def words(value: Interval) -> str:
    """`+1.2 [+0.8, +1.6]`, a ratio `1.2 [0.8, 1.6]`; else three significant digits, or a whole number."""
    if isinstance(value, Ratio):
        return str(value)
    if not math.isnan(value.low):
        return interval_words(value)
    return f"{value.mean:,.0f}" if value.mean.is_integer() else number_words(value.mean)


def stated(number: Number, rows_of: RowsOf) -> str:
    """The number with its unit as a sentence has it: `−0.2 [−1.7, +1.4] points`; empty without rows."""
    value = number.value(rows_of)
    return f"{words(value)} {number.unit}".strip().replace("-", "−") if value else ""


def seeds_of(number: Number, rows_of: RowsOf) -> str:
    """` (10 seeds)`, those behind a number; empty without rows."""
    value = number.value(rows_of)
    return f" ({counted(value.n, 'seed')})" if value else ""
