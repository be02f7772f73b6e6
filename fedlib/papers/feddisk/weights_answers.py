"""Answers of 02_feddisk's section 11 in sentences: what FedDisk's weights are worth, and beside the step."""

import json

import numpy as np
import pandas as pd

from fedlib.analysis.intervals import Interval, barely_decided, by_sign, effect_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import dataset_titles, json_column, listed
from fedlib.data.titles import title_of
from fedlib.methods.feddisk.density_ratio import CLIP
from fedlib.papers.feddisk.ablation_tables import (
    HALF,
    ablation_table,
    beyond_the_step,
    weights_worth,
    weights_worth_at_length,
)
from fedlib.papers.feddisk.numbers import ALPHA_ORDER, AT_LENGTH, SHUFFLED, SHUFFLED_AGAINST_FEDAVG
from fedlib.papers.feddisk.phase1_endings import ablations_caveat
from fedlib.papers.feddisk.quantities import alpha_agreement, longest
from fedlib.papers.feddisk.runs import ROUNDS, case_of

APART = 0.1  # a median h below it tells the models apart, one so near 1/2 does not


def what_the_weights_are_worth(rows_of: RowsOf) -> list[str]:
    """Up to three points: their worth and its caveat, what unequal weights cost, short runs and the step."""
    short, longer = rows_of("feddisk/ablations"), rows_of(SHUFFLED)
    if short.empty:
        return []
    points = (
        [*beyond_the_step(short, longer), *ablations_caveat(short, longer)],
        _beside(rows_of),
        [*against_fedavg_in_short_runs(short), *_step(short)],
    )
    return [" ".join(told) for told in points if told]


def correlation_answer(rows_of: RowsOf) -> list[str]:
    """Alpha against the densities by profile, in a sentence: at the paper's length, then in short runs."""
    found = []
    for artifact in (AT_LENGTH, "feddisk/fig3"):
        rows = rows_of(artifact)
        if "alpha_agreement" not in rows:
            continue
        means = {str(name): alpha_agreement(own).mean() for name, own in rows.groupby("dataset")}
        low, high = (f"{end(means.values()):+.2f}".replace("-", "−") for end in (min, max))
        if len(means) > 1:
            words = f"{low} to {high} on {len(means)} data sets"
        else:
            words = f"{low} on {title_of(next(iter(means)))}"
        found.append(f"{words} (`{rows['profile'].iloc[0]}`)")
    told = f"Alpha's rank correlation with the MADEs' log ratio is {listed(found)}; 1 is the same order."
    return [told] if found else []


def clipped_words(rows_of: RowsOf) -> list[str]:
    """Say where most clients' h lies below its clip at the paper's length; empty where none does (A5)."""
    told = []
    for name, own in _with_weights(rows_of(AT_LENGTH)).groupby("dataset", sort=False):
        medians = np.array(json_column(own.h_quantiles).tolist())[..., 2]
        below = medians < CLIP
        if below.any():
            told.append(f"{below.sum()} of {below.size} clients on {title_of(str(name))}")
    words = (
        f"At the paper's length the median h of {listed(told)} (all trials) lies below {CLIP:g}, to which it "
        "is clipped (A5): at least half of such a client's images have one and the same weight."
    )
    return [words] if told else []


def what_tells_models_apart(rows_of: RowsOf) -> list[str]:
    """Name data sets where the ratio classifier tells the two models apart, or cannot, by its median h.

    h is 1/2 where it guesses; at length and without noise. None without rows.
    """
    apart, guesses = [], []
    for artifact in (AT_LENGTH, "feddisk/without_noise"):
        for name, own in _with_weights(rows_of(artifact)).groupby("dataset", sort=False):
            h = float(np.array(json_column(own.h_quantiles).tolist())[..., 2].mean())
            title = f"{title_of(name)}{' without noise' * (artifact != AT_LENGTH)}"
            apart += [title] * (h < APART)
            guesses += [title] * (abs(h - 0.5) < APART)
    told = []
    if apart:
        told.append(
            f"On {listed(apart)} they are no density ratio: the classifier behind them sees two models' "
            "outputs on the same image, and learns which model computed it (section 3)."
        )
    if guesses:
        told.append(f"On {listed(guesses)} it cannot tell them, and all weights lie near 1.")
    return told


