"""Findings about FedDisk in sentences, for head and end of the notebook and for the report."""

import json

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows, samples_of
from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval, ratio_words
from fedlib.analysis.numbers import RowsOf, stated
from fedlib.analysis.published import printed_values
from fedlib.analysis.tables import counted, dataset_titles, listed, side_words, span_words
from fedlib.data.titles import title_of
from fedlib.papers.feddisk.ablation_tables import (
    ablation_table,
    weights_worth,
    weights_worth_at_length,
)
from fedlib.papers.feddisk.claims import CLAIMS
from fedlib.papers.feddisk.measurements import PAPER_NAMES
from fedlib.papers.feddisk.numbers import (
    AGAINST_BEST,
    AGAINST_BEST_CLAIM,
    AT_LENGTH,
    LAST_AGAINST_FEDAVG,
    ROUNDS_SAVED,
)
from fedlib.papers.feddisk.phase_one import ablations_caveat, only_smoke
from fedlib.papers.feddisk.quantities import (
    Measure,
    alpha_agreement,
    best_rival,
    gap,
    gap_to_those_run,
    longest,
    loss_saved,
    reduction_of_those_run,
    rounds_saved,
    rounds_saved_of_those_run,
)
from fedlib.papers.feddisk.runs import CASES, METHODS, ROUNDS, TRIALS_AT_LENGTH, case_of
from fedlib.papers.feddisk.tables import ACCURACY, trial_mean

