"""The report's claims FRL-C10 to C14, about the scheduler: registered, as `claims` has the others.

The other reading of the scheduler's state (FRL-A12) is told beside each verdict.
"""

from functools import partial

from fedlib.analysis.claims import Claim, Part, Supplement
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE
from fedlib.analysis.gates import at_scale
from fedlib.analysis.supplements import supplement
from fedlib.papers.frl import estimands, same_number, supplements
from fedlib.papers.frl.estimands import SHIFT
from fedlib.papers.frl.gates import SCHEDULER_TRAINED
from fedlib.papers.frl.supplements import ADDED, decided

STRICTER = 0.98  # of random selection's final accuracy: told beside C13
HUNDRED_WORKERS = at_scale("100 workers", num_clients=100)


def _in_code(artifact: str, *parts: Part) -> Supplement:
    """Words on the same estimands with the scheduler's state as later code has it."""
    return supplement(
        f"frl/{artifact}",
        *parts,
        where="in later code's reading of A12",
        absent="later code's reading of A12 was not run",
        chosen=partial(estimands.in_reading, estimands.AS_CODED),
    )


def _draw_rewarded(artifact: str, *parts: Part) -> tuple[Supplement, ...]:
    """Parts with the draw rewarded, as in the authors' script, and with their verdicts."""
    chosen = partial(estimands.in_reading, estimands.LITERAL)
    where = "the draw rewarded (A10)"
    return tuple(decided(f"frl/{artifact}", part, where=where, chosen=chosen) for part in parts)


SAME_NUMBER = Part(
    "maximum time of as many workers drawn at random / the scheduler's, fig. 30 (100 log)",
    estimands.shorter_than("learned_rate"), unit="%",
)  # fmt: skip
SAME_NUMBER_BEFORE_STOP = Part(
    "expected time of as many workers at random / the scheduler's, before the stop (100 log)",
    estimands.ahead_before_stop, unit="%",
)  # fmt: skip
NET_FALL = Part(
    "fall of the maximum time less that of as many workers at random (100 log)", estimands.net_fall, unit="%",
)  # fmt: skip
AT_98 = Part(
    f"rounds to {100 * STRICTER:.0f} % of random's final accuracy, scheduler - random",
    partial(estimands.more_rounds, threshold=STRICTER), unit="rounds", kind=EQUIVALENCE, margin=1.0,
)  # fmt: skip
FINAL_AHEAD = Part("final accuracy, scheduler - random", estimands.final_ahead)
OF_ARRIVALS = Part(
    "rounds to the threshold where both reach it, scheduler / random (100 log)",
    estimands.round_ratio_of_arrivals, unit="%",
)  # fmt: skip
OVER_ALL_ROUNDS = Part(
    "maximum time over all rounds of both, scheduler / random (100 log)", estimands.slower_over_all_rounds,
    unit="%", kind=EVERYWHERE,
)  # fmt: skip

UP_TO_THE_STOP = (
    "Only rows of our reading of the scheduler count, up to the decision at which FRL-A17 stops its "
    "training; the halves are halves of these decisions. The stop is the report's own and can come "
    "early: the evidence tells after how many decisions it came. The 20 seeds at `extended` were run at "
    "once on 2026-11-22, when three at `reduced` had been looked at."
)
FEWER = (
    " The time falls also where fewer workers are drawn, and no part of the fall beyond that of fewer "
    "workers shows: the time of as many drawn at random falls as well. Beside the verdict stands first the "
    "fall net of theirs."
)
UP_TO_THE_THRESHOLD = (
    "The threshold is 95 % of the accuracy that random selection has after the last round on the same "
    "seed; a run that does not reach it counts with all its rounds, and the evidence tells how many "
    "did not. The maximum time is the mean over the rounds up to each run's own arrival. Seeds were "
    "added twice (5, 10, 20) after the first ones had been looked at; no interval is corrected for "
    "that."
)
EVERY_POLICY_ARRIVES = (
    " On IID data every policy reaches this threshold in the first few rounds, the controls too. The first "
    "estimand therefore cannot tell methods apart: its support says little about speed. Beside the verdict "
    f"stand the rounds to {100 * STRICTER:.0f} % and the paired difference of the final accuracies, neither "
    "registered."
)
LOWER_BOUND = (
    " Most of the scheduler's runs never reach the threshold. They are entered with the last round, so the "
    "first estimand is a lower bound of the rounds that it takes. The few runs that reach it are beside the "
    "verdict; they are its quicker ones. A run that does not arrive has its maximum time averaged over all "
    "rounds, random selection's over the rounds up to its arrival. Beside the verdict both are averaged over "
    "all rounds."
)

