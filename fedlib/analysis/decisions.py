"""Rules that turn estimates over seeds into verdicts: three kinds, and the table that joins parts.

An estimand gives one number per seed and cell. All rules take arrays [..., seeds, cells], so that the
rule which decides on our rows is the one whose error rates `fedlib.analysis.power` simulates.

| kind | supported | not supported |
|---|---|---|
| superiority | the 95 % interval of the mean over cells lies above 0 | it lies below the margin |
| equivalence | the interval lies within -margin and +margin | it lies outside |
| everywhere | every cell's interval lies above -margin | some cell lies below it, after Holm's correction |

Superiority that is both is *supported, smaller than printed*; everything else is *inconclusive*.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fedlib.analysis.intervals import Interval, t_bounds, t_quantile
from fedlib.errors import check_name

SUPPORTED = "supported"
SMALLER = "supported, smaller than printed"
PARTLY = "partly supported"
INCONCLUSIVE = "inconclusive"
REFUTED = "not supported"
NOT_TESTABLE = "not testable here"
NOT_RUN = "not run"
VERDICTS = (SUPPORTED, SMALLER, PARTLY, INCONCLUSIVE, REFUTED, NOT_TESTABLE, NOT_RUN)

SUPERIORITY, EQUIVALENCE, EVERYWHERE, ARITHMETIC = "superiority", "equivalence", "everywhere", "arithmetic"
KINDS = (SUPERIORITY, EQUIVALENCE, EVERYWHERE)
TAIL = 0.025  # of a 95 % interval, on either side


def decide(samples: ArrayLike, kind: str, margin: float, *, sized: bool = True) -> np.ndarray:
    """Verdicts [...] of experiments [..., seeds, cells].

    margin: smallest effect of interest, in the samples' unit. sized: the paper prints a size; without
    one a small superiority is plainly *supported*. One seed is *not testable here*.
    """
    rule = {SUPERIORITY: _superiority, EQUIVALENCE: _equivalence, EVERYWHERE: _everywhere}
    samples = np.asarray(samples, dtype=float)
    found = rule[check_name("kind of claim", kind, rule)](samples, margin)
    if samples.shape[-2] < 2:
        return np.full(found.shape, NOT_TESTABLE)
    return found if sized else np.where(found == SMALLER, SUPPORTED, found)


def _superiority(samples: np.ndarray, margin: float) -> np.ndarray:
    _, low, high = t_bounds(samples.mean(axis=-1))
    above, below = low > 0, high < margin
    return np.select([above & below, above, below], [SMALLER, SUPPORTED, REFUTED], INCONCLUSIVE)


def _equivalence(samples: np.ndarray, margin: float) -> np.ndarray:
    _, low, high = t_bounds(samples.mean(axis=-1))
    inside, outside = (low > -margin) & (high < margin), (low > margin) | (high < -margin)
    return np.select([inside, outside], [SUPPORTED, REFUTED], INCONCLUSIVE)


def _everywhere(samples: np.ndarray, margin: float) -> np.ndarray:
    _, low, _ = t_bounds(np.swapaxes(samples, -1, -2))
    above, below = (low > -margin).all(axis=-1), cells_below(samples, -margin).any(axis=-1)
    return np.select([below, above], [REFUTED, SUPPORTED], INCONCLUSIVE)


def bounds_of(kind: str, verdict: str, margin: float) -> tuple[float, ...]:
    """The bounds that a decided interval is held against; none for *everywhere*, decided by tests."""
    return {
        (SUPERIORITY, SUPPORTED): (0.0,),
        (SUPERIORITY, SMALLER): (0.0, margin),
        (SUPERIORITY, REFUTED): (margin,),
        (EQUIVALENCE, SUPPORTED): (margin, -margin),
        (EQUIVALENCE, REFUTED): (margin, -margin),
    }.get((kind, verdict), ())


def cells_below(samples: np.ndarray, bound: float) -> np.ndarray:
    """Which cells lie below a bound, [..., cells]: one-sided t tests with Holm's correction."""
    n = samples.shape[-2]
    error = samples.std(axis=-2, ddof=1) / math.sqrt(n) if n > 1 else np.full(samples.mean(-2).shape, np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (samples.mean(axis=-2) - bound) / error
    return holm(special.stdtr(max(n - 1, 1), np.where(np.isnan(t), math.inf, t)))


def above_zero(found: Sequence[Interval]) -> list[bool]:
    """Which of several means lie above 0: one-sided t tests, Holm's correction; never one of one value."""
    p = []
    for one in found:
        error = (one.mean - one.low) / t_quantile(one.n - 1) if one.n > 1 else math.inf
        t = one.mean / error if error else math.inf if one.mean > 0 else 0.0
        p.append(float(special.stdtr(max(one.n - 1, 1), -t)))
    return holm(np.array(p)).tolist()


def holm(p: np.ndarray, level: float = TAIL) -> np.ndarray:
    """Holm's step-down over the last axis: which hypotheses fall, with family error `level`."""
    order = np.argsort(p, axis=-1)
    allowed = level / np.arange(p.shape[-1], 0, -1)
    falls = np.logical_and.accumulate(np.take_along_axis(p, order, -1) <= allowed, axis=-1)
    found = np.empty_like(falls)
    np.put_along_axis(found, order, falls, axis=-1)
    return found


def combine(parts: np.ndarray | list[str]) -> np.ndarray:
    """Combine the verdicts of a claim's parts, [parts, ...] -> [...].

    | parts | verdict |
    |---|---|
    | all supported | supported; smaller than printed if one of them is |
    | some supported, some *not supported* | partly supported |
    | some not supported, none supported | not supported |
    | all not testable here | not testable here |
    | anything else | inconclusive |
    """
    parts = np.asarray(parts)
    supported, refuted = np.isin(parts, (SUPPORTED, SMALLER)), parts == REFUTED
    whole, untested = supported.all(axis=0), (parts == NOT_TESTABLE).all(axis=0)
    conditions = [
        whole & (parts == SMALLER).any(axis=0),
        whole,
        refuted.any(axis=0) & supported.any(axis=0),
        refuted.any(axis=0),
        untested,
    ]
    return np.select(conditions, [SMALLER, SUPPORTED, PARTLY, REFUTED, NOT_TESTABLE], INCONCLUSIVE)
