"""Answers of 02_feddisk's sections in sentences computed from rows."""

import json
import math

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import DEFAULT_MARGINS
from fedlib.analysis.decisions import cells_below
from fedlib.analysis.intervals import (
    Interval,
    by_sign,
    effect_words,
    mean_interval,
    mean_words,
    ratio_words,
)
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.published import printed_values
from fedlib.analysis.tables import json_column, listed, side_words, span_words
from fedlib.data.titles import title_of
from fedlib.papers.feddisk.gates import FLAT
from fedlib.papers.feddisk.measurements import PAPER_NAMES
from fedlib.papers.feddisk.numbers import AT_LENGTH
from fedlib.papers.feddisk.phase1_endings import only_smoke
from fedlib.papers.feddisk.quantities import (
    Measure,
    at_the_best_round,
    best_rival,
    change_with_mu,
    gain_of_width,
    gap,
    gap_to_those_run,
    last_lead,
    loss_saved,
    nats_of_width,
    reduction_of_those_run,
    rounds_saved,
    trials_that_reach,
)
from fedlib.papers.feddisk.reading_search import fitting_words
from fedlib.papers.feddisk.rounds_words import furthest_behind, reached_words, saved_words
from fedlib.papers.feddisk.runs import CASES, METHODS, TRIALS_AT_LENGTH, case_of
from fedlib.papers.feddisk.tables import trial_mean
from fedlib.words import counted

READINGS = "feddisk/readings"
ALIKE = 0.1  # points in every trial: two competitors that make one comparison
NOTICEABLE = DEFAULT_MARGINS["%"]  # of the validation loss: C8's margin


def each_data_set(rows: pd.DataFrame, measure: Measure) -> list[str]:
    """Sentences that answer a section: what is compared, where FedDisk is ahead, and by how much.

    measure: `gap`, `rounds_saved` or `loss_saved`; positive where FedDisk is ahead.
    """
    foregone = list(_foregone(rows).dataset.unique()) if measure is rounds_saved and len(rows) else []
    shown = rows[~rows.dataset.isin(foregone)] if foregone else rows
    values = {_compared_on(own, measure): measure(own) for _, own in shown.groupby("dataset", sort=False)}
    found = {name: mean_interval(own.to_numpy()) for name, own in values.items() if len(own)}
    bounds = [*reached_words(shown), *_foregone_words(rows)] if measure is rounds_saved else []
    if not found:
        return bounds
    told = side_words(found, "ahead", "behind", ratios=measure is loss_saved)
    lengths = span_words(shown.groupby("dataset")["round"].max())
    several = " Not corrected for their number." * (len(found) > 1)
    return [f"{_COMPARED[measure]}, in runs of {lengths} rounds: {told}.{several}", *bounds]


def _compared_on(rows: pd.DataFrame, measure: Measure) -> str:
    """The data set of rows; of accuracies with the competitor that is the best there."""
    title = title_of(str(rows.dataset.iloc[0]))
    return f"{title} ({PAPER_NAMES[best_rival(rows)]})" if measure is gap and _all_ran(rows) else title


def _all_ran(rows: pd.DataFrame) -> bool:
    return set(METHODS) <= set(rows.method)


def do_wider_mades_help(rows: pd.DataFrame) -> list[str]:
    """Answer sec. VI.B.3: whether and by how much wider MADEs lower the least validation loss."""
    told = []
    for name, own in rows.groupby("dataset", sort=False) if len(rows) else ():
        nats, share = nats_of_width(own), gain_of_width(own)
        if len(nats):
            sizes = f"{own.chosen.iloc[0]} units, up to {own.hidden.max()}"
            side = by_sign(
                mean_interval(nats.to_numpy()), above="they do", below="they raise it",
                undecided="no difference shows",
            )  # fmt: skip
            words = f"{mean_words(nats, 'nats')} or {mean_words(share, '%')}"
            noticeable = by_sign(
                mean_interval(share.dropna().to_numpy() - NOTICEABLE), above="shows", below="is excluded",
                undecided="is undecided",
            )  # fmt: skip
            told.append(
                f"On {title_of(str(name))} ({sizes}) {side}: {words}. A noticeable gain {noticeable}."
            )
    start = (
        "Do MADEs wider than the paper's lower the least validation loss? The numbers are its own less "
        f"that of the best wider one; noticeable is {NOTICEABLE:g} % (C8)."
    )
    return [" ".join([start, *told])] if told else []


def does_mu_matter(rows: pd.DataFrame) -> list[str]:
    """Sentences on C9: how FedROD's last round changes from mu = 1 to the largest; none without both."""
    values = {name: change_with_mu(own) for name, own in rows.groupby("dataset")} if len(rows) else {}
    told = [f"{mean_words(own, 'points')} on {title_of(str(name))}" for name, own in values.items()
            if len(own)]  # fmt: skip
    if not told:
        return []
    most = json_column(rows.method_options).map(lambda options: options["mu"]).max()
    flat, curves = FLAT.check(rows)
    return [
        f"FedROD's last accuracy with mu = {most:g}, less that with mu = 1, is {listed(told)}."
        f"{'' if flat else f' C9 is not testable: of its data sets {curves}.'}"
    ]