# Words on verdicts hold for the committed rows
FURTHER_READINGS = f" The verdict depends on the reading. What follows was {ADDED}."
TO_THE_END = (
    " The report's figure goes on after the stop. Over the whole training the reward does shrink: the "
    "first part would be supported, the claim partly supported. The reward shrinks because all probabilities "
    "vanish, by which M_t is weighted, not because fast workers are chosen."
)
REWARD_OF_THE_DRAW = " With the draw rewarded, the part on the reward would be inconclusive."
NEITHER_REWARD = (
    f" Fig. 30's control stands beside its exact expectation; this and the literal reward were {ADDED}. "
    "The two differ since the control is one draw a round of a heavy-tailed time, on IID data slower than "
    "its own expectation, and since it draws 0.4 workers fewer. The verdict depends on neither reward: with "
    "the draw rewarded, as in the authors' script (FRL-A10), the time falls as well; that it falls "
    "further than that of as many at random does not show."
)
SAME_VERDICTS = (
    " With the draw rewarded, as in that script (FRL-A10) and added on the same day, both parts keep their "
    "verdicts."
)
DRAW_REWARDED = (
    " The authors' script that made the figures rewards the draw, not the probabilities (FRL-A10). With the "
    "draw rewarded, the part on the fastest tenth is not supported either. With the draw also stored, or "
    "without the critic's weight decay, it would be inconclusive. No reading supports it."
)
STRICTER_OR_MEDIAN = (
    f" At {100 * STRICTER:.0f} % the first part would not be supported, and the claim with it: the verdict "
    f"depends on the threshold. The medians of the maximum time were {ADDED}, as were the counts below; by "
    "medians, whose printed ratio is smaller, the second part and the claim would be inconclusive."
)
BOTH_OVER_ALL = (
    " So averaged, the second part would be inconclusive, and the claim with it: the verdict depends on "
    "the rounds that count. In later code's reading of FRL-A12 the claim would be partly supported: fewer "
    f"rounds, more time. These words and the counts below were {ADDED}."
)
CODE_CRITERION = (
    " The authors' script of branch scheduler-v3 trains until a test accuracy of 95 % (FRL-A19). Too few "
    "runs of either reach it here, as the evidence tells, so 95 % of random selection's final accuracy "
    "stands in for it. The evidence also tells after how many decisions the scheduler's training stopped."
)


def _scheduler(number: int, statement: str, place: str, artifact: str, *parts: Part, **more: object) -> Claim:
    """A claim about the scheduler; more: fields of `Claim`."""
    given = {"gates": (SCHEDULER_TRAINED,)} | more
    return Claim(f"FRL-C{number}", statement, place, f"frl/{artifact}", parts=parts, **given)


REWARD_SHRINKS = Part(
    "|reward|, first / second half of the training (100 log)", estimands.reward_shrinks, unit="%",
)  # fmt: skip
AHEAD = Part(
    "probability of the fastest tenth - mean at the stop", estimands.fastest_ahead, unit="points",
    margin=SHIFT,
)  # fmt: skip
TIME_FALLS = Part(
    "maximum time, first / second half of the training (100 log)", estimands.maximum_time_falls, unit="%",
)  # fmt: skip
SAME_ROUNDS = Part(
    "rounds to the threshold, scheduler - random", estimands.more_rounds, unit="rounds", kind=EQUIVALENCE,
    margin=1.0,  # the resolution of a count
)  # fmt: skip
SHORTER = Part(
    "maximum time, random / scheduler (100 log)", estimands.log_ratio("max_seconds", faster=True), unit="%",
    printed=lambda: estimands.printed_time_ratio("table2"),
)  # fmt: skip
TWICE = Part(
    "rounds to the threshold, scheduler / random (100 log)", estimands.log_ratio("rounds", faster=False),
    unit="%", printed=estimands.printed_round_ratio,
)  # fmt: skip
NO_SHORTER = Part(
    "maximum time, scheduler / random (100 log)", estimands.log_ratio("max_seconds", faster=False), unit="%",
    kind=EVERYWHERE, printed=lambda: -estimands.printed_time_ratio("table3"),
)  # fmt: skip