NEVER_REACHED = "A level that FedDisk never reaches counts as reached in the last round."
WEIGHTS_AT_LENGTH = "feddisk/converged_weights"
NOT_AT_LENGTH = "At the paper's length this control was not run."


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three sentences: FedDisk against the best competitor, FedAvg, its weights on other samples."""
    rows = rows_of("feddisk/ablations")
    if rows.empty:
        return ["No rows of the ablations are stored."]
    gain = ablation_table(rows).set_index("variant").loc["feddisk"]
    known = (AGAINST_BEST, ROUNDS_SAVED, LAST_AGAINST_FEDAVG)
    best, rounds, last = (stated(number, rows_of) for number in known)
    sentences = [
        f"On {_cells(rows_of)} FedDisk's best round is {best} against the best competitor's. "
        "Accuracies are means over clients; that competitor is picked on the same test parts. "
        f"FedDisk's last round is {last} against FedAvg's. "
        f"The quickest competitor's rounds less those of FedDisk's two phases are {rounds}. "
        f"{NEVER_REACHED}"
    ] * bool(best and rounds and last)
    sentences += [f"In short runs FedDisk's last round is {_words(gain)} against FedAvg ({_scale(rows)})."]
    worth = weights_worth(rows).set_index("variant")
    if "feddisk" in worth.index:
        shuffled = _words(worth.loc["feddisk"])
        sentences.append(
            f"There, against its weights shuffled over the samples, it is {shuffled}: "
            f"{_carries(worth.loc['feddisk'])}. {' '.join([*ablations_caveat(rows), _at_length(rows_of)])}"
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
        (data,) = dataset_titles(own)
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
    """Three sentences: ahead at the paper's length, rounds saved, and whether the weights carry information.

    Fewer where rows are missing.
    """
    rows, ablations, told = _whole_trials(rows_of), rows_of("feddisk/ablations"), []
    if len(rows):
        ahead, saved = (mean_interval(measure(rows).to_numpy()) for measure in (gap, rounds_saved))
        told = [
            f"On {title_of(rows.dataset.iloc[0])} FedDisk's best of {rows['rounds'].max()} rounds is "
            f"{_words(ahead)} from the best competitor's: {_ahead(ahead)}.",
            f"{by_sign(saved, **_SAVES)}: the quickest competitor's less those of its two phases are "
            f"{_words(saved, '')}, a level never reached counting as the last round.",
        ]
    if ablations.empty:
        return [*told, "No rows of the ablations are stored."]
    worth = weights_worth(ablations).set_index("variant")
    return [*told, *([_information(worth.loc["feddisk"], rows_of)] if "feddisk" in worth.index else [])]


_SAVES = {
    "above": "It saves rounds", "below": "It saves no rounds",
    "undecided": "Whether it saves rounds is not decided",
}  # fmt: skip


def two_epochs_answer(rows_of: RowsOf) -> list[str]:
    """Sentences on `feddisk/two_epochs`: FedDisk against FedAvg and FedProx; none without rows."""
    rows = rows_of("feddisk/two_epochs")
    if only_smoke(rows):
        return ["With two epochs a round only `smoke` was run, which shows that the code runs and no more."]
    if not {"feddisk", "fedavg", "fedprox"} <= set(rows.get("method", ())):
        return []
    ahead, saved, traffic = (
        mean_interval(measure(rows).to_numpy())
        for measure in (gap_to_those_run, rounds_saved_of_those_run, reduction_of_those_run)
    )
    rival = PAPER_NAMES[best_rival(rows)]
    return [
        f"With two epochs a round ({_length(rows)}) FedDisk's best round is {_words(ahead)} from {rival}'s. "
        f"{_ahead(ahead).capitalize()}.",
        f"The quicker competitor's rounds less those of FedDisk's two phases are {_words(saved, 'rounds')}.",
        f"The cheaper one's traffic is {ratio_words(traffic)} times FedDisk's.",
    ]


def each_data_set(rows: pd.DataFrame, measure: Measure) -> list[str]:
    """Sentences that answer a section: what is compared, where FedDisk is ahead, and by how much.

    measure: `gap`, `rounds_saved` or `loss_saved`; positive where FedDisk is ahead.
    """
    values = {title_of(str(name)): measure(own) for name, own in rows.groupby("dataset", sort=False)}
    found = {name: mean_interval(own.to_numpy()) for name, own in values.items() if len(own)}
    if not found:
        return []
    told = side_words(found, "ahead", "behind", ratios=measure is loss_saved)
    foregone = _foregone(rows) if measure is rounds_saved else []
    lengths = span_words(rows.groupby("dataset")["round"].max())
    return [f"{_COMPARED[measure]}, in runs of {lengths} rounds: {told}.", *foregone]


def _foregone(rows: pd.DataFrame) -> list[str]:
    """Sentence on the data sets whose runs are shorter than FedDisk's first phase; none without them."""
    start = rows[(rows.method == "feddisk") & (rows["round"] == 0)]
    short = start.groupby("dataset", sort=False).filter(lambda own: (own.made_rounds >= own["rounds"]).all())
    if short.empty:
        return []
    names = listed([title_of(str(name)) for name in short.dataset.unique()])
    least, most = short.made_rounds.min(), short.made_rounds.max()
    return [
        f"On {names} these runs cannot show it ahead: its first phase alone takes {least:.0f} to {most:.0f} "
        f"rounds, and they have {short['rounds'].max()} at most."
    ]


_COMPARED = {
    gap: "FedDisk's accuracy in the best round less the best competitor's, in points",
    rounds_saved: "The quickest competitor's rounds less those of FedDisk's two phases",
    loss_saved: "The lowest mean training loss of a competitor over FedDisk's",
}


def without_noise_answer(rows_of: RowsOf) -> list[str]:
    """Sentences on `feddisk/without_noise`, beside the same with noise; none without rows."""
    rows, fig3 = rows_of("feddisk/without_noise"), rows_of("feddisk/fig3")
    if rows.empty:
        return []
    (name,), ahead = rows.dataset.unique(), mean_interval(gap(rows).to_numpy())
    told = [
        f"On {title_of(name)} without noise FedDisk's last round is {_words(_last_lead(rows))} from FedAvg's "
        f"({_trials(rows)}).",
        f"Its best round is {_words(ahead)} from that of the best competitor, "
        f"{PAPER_NAMES[best_rival(rows)]}: {_ahead(ahead)}.",
    ]
    noisy = fig3[fig3.dataset == name] if len(fig3) else fig3
    if len(noisy):
        told.append(f"With MNIST's noise its last round is {_words(_last_lead(noisy))} from FedAvg's.")
    return told


