"""Sentences on the rounds that FedDisk saves, which tell a difference from a bound.

A level that FedDisk never reaches counts as reached in the last round, so that the length of the runs sets
the number.
"""

import pandas as pd

from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval, ratio_words
from fedlib.analysis.tables import listed, span_words
from fedlib.data.titles import title_of
from fedlib.papers.feddisk.quantities import reduction, rounds_saved_of_those_run, trials_that_reach
from fedlib.papers.feddisk.tables import ACCURACY
from fedlib.words import counted


def saved_words(rows: pd.DataFrame, rival: str = "quickest competitor") -> str:
    """The rounds saved, or the bound of them where trials never reach the level; empty without rows.

    rows: of one data set; the competitors at hand count. rival: `quickest competitor`, or `quicker` of two.
    """
    if rows.empty:
        return ""
    reached, trials = trials_that_reach(rows)
    found = effect_words(_saved(rows), "rounds")
    less = f"The {rival}'s rounds less those of FedDisk's two phases are"
    if reached == trials:
        level = f"FedDisk reaches the best competitor's level in {reached} of {counted(trials, 'trial')}."
        return f"{less} {found}. {level}"
    if reached:
        return (
            f"{less} {found} at most. FedDisk reaches the best competitor's level in {reached} of "
            f"{counted(trials, 'trial')}; elsewhere it counts as reached in the last round."
        )
    return (
        f"FedDisk never reaches the best competitor's level in {rows['round'].max()} rounds "
        f"(0 of {counted(trials, 'trial')}). Its two phases end at least {_behind(rows)} rounds after the "
        f"{rival}, on average over trials. That is a bound, set by the length of the runs. With the level "
        f"counted as reached in the last round, the difference is {found}."
    )


def furthest_behind(rows: pd.DataFrame) -> list[str]:
    """Sentence on the round in which FedDisk is furthest behind FedAvg, chosen on the mean over trials."""
    by_round = [rows[rows.method == name].pivot_table(index="round", columns="seed", values=ACCURACY)
                for name in ("feddisk", "fedavg")]  # fmt: skip
    leads = 100 * (by_round[0] - by_round[1]).dropna()
    leads = leads[leads.index > 0]
    if leads.empty or leads.mean(axis=1).min() >= 0:
        return []
    at = leads.mean(axis=1).idxmin()
    words = effect_words(mean_interval(leads.loc[at].to_numpy()), "points")
    return [f"FedDisk is furthest behind FedAvg in round {at}, picked after the fact: {words}."]


def traffic_words(rows: pd.DataFrame) -> list[str]:
    """Sentence on C5's effect as a ratio, and whether it is a bound; none without all five methods."""
    found = reduction(rows) if len(rows) else rows
    if found.empty:
        return []
    reached, trials = trials_that_reach(rows)
    ratio = ratio_words(mean_interval(found.to_numpy()))
    bound = (
        f" at most: FedDisk reaches the level in {reached} of {counted(trials, 'trial')}, and counts with "
        "its last round elsewhere"
    ) * (reached < trials)
    return [
        f"In runs of {rows['rounds'].max()} rounds the cheapest competitor's traffic is {ratio} times "
        f"FedDisk's{bound}."
    ]


def saved_in_short(rows: pd.DataFrame) -> str:
    """Whether FedDisk saves rounds, in sentences of at most 25 words."""
    reached, trials = trials_that_reach(rows)
    if not reached:
        return (
            f"It saves no rounds: in {rows['round'].max()} it never reaches the best competitor's level "
            f"(0 of {counted(trials, 'trial')}). On average it is at least {_behind(rows)} behind."
        )
    saved = _saved(rows)
    side = by_sign(saved, above="It saves rounds", below="It saves no rounds",
                   undecided="Whether it saves rounds is not decided")  # fmt: skip
    most = " at most" * (reached < trials)
    return f"{side}: the quickest competitor's less those of its two phases are {effect_words(saved)}{most}."


def fedavg_is_earlier(rows: pd.DataFrame) -> list[str]:
    """By how many rounds FedAvg reaches FedDisk's best level earlier, without phase 1; none if it never does.

    rows: of one data set; a level is that of a trial's own curve.
    """
    own, fedavg = (
        rows[rows.method == name].pivot_table(index="round", columns="seed", values=ACCURACY)
        for name in ("feddisk", "fedavg")
    )
    reaches = fedavg >= own.max()
    if not reaches.any().all():
        return []
    earlier = own.idxmax() - reaches.idxmax()
    if earlier.min() <= 0:
        return []
    return [f"FedAvg reaches FedDisk's own best level {span_words(earlier.tolist())} rounds earlier."]


def reached_words(rows: pd.DataFrame) -> list[str]:
    """Sentence on the data sets where FedDisk does not reach the level in all trials; none without them."""
    told = []
    for name, own in rows.groupby("dataset", sort=False):
        reached, trials = trials_that_reach(own)
        if reached < trials:
            told.append(f"{reached} of {counted(trials, 'trial')} on {title_of(str(name))}")
    if not told:
        return []
    return [
        f"FedDisk reaches the best competitor's level in {listed(told)}. Elsewhere it counts as reached in "
        "the last round: the length of the runs sets these numbers, which are bounds."
    ]


def _saved(rows: pd.DataFrame) -> Interval:
    return mean_interval(rounds_saved_of_those_run(rows).to_numpy())


def _behind(rows: pd.DataFrame) -> str:
    return f"{-_saved(rows).mean:.0f}"