SCHEDULER_CLAIMS = (
    _scheduler(
        10, "the scheduler's reward tends to zero as the fastest workers are chosen", "sec. IV.iv.2, fig. 26",
        "fig26", REWARD_SHRINKS, AHEAD,
        how=UP_TO_THE_STOP + FURTHER_READINGS + TO_THE_END + DRAW_REWARDED + REWARD_OF_THE_DRAW,
        supplements=(
            _in_code("fig26", REWARD_SHRINKS, AHEAD),
            decided("frl/fig26", *supplements.TO_THE_END, where="over the whole training"),
            *_draw_rewarded("draw-rewarded", REWARD_SHRINKS, AHEAD),
            decided("frl/readings", *supplements.DRAW_REWARDED_AND),
        ),
    ),
    _scheduler(
        11, "selection probabilities concentrate on the fastest workers", "sec. IV.iv.2, figs. 27, 28",
        "fig27", AHEAD,
        how=UP_TO_THE_STOP + FURTHER_READINGS + DRAW_REWARDED,
        supplements=(
            _in_code("fig27", AHEAD),
            *_draw_rewarded("draw-rewarded", AHEAD), decided("frl/readings", *supplements.DRAW_REWARDED_AND),
        ),
    ),
    _scheduler(
        12, "the maximum time falls over the experiments", "sec. IV.iv.2, fig. 29", "fig29", TIME_FALLS,
        how=UP_TO_THE_STOP + FEWER + NEITHER_REWARD,
        supplements=(
            supplement(
                "frl/fig29", NET_FALL, SAME_NUMBER_BEFORE_STOP,
                absent="as many workers at random before the stop: not in these rows",
                chosen=lambda rows: rows if "same_number_seconds" in rows else rows.iloc[:0],
            ),
            _in_code("fig29", TIME_FALLS),
            supplement("frl/fig30", SAME_NUMBER, *same_number.EXPECTED),
            *_draw_rewarded("draw-rewarded", TIME_FALLS, NET_FALL, SAME_NUMBER_BEFORE_STOP),
        ),
    ),
    _scheduler(
        13, "IID: the scheduler converges as fast as random selection, with a shorter maximum time (0.52 x)",
        "sec. IV.iv.3, fig. 30, table 2", "table2", SAME_ROUNDS, SHORTER, gates=(HUNDRED_WORKERS,),
        how=UP_TO_THE_THRESHOLD + EVERY_POLICY_ARRIVES + STRICTER_OR_MEDIAN + CODE_CRITERION + SAME_VERDICTS,
        supplements=(
            decided("frl/table2", AT_98), supplement("frl/table2", FINAL_AHEAD),
            Supplement("frl/table2", estimands.tell_every_policy),
            _in_code("table2", SAME_ROUNDS, SHORTER), Supplement("frl/table2", estimands.tell_unreached),
            decided("frl/table2", supplements.MEDIAN_TIMES),
            *(Supplement("frl/table2", tell) for tell in supplements.CODE_CRITERION),
            *_draw_rewarded("table2", SAME_ROUNDS, SHORTER),
        ),
    ),
    _scheduler(
        14, "non-IID: it takes about twice the rounds of random selection and gains no time",
        "sec. IV.iv.3, fig. 30, table 3", "table3", TWICE, NO_SHORTER, gates=(HUNDRED_WORKERS,),
        how=UP_TO_THE_THRESHOLD + LOWER_BOUND + BOTH_OVER_ALL + CODE_CRITERION + SAME_VERDICTS,
        supplements=(
            Supplement("frl/table3", estimands.tell_unreached),
            supplement("frl/table3", OF_ARRIVALS), decided("frl/table3", OVER_ALL_ROUNDS),
            _in_code("table3", TWICE, NO_SHORTER),
            *(Supplement("frl/table3", tell) for tell in supplements.CODE_CRITERION),
            *_draw_rewarded("table3", TWICE, NO_SHORTER),
        ),
    ),
)  # fmt: skip
