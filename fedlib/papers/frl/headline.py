"""Findings about the report's agents in sentences, for the head of notebook and report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fedlib.analysis.claims import effects_of, real_rows
from fedlib.analysis.decisions import SUPPORTED
from fedlib.analysis.intervals import NO_INTERVAL, by_sign, mean_interval
from fedlib.analysis.numbers import Number, RowsOf, seeds_of, stated
from fedlib.analysis.tables import listed
from fedlib.papers.frl.answers import does_the_rate_decide
from fedlib.papers.frl.estimands import maximum_time_falls, net_fall, rounds_in_pairs
from fedlib.papers.frl.numbers import (
    BEHIND_FEDAVG,
    COST,
    FALL,
    FIRST_ROUND,
    IN_ALL_ROUNDS,
    IN_EXPECTATION,
    LESS_RANDOM,
    MEAN_ROUND,
    NET_FALL,
    NUMBERS,
    OTHER_ROUNDS,
    OVER_PERMUTED,
    OVER_UNTRAINED,
    TRAINED,
)
from fedlib.papers.frl.scheduler_claims import OVER_ALL_ROUNDS
from fedlib.papers.frl.supplements import BEHIND
from fedlib.papers.frl.untrained import scheduler_table
from fedlib.words import counted


def headline(rows_of: RowsOf, verdicts: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Answers: in short and why; EvaluatorFL against FedAvg and chance; SchedulerFL's rounds; training.

    verdicts: records of the report's claims (`Session.verdicts`), counted in the first sentence.
    """
    if any(rows_of(name).empty for number in NUMBERS for name in number.artifacts):
        return ["Not all rows of both agents are stored."]
    evaluator, scheduler, _ = conclusion(rows_of)
    return [
        f"**In short.** {_supported(verdicts)}{evaluator} {scheduler}",
        " ".join([_why(rows_of), *_repairs(rows_of("frl/static"))]),
        "**Is EvaluatorFL more accurate?** FedAvg's accuracy less EvaluatorFL's after as many rounds is "
        f"{stated(BEHIND_FEDAVG, rows_of)}{seeds_of(BEHIND_FEDAVG, rows_of)}. That is the mean over both "
        "approaches and both numbers of workers, on MNIST with an MLP (the claim, C7, is decided by the "
        "weakest of the four). FedAvg averages all workers, EvaluatorFL about half. "
        f"{_other_measures(rows_of)} "
        "EvaluatorFL's less that of as many workers chosen at random is "
        f"{stated(LESS_RANDOM, rows_of)}.",
        *(f"**Does it settle on a selection?** {words}" for words in does_the_rate_decide(rows_of)),
        f"**Are SchedulerFL's rounds shorter?** {' '.join(_rounds(rows_of))}",
        _what_training_adds(rows_of),
    ]


def _rounds(rows_of: RowsOf) -> list[str]:
    """SchedulerFL's time a round: while it trains, up to the threshold, and over all rounds."""
    return [
        f"While it trains (C12), a round's maximum time is {stated(FALL, rows_of)} as long in the "
        f"first half of its decisions as in the second{seeds_of(FALL, rows_of)}. The time of as many workers "
        f"at random {_theirs(rows_of)}. The one ratio is {stated(NET_FALL, rows_of)} the other: "
        f"{_falls_further(rows_of)}.",
        "SchedulerFL's mean round up to the threshold accuracy, a little below random selection's final one, "
        f"is {stated(MEAN_ROUND, rows_of)} against as many workers drawn at random (IID; below 0 is faster). "
        f"A round takes its slowest worker's time; few rounds count: it gets there in about "
        f"{rounds_in_pairs(rows_of('frl/table2'))[0].mean():.0f}.",
        *_over_all_rounds(rows_of),
    ]


def conclusion(rows_of: RowsOf) -> list[str]:
    """Answers in short, by the signs of the first screen's numbers; none where rows are missing."""
    if any(rows_of(name).empty for number in NUMBERS for name in number.artifacts):
        return []
    told = (
        (BEHIND_FEDAVG, "EvaluatorFL ends {} FedAvg", ("behind", "ahead of", "not clearly apart from")),
        (LESS_RANDOM, "its accuracy {} that of as many workers at random",
         ("is above", "is below", "does not differ clearly from")),
        (TRAINED, "training {}", ("raises it", "lowers it", "changes nothing that shows")),
    )  # fmt: skip
    evaluator = "; ".join(_by_number(*one, rows_of) for one in told)
    sides = ("longer", "shorter", "neither clearly shorter nor longer")
    short, every, taught = (
        _by_number(number, "{}", sides, rows_of) for number in (MEAN_ROUND, IN_ALL_ROUNDS, OVER_PERMUTED)
    )
    further = "and" if short == every else f"and {every}"
    return [
        f"{evaluator}.",
        f"Against those of as many workers at random SchedulerFL's rounds on IID data are {short} up to the "
        f"threshold {further} over all rounds.",
        f"Rounds of the same agent taught on permuted rewards are {taught} than its own.",
    ]


