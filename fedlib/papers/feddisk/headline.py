"""Findings about FedDisk in sentences, for head and end of the notebook and for the report."""

import json

import pandas as pd

from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, barely_decided, by_sign, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf, stated
from fedlib.analysis.samples import samples_of
from fedlib.analysis.tables import dataset_titles
from fedlib.data.titles import title_of
from fedlib.papers.feddisk.ablation_tables import (
    ablation_table,
    weights_worth,
    weights_worth_at_length,
)
from fedlib.papers.feddisk.answers import above_the_paper, ahead_words, whole_trials
from fedlib.papers.feddisk.claims import CLAIMS
from fedlib.papers.feddisk.numbers import (
    AGAINST_BEST,
    AGAINST_BEST_CLAIM,
    ALPHA_ORDER,
    AT_LENGTH,
    LAST_AGAINST_FEDAVG,
    SHUFFLED,
    SHUFFLED_AGAINST_FEDAVG,
)
from fedlib.papers.feddisk.phase1_endings import ablations_caveat
from fedlib.papers.feddisk.quantities import (
    at_the_best_round,
    gap,
    gap_to_fedavg,
    longest,
)
from fedlib.papers.feddisk.rounds_words import saved_in_short, saved_words
from fedlib.papers.feddisk.runs import CASES, METHODS, ROUNDS, case_of
from fedlib.words import counted

NOT_AT_LENGTH = "At the paper's length this control was not run."


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three findings: worth of the weights, FedDisk against its competitors, and in short runs."""
    rows = rows_of("feddisk/ablations")
    if rows.empty:
        return ["No rows of the ablations are stored."]
    gain = ablation_table(rows).set_index("variant").loc["feddisk"]
    best, last = (stated(number, rows_of) for number in (AGAINST_BEST, LAST_AGAINST_FEDAVG))
    whole = whole_trials(rows_of)
    at_length = [
        f"On {_cells(rows_of)} FedDisk's best round is {best} against the best competitor's. "
        "Accuracies are means over clients; that competitor is picked on the same test parts. "
        f"{_lowest(whole)}"
        f"{above_the_paper(rows_of)}"
        f"FedDisk's last round is {last} against FedAvg's. "
        f"{saved_words(whole)}"
    ] * bool(best and last and len(whole))
    short = f"In short runs FedDisk's last round is {_words(gain)} against FedAvg ({_scale(rows)})."
    weights = " ".join([*_informed(rows, rows_of), *_step(rows)])
    return [*[weights] * bool(weights), *at_length, short]


def _informed(ablations: pd.DataFrame, rows_of: RowsOf) -> list[str]:
    """Whether the weights help and depend on the images: sentences; none without the control."""
    worth = weights_worth(ablations).set_index("variant")
    if "feddisk" not in worth.index:
        return []
    short, long = worth.loc["feddisk"], _worth_at_length(rows_of)
    carry = by_sign(
        _interval(short if long is None else long), above="They do", below="They cost accuracy",
        undecided="No gain shows",
    )  # fmt: skip
    told = [f"**Do the weights help accuracy?** {carry}.", _information(short, rows_of)]
    if long is None:
        return [*told, NOT_AT_LENGTH, *ablations_caveat(ablations, rows_of(SHUFFLED))]
    in_short = f"In short runs they are worth {_words(short)}: {_helps(short)}."
    return [*told, in_short, *ablations_caveat(ablations, rows_of(SHUFFLED)), *_beside(rows_of)]


def _lowest(rows: pd.DataFrame) -> str:
    """In how many trials FedDisk's best round is the lowest of the five, and how far from FedAvg's."""
    if rows.empty:
        return ""
    best = pd.DataFrame({method: at_the_best_round(rows, method) for method in METHODS})
    lowest = int((best.feddisk < best.drop(columns="feddisk").min(axis=1)).sum())
    return (
        f"FedDisk's is the lowest of the five methods in {lowest} of {counted(len(best), 'trial')}, and "
        f"{_words(mean_interval(gap_to_fedavg(rows).to_numpy()))} from FedAvg's best. "
    )


def _step(ablations: pd.DataFrame) -> list[str]:
    """Whether the weights change the size of a step: sentences; none where raw odds were not run."""
    table = ablation_table(ablations).set_index("variant")
    if not {"feddisk_raw", "feddisk_mean"} <= set(table.index):
        return []
    raw, mean = (_words(table.loc[name], "") for name in ("feddisk_raw", "feddisk_mean"))
    return [
        "**Do they change the size of a step?** Divided by their mean, as by default, they leave the mean "
        f"step as it is. As raw odds they end {raw} points from FedAvg in short runs, with a client's mean "
        f"in their place {mean}."
    ]


def _cells(rows_of: RowsOf) -> str:
    """The paper's data sets, of real images, that `AGAINST_BEST` is over, with seeds and rounds."""
    claim = next(claim for claim in CLAIMS if claim.id == AGAINST_BEST_CLAIM)
    rows = real_rows(rows_of(AT_LENGTH))
    samples = samples_of(claim.parts[0], rows)
    parts = {CASES[case_of(name)]: own for name, own in rows.groupby("dataset")}
    return ", ".join(f"{name} ({_size(parts[name], len(samples))})" for name in samples.columns)


