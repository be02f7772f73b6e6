"""From rows to verdicts: what all papers' claims share.

A verdict rests on an interval over seeds: the whole interval on the claim's side is `supported`, on
the other `not supported`, neither is `mixed`; one seed decides nothing. Of several parts all must hold:
one that is refuted refutes the claim.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fedlib.errors import check
from fedlib.intervals import Interval, mean_interval
from fedlib.papers import NOT_TESTABLE, Verdict

if TYPE_CHECKING:
    import pandas as pd


TAIL = 0.025  # of a 95 % interval, on either side


def final(rows: "pd.DataFrame", value: str = "test_accuracy", *, percent: bool = True) -> "pd.Series":
    """`value` after the last evaluated round of each seed, by seed; in percent or as it is.

    rows: of one cell and one method, at most one per seed and round.
    """
    known = _of_one_cell(rows, value)
    last = known.loc[known.groupby("seed")["round"].idxmax()].set_index("seed")[value].sort_index()
    return 100 * last if percent else last


def best(
    rows: "pd.DataFrame", value: str = "test_accuracy", *, percent: bool = True, smallest: bool = False
) -> "pd.Series":
    """The largest (or smallest) `value` over all rounds of each seed, by seed; in percent or as it is."""
    by_seed = _of_one_cell(rows, value).groupby("seed")[value]
    found = (by_seed.min() if smallest else by_seed.max()).sort_index()
    return 100 * found if percent else found


def _of_one_cell(rows: "pd.DataFrame", value: str) -> "pd.DataFrame":
    known = rows[rows[value].notna()]
    twice = known[known.duplicated(["seed", "round"])]
    if len(twice):
        one = twice.iloc[0]
        check(
            False, f"more than one row for seed {one['seed']:g}, round {one['round']:g}; allowed: one method"
        )
    return known


def paired(a: "pd.Series", b: "pd.Series") -> Interval:
    """Mean of a - b over the seeds that both have, with its 95 % t interval."""
    difference = (a - b).dropna()
    check(len(difference) > 0, "no seed in common")
    return mean_interval(difference.to_numpy())


def pooled(cells: Iterable[tuple["pd.Series", "pd.Series"]]) -> Interval:
    """Mean over cells of a - b per seed, then mean and 95 % t interval over the seeds that all cells have."""
    import pandas as pd

    differences = pd.concat([a - b for a, b in cells], axis=1).dropna()
    check(len(differences) > 0, "no seed in common")
    return mean_interval(differences.mean(axis=1).to_numpy())


def words(interval: Interval, unit: str = "points", digits: int = 2) -> str:
    """`+1.20 points [+0.80, +1.60], 3 seeds`; a single seed has no interval."""
    mean = f"{interval.mean:+.{digits}f} {unit}".strip()
    if interval.n < 2:
        return f"{mean}, 1 seed"
    return f"{mean} [{interval.low:+.{digits}f}, {interval.high:+.{digits}f}], {interval.n} seeds"


def by_sign(interval: Interval, evidence: str, *, margin: float = 0.0) -> Verdict:
    """Supported if the whole interval lies above `margin`, not supported if below, mixed if it holds it."""
    if interval.n < 2:
        return Verdict(NOT_TESTABLE, evidence)
    if interval.low > margin:
        return Verdict("supported", evidence)
    return Verdict("not supported" if interval.high < margin else "mixed", evidence)


def by_count(flags: Sequence[bool], evidence: str) -> Verdict:
    """Supported if it holds in every case, not supported if in none, else mixed; no case decides nothing."""
    if not flags:
        return Verdict(NOT_TESTABLE, evidence)
    return Verdict("supported" if all(flags) else "mixed" if any(flags) else "not supported", evidence)


def tally(found: dict[str, Interval]) -> str:
    """In how many cells an interval is clearly at least 0 or below it, and how many chance would put below.

    2.5 % of them, so that one or two of a large table refute little.
    """
    ahead = sum(interval.low >= 0 for interval in found.values())
    behind = sum(interval.high < 0 for interval in found.values())
    return (
        f"clearly at least 0 in {ahead}, clearly below in {behind} of {len(found)} cells "
        f"({TAIL * len(found):.1f} by chance if all were equal)"
    )


def in_every_cell(found: dict[str, Interval], what: str, unit: str, expected: int | None = None) -> Verdict:
    """A claim about all cells: one cell clearly below 0 refutes it, all at least 0 support it.

    expected: how many cells there are; None: those found. Cells that are not among those found cannot
    support it. The evidence ends with the interval that decided: of the cells clearly below 0 the one
    farthest below, else the one that keeps the claim from holding, or holds it most narrowly.
    """
    if not found:
        return Verdict(NOT_TESTABLE, "none of the cells that it needs has been run yet")
    behind = {cell: interval.high for cell, interval in found.items() if interval.high < 0}
    lows = {cell: interval.low if interval.n > 1 else -math.inf for cell, interval in found.items()}
    ends = behind or lows
    deciding = min(ends, key=lambda cell: ends[cell])
    missing = (expected or len(found)) - len(found)
    absent = f"; {missing} of {expected} cells not among these" if missing else ""
    evidence = f"{what}: {tally(found)}{absent}; decided by {deciding}, {words(found[deciding], unit)}"
    if behind:
        return Verdict("not supported", evidence)
    return Verdict("supported" if min(lows.values()) >= 0 and not missing else "mixed", evidence)


def against_printed(
    interval: Interval | None, printed: float, what: str, upper: float | None = None
) -> Verdict:
    """Supported if clearly above 0 and of the printed size, not supported if clearly below that size.

    upper: the other end of a printed range. An interval wholly above the printed size agrees with the
    claim's direction and not with its number: mixed.
    """
    if interval is None:
        return Verdict(NOT_TESTABLE, "none of the cells that it needs has been run yet")
    top = printed if upper is None else upper
    size = f"{printed:g} %" if upper is None else f"{printed:g} to {upper:g} %"
    evidence = f"{what} {words(interval, '%')}, printed {size}"
    if interval.n < 2:
        return Verdict(NOT_TESTABLE, evidence)
    if interval.high < printed:
        return Verdict("not supported", evidence)
    return Verdict("supported" if 0 < interval.low <= top else "mixed", evidence)


def all_of(parts: Iterable[Verdict]) -> Verdict:
    """A claim of several parts: all must be supported, and one that is refuted refutes the claim."""
    parts = list(parts)
    evidence = "; ".join(part.evidence for part in parts)
    found = {part.verdict for part in parts}
    for verdict in (NOT_TESTABLE, "not supported", "mixed"):
        if verdict in found:
            return Verdict(verdict, evidence)
    return Verdict("supported", evidence)
