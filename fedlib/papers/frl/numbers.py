"""Numbers of README, of docs/findings.md and of the first screen of 04_frl_report."""

import math
from collections.abc import Callable

import pandas as pd

from fedlib.analysis.intervals import Interval, Ratio, mean_interval
from fedlib.analysis.numbers import FINDINGS, README, Number, RowsOf, of_claim, single
from fedlib.papers.frl.claims import CLAIMS
from fedlib.papers.frl.estimands import READ, maximum_time_falls, net_fall
from fedlib.papers.frl.quantities import THRESHOLD
from fedlib.papers.frl.questions import less_rule, state_and_reward
from fedlib.papers.frl.same_number import expected_rounds
from fedlib.papers.frl.tables import evaluator_gaps
from fedlib.papers.frl.untrained import final_less_untrained

NOTEBOOK = "notebooks/04_frl_report.ipynb"
PLACES = (README, FINDINGS, NOTEBOOK)


def _reward(when: str, name: str, tolerance: float) -> Number:
    def compute(rows_of: RowsOf) -> Interval:
        sizes = state_and_reward(rows_of).set_index(["question", "of"]).measured
        return single(sizes[f"reward: |R| in {when}", "20 workers"])

    return Number(
        id=f"frl-reward-{name}", unit="", artifacts=("frl/fig16", "frl/fig24"), compute=compute,
        what=f"mean size of EvaluatorFL's reward, approach 1, in {when}, 20 workers", places=(NOTEBOOK,),
        tolerance=tolerance,
    )  # fmt: skip


def _while_it_trains(measure: Callable[[pd.DataFrame], pd.Series], name: str, what: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval:
        return Ratio.of(mean_interval(measure(rows_of("frl/fig26")).to_numpy()))

    return Number(
        id=f"frl-{name}",
        what=f"{what}, mean of the first half of SchedulerFL's training (to its stop) by the second's (C12)",
        unit="times", artifacts=("frl/fig26",), compute=compute, places=(NOTEBOOK,),
    )  # fmt: skip


TRAINED, OVER_UNTRAINED, OVER_PERMUTED = OF_TRAINING = tuple(
    of_claim(CLAIMS, claim, part, id=f"frl-{name}", places=(FINDINGS, NOTEBOOK))
    for claim, part, name in (
        ("FRL-R1", 0, "evaluator-untrained"),
        ("FRL-R3", 0, "scheduler-untrained"),
        ("FRL-R3", 1, "scheduler-permuted"),
    )
)


def _mean_round(name: str, length: str, threshold: float, places: tuple[str, ...]) -> Number:
    return Number(
        id=f"frl-mean-round{name}",
        what=f"SchedulerFL's mean round {length} (its slowest worker's time, IID) less that of as many drawn "
        "at random (`policy=shuffled`)",
        unit="s", artifacts=("frl/table2", "frl/table3"), places=places,
        compute=lambda rows_of: less_rule(rows_of, "learned_rate", threshold)["IID", "max_seconds"],
    )  # fmt: skip


BEHIND_FEDAVG, LESS_RANDOM, FIRST_ROUND, OTHER_ROUNDS, FALL, NET_FALL, MEAN_ROUND = _OTHERS = (
    of_claim(CLAIMS, "FRL-C7", 0, id="frl-behind-fedavg", places=PLACES),
    Number(
        id="frl-less-random",
        what="EvaluatorFL's final accuracy less that of as many workers chosen at random", unit="points",
        artifacts=("frl/sec5",), places=PLACES,
        compute=lambda rows_of: evaluator_gaps(rows_of("frl/sec5")).get("evaluatorfl_shuffled"),
    ),
    _reward("round 1 of an episode", "first-round", 0.05),
    _reward("its other rounds", "other-rounds", 0.01),
    _while_it_trains(maximum_time_falls, "fall", "maximum time of a round"),
    _while_it_trains(net_fall, "net-fall", "that ratio over the ratio of as many workers at random"),
    _mean_round("", "up to the threshold accuracy", THRESHOLD, (FINDINGS, NOTEBOOK)),
)  # fmt: skip


def _cost(case: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of("frl/schedulerfl_untrained")
        gap = final_less_untrained(rows, case).dropna() if len(rows) else rows
        return mean_interval(gap.to_numpy()) if len(gap) else None

    return Number(
        id=f"frl-scheduler-cost-{case.lower()}", unit="points", artifacts=("frl/schedulerfl_untrained",),
        what=f"SchedulerFL's accuracy after the last round less its untrained policy's, {case} data",
        places=(FINDINGS, NOTEBOOK), compute=compute,
    )  # fmt: skip


def _less_expectation(rows_of: RowsOf) -> Interval | None:
    """SchedulerFL's mean round on IID data less the expectation of as many drawn at random, by seed."""
    rows = rows_of("frl/table2")
    own = expected_rounds(rows) if len(rows) else rows
    own = own[(own["case"] == "IID") & (own["variant"] == READ)] if len(own) else own
    if own.empty:
        return None
    means = own.groupby("seed")[["max_seconds", "expected_seconds"]].mean()
    return mean_interval((means["max_seconds"] - means["expected_seconds"]).to_numpy())


IN_EXPECTATION = Number(
    id="frl-mean-round-expected", unit="s", artifacts=("frl/table2",), places=(FINDINGS, NOTEBOOK),
    what="SchedulerFL's mean round over all rounds (IID) less the expectation of as many drawn at random",
    compute=_less_expectation,
)  # fmt: skip
COST = {case: _cost(case) for case in ("IID", "non-IID")}
IN_ALL_ROUNDS = _mean_round("-all", "over all rounds", math.inf, (FINDINGS, NOTEBOOK))
NUMBERS = (*_OTHERS, IN_ALL_ROUNDS, IN_EXPECTATION, *OF_TRAINING, *COST.values())