def _with_weights(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows in which FedDisk tells of its weights."""
    return rows[rows.h_quantiles.notna()] if "h_quantiles" in rows else rows.iloc[:0].assign(dataset="")


def worth(ablations: pd.DataFrame, rows_of: RowsOf) -> Interval | None:
    """FedDisk's accuracy less that with its weights on other samples, at length or in short runs (points)."""
    if (long := worth_at_length(rows_of)) is not None:
        return long
    short = weights_worth(ablations)
    short = short[short.variant == "feddisk"]
    return Interval.from_columns(short.iloc[0], "mean", "") if len(short) else None


def information(ablations: pd.DataFrame, rows_of: RowsOf) -> list[str]:
    """Sentences on `worth` and where it was measured; none without the control."""
    if (found := worth(ablations, rows_of)) is None:
        return []
    where = "short runs only" if worth_at_length(rows_of) is None else "last round"
    says = by_sign(found, above="a gain", below="a loss", undecided="no gain shows")
    told = (
        f"FedDisk's weights are worth {effect_words(found, 'points')} against the same on other samples "
        f"({where}): {says}."
    )
    return [" ".join([told, *excluded(found)])]


def excluded(found: Interval) -> list[str]:
    """Say that half a point is excluded, where the worth is undecided and excludes it."""
    return ["A gain of half a point is excluded."] * bool(found.low <= 0 <= found.high < HALF)


def against_fedavg_in_short_runs(rows: pd.DataFrame) -> list[str]:
    """FedDisk's last round less FedAvg's in the ablations' runs, in a sentence."""
    gain = _interval(ablation_table(rows).set_index("variant").loc["feddisk"])
    return [
        f"In short runs FedDisk's last round is {effect_words(gain, 'points')} against FedAvg "
        f"({_scale(rows)})."
    ]


def _step(ablations: pd.DataFrame) -> list[str]:
    """Whether the weights change the size of a step: sentences; none where raw odds were not run."""
    table = ablation_table(ablations).set_index("variant")
    if not {"feddisk_raw", "feddisk_mean"} <= set(table.index):
        return []
    raw, mean = (effect_words(_interval(table.loc[name])) for name in ("feddisk_raw", "feddisk_mean"))
    return [
        "Divided by their mean, as by default, a client's weights average 1. "
        f"As raw odds they end {raw} points from FedAvg in short runs, with a client's mean "
        f"in their place {mean}."
    ]


def step_in_short(ablations: pd.DataFrame) -> list[str]:
    """Whether raw odds, and their mean alone, cost accuracy: in words; none where they were not run."""
    table = ablation_table(ablations).set_index("variant")
    if not {"feddisk_raw", "feddisk_mean"} <= set(table.index):
        return []
    raw, mean = (_interval(table.loc[name]).high < 0 for name in ("feddisk_raw", "feddisk_mean"))
    if not raw:
        return ["As raw odds they cost no accuracy that shows (section 11)."]
    alone = "so does their mean alone: a smaller step" if mean else "their mean alone does not"
    return [f"As raw odds they cost accuracy, and {alone} (section 11)."]


def _scale(rows: pd.DataFrame) -> str:
    """Data sets of rows, each with what was trained: `MNIST, 600 training images a class, ...`."""
    told = []
    for _, own in rows.groupby("dataset"):
        (data,) = dataset_titles(own)
        told.append(f"{data}, {size_words(own, own.seed.nunique())}")
    return "; ".join(told)


def size_words(own: pd.DataFrame, seeds: int) -> str:
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
        told.append(
            f"With the weights on other samples FedDisk is {effect_words(shuffled, 'points')} from FedAvg: "
            f"{side}."
        )
    if order is not None:
        side = by_sign(
            order, above="The weights do depend on the images, in the order of the MADEs' own log ratio",
            below="The weights do depend on the images, but against the order of the MADEs' own log ratio",
            undecided="Whether the weights follow the MADEs' own log ratio of an image is undecided",
        )  # fmt: skip
        told.append(f"{side}: rank correlation {effect_words(order)} (C11).")
    return told


def worth_at_length(rows_of: RowsOf) -> Interval | None:
    """FedDisk's accuracy less that with its weights on other samples in runs as long as the paper's (points).

    None without them.
    """
    rows = rows_of(SHUFFLED)
    if rows.empty or rows["rounds"].max() < longest(rows):
        return None
    found = weights_worth_at_length(rows)
    return _interval(found.iloc[0]) if len(found) else None


def _interval(line: pd.Series) -> Interval:
    return Interval.from_columns(line, "mean", "")
