"""Contrasts of series by seed: final and best values, paired and pooled differences with their intervals."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.errors import check

LAST = 0.1  # share of the rounds that levels are averaged over


def last_rounds(rows: pd.DataFrame, by: str = "run") -> pd.DataFrame:
    """The rows of the last tenth of the rounds of each run, or of whatever `by` tells apart; at least one."""
    length = rows.groupby(by)["round"].transform("max")
    return rows[rows["round"] > length - np.maximum(1, np.floor(LAST * length))]


def last_tenth_mean(rows: pd.DataFrame) -> pd.Series:
    """Mean test accuracy over the last tenth of the rounds of each seed, by seed, in percent.

    rows: as for `final`.
    """
    known = last_rounds(_of_one_cell(rows, "test_accuracy"), "seed")
    return 100 * known.groupby("seed").test_accuracy.mean()


def final(rows: pd.DataFrame, value: str = "test_accuracy") -> pd.Series:
    """`value` after the last evaluated round of each seed, by seed, in percent.

    rows: of one cell and one method, at most one per seed and round.
    """
    known = _of_one_cell(rows, value)
    return 100 * known.sort_values("round").groupby("seed")[value].last()


def best(rows: pd.DataFrame, value: str = "test_accuracy") -> pd.Series:
    """The largest `value` over all rounds of each seed, by seed, in percent."""
    return 100 * _of_one_cell(rows, value).groupby("seed")[value].max().sort_index()


def best_of_each(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """`best` of every method of one cell at once, in percent: a row per seed, a column per value of `by`."""
    known = _of_one_cell(rows, "test_accuracy", by)
    largest = known.groupby([by, "seed"], sort=False).test_accuracy.max()
    return 100 * largest.unstack(by).sort_index()


def _of_one_cell(rows: pd.DataFrame, value: str, *by: str) -> pd.DataFrame:
    known = rows[rows[value].notna()]
    twice = known[known.duplicated([*by, "seed", "round"])]
    if len(twice):
        one = twice.iloc[0]
        several = f"more than one row for seed {one['seed']:g}, round {one['round']:g}"
        check(False, f"{several}; allowed: one method with one value of `group`, its description")
    return known


def by_seed(rows: pd.DataFrame, measure: Callable[[pd.DataFrame], float]) -> pd.Series:
    """`measure` of each seed's rows."""
    return pd.Series({int(seed): measure(own) for seed, own in rows.groupby("seed")}, dtype=float)


def paired(a: pd.Series, b: pd.Series) -> Interval:
    """Mean of a - b over the seeds that both have, with its 95 % t interval."""
    difference = (a - b).dropna()
    check(len(difference) > 0, "no seed in common")
    return mean_interval(difference.to_numpy())


def pooled(cells: Iterable[tuple[pd.Series, pd.Series]]) -> Interval:
    """Mean over cells of a - b per seed, then mean and 95 % t interval over the seeds that all cells have."""
    differences = pd.concat([a - b for a, b in cells], axis=1).dropna()
    check(len(differences) > 0, "no seed in common")
    return mean_interval(differences.mean(axis=1).to_numpy())
