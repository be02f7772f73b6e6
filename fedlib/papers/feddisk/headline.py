"""Findings about FedDisk in sentences, for head and end of the notebook and for the report."""

import pandas as pd

from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.samples import samples_of
from fedlib.analysis.tables import listed
from fedlib.data.titles import title_of
from fedlib.papers.feddisk.answers import above_the_paper, ahead_words, whole_trials
from fedlib.papers.feddisk.claims import CLAIMS
from fedlib.papers.feddisk.numbers import AGAINST_BEST, AGAINST_BEST_CLAIM, AT_LENGTH
from fedlib.papers.feddisk.phase1_endings import only_smoke
from fedlib.papers.feddisk.quantities import at_the_best_round, gap, gap_to_those_run
from fedlib.papers.feddisk.rounds_words import fedavg_is_earlier, saved_in_short
from fedlib.papers.feddisk.runs import CASES, METHODS, case_of
from fedlib.papers.feddisk.weights_answers import (
    against_fedavg_in_short_runs,
    excluded,
    information,
    size_words,
    step_in_short,
    what_tells_models_apart,
    worth,
    worth_at_length,
)
from fedlib.words import counted


def headline(rows_of: RowsOf) -> list[str]:
    """Up to four findings: accuracy, rounds, weights, level; without trials at length, of short runs.

    The other numbers of the weights are in section 11 (`weights_answers.what_the_weights_are_worth`).
    """
    rows, whole = rows_of("feddisk/ablations"), whole_trials(rows_of)
    if rows.empty:
        return ["No rows of the ablations are stored."]
    best = AGAINST_BEST.value(rows_of)
    weights = " ".join(_weights(rows, rows_of))
    if not len(whole) or best is None:
        return [*[weights] * bool(weights), *against_fedavg_in_short_runs(rows)]
    level = above_the_paper(rows_of)
    return [
        " ".join(_accuracy(best, whole, rows_of)),
        " ".join([f"**Fewer rounds?** {saved_in_short(whole)}", *fedavg_is_earlier(whole)]),
        *[weights] * bool(weights),
        *[f"**Is the level the paper's?** No. {level}"] * bool(level),
    ]


def _accuracy(best: Interval, whole: pd.DataFrame, rows_of: RowsOf) -> list[str]:
    """Answer whether FedDisk is the most accurate: against the best competitor, and in how many trials last.

    best: its best round less that competitor's (points).
    """
    answer = by_sign(best, above="Yes", below="No", undecided="That does not show")
    by_method = pd.DataFrame({method: at_the_best_round(whole, method) for method in METHODS})
    lowest = int((by_method.feddisk < by_method.drop(columns="feddisk").min(axis=1)).sum())
    return [
        f"**Is it the most accurate?** {answer}. On {_cells(rows_of)} FedDisk's best round is "
        f"{effect_words(best, 'points')} against the best competitor's.",
        f"It is the lowest of the five methods in {lowest or 'none'} of {counted(len(by_method), 'trial')}.",
        "Accuracies are means over clients; that competitor is picked on the same test parts.",
        *_not_run(rows_of),
        *_with_two_epochs(rows_of("feddisk/two_epochs")),
    ]


def _not_run(rows_of: RowsOf) -> list[str]:
    """Sentence on the paper's data sets of which no runs of its length are stored; none if all are."""
    ran = {case_of(name) for name in real_rows(rows_of(AT_LENGTH)).dataset.unique()}
    missing = [title for case, title in CASES.items() if case not in ran]
    return [f"{listed(missing)}, the paper's other sets, were not run at this length."] if missing else []


def _with_two_epochs(rows: pd.DataFrame) -> list[str]:
    """Sentence on the other reading of the local work (A13); none without its runs."""
    if only_smoke(rows) or not {"feddisk", "fedavg", "fedprox"} <= set(rows.get("method", ())):
        return []
    ahead = mean_interval(gap_to_those_run(rows).to_numpy())
    return [
        f"With two epochs a round (A13) there are shorter runs on fewer images: {ahead_words(ahead)} "
        "(section 7)."
    ]


def _weights(ablations: pd.DataFrame, rows_of: RowsOf) -> list[str]:
    """Answer whether the weights help accuracy, and why not; none without the control."""
    if (found := worth(ablations, rows_of)) is None:
        return []
    carry = by_sign(
        found, above="They do", below="They cost accuracy", undecided="No gain shows",
    )  # fmt: skip
    where = "short runs only" if worth_at_length(rows_of) is None else "last round"
    return [
        f"**Do the weights help?** {carry}. Against the same weights on other samples they are worth "
        f"{effect_words(found, 'points')} ({where}).",
        *excluded(found),
        *what_tells_models_apart(rows_of),
        "Divided by their mean, as by default, they average 1 on a client.",
        *step_in_short(ablations),
    ]


def _cells(rows_of: RowsOf) -> str:
    """The paper's data sets, of real images, that `AGAINST_BEST` is over, with seeds and rounds."""
    claim = next(claim for claim in CLAIMS if claim.id == AGAINST_BEST_CLAIM)
    rows = real_rows(rows_of(AT_LENGTH))
    samples = samples_of(claim.parts[0], rows)
    parts = {CASES[case_of(name)]: own for name, own in rows.groupby("dataset")}
    return ", ".join(f"{name} ({size_words(parts[name], len(samples))})" for name in samples.columns)


def conclusion(rows_of: RowsOf) -> list[str]:
    """Ahead at the paper's length, rounds saved, worth of the weights; fewer where rows are missing."""
    rows, ablations, told = whole_trials(rows_of), rows_of("feddisk/ablations"), []
    if len(rows):
        ahead = mean_interval(gap(rows).to_numpy())
        told = [
            f"On {title_of(rows.dataset.iloc[0])} FedDisk's best of {rows['rounds'].max()} rounds is "
            f"{effect_words(ahead, 'points')} from the best competitor's: {ahead_words(ahead)}.",
            saved_in_short(rows),
        ]
    if ablations.empty:
        return [*told, "No rows of the ablations are stored."]
    return [*told, *information(ablations, rows_of)]