_COMPARED = {
    gap: "FedDisk's accuracy in the best round less that of the best competitor (in brackets; picked on the "
    "same test parts), in points",
    rounds_saved: "The quickest competitor's rounds less those of FedDisk's two phases",
    loss_saved: "The lowest mean training loss of a competitor over FedDisk's (below 1: FedDisk's is higher)",
}


def _foregone(rows: pd.DataFrame) -> pd.DataFrame:
    """FedDisk's first rows of the data sets whose runs are shorter than its first phase."""
    start = rows[(rows.method == "feddisk") & (rows["round"] == 0)]
    return start.groupby("dataset", sort=False).filter(lambda own: (own.made_rounds >= own["rounds"]).all())


def _foregone_words(rows: pd.DataFrame) -> list[str]:
    """Sentence on these data sets; none without them."""
    if (short := _foregone(rows)).empty:
        return []
    names = listed([title_of(str(name)) for name in short.dataset.unique()])
    least, most = short.made_rounds.min(), short.made_rounds.max()
    return [
        f"On {names} these runs cannot show it ahead: its first phase alone takes {least:.0f} to {most:.0f} "
        f"rounds, and they have {short['rounds'].max()} at most."
    ]


def levels_words(rows: pd.DataFrame) -> str:
    """The best rounds of the five methods, of the mean over the trials, beside the printed accuracies."""
    best, printed = _levels(rows)
    return (
        f"The best rounds of the five methods lie between {min(best):.1f} and {max(best):.1f} %. "
        f"The paper has {printed['FedDisk']:g} % for FedDisk and {printed['best other']:g} % for the best of "
        "the others."
    )


def above_the_paper(rows_of: RowsOf) -> str:
    """Say that all best rounds at length lie above all printed accuracies; empty where they do not.

    Beside it how many readings of what is open fit what is printed.
    """
    rows = whole_trials(rows_of)
    best, printed = _levels(rows) if len(rows) else ([0.0], pd.Series({"FedDisk": 100.0}))
    told = (
        f"All five methods' best rounds lie {min(best) - max(printed):.0f} points or more above both "
        f"accuracies that the paper prints. The cause is not known{fitting_words(rows_of(READINGS))}."
    )
    return told if min(best) > max(printed) else ""


def _levels(rows: pd.DataFrame) -> tuple[list[float], pd.Series]:
    (name,) = rows.dataset.unique()
    best = [100 * trial_mean(rows, name, method).max() for method in METHODS]
    return best, printed_values("feddisk_text", "method", dataset=CASES[case_of(name)], artifact="fig3")


def at_length(rows_of: RowsOf) -> list[str]:
    """Sentences on `feddisk/converged`: levels beside the printed ones, FedDisk against its competitors."""
    rows = whole_trials(rows_of)
    if rows.empty:
        return ["No trial of all five methods is stored yet."]
    (name,), trials = rows.dataset.unique(), rows.seed.nunique()
    rival = PAPER_NAMES[best_rival(rows)]
    ahead, last = mean_interval(gap(rows).to_numpy()), last_lead(rows)
    told = [
        f"{levels_words(rows)} ({title_of(name)}, {rows['rounds'].max()} rounds of two mini-batches, "
        f"{_trials(rows)}.)",
        f"FedDisk's is {_points(ahead)} from that of the best competitor, {rival}: {ahead_words(ahead)}. "
        f"After the last round it is {_points(last)} from FedAvg's accuracy: {ahead_words(last)}.",
        *_beside_short_runs(rows, rows_of("feddisk/fig3")),
        *furthest_behind(rows),
        *against_each(rows),
        saved_words(rows),
    ]
    if trials < TRIALS_AT_LENGTH:
        told.append(f"Until all {TRIALS_AT_LENGTH} trials are there these rows decide nothing.")
    return told


def _beside_short_runs(rows: pd.DataFrame, short: pd.DataFrame) -> list[str]:
    """FedDisk's best round less FedAvg's in these runs and in fig. 3's short ones, in a sentence."""
    short = short[short.dataset.map(case_of) == case_of(rows.dataset.iloc[0])] if len(short) else short
    if short.empty:
        return []
    told = []
    for own in (short, rows):
        lead = contrasts.paired(*(at_the_best_round(own, name) for name in ("feddisk", "fedavg")))
        told.append(f"{_points(lead)} after {own['rounds'].max()} rounds ({ahead_words(lead)})")
    return [f"Against FedAvg alone its best round is {listed(told)}."]


