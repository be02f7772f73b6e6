"""The report's claims FRL-C1 to C15, registered: sentence, estimand, printed effect, margin, kind, gates.

C10 to C14 are about the scheduler: the other reading of its state (FRL-A12) is told beside the verdict.
"""

from functools import partial

from fedlib.analysis.claims import Claim, Part, Supplement, supplement
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE
from fedlib.analysis.gates import at_scale, curves_flat
from fedlib.papers.frl import estimands as estimate
from fedlib.papers.frl import supplements as beside
from fedlib.papers.frl.estimands import (
    ABOUT,
    BOTH_SIZES,
    FULL_SIZE,
    PAPER_TASK,
    SCHEDULER_TRAINED,
    SHIFT,
    USED,
    by_size,
)
from fedlib.papers.frl.quantities import ALIKE, LAST, held_fixed
from fedlib.papers.frl.supplements import ADDED, decided

SEPARATED = 0.9  # adjusted Rand index from which clusters count as separated
STRICTER = 0.98  # of random selection's final accuracy: told beside C13
FORTY_WORKERS = at_scale("40 workers", workers=40)
HUNDRED_WORKERS = at_scale("100 workers", num_clients=100)
LOCAL = "evaluatorfl_local"  # approach 2 that rewards the workers' own models (FRL-F1)
TEN_ROUNDS = curves_flat(("artifact", "num_clients", "method"), length=10)


def _in_code(artifact: str, *parts: Part) -> Supplement:
    """Words on the same estimands in the code's reading of the scheduler's state."""
    return supplement(
        f"frl/{artifact}",
        *parts,
        where="in the code's reading of A12",
        absent="the code's reading of A12 was not run",
        chosen=estimate.as_coded,
    )


CODE = "evaluatorfl_code"  # as the released code has it, of either approach; our rate of Adam (FRL-A33)


def _settled(variant: str) -> tuple[Part, ...]:
    """Episodes that keep the selection, for each number of workers."""
    return tuple(
        Part(
            f"episodes that keep the selection, {workers} workers",
            by_size(estimate.episodes_settled, (workers,), variant), unit="episodes",
            printed=lambda figure=figure: estimate.printed_settled(figure),
        )
        for workers, figure in ((20, "fig14"), (100, "fig15"))
    )  # fmt: skip


HELD_FIXED = tuple(
    Part(
        f"workers chosen alike in {100 * ALIKE:.0f} % of the last {LAST} rounds, of {workers}",
        by_size(held_fixed, (workers,), CODE), unit="workers", margin=0.05 * workers,
    )
    for workers in estimate.WORKERS
)  # fmt: skip


def _unsettled(*variants: str) -> tuple[Part, Part]:
    """Parts on how much a selection still changes, and how many workers it uses at the end."""
    return (
        Part(
            "workers that change from round to round, above 5 %",
            by_size(estimate.still_changing, estimate.WORKERS, *variants), unit="% of the workers",
            margin=5.0,
        ),
        Part(
            f"workers used at the end, above {100 * USED:.0f} %",
            by_size(estimate.used_above(USED), estimate.WORKERS, *variants), unit="% of the workers",
            margin=5.0,
        ),
    )  # fmt: skip


def _as_coded(artifact: str, readings: str, *parts: Part) -> tuple[Supplement, ...]:
    """Words on EvaluatorFL as its released code has it, one for each part."""
    where = f"as the code has it ({readings})"
    return tuple(supplement(artifact, part, where=where) for part in parts)


WORKERS_OWN = Part(
    "accuracy of the workers' own models after the first round, which the code rewards, - 85 %",
    by_size(estimate.first_round("value"), estimate.WORKERS, LOCAL),
)
SAME_NUMBER = Part(
    "maximum time of as many workers drawn at random / the scheduler's, fig. 30 (100 log)",
    estimate.ahead_of_same_number, unit="%",
)  # fmt: skip
SAME_NUMBER_BEFORE_STOP = Part(
    "expected time of as many workers at random / the scheduler's, before the stop (100 log)",
    estimate.ahead_before_stop, unit="%",
)  # fmt: skip
NET_FALL = Part(
    "fall of the maximum time less that of as many workers at random (100 log)", estimate.net_fall, unit="%",
)  # fmt: skip
AT_98 = Part(
    f"rounds to {100 * STRICTER:.0f} % of random's final accuracy, scheduler - random",
    partial(estimate.more_rounds, threshold=STRICTER), unit="rounds", kind=EQUIVALENCE, margin=1.0,
)  # fmt: skip
FINAL_AHEAD = Part("final accuracy, scheduler - random", estimate.final_ahead)
OF_ARRIVALS = Part(
    "rounds to the threshold where both reach it, scheduler / random (100 log)",
    estimate.round_ratio_of_arrivals, unit="%",
)  # fmt: skip
OVER_ALL_ROUNDS = Part(
    "maximum time over all rounds of both, scheduler / random (100 log)", estimate.slower_over_all_rounds,
    unit="%", kind=EVERYWHERE,
)  # fmt: skip