def _scale(rows: pd.DataFrame) -> str:
    """Data sets of rows, each with what was trained: `MNIST, 600 training images a class, ...`."""
    told = []
    for _, own in rows.groupby("dataset"):
        (data,) = dataset_titles(own)
        told.append(f"{data}, {_size(own, own.seed.nunique())}")
    return "; ".join(told)


def _size(own: pd.DataFrame, seeds: int) -> str:
    """`600 training images a class, 20 of 1500 rounds, 5 seeds`, of the rows of one data set.

    The local work too: `2 mini-batches a round`, `2 epochs a round`.
    """
    images = json.loads(own.dataset_options.iloc[0]).get("train_per_class")
    parts = [f"{images} training images a class"] if images else []
    parts.append(f"{own['rounds'].max()} of {ROUNDS[case_of(own.dataset.iloc[0])]} rounds")
    steps = own.get("local_steps", pd.Series(dtype=float))  # NaN where it is epochs
    if len(steps) and steps.notna().all():
        parts.append(f"{steps.iloc[0]:g} mini-batches a round")
    elif "local_epochs" in own:
        parts.append(f"{own['local_epochs'].iloc[0]:g} epochs a round")
    return ", ".join([*parts, f"{seeds} seeds"])


def conclusion(rows_of: RowsOf) -> list[str]:
    """Ahead at the paper's length, rounds saved, worth of the weights; fewer where rows are missing."""
    rows, ablations, told = whole_trials(rows_of), rows_of("feddisk/ablations"), []
    if len(rows):
        ahead = mean_interval(gap(rows).to_numpy())
        told = [
            f"On {title_of(rows.dataset.iloc[0])} FedDisk's best of {rows['rounds'].max()} rounds is "
            f"{_words(ahead)} from the best competitor's: {ahead_words(ahead)}.",
            saved_in_short(rows),
        ]
    if ablations.empty:
        return [*told, "No rows of the ablations are stored."]
    worth = weights_worth(ablations).set_index("variant")
    return [*told, *([_information(worth.loc["feddisk"], rows_of)] if "feddisk" in worth.index else [])]


def _helps(line: pd.Series) -> str:
    small = ", and a gain of half a point is excluded" * bool(_interval(line).high < 0.5)
    return by_sign(
        _interval(line),
        above="a gain",
        below="a loss",
        undecided=f"no gain shows{small}",
    )


def _information(short: pd.Series, rows_of: RowsOf) -> str:
    """Tell what the weights are worth at the paper's length, or in short runs where it was not run."""
    line = _worth_at_length(rows_of)
    where = "short runs only" if line is None else "last round"
    line = short if line is None else line
    return (
        f"FedDisk's weights are worth {_words(line)} against the same on other samples ({where}): "
        f"{_helps(line)}."
    )


def _beside(rows_of: RowsOf) -> list[str]:
    """At length: the weights on other samples against FedAvg, and alpha's order; what was run of both."""
    shuffled, order = (number.value(rows_of) for number in (SHUFFLED_AGAINST_FEDAVG, ALPHA_ORDER))
    told = []
    if shuffled is not None:
        cost = "unequal weights cost accuracy whoever gets them"
        side = by_sign(
            shuffled, above="unequal weights help whoever gets them",
            below=f"that {cost} is barely decided" if barely_decided(shuffled) else cost,
            undecided=f"that {cost} does not show",
        )  # fmt: skip
        told.append(f"With the weights on other samples FedDisk is {_words(shuffled)} from FedAvg: {side}.")
    if order is not None:
        side = by_sign(
            order, above="The weights do depend on the images, in the order of the MADEs' own log ratio",
            below="The weights do depend on the images, but against the order of the MADEs' own log ratio",
            undecided="Whether the weights follow the MADEs' own log ratio of an image is undecided",
        )  # fmt: skip
        told.append(f"{side}: rank correlation {_words(order, '')} (C11).")
    return told


def _worth_at_length(rows_of: RowsOf) -> pd.Series | None:
    """The line of `weights_worth_at_length`, of runs as long as the paper's; None without them."""
    rows = rows_of(SHUFFLED)
    if rows.empty or rows["rounds"].max() < longest(rows):
        return None
    worth = weights_worth_at_length(rows)
    return worth.iloc[0] if len(worth) else None


def _interval(line: pd.Series) -> Interval:
    return Interval.from_columns(line, "mean", "")


def _words(found: pd.Series | Interval, unit: str = "points") -> str:
    return effect_words(found if isinstance(found, Interval) else _interval(found), unit)
