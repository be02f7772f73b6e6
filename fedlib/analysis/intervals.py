"""The interval behind every band, error bar and verdict of the suite, and how it is written."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from fedlib.errors import check

MOST_DECIMALS = 6
NOTHING = 1e-9  # rounding errors of a mean that is 0
LOGARITHM = "(100 log)"  # in the name of a part: its effect is 100 times the logarithm of a ratio


@dataclass(frozen=True)
class Interval:
    """Mean of n values and its 95 % t interval; without width (NaN bounds) for one value."""

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def from_columns(cls, row: pd.Series, name: str, bounds: str | None = None) -> "Interval":
        """The interval that a row of a table has in the columns of `columns` and in n."""
        start = f"{name} " if bounds is None else bounds
        return cls(row[name], row[f"{start}low"], row[f"{start}high"], int(row["n"]))

    def columns(self, name: str, bounds: str | None = None) -> dict[str, float]:
        """Columns of a table: `name`, and low and high after `bounds` (by default `<name> `)."""
        start = f"{name} " if bounds is None else bounds
        return {name: self.mean, f"{start}low": self.low, f"{start}high": self.high}


@dataclass(frozen=True)
class Ratio(Interval):
    """A ratio with its interval: 1 is no difference, and it is written without a sign."""

    @classmethod
    def of(cls, logarithm: Interval) -> "Ratio":
        """The ratio whose logarithm, times 100, this is."""
        mean, low, high = (math.exp(x / 100) for x in (logarithm.mean, logarithm.low, logarithm.high))
        return cls(mean, low, high, logarithm.n)

    def __str__(self) -> str:
        mean, *bounds = (number_words(x) for x in (self.mean, self.low, self.high) if not math.isnan(x))
        return f"{mean} [{', '.join(bounds)}]" if bounds else mean


NO_INTERVAL = Interval(math.nan, math.nan, math.nan, 0)  # of no values


def mean_interval(values: np.ndarray) -> Interval:
    """Mean and 95 % t interval, `mean +- t(n-1) * s / sqrt(n)`; NaN values are an error."""
    values = np.asarray(values, dtype=float)
    check(
        values.size > 0 and bool(np.isfinite(values).all()), "an interval needs finite values, at least one"
    )
    mean, low, high = map(float, t_bounds(values))
    return Interval(mean, low, high, values.size)


def t_bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, lower and upper bound of the 95 % t interval over the last axis; one value has no bounds."""
    n, mean = values.shape[-1], values.mean(axis=-1)
    if n < 2:
        return mean, np.full_like(mean, math.nan), np.full_like(mean, math.nan)
    half = t_quantile(n - 1) * values.std(axis=-1, ddof=1) / math.sqrt(n)
    return mean, mean - half, mean + half


@functools.cache
def t_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t; a figure of curves asks for the same few thousands of times."""
    return float(special.stdtrit(freedom, 0.975))


def interval_words(interval: Interval, *, apart: Sequence[float] = ()) -> str:
    """`+1.20 [+0.80, +1.60]`: as many decimals as the width deserves, and enough to show each bound's sign.

    One value has no interval: `+1.20`. apart: values, such as a margin, on whose side each bound is shown.
    """
    shown = [x for x in (interval.mean, interval.low, interval.high) if not math.isnan(x)]
    width = (interval.high - interval.low) / 2 if interval.n > 1 else abs(interval.mean)
    places = decimals(width)
    pairs = [*((x, 0.0) for x in shown), *((bound, value) for bound in shown[1:] for value in apart)]
    while places < MOST_DECIMALS and any(
        abs(x - value) > NOTHING and round(x, places) == round(value, places) for x, value in pairs
    ):
        places += 1
    mean, *bounds = (f"{x:+.{places}f}" for x in shown)
    return f"{mean} [{', '.join(bounds)}]" if bounds else mean


def effect_words(interval: Interval, unit: str = "") -> str:
    """`−0.30 [−0.50, −0.10] nats`, with a minus sign for a page."""
    return f"{interval_words(interval)} {unit}".strip().replace("-", "−")


def mean_words(values: pd.Series, unit: str = "") -> str:
    """`effect_words` of the mean over a series by seed, without its NaN values."""
    return effect_words(mean_interval(values.dropna().to_numpy()), unit)


def ratio_words(logarithm: Interval) -> str:
    """100 times the logarithm of a ratio as the ratio: `1.24 [1.13, 1.35]`; one value has no interval."""
    return str(Ratio.of(logarithm))


def unit_words(what: str, unit: str) -> str:
    """The unit of an effect of this name: a logarithm is no percentage."""
    return "100 log" if LOGARITHM in what else unit


def by_sign(interval: Interval, *, above: str, below: str, undecided: str) -> str:
    """The words for an interval above 0, below 0, or around it; a ratio's is told from 1.

    One value decides nothing.
    """
    nothing = 1 if isinstance(interval, Ratio) else 0
    return above if interval.low > nothing else below if interval.high < nothing else undecided


def barely_decided(interval: Interval, bound: float = 0.0) -> bool:
    """Whether a bound lies outside the interval by less than a twentieth of its width."""
    outside = max(interval.low - bound, bound - interval.high)
    return 0 < outside < (interval.high - interval.low) / 20


def decided_words(interval: Interval, unit: str = "") -> str:
    """`effect_words`, with `(barely)` where 0 lies next to an end of the interval."""
    return f"{effect_words(interval, unit)}{' (barely)' * barely_decided(interval)}"


def by_side(
    found: Mapping[str, Interval], *, above: str, below: str, undecided: str = "undecided"
) -> dict[str, list[str]]:
    """Names under the words of `by_sign` for their intervals; a side may have none."""
    sides: dict[str, list[str]] = {above: [], below: [], undecided: []}
    for name, interval in found.items():
        sides[by_sign(interval, above=above, below=below, undecided=undecided)].append(name)
    return sides


def decimals(scale: float) -> int:
    """Decimals that show two significant digits of a number of this size."""
    if not scale or not math.isfinite(scale):
        return 2
    return min(max(1 - math.floor(math.log10(abs(scale))), 0), MOST_DECIMALS)


def number_words(value: float, *, signed: bool = False) -> str:
    """A number with three significant digits, in plain notation."""
    places = min(max(2 - math.floor(math.log10(abs(value))), 0), MOST_DECIMALS) if value else 0
    return f"{value:{'+' if signed else ''}.{places}f}"
