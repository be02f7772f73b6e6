"""Training before round 1: its simulated time and the controls it is held against, rows to words."""

import json

import pandas as pd

from fedlib.analysis.intervals import mean_interval, mean_words
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.device_quantities import contestants_of, less_at_equal_time, named, per_run
from fedlib.papers.head_to_head.device_runs import TIMED, twins, uninformed, untrained
from fedlib.papers.head_to_head.quantities import median_with_never
from fedlib.words import counted

FEDAVG = "FedAvg"


def training_hours(rows: pd.DataFrame) -> pd.Series:
    """Simulated hours of the training before round 1, mean over the seeds, by contestant that has any."""
    if "training_latency_seconds" not in rows:
        return pd.Series(dtype=float)
    own = rows[rows.training_latency_seconds.notna()]
    if own.empty:
        return pd.Series(dtype=float)
    of_rounds = own.training_latency_seconds.map(lambda text: sum(json.loads(text)))  # an episode's mean each
    return (of_rounds * own.rounds / 3600).groupby(contestants_of(own)).mean()


def cost_words(rows: pd.DataFrame) -> str:
    """Say how long that training lasts, in runs of FedAvg, and after how many runs its saving makes up."""
    hours, runs = training_hours(rows), per_run(own := named(rows))
    names = [name for name in TIMED if name in hours]
    if not names or FEDAVG not in set(own.contestant):
        return ""
    length = own[own.contestant == FEDAVG].groupby("run").hours.max().mean()
    each = listed([f"{hours[name]:.0f} simulated hours ({name})" for name in names])
    times = listed([f"{hours[name] / length:.0f}" for name in names])
    medians = {name: median_with_never(runs[runs.contestant == name].hours) for name in (FEDAVG, *names)}
    saved = {name: medians[FEDAVG] - medians[name] for name in names}
    pays = [
        f"{name}'s after {hours[name] / gain:.0f} (of {gain:.1f} h each)"
        for name, gain in saved.items() if gain > 0
    ]  # fmt: skip
    return (
        f"Training before round 1, which no time here counts, lasts {each}, {times} times a run of FedAvg."
        + f" By the median time saved to the target it pays, if it is trained once for many runs: "
        f"{listed(pays)}." * bool(pays)
    )


def weak_control_words(rows: pd.DataFrame) -> str:
    """Say for whom the policy taught on rewards of other decisions is behind the untrained one."""
    gaps = {name: less_at_equal_time(rows, uninformed(name), untrained(name)) for name in TIMED}
    worse = [
        f"{name} ({mean_words(gap)})"
        for name, gap in gaps.items() if len(gap) > 1 and mean_interval(gap.to_numpy()).high < 0
    ]  # fmt: skip
    return (
        f"Taught on rewards of other decisions, a policy is behind the untrained one: {listed(worse)}, in "
        "points. A lead over it alone does not say that training helps."
    ) * bool(worse)


def without_failures_words(rows: pd.DataFrame) -> str:
    """Methods with failed runs less FedAvg and less their twins, in the seeds without a failure."""
    runs, told = per_run(named(rows)), []
    for name in TIMED:
        if not runs.diverged[runs.contestant == name].any():
            continue
        gaps = {
            words: less_at_equal_time(rows, name, rival, failed=False)
            for words, rival in ((FEDAVG, FEDAVG), *twins(name).items())
        }
        less = [
            f"{mean_words(gap)} from {words} ({counted(len(gap), 'seed')})"
            for words, gap in gaps.items() if len(gap) > 1
        ]  # fmt: skip
        told += [f"{name} is {listed(less)}"] * bool(less)
    return f"In the seeds in which neither run failed, in points: {'; '.join(told)}." * bool(told)