UP_TO_THE_STOP = (
    "Only rows of our reading of the scheduler count, up to the decision at which FRL-A17 stops its "
    "training; the halves are halves of these decisions. The stop is the report's own and can come "
    "early: the evidence tells after how many decisions it came."
)
FEWER = (
    " The time falls also where fewer workers are drawn, and all of the fall is that of fewer workers: "
    "the time of as many drawn at random falls as much. Beside the verdict stands first the fall net of "
    "theirs."
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

# What the supplements of `beside` show; words on verdicts hold for the committed rows
OSCILLATES = (
    "The registered second part leaves out round 1 of an episode, whose reward starts from delta = 0. Its "
    f"verdict depends on the rounds and episodes that count. Both other choices were {ADDED}. Round 2's "
    "reward comes from that start as well: about a tenth of the accuracy. From round 3 on the part stays "
    "inconclusive, with a mean near 0. Over the last five episodes, round 2 included, it would be supported, "
    "and the claim partly supported. As many workers drawn at random show about the same differences."
)
FASTER = (
    'The registered estimand is the mean accuracy over all rounds of an episode. "Faster" is about its '
    f"first rounds, and the verdict depends on this. Rounds 1 to 5 alone were {ADDED}. There the accuracy "
    "of 20 workers rises over the episodes, and the claim would not be supported. Net of as many workers "
    "drawn at random it stays inconclusive."
)
NEARLY_ALL = (
    "The registered second part is the share of the workers used in a round. The verdict depends on this. "
    f"The share used in some round of an episode was {ADDED}. It is nearly all, and the claim would be "
    "supported. Workers drawn at random, as many in each round, are all used as well."
)
ONE_FOR_EACH_SIZE = (
    "One part for each number of workers, since the claim names both; at first it was their mean. The "
    f"verdict depends on this: by the mean, {ADDED}, it would be inconclusive."
)
AFTER_AS_MANY = (
    "The registered estimand compares the accuracy after ten rounds. The verdict depends on this: by the "
    "mean over the rounds, the best round, the last episode alone or the code's readings it would be "
    f"inconclusive. These four were {ADDED}. In none of them is a cell's mean below 0."
)
FURTHER_READINGS = f" The verdict depends on the reading. What follows was {ADDED}."
TO_THE_END = (
    " The report's figure goes on after the stop. Over the whole training the reward does shrink: the "
    "first part would be supported, the claim partly supported. The reward shrinks because all probabilities "
    "vanish, by which M_t is weighted, not because fast workers are chosen."
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
    "the rounds that count. In the code's reading of FRL-A12 the claim would be partly supported: fewer "
    f"rounds, more time. These words and the counts below were {ADDED}."
)
CODE_CRITERION = (
    " The authors' script of branch scheduler-v3 trains until a test accuracy of 95 % (FRL-A19). Too few "
    "runs of either reach it here, as the evidence tells, so 95 % of random selection's final accuracy "
    "stands in for it. The evidence also tells after how many decisions the scheduler's training stopped."
)


def _scheduler(number: int, statement: str, place: str, artifact: str, *parts: Part, **more: object) -> Claim:
    """A claim about the scheduler, with the code's reading beside it."""
    usual = {
        "gates": (SCHEDULER_TRAINED,),
        "supplements": (_in_code(artifact, *parts),),
        "how": UP_TO_THE_STOP,
    }
    given = usual | more
    return Claim(f"FRL-C{number}", statement, place, f"frl/{artifact}", parts=parts, **given)


REWARD_SHRINKS = Part(
    "|reward|, first / second half of the training (100 log)", estimate.reward_shrinks, unit="%",
)  # fmt: skip
AHEAD = Part(
    "probability of the fastest tenth - mean at the stop", estimate.fastest_ahead, unit="points",
    margin=SHIFT,
)  # fmt: skip
TIME_FALLS = Part(
    "maximum time, first / second half of the training (100 log)", estimate.maximum_time_falls, unit="%",
)  # fmt: skip
SAME_ROUNDS = Part(
    "rounds to the threshold, scheduler - random", estimate.more_rounds, unit="rounds", kind=EQUIVALENCE,
    margin=1.0,  # the resolution of a count
)  # fmt: skip
SHORTER = Part(
    "maximum time, random / scheduler (100 log)", estimate.log_ratio("max_seconds", faster=True), unit="%",
    printed=lambda: estimate.printed_time_ratio("table2"),
)  # fmt: skip
TWICE = Part(
    "rounds to the threshold, scheduler / random (100 log)", estimate.log_ratio("rounds", faster=False),
    unit="%", printed=estimate.printed_round_ratio,
)  # fmt: skip
NO_SHORTER = Part(
    "maximum time, scheduler / random (100 log)", estimate.log_ratio("max_seconds", faster=False), unit="%",
    kind=EVERYWHERE, printed=lambda: -estimate.printed_time_ratio("table3"),
)  # fmt: skip

CLAIMS = (
    Claim(
        "FRL-C1",
        "FedAvg is fast when all labels are on all workers, slower with balanced non-IID labels, worst with "
        "unbalanced ones",
        "sec. IV.ii, figs. 10 to 13", "frl/cases",
        parts=tuple(
            Part(f"mean accuracy of rounds 1 to 10, {what}", estimate.mean_accuracy(a, b))
            for what, a, b in (
                ("IID - balanced labels", "fig10", "fig12"),
                ("skewed volume - balanced labels", "fig11", "fig12"),
                ("balanced - unbalanced labels", "fig12", "fig13"),
            )
        ),
        gates=(TEN_ROUNDS,),
    ),
    Claim(
        "FRL-C2",
        "EvaluatorFL 1 settles on a selection within one episode with 20 workers, after about 18 of 20 with "
        "100 workers",
        "sec. IV.iii.1, figs. 14, 15", "frl/fig16",
        parts=_settled("evaluatorfl"), gates=(FULL_SIZE,),
        supplements=_as_coded("frl/fig16", "A3, A4", *_settled(CODE), *HELD_FIXED),
    ),
    Claim(
        "FRL-C3", "its reward rises to a plateau, slower and oscillating with 100 workers",
        "sec. IV.iii.1, fig. 16", "frl/fig16",
        parts=(
            Part("Rhat, last - first 5 episodes", by_size(estimate.late_gain("value"))),
            Part("spread of the reward, 100 - 20 workers", estimate.spread_difference),
        ),
        gates=(FULL_SIZE,), how=OSCILLATES, supplements=(decided("frl/fig16", *beside.SPREADS),),
    ),
    Claim(
        "FRL-C4", "EvaluatorFL 1 does not make the accuracy rise faster over the episodes",
        "sec. IV.iii.1, figs. 17, 18", "frl/fig16",
        parts=(
            Part(
                "accuracy, first - last 5 episodes",
                lambda rows: -by_size(estimate.late_gain("test_accuracy"))(rows), kind=EVERYWHERE, cells=2,
            ),
        ),
        gates=(FULL_SIZE,), how=FASTER, supplements=(decided("frl/fig16", *beside.FASTER_EARLY),),
    ),
    Claim(
        "FRL-C5", "EvaluatorFL 2 does not converge to a selection; nearly all workers are used",
        "sec. IV.iii.2, figs. 19, 20", "frl/fig21",
        parts=_unsettled("evaluatorfl", "evaluatorfl_old"), gates=(FULL_SIZE,),
        how=NEARLY_ALL,
        supplements=(
            *_as_coded("frl/evaluatorfl_code", "A8, F1", *_unsettled(CODE)),
            decided("frl/fig21", *beside.IN_SOME_ROUND),
        ),
    ),
    Claim(
        "FRL-C6", "with approach 2 the first round already reaches about 85 % for 20 and 100 workers",
        "sec. IV.iii.2, figs. 22, 23", "frl/first-round",
        parts=(
            *(
                Part(
                    f"accuracy after the first round - 85 %, {workers} workers",
                    by_size(estimate.first_round("test_accuracy"), (workers,), LOCAL), kind=EQUIVALENCE,
                    margin=ABOUT,
                )
                for workers in estimate.WORKERS
            ),
        ),
        how=ONE_FOR_EACH_SIZE, gates=(BOTH_SIZES, PAPER_TASK),
        supplements=(
            supplement("frl/first-round", WORKERS_OWN), decided("frl/first-round", beside.BOTH_SIZES_MEAN),
        ),
    ),
    Claim(
        "FRL-C7", "neither approach beats FedAvg", "sec. V", "frl/sec5",
        parts=(
            Part(
                "FedAvg - EvaluatorFL after as many rounds", estimate.behind_fedavg, kind=EVERYWHERE, cells=4,
            ),
        ),
        gates=(FULL_SIZE,), how=AFTER_AS_MANY, supplements=(decided("frl/sec5", *beside.BEHIND),),
    ),
    Claim(
        "FRL-C8",
        "two principal components explain about 25 % and separate the four clusters; 37 of 40 keep 95 %",
        "sec. IV.iii.3, fig. 24", "frl/fig24",
        parts=(
            Part(
                "variance explained by two components - 25 %",
                estimate.embedding("pca", "explained_2", 25.0, 100), kind=EQUIVALENCE, margin=ABOUT,
            ),
            Part(
                f"adjusted Rand index above {SEPARATED}", estimate.embedding("pca", "rand_index", SEPARATED),
                unit="index", printed=lambda: 1 - SEPARATED,
            ),
            Part(
                "components for 95 % - 37", estimate.embedding("pca", "components_95", 37.0),
                unit="components", kind=EQUIVALENCE, margin=2.0,  # 5 % of 40
            ),
        ),
        gates=(FORTY_WORKERS,),
    ),
    Claim(
        "FRL-C9", "spectral embedding separates the clusters too", "sec. IV.iii.3, fig. 25", "frl/fig25",
        parts=(
            Part(
                f"adjusted Rand index above {SEPARATED}",
                estimate.embedding("spectral", "rand_index", SEPARATED), unit="index",
                printed=lambda: 1 - SEPARATED,
            ),
        ),
        gates=(FORTY_WORKERS,),
    ),
    _scheduler(
        10, "the scheduler's reward tends to zero as the fastest workers are chosen", "sec. IV.iv.3, fig. 26",
        "fig26", REWARD_SHRINKS, AHEAD,
        how=UP_TO_THE_STOP + FURTHER_READINGS + TO_THE_END + DRAW_REWARDED,
        supplements=(
            _in_code("fig26", REWARD_SHRINKS, AHEAD),
            decided("frl/fig26", *beside.TO_THE_END, where="over the whole training"),
            decided("frl/readings", *beside.DRAW_REWARDED),
        ),
    ),
    _scheduler(
        11, "selection probabilities concentrate on the fastest workers", "sec. IV.iv.3, figs. 27, 28",
        "fig27", AHEAD,
        how=UP_TO_THE_STOP + FURTHER_READINGS + DRAW_REWARDED,
        supplements=(_in_code("fig27", AHEAD), decided("frl/readings", *beside.DRAW_REWARDED)),
    ),
    _scheduler(
        12, "the maximum time falls over the experiments", "sec. IV.iv.3, fig. 29", "fig29", TIME_FALLS,
        how=UP_TO_THE_STOP + FEWER,
        supplements=(
            supplement(
                "frl/fig29", NET_FALL, SAME_NUMBER_BEFORE_STOP,
                absent="as many workers at random before the stop: not in these rows",
                chosen=lambda rows: rows if "same_number_seconds" in rows else rows.iloc[:0],
            ),
            _in_code("fig29", TIME_FALLS),
            supplement("frl/fig30", SAME_NUMBER),
        ),
    ),
    _scheduler(
        13, "IID: the scheduler converges as fast as random selection, with a shorter maximum time (0.52 x)",
        "sec. IV.iv.3, fig. 30, table 2", "table2", SAME_ROUNDS, SHORTER, gates=(HUNDRED_WORKERS,),
        how=UP_TO_THE_THRESHOLD + EVERY_POLICY_ARRIVES + STRICTER_OR_MEDIAN + CODE_CRITERION,
        supplements=(
            decided("frl/table2", AT_98), supplement("frl/table2", FINAL_AHEAD),
            Supplement("frl/table2", estimate.tell_every_policy),
            _in_code("table2", SAME_ROUNDS, SHORTER), Supplement("frl/table2", estimate.tell_unreached),
            decided("frl/table2", beside.MEDIAN_TIMES),
            *(Supplement("frl/table2", tell) for tell in beside.CODE_CRITERION),
        ),
    ),
    _scheduler(
        14, "non-IID: it takes about twice the rounds of random selection and gains no time",
        "sec. IV.iv.3, fig. 30, table 3", "table3", TWICE, NO_SHORTER, gates=(HUNDRED_WORKERS,),
        how=UP_TO_THE_THRESHOLD + LOWER_BOUND + BOTH_OVER_ALL + CODE_CRITERION,
        supplements=(
            Supplement("frl/table3", estimate.tell_unreached),
            supplement("frl/table3", OF_ARRIVALS), decided("frl/table3", OVER_ALL_ROUNDS),
            _in_code("table3", TWICE, NO_SHORTER),
            *(Supplement("frl/table3", tell) for tell in beside.CODE_CRITERION),
        ),
    ),
    Claim(
        "FRL-C15", "rewards that are always positive (negative) drive all probabilities to 1 (0)", "sec. V",
        "frl/sec5-rewards",
        parts=tuple(
            Part(
                f"change of the mean probability towards {int(share)} where all rewards are {sign}",
                estimate.one_sign(share), printed=lambda: 50.0,  # from the untrained one half all the way
            )
            for share, sign in ((1.0, "positive"), (0.0, "negative"))
        ),
    ),
)  # fmt: skip
