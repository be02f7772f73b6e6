"""Length of runs and of training in simulated time, and what it changes, rows to words.

`head_to_head/devices` at `extended` has runs of 200 rounds with agents that learned in 2,000 rounds before;
`head_to_head/devices_short` runs of 60 rounds with agents that learned in 600. Clients, devices and initial
models are the same, so that both are compared seed by seed, after the rounds that both have.
"""

import pandas as pd

from fedlib.analysis.intervals import mean_words
from fedlib.analysis.numbers import RowsOf
from fedlib.papers.head_to_head.device_quantities import less_at_equal_time, updates
from fedlib.papers.head_to_head.device_runs import LEARN_BEFORE, TIMED, at_random
from fedlib.words import counted

LONG, SHORT = "head_to_head/devices", "head_to_head/devices_short"
FAR_BEHIND = 5.0  # points


def first_rounds(rows_of: RowsOf) -> pd.DataFrame:
    """The rows of the longer runs until the shorter ones end; empty where either lacks rows."""
    long, short = rows_of(LONG), rows_of(SHORT)
    if long.empty or short.empty or long.rounds.max() <= short.rounds.max():
        return pd.DataFrame()
    return long[long["round"] <= short.rounds.max()].assign(rounds=short.rounds.max())


def less_with_longer_training(rows_of: RowsOf, ours: str, theirs: str) -> pd.Series:
    """A lead of the shorter runs less that of the longer ones' first rounds, points, by seed.

    Empty where either lacks rows.
    """
    first = first_rounds(rows_of)
    if first.empty:
        return pd.Series(dtype=float)
    return (
        less_at_equal_time(rows_of(SHORT), ours, theirs) - less_at_equal_time(first, ours, theirs)
    ).dropna()


def length_words(rows_of: RowsOf) -> list[str]:
    """Say what the shorter runs showed of the methods that learn before, and where the longer ones differ."""
    first = first_rounds(rows_of)
    if first.empty:
        return []
    long, short = rows_of(LONG), rows_of(SHORT)
    learned = [name for name in TIMED if name.lower() in LEARN_BEFORE]
    names = [name for name in learned if len(less_with_longer_training(rows_of, name, at_random(name)))]
    each = "; ".join(
        f"{name} {mean_words(less_at_equal_time(short, name, at_random(name)))} there, "
        f"{mean_words(less_at_equal_time(first, name, at_random(name)))} here, a difference of "
        f"{mean_words(less_with_longer_training(rows_of, name, at_random(name)))}"
        for name in names
    )
    rounds = int(short.rounds.max())
    if not names:
        return []
    return [
        f"Shorter runs, of {rounds} rounds, had agents that learned in {updates(short):,} rounds before; "
        f"here they did in {updates(long):,}. Accuracy after {rounds} rounds less that of as many clients at "
        f"random, in points, uncorrected: {each}. This was asked when all rows were known.",
        _by_seed(long, names),
    ]


def _by_seed(rows: pd.DataFrame, names: list[str]) -> str:
    """Count the seeds in which a method is ahead of FedAvg, and far behind it."""
    told = []
    for name in names:
        gap = less_at_equal_time(rows, name, "FedAvg")
        told.append(f"{name} in {(gap > 0).sum()} and in {(gap < -FAR_BEHIND).sum()}")
    return (
        f"Agents differ by seed. Of {counted(rows.seed.nunique(), 'seed')}, so many are ahead of FedAvg, and "
        f"so many more than {FAR_BEHIND:.0f} points behind it: {', '.join(told)}."
    )