def _supported(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """`7 of the report's 15 claims are supported. `; empty without verdicts."""
    own = [one["verdict"] for one in verdicts if not one["ours"]]
    return f"{own.count(SUPPORTED)} of the report's {len(own)} claims are supported. " * bool(own)


def _why(rows_of: RowsOf) -> str:
    """Why neither agent learns what helps: the sizes of EvaluatorFL's reward, what SchedulerFL stores."""
    return (
        "**Why?** EvaluatorFL's moving average starts at 0, so an episode's first draw is paid for being "
        f"first. In approach 1 the mean size of its reward is {stated(FIRST_ROUND, rows_of)} there and "
        f"{stated(OTHER_ROUNDS, rows_of)} in the other rounds (20 workers). The maximum that SchedulerFL is "
        "paid to lower is weighted by its own probabilities (A10). Its memory holds these, never who was "
        "drawn. That these are the causes was not isolated."
    )


def _repairs(rows: pd.DataFrame) -> list[str]:
    """Runs that find the fast of ten workers with the draw rewarded and stored, and with more exploration."""
    ten = rows[rows["workers"] == 10] if len(rows) else rows
    if not {"schedulerfl_draws", "schedulerfl_explores"} <= set(ten.get("method", ())):
        return []
    draws, explores = (ten[ten["method"] == f"schedulerfl_{name}"]["found"] for name in ("draws", "explores"))
    return [
        "Where times never change, with the draw rewarded and stored it finds the fast of ten workers in "
        f"{int(draws.sum()) or 'none'} of {counted(len(draws), 'run')}.",
        "With exploration noise, no weight decay, a larger memory and larger batches, and both properties "
        f"kept, it does in {int(explores.sum()) or 'none'} of {len(explores)}.",
    ]


def _over_all_rounds(rows_of: RowsOf) -> list[str]:
    """The second part of C14 with both policies' times over the same rounds; none without rows."""
    rows = rows_of("frl/table3")
    return [
        "C14, on non-IID data, averages each policy's times up to its own arrival at the threshold. Over all "
        f"rounds of both its second part would be {one.verdict}."
        for one in (effects_of((OVER_ALL_ROUNDS,), real_rows(rows)) if len(rows) else ())
    ]


def mean_rounds(rows_of: RowsOf) -> str:
    """SchedulerFL's mean round less that of as many at random on IID data, by both averages."""
    threshold, every = (stated(number, rows_of) for number in (MEAN_ROUND, IN_ALL_ROUNDS))
    return (
        "Less that of as many workers drawn at random, SchedulerFL's mean round on IID data is "
        f"{threshold} up to the threshold and {every} over all rounds. These are single draws: less the "
        f"expectation of as many it is {stated(IN_EXPECTATION, rows_of)} over all rounds."
    ) * bool(threshold and every)


def _by_number(number: Number, words: str, sides: tuple[str, str, str], rows_of: RowsOf) -> str:
    """Words with the one of three sides (above, below, undecided) that a number's interval tells."""
    above, below, undecided = sides
    found = number.value(rows_of) or NO_INTERVAL
    return words.format(by_sign(found, above=above, below=below, undecided=undecided))


def _falls_further(rows_of: RowsOf) -> str:
    return by_sign(
        NET_FALL.value(rows_of) or NO_INTERVAL, above="it falls further than theirs",
        below="it falls less than theirs", undecided="that it falls further than theirs does not show",
    )  # fmt: skip


def _theirs(rows_of: RowsOf) -> str:
    """The way that the time of as many workers at random moves where SchedulerFL's falls by `FALL`."""
    rows = rows_of("frl/fig26")
    fall = mean_interval((maximum_time_falls(rows) - net_fall(rows)).to_numpy())
    return by_sign(fall, above="falls as well", below="rises", undecided="does not clearly change")


def _what_training_adds(rows_of: RowsOf) -> str:
    """EvaluatorFL's accuracy against its untrained policy, SchedulerFL's time against both of its twins."""
    permuted, rows = OVER_PERMUTED.value(rows_of), rows_of("frl/schedulerfl_untrained")
    twins = scheduler_table(rows).set_index("variant")["workers"]
    says = by_sign(
        permuted or NO_INTERVAL, above="its own rewards make rounds shorter still",
        below="rewards in another order make rounds shorter than its own",
        undecided="that its own rewards shorten rounds does not show",
    )  # fmt: skip
    return (
        "**What does training add (R1, R3)?** EvaluatorFL's final accuracy less that of its untrained "
        f"policy is {stated(TRAINED, rows_of)}{seeds_of(TRAINED, rows_of)}. A round of SchedulerFL's "
        f"untrained policy, which draws {twins['untrained'].mean():.0f} of {rows.num_clients.max()} workers, "
        f"takes {stated(OVER_UNTRAINED, rows_of)} as long as its own. One of the same agent taught on "
        f"permuted rewards takes {stated(OVER_PERMUTED, rows_of)} as "
        f"long{seeds_of(OVER_PERMUTED, rows_of)}: {says}. "
        f"After the last round SchedulerFL's accuracy is {stated(COST['IID'], rows_of)} from its untrained "
        f"policy's on IID and {stated(COST['non-IID'], rows_of)} on non-IID data."
    )


def _other_measures(rows_of: RowsOf) -> str:
    """Verdicts on C7 by the measures beside its own, which were added when its rows had been looked at."""
    verdicts = Counter(one.verdict for one in effects_of(BEHIND, real_rows(rows_of("frl/sec5"))))
    agree = len(verdicts) == 1
    found = [
        f"{verdict} {'each time' if agree else f'{count} times'}" for verdict, count in verdicts.most_common()
    ]
    return f"By {verdicts.total()} other measures, tried later, C7 would be {listed(found)}."
