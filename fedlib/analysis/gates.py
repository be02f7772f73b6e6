"""Gates: what rows must show before they decide a claim. The same tests for every claim of every paper.

That rows come from real data is `fedlib.analysis.claims.verdict_on`'s own first gate.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fedlib.analysis.claims import Gate
from fedlib.analysis.memo import kept_per_frame

TOLERANCE = 1.0  # points of accuracy by which a flat curve may rise or fall over the last quarter
LAST_QUARTER = 0.75  # share of the rounds after which the slope is taken


def curves_flat(
    by: Sequence[str],
    *,
    length: int,
    value: str = "test_accuracy",
    only: Sequence[str] = (),
    whose: str = "paper",
) -> Gate:
    """Gate for comparisons of levels: every curve has flattened, or is as long as the paper's.

    by: columns that tell curves apart (cells and methods); a curve is the mean over seeds. length: the
    paper's number of rounds, or that of what `whose` names. only: values of the last column of `by` that are
    compared; none: all.
    """

    @kept_per_frame
    def check(rows: pd.DataFrame) -> tuple[bool, str]:
        rows = rows[[*by, "round", value]]
        own = rows[rows[by[-1]].isin(only)] if only else rows
        if own[value].isna().all():
            return False, f"no curves of {', '.join(only) or value}"
        rounds = own.groupby(list(by), dropna=False)["round"].max()
        if rounds.min() >= length:
            late = _steepest(last_quarter_rise(own, by, value))
            way = "rises" if late >= 0 else "falls"
            slope = f"; the steepest curve {way} by {abs(late):.1f} points in the last quarter"
            return True, f"{rounds.min():g} rounds, as in the {whose}{slope if math.isfinite(late) else ''}"
        shorter = rounds[rounds < length].index
        rise = last_quarter_rise(own, by, value).reindex(shorter, fill_value=float("inf"))
        some = f" of {', '.join(dict.fromkeys(shorter.get_level_values(-1)))}" * (len(shorter) < len(rounds))
        where = f"in the last quarter of {rounds.min():g} rounds{some} ({whose}: {length})"
        if unknown := int(np.isinf(rise).sum()):
            return False, f"{unknown} of {len(rise)} curves have fewer than three evaluated rounds {where}"
        if rising := int((rise > TOLERANCE).sum()):
            return False, f"{rising} of {len(rise)} curves still rise, up to {rise.max():.1f} points {where}"
        worst = f"up to {abs(_steepest(rise)):.1f} points {where}"
        if falling := int((rise < -TOLERANCE).sum()):
            return False, f"{falling} of {len(rise)} curves still fall, {worst}"
        return True, f"curves flat: {worst}"

    return Gate(f"curves flat ({TOLERANCE:g} point over the last quarter) or {length} rounds", check)


def _steepest(rises: pd.Series) -> float:
    """The rise that differs most from 0, below 0 for a falling curve."""
    return float(rises.iloc[int(rises.abs().to_numpy().argmax())])


def last_quarter_rise(rows: pd.DataFrame, by: Sequence[str], value: str) -> pd.Series:
    """Least-squares slope of each curve over the last quarter of its rounds, times their number (points).

    Below 0 for a falling curve. A curve with fewer than three evaluated rounds there has no slope: infinity,
    as nothing shows it flat.
    """

    def rise(curve: pd.Series) -> float:
        rounds = curve.index.get_level_values("round").to_numpy(dtype=float)
        late = rounds > LAST_QUARTER * rounds.max()
        if late.sum() < 3:
            return float("inf")
        slope = np.polyfit(rounds[late], 100 * curve.to_numpy()[late], 1)[0]
        return float(slope * (rounds.max() - rounds[late].min()))

    known = rows.loc[rows[value].notna() & (rows["round"] > 0), [*by, "round", value]]
    means = known.groupby([*by, "round"], dropna=False)[value].mean()
    return means.groupby(level=list(by), dropna=False).apply(rise)


def at_scale(name: str, **needed: float) -> Gate:
    """Gate: the rows' largest value of each column is at least so much (workers, episodes, rounds)."""

    def check(rows: pd.DataFrame) -> tuple[bool, str]:
        largest = {column: rows[column].max() for column in needed}
        short = {column: value for column, value in largest.items() if not value >= needed[column]}
        words = ", ".join(f"{short[c]:g} {c.replace('_', ' ')} of {needed[c]:g}" for c in short)
        return not short, f"{name} not reached: {words}" if short else ""

    return Gate(name, check)
