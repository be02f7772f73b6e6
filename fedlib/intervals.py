"""The interval behind every band, error bar and verdict of the suite."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedlib.errors import check

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Interval:
    """Mean of n values and its 95 % t interval; without width (NaN bounds) for one value."""

    mean: float
    low: float
    high: float
    n: int


def mean_interval(values: "np.ndarray") -> Interval:
    """Mean and 95 % t interval, `mean +- t(n-1) * s / sqrt(n)`; NaN values are an error."""
    import numpy as np
    from scipy import stats

    values = np.asarray(values, dtype=float)
    check(
        values.size > 0 and bool(np.isfinite(values).all()), "an interval needs finite values, at least one"
    )
    mean, n = float(values.mean()), values.size
    half = float(stats.t.ppf(0.975, n - 1) * stats.sem(values)) if n > 1 else math.nan
    return Interval(mean, mean - half, mean + half, n)