def _last_lead(rows: pd.DataFrame) -> Interval:
    """FedDisk's accuracy after the last round less FedAvg's, on one data set."""
    return contrasts.paired(
        *(contrasts.final(rows[rows.method == own], ACCURACY) for own in ("feddisk", "fedavg"))
    )


def _length(rows: pd.DataFrame) -> str:
    """`300 rounds, 750 images a class, 3 trials`."""
    images = json.loads(rows.dataset_options.iloc[0]).get("train_per_class")
    parts = [f"{rows['rounds'].max()} rounds"] + [f"{images} images a class"] * bool(images)
    return ", ".join([*parts, _trials(rows)])


def _trials(rows: pd.DataFrame) -> str:
    """`3 trials`, `1 trial`."""
    return counted(rows.seed.nunique(), "trial")


def _whole_trials(rows_of: RowsOf) -> pd.DataFrame:
    """Rows of the paper's length of the trials that all five methods have."""
    rows = rows_of(AT_LENGTH)
    if rows.empty:
        return rows
    seeds = [set(own.seed) for _, own in rows.groupby("method")]
    return rows[rows.seed.isin(set.intersection(*seeds) if len(seeds) == len(METHODS) else ())]


def at_length(rows_of: RowsOf) -> list[str]:
    """Sentences on `feddisk/converged`: levels beside the printed ones, FedDisk against its competitors."""
    rows = _whole_trials(rows_of)
    if rows.empty:
        return ["No trial of all five methods is stored yet."]
    (name,), trials = rows.dataset.unique(), rows.seed.nunique()
    best = {method: 100 * trial_mean(rows, name, method).max() for method in METHODS}
    printed = printed_values("feddisk_text", "method", dataset=CASES[case_of(name)], artifact="fig3")
    rival = PAPER_NAMES[best_rival(rows)]
    ahead, saved = (mean_interval(measure(rows).to_numpy()) for measure in (gap, rounds_saved))
    last = _last_lead(rows)
    told = [
        f"The best rounds of the five methods lie between {min(best.values()):.1f} and "
        f"{max(best.values()):.1f} % ({title_of(name)}, {rows['rounds'].max()} rounds of two mini-batches, "
        f"{_trials(rows)}). The paper has {printed['FedDisk']:g} % for FedDisk and "
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


def _carries(line: pd.Series) -> str:
    return by_sign(
        _interval(line),
        above="they carry information",
        below="they do worse than weights without information",
        undecided="nothing shows that they carry information",
    )


def _information(short: pd.Series, rows_of: RowsOf) -> str:
    """Tell what the weights are worth at the paper's length, or in short runs where it was not run."""
    line = _worth_at_length(rows_of)
    where = "short runs only" if line is None else "last round"
    line = short if line is None else line
    return (
        f"FedDisk's weights are worth {_words(line)} against the same on other samples ({where}): "
        f"{_carries(line)}."
    )


def _at_length(rows_of: RowsOf) -> str:
    line = _worth_at_length(rows_of)
    if line is None:
        return NOT_AT_LENGTH
    return f"At the paper's length it is {_words(line)}: {_carries(line)}."


def _worth_at_length(rows_of: RowsOf) -> pd.Series | None:
    """The line of `weights_worth_at_length`, of runs as long as the paper's; None without them."""
    rows = rows_of(WEIGHTS_AT_LENGTH)
    if rows.empty or rows["rounds"].max() < longest(rows):
        return None
    worth = weights_worth_at_length(rows)
    return worth.iloc[0] if len(worth) else None


def _interval(line: pd.Series) -> Interval:
    return Interval.from_columns(line, "mean", "")


def _words(found: pd.Series | Interval, unit: str = "points") -> str:
    return effect_words(found if isinstance(found, Interval) else _interval(found), unit)