def against_each(rows: pd.DataFrame) -> list[str]:
    """FedDisk's best round less each competitor's own, and which hold for all at once (Holm)."""
    gaps = pd.DataFrame(
        {
            PAPER_NAMES[name]: at_the_best_round(rows, "feddisk") - at_the_best_round(rows, name)
            for name in METHODS
            if name != "feddisk"
        }
    ).dropna()
    if len(gaps) < 2:
        return []
    found = {name: mean_interval(gaps[name].to_numpy()) for name in gaps}
    told = listed([f"{name} {effect_words(one)}" for name, one in found.items()])
    behind, ahead = (gaps.columns[cells_below(sign * gaps.to_numpy(), 0.0)] for sign in (1, -1))
    sides = [f"{side} {listed(list(names))}" for side, names in (("behind", behind), ("ahead of", ahead))
             if len(names)]  # fmt: skip
    holds = f"it is {' and '.join(sides)}" if sides else "none of these holds"
    return [
        f"FedDisk's best round less a competitor's, in points: {told}. Corrected for {len(found)} "
        f"comparisons (Holm) {holds}.{_alike(rows)}"
    ]


def _alike(rows: pd.DataFrame) -> str:
    """Name competitors whose best round is FedAvg's in every trial but for a tenth of a point, if any."""
    reference = at_the_best_round(rows, "fedavg")
    others = [name for name in METHODS if name not in ("feddisk", "fedavg")]
    apart = {PAPER_NAMES[name]: (at_the_best_round(rows, name) - reference).abs().max() for name in others}
    alike = {name: most for name, most in apart.items() if most < ALIKE}
    if not alike:
        return ""
    most = math.ceil(round(100 * max(alike.values()), 6)) / 100  # rounded up: it holds in every trial
    return (
        f" Within {most:.2f} points of FedAvg in every trial: {listed(list(alike))}. With it "
        "that is little more than one comparison."
    )


def whole_trials(rows_of: RowsOf) -> pd.DataFrame:
    """Rows of the paper's length of the trials that all five methods have."""
    rows = rows_of(AT_LENGTH)
    if rows.empty:
        return rows
    seeds = [set(own.seed) for _, own in rows.groupby("method")]
    return rows[rows.seed.isin(set.intersection(*seeds) if len(seeds) == len(METHODS) else ())]


def without_noise_answer(rows_of: RowsOf) -> list[str]:
    """Sentences on `feddisk/without_noise`, beside the same with noise; none without rows."""
    rows, fig3 = rows_of("feddisk/without_noise"), rows_of("feddisk/fig3")
    if rows.empty:
        return []
    (name,), ahead = rows.dataset.unique(), mean_interval(gap(rows).to_numpy())
    told = [
        f"On {title_of(name)} without noise FedDisk's last round is {_points(last_lead(rows))} from "
        f"FedAvg's ({_trials(rows)}).",
        f"Its best round is {_points(ahead)} from that of the best competitor, "
        f"{PAPER_NAMES[best_rival(rows)]}: {ahead_words(ahead)}.",
    ]
    noisy = fig3[fig3.dataset == name] if len(fig3) else fig3
    if len(noisy):
        told.append(f"With MNIST's noise its last round is {_points(last_lead(noisy))} from FedAvg's.")
    return told


def two_epochs_answer(rows_of: RowsOf) -> list[str]:
    """Sentences on `feddisk/two_epochs`: FedDisk against FedAvg and FedProx; none without rows."""
    rows = rows_of("feddisk/two_epochs")
    if only_smoke(rows):
        return ["With two epochs a round only `smoke` was run, which shows that the code runs and no more."]
    if not {"feddisk", "fedavg", "fedprox"} <= set(rows.get("method", ())):
        return []
    ahead, traffic = (
        mean_interval(measure(rows).to_numpy()) for measure in (gap_to_those_run, reduction_of_those_run)
    )
    rival, (reached, trials) = PAPER_NAMES[best_rival(rows)], trials_that_reach(rows)
    most = " at most" * (reached < trials)
    return [
        f"With two epochs a round ({_length(rows)}) FedDisk's best round is {_points(ahead)} from {rival}'s. "
        f"{ahead_words(ahead).capitalize()}.",
        saved_words(rows, "quicker competitor"),
        f"The cheaper one's traffic is {ratio_words(traffic)} times FedDisk's{most}.",
    ]


def _length(rows: pd.DataFrame) -> str:
    """`300 rounds, 750 images a class, 3 trials`."""
    images = json.loads(rows.dataset_options.iloc[0]).get("train_per_class")
    parts = [f"{rows['rounds'].max()} rounds"] + [f"{images} images a class"] * bool(images)
    return ", ".join([*parts, _trials(rows)])


def _trials(rows: pd.DataFrame) -> str:
    """`3 trials`, `1 trial`."""
    return counted(rows.seed.nunique(), "trial")


def ahead_words(interval: Interval) -> str:
    return by_sign(
        interval, above="it is ahead", below="it is behind", undecided="which is ahead is not decided"
    )


def _points(interval: Interval) -> str:
    return effect_words(interval, "points")
