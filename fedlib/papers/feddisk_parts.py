"""How FedDisk's claims are put together from data sets, and when a data set can decide one.

* The paper's sentences are about all of its data sets, so that one that is refuted refutes the claim,
  however few of them can tell. A generated stand-in is told, and can keep a claim from being supported,
  but it neither refutes nor supports one alone: the paper says nothing about generated pictures.
* A comparison needs all five methods and a FedAvg above chance; one of rounds needs competitors that
  were done rising.
"""

import functools
from collections.abc import Callable, Collection, Iterable

import pandas as pd

from fedlib.intervals import mean_interval
from fedlib.papers import NOT_TESTABLE, Verdict, decide
from fedlib.papers.feddisk_grid import METHODS, case_of
from fedlib.papers.feddisk_sizes import CLASSES, PAPER_NAMES
from fedlib.papers.feddisk_tables import ACCURACY, trial_mean
from fedlib.tables import json_column

RIVALS = tuple(m for m in METHODS if m != "feddisk")
LATE = 0.9  # of the rounds: a maximum after these may not be one yet


def together(parts: Iterable[tuple[str, Verdict]], stand_ins: Collection[str] = ()) -> Verdict:
    """One verdict for all parts: all have to hold, and one that is refuted refutes the claim.

    stand_ins: names of the parts on generated data. Refuted, they make a claim mixed, no more. Parts
    that cannot tell are left out. Unless one refutes, nothing is decided where fewer than half of the
    parts can tell; to support a claim, more than half of them must, one of them on real data.
    """
    parts = list(parts)
    told = [(name, part.verdict) for name, part in parts if part.verdict != NOT_TESTABLE]
    evidence = "; ".join(
        f"{name}: {part.evidence} ({_told(part.verdict, name in stand_ins)})" for name, part in parts
    )
    if any(verdict == "not supported" and name not in stand_ins for name, verdict in told):
        return Verdict("not supported", evidence)
    holds = all(verdict == "supported" for _, verdict in told)
    generated_only = all(name in stand_ins for name, _ in told)
    if 2 * len(told) < len(parts) + holds or (holds and generated_only):
        return Verdict(NOT_TESTABLE, evidence)
    return Verdict("supported" if holds else "mixed", evidence)


def _told(verdict: str, stand_in: bool) -> str:
    return f"{verdict}; a stand-in refutes nothing" if stand_in and verdict == "not supported" else verdict


def each_dataset(decide_one: Callable[[pd.DataFrame], Verdict]) -> Callable[[pd.DataFrame], Verdict]:
    """Decide on the rows of each data set, and put the verdicts together."""

    def decide_all(rows: pd.DataFrame) -> Verdict:
        stand_ins = set(rows.dataset[rows.stand_in.astype(bool)])
        parts = ((name, decide_one(own)) for name, own in rows.groupby("dataset", sort=False))
        return together(parts, stand_ins)

    return decide_all


def against_rivals(decide_one: Callable[[pd.DataFrame], Verdict]) -> Callable[[pd.DataFrame], Verdict]:
    """A comparison on one data set needs FedDisk, all four competitors, and a FedAvg above chance."""

    @functools.wraps(decide_one)
    def decide_or_not(rows: pd.DataFrame) -> Verdict:
        missing = [PAPER_NAMES[m] for m in METHODS if not (rows.method == m).any()]
        if missing:
            return Verdict(NOT_TESTABLE, f"no runs of {', '.join(missing)}")
        chance = 100 / CLASSES[case_of(rows.dataset.iloc[0])]
        last = mean_interval(decide.final(rows[rows.method == "fedavg"], ACCURACY).to_numpy())
        if not (last.n < 2 or last.low > chance):
            return Verdict(
                NOT_TESTABLE, f"FedAvg ends at {decide.words(last, '%')}, chance is {chance:.1f} %"
            )
        return decide_one(rows)

    return decide_or_not


def at_the_best_round(rows: pd.DataFrame, method: str, value: str = ACCURACY) -> pd.Series:
    """`value` in percent, by seed, at the round where the method's trial-mean accuracy is highest."""
    own = rows[rows.method == method]
    at = trial_mean(rows, rows.dataset.iloc[0], method).idxmax()
    return 100 * own[own["round"] == at].set_index("seed")[value].sort_index()


def best_rival(rows: pd.DataFrame) -> str:
    """The competitor with the highest trial-mean accuracy on one data set; of equals the first."""
    dataset = rows.dataset.iloc[0]
    return max(RIVALS, key=lambda m: trial_mean(rows, dataset, m).max())


def counts_rounds(decide_one: Callable[[pd.DataFrame], Verdict]) -> Callable[[pd.DataFrame], Verdict]:
    """A comparison of rounds needs the target before the last tenth, and phase 1 shorter than phase 2."""

    @functools.wraps(decide_one)
    def decide_or_not(rows: pd.DataFrame) -> Verdict:
        verdict = decide_one(rows)
        why = "; ".join(_cut_short(rows))
        return Verdict(NOT_TESTABLE, f"{why}; {verdict.evidence}") if why else verdict

    return decide_or_not


def _cut_short(rows: pd.DataFrame) -> list[str]:
    """What the numbers of rounds of one data set were cut off by."""
    last, reasons, rival = int(rows["round"].max()), [], best_rival(rows)
    at = int(trial_mean(rows, rows.dataset.iloc[0], rival).idxmax())
    if at > LATE * last:  # its maximum is the target of all rounds that are counted
        reasons.append(f"the best competitor, {PAPER_NAMES[rival]}, is highest in round {at} of {last} only")
    start = rows[(rows["round"] == 0) & rows.made_rounds.notna()]
    cut = int((start.made_rounds_run >= option_of(start, "made_max_rounds", 500)).sum())
    if cut:
        reasons.append(f"the MADE was cut off in {cut} of {len(start)} trials")
    if start.made_rounds.mean() >= last:
        reasons.append(f"phase 1 alone takes {start.made_rounds.mean():.0f} rounds, the task {last}")
    return reasons


def option_of(rows: pd.DataFrame, name: str, default: int) -> int:
    """A whole-number option of the method of these rows."""
    return int(json_column(rows.method_options).iloc[0].get(name, default))
