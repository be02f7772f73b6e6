"""Worth of training to the report's agents: each beside its untrained and its uninformed twin (ours).

Twins (HEAD-A17): the policy that training starts from, and one taught without information, EvaluatorFL on
selections drawn anew, SchedulerFL on rewards in another order.
"""

from collections.abc import Callable

import pandas as pd

from fedlib.analysis.claims import Claim, Effect, Part, effects_of, real_rows
from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.gates import at_scale
from fedlib.analysis.intervals import (
    LOGARITHM,
    NO_INTERVAL,
    by_sign,
    effect_words,
    mean_interval,
    ratio_words,
)
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.papers.frl import quantities
from fedlib.papers.frl.estimands import APPROACHES, of_size, shorter_than
from fedlib.papers.frl.gates import FULL_SIZE
from fedlib.words import counted

EVALUATOR_TWINS = {
    "evaluatorfl_untrained": "its untrained policy",
    "evaluatorfl_redrawn": "itself taught on redrawn selections",
}
SCHEDULER_TWINS = {
    "untrained": "its untrained policy",
    "schedulerfl_permuted": "itself with permuted rewards",
}
REGISTERED = (
    "Registered on 2026-11-28, before a run of either control in the report's settings, with all other rows "
    "known."
)


def late_value(rows: pd.DataFrame) -> float:
    """Mean over the last episodes of what is rewarded, before its average is taken off, in percent.

    Approach 1: accuracy of the chosen workers; approach 2: of the new global model.
    """
    means = rows[rows["round"] > 0].groupby("episode")["value"].mean()
    return float(100 * means.iloc[-quantities.END_EPISODES :].mean())


