"""Findings about FedDisk in sentences, for head and end of the notebook and for the report."""

import json

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows, samples_of
from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf, stated
from fedlib.analysis.published import printed_values
from fedlib.analysis.tables import dataset_words
from fedlib.papers.feddisk.claims import CLAIMS
from fedlib.papers.feddisk.figures import ablation_table, weights_worth
from fedlib.papers.feddisk.measurements import PAPER_NAMES
from fedlib.papers.feddisk.numbers import (
    AGAINST_BEST,
    AGAINST_BEST_CLAIM,
    AT_LENGTH,
    LAST_AGAINST_FEDAVG,
    ROUNDS_SAVED,
)
from fedlib.papers.feddisk.quantities import best_rival, gap, rounds_saved
from fedlib.papers.feddisk.runs import CASES, METHODS, ROUNDS, TRIALS_AT_LENGTH, case_of
from fedlib.papers.feddisk.tables import ACCURACY, trial_mean, weight_report


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three sentences: FedDisk against the best competitor, FedAvg, its weights on other samples."""
    rows = rows_of("feddisk/ablations")
    if rows.empty:
        return ["No rows of the ablations are stored."]
    gain = ablation_table(rows).set_index("variant").loc["feddisk"]
    known = (AGAINST_BEST, ROUNDS_SAVED, LAST_AGAINST_FEDAVG)
    best, rounds, last = (stated(number, rows_of) for number in known)
    sentences = [
        f"On {_cells(rows_of)} FedDisk's best round is {best} in mean client accuracy against the best "
        "competitor's, which is the one that is best on the same test parts; its last round is "
        f"{last} against FedAvg's. The quickest competitor's rounds less those of FedDisk's two phases are "
        f"{rounds}; a level that FedDisk never reaches counts as reached in the last round."
    ] * bool(best and rounds and last)
    sentences += [
        f"In short runs FedDisk's accuracy after the last round is {_words(gain)} against FedAvg "
        f"({_scale(rows)})."
    ]
    worth = weights_worth(rows).set_index("variant")
    if "feddisk" in worth.index:
        shuffled = _words(worth.loc["feddisk"])
        sentences.append(
            "There, against itself with its weights shuffled over the samples, which then carry no "
            f"information, FedDisk's accuracy is {shuffled}: {_carries(worth.loc['feddisk'])}."
        )
    return sentences


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
        (data,) = dataset_words(own)
        told.append(f"{data}, {_size(own, own.seed.nunique())}")
    return "; ".join(told)


def _size(own: pd.DataFrame, seeds: int) -> str:
    """`600 training images a class, 20 of 1500 rounds, 5 seeds`, of the rows of one data set.

    Of a shorter local work too: `2 mini-batches a round`.
    """
    images = json.loads(own.dataset_options.iloc[0]).get("train_per_class")
    parts = [f"{images} training images a class"] if images else []
    parts.append(f"{own['rounds'].max()} of {ROUNDS[case_of(own.dataset.iloc[0])]} rounds")
    steps = own.get("local_steps", pd.Series(dtype=float))  # NaN where it is epochs
    parts += [f"{steps.iloc[0]:g} mini-batches a round"] if len(steps) and steps.notna().all() else []
    return ", ".join([*parts, f"{seeds} seeds"])


def conclusion(rows_of: RowsOf) -> list[str]:
    """Three sentences: do the weights carry information, change the step, follow the density ratio?"""
    rows = rows_of("feddisk/ablations")
    if rows.empty:
        return ["No rows of the ablations are stored."]
    worth = weights_worth(rows).set_index("variant")
    against = ablation_table(rows).set_index("variant")
    told = [_information(worth.loc["feddisk"])] if "feddisk" in worth.index else []
    if "feddisk_raw" in worth.index:
        told.append(_step(against.loc["feddisk_raw"], worth.loc["feddisk_raw"]))
    fig3 = rows_of("feddisk/fig3")
    return [*told, _agreement(weight_report(fig3))] if len(fig3) else told


def at_length(rows_of: RowsOf) -> list[str]:
    """Sentences on `feddisk/converged`: levels beside the printed ones, FedDisk against its competitors."""
    rows = rows_of(AT_LENGTH)
    seeds = [set(own.seed) for _, own in rows.groupby("method")]
    rows = rows[rows.seed.isin(set.intersection(*seeds) if len(seeds) == len(METHODS) else ())]
    if rows.empty:
        return ["No trial of all five methods is stored yet."]
    (name,), trials = rows.dataset.unique(), rows.seed.nunique()
    best = {method: 100 * trial_mean(rows, name, method).max() for method in METHODS}
    printed = printed_values("feddisk_text", "method", dataset=CASES[case_of(name)], artifact="fig3")
    rival = PAPER_NAMES[best_rival(rows)]
    ahead, saved = (mean_interval(measure(rows).to_numpy()) for measure in (gap, rounds_saved))
    ends = (contrasts.final(rows[rows.method == own], ACCURACY) for own in ("feddisk", "fedavg"))
    last = contrasts.paired(*ends)
    told = [
        f"After {rows['rounds'].max()} rounds of two mini-batches on {name} ({trials} trial"
        f"{'s' * (trials > 1)}) the best rounds of the five methods lie between {min(best.values()):.1f} and "
        f"{max(best.values()):.1f} %, where the paper has {printed['FedDisk']:g} % for FedDisk and "
        f"{printed['best other']:g} % for the best of the others.",
        f"FedDisk's is {_words(ahead)} from that of the best competitor, {rival}: {_ahead(ahead)}. "
        f"After the last round it is {_words(last)} from FedAvg's accuracy: {_ahead(last)}.",
        f"The quickest competitor's rounds less those of FedDisk's two phases are {_words(saved, 'rounds')}.",
    ]
    if trials < TRIALS_AT_LENGTH:
        told.append(f"Until all {TRIALS_AT_LENGTH} trials are there these rows decide nothing.")
    return told


def _ahead(interval: Interval) -> str:
    return by_sign(
        interval, above="it is ahead", below="it is behind", undecided="which is ahead is not decided"
    )


def _agreement(report: pd.DataFrame) -> str:
    signed = [(f"{line.agreement:+.2f}".replace("-", "−"), line.dataset) for line in report.itertuples()]
    words = ", ".join(f"{value} on {dataset}" for value, dataset in signed)
    return f"Alpha's rank correlation with the MADEs' own log ratio is {words} (1: the same order)."


def _carries(line: pd.Series) -> str:
    return by_sign(
        _interval(line),
        above="they carry information about the samples",
        below="they do worse than weights without information",
        undecided="nothing shows that they carry information about the samples",
    )


def _information(line: pd.Series) -> str:
    shuffled = "against the same weights shuffled over the samples"
    return f"FedDisk's weights are worth {_words(line)} {shuffled}: {_carries(line)}."


def _step(fedavg: pd.Series, mean: pd.Series) -> str:
    says = by_sign(
        _interval(mean),
        above="they do more than change the step",
        below="they do worse than that step alone",
        undecided="they change the step, and nothing else shows",
    )
    return (
        f"Raw odds are worth {_words(fedavg)} against FedAvg and {_words(mean)} against their mean: {says}."
    )


def _interval(line: pd.Series) -> Interval:
    return Interval.from_columns(line, "mean", "")


def _words(found: pd.Series | Interval, unit: str = "points") -> str:
    return effect_words(found if isinstance(found, Interval) else _interval(found), unit)