def gain_over(twin: str, measure: Callable[[pd.DataFrame], float]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A measure of EvaluatorFL's run less its twin's, in points: by seed, a column for each figure's cell."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        named, found = quantities.named(rows), {}
        approaches = quantities.approach(named)
        for workers in sorted(set(named["num_clients"])):
            for approach, _ in APPROACHES:
                own = named[approaches == approach]
                ours, control = (of_size(own, workers, name) for name in ("evaluatorfl", twin))
                if len(ours) and len(control):
                    gain = by_seed(ours, measure) - by_seed(control, measure)
                    found[f"approach {approach}, {workers} workers"] = gain
        return pd.DataFrame(found)

    return estimand


def evaluator_table(rows: pd.DataFrame) -> pd.DataFrame:
    """EvaluatorFL less either twin in each cell: accuracy and what is rewarded, in points."""
    measures = {"final accuracy (points)": quantities.late_final, "rewarded (points)": late_value}
    lines = []
    for twin, words in EVALUATOR_TWINS.items():
        gains = {name: gain_over(twin, measure)(rows) for name, measure in measures.items()}
        for cell in next(iter(gains.values())):
            line: dict[str, object] = {"cell": cell, "EvaluatorFL less": words}
            for name, gain in gains.items():
                known = gain[cell].dropna().to_numpy()
                line |= (mean_interval(known) if len(known) else NO_INTERVAL).columns(name)
            lines.append(line)
    return pd.DataFrame(lines)


def scheduler_table(rows: pd.DataFrame) -> pd.DataFrame:
    """SchedulerFL beside its twins by case: workers a round, time of a round, final accuracy.

    Each the mean over seeds of a run's mean over its rounds, or of its last accuracy, with its interval.
    """
    named = quantities.named(rows)
    own = named[named["round"] > 0]
    by = ["case", "variant"]
    runs = own.groupby([*by, "seed"])[["selected", "max_seconds"]].mean()
    last = own[own["round"] == own["round"].max()]
    runs["final (%)"] = 100 * last.groupby([*by, "seed"])["test_accuracy"].mean()
    runs = runs.rename(columns={"selected": "workers", "max_seconds": "maximum time (s)"})
    lines = []
    for (case, variant), part in runs.groupby(by):
        line: dict[str, object] = {"case": case, "variant": variant}
        for name in part:
            line |= mean_interval(part[name].to_numpy()).columns(str(name))
        lines.append(line | {"seeds": len(part)})
    return pd.DataFrame(lines)


def final_less_untrained(rows: pd.DataFrame, case: str) -> pd.Series:
    """SchedulerFL's accuracy after the last round less its untrained policy's, by seed (points)."""
    own = quantities.named(rows)
    own = own[(own["case"] == case) & (own["round"] == own["round"].max())]
    agent, twin = (
        own[own["variant"] == name].set_index("seed")["test_accuracy"]
        for name in ("schedulerfl", "untrained")
    )
    return 100 * (agent - twin).sort_index()


def does_training_pay(rows_of: RowsOf) -> list[str]:
    """Answer by the claims below, a sentence each: every effect against a twin, and what it shows."""
    told = []
    for claim, (start, link), sides in zip(TRAINING_CLAIMS, _STARTS, _SHOWN, strict=True):
        effects = effects_of(claim.parts, real_rows(rows_of(claim.artifact)))
        found = [
            f"{_size(one)} {link} {words} ({by_sign(one.interval, **sides)})"
            for one, words in zip(effects, _TWINS[claim.artifact].values(), strict=bool(effects))
            if one.interval.n
        ]
        if found:
            told.append(f"{start} {listed(found)} ({counted(effects[0].interval.n, 'seed')}).")
    return told or ["Open: no twin of either agent was run."]


def _size(effect: Effect) -> str:
    """The effect with its unit; a logarithm as the ratio that it stands for."""
    if LOGARITHM in effect.what:
        return f"× {ratio_words(effect.interval)}"
    return effect_words(effect.interval, effect.unit)


_HIGHER = {"above": "its own is higher", "below": "its own is lower", "undecided": "undecided"}
_SHORTER = {"above": "its own are shorter", "below": "its own are longer", "undecided": "undecided"}
_SHOWN = (_HIGHER, _HIGHER, _SHORTER)  # of the same sentences; shorter rounds can go with less accuracy
_TWINS = {"frl/evaluatorfl_untrained": EVALUATOR_TWINS, "frl/schedulerfl_untrained": SCHEDULER_TWINS}
_STARTS = (  # of the sentences, in the order of the claims, with the word between effect and twin
    ("EvaluatorFL's final accuracy is", "against"),
    ("The accuracy that it is rewarded for is", "against"),
    ("The maximum time of rounds, over SchedulerFL's, is", "for"),
)


TRAINING_CLAIMS = (
    Claim(
        "FRL-R1", "training makes EvaluatorFL more accurate", "ours", "frl/evaluatorfl_untrained",
        parts=tuple(
            Part(f"final accuracy, EvaluatorFL - {words}", gain_over(twin, quantities.late_final), cells=4)
            for twin, words in EVALUATOR_TWINS.items()
        ),
        gates=(FULL_SIZE,), how=REGISTERED,
    ),
    Claim(
        "FRL-R2", "training raises what EvaluatorFL is rewarded for", "ours", "frl/evaluatorfl_untrained",
        parts=tuple(
            Part(f"rewarded accuracy, EvaluatorFL - {words}", gain_over(twin, late_value), cells=4)
            for twin, words in EVALUATOR_TWINS.items()
        ),
        gates=(FULL_SIZE,),
        how="Rewarded is the accuracy of the chosen workers (approach 1) or of the new global model, before "
        f"its moving average is taken off: mean over the rounds of the last five episodes. {REGISTERED}",
    ),
    Claim(
        "FRL-R3", "training makes SchedulerFL's rounds shorter", "ours", "frl/schedulerfl_untrained",
        parts=tuple(
            Part(f"maximum time, {words} / SchedulerFL (100 log)", shorter_than(twin), unit="%", cells=2)
            for twin, words in SCHEDULER_TWINS.items()
        ),
        gates=(at_scale("100 workers", num_clients=100),),
        how="Mean over all rounds. A policy that draws fewer workers has shorter rounds without knowing the "
        f"fast ones; as many at random stand beside C12. {REGISTERED}",
    ),
)  # fmt: skip
