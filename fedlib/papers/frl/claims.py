"""The report's claims FRL-C1 to C15, registered: sentence, estimand, printed effect, margin, kind, gates.

C10 to C14 are about the scheduler: the other reading of its state (FRL-A12) is told beside the verdict.
"""

import pandas as pd

from fedlib.analysis.claims import Claim, Part, Supplement, effects_of
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE
from fedlib.analysis.gates import at_scale, curves_flat
from fedlib.papers.frl import estimands as estimate
from fedlib.papers.frl.estimands import BOTH_SIZES, FULL_SIZE, PAPER_TASK, SCHEDULER_TRAINED, by_size

USED = 0.8  # share of the workers that "nearly all" means at least
ABOUT = 5.0  # points: "about 25 %", "about 85 %"
SEPARATED = 0.9  # adjusted Rand index from which clusters count as separated
SHIFT = 10.0  # margin in points of selection probability: a tenth of the way from none to all
FORTY_WORKERS = at_scale("40 workers", workers=40)
HUNDRED_WORKERS = at_scale("100 workers", num_clients=100)
LOCAL = "evaluatorfl_local"  # approach 2 that rewards the workers' own models (FRL-F1)
TEN_ROUNDS = curves_flat(("artifact", "num_clients", "method"), length=10)


def _in_code(artifact: str, *parts: Part) -> Supplement:
    """The same estimands in the code's reading of the scheduler's state."""

    def tell(rows: pd.DataFrame) -> str:
        other = estimate.as_coded(rows)
        effects = [effect for part in parts for effect in effects_of((part,), other)] if len(other) else []
        told = "; ".join(effect.described for effect in effects)
        return f"in the code's reading of A12: {told}" if told else "the code's reading of A12 was not run"

    return Supplement(f"frl/{artifact}", tell)


def _workers_own(rows: pd.DataFrame) -> str:
    part = Part(
        what="accuracy of the workers' own models after the first round, which the code rewards, - 85 %",
        estimand=by_size(estimate.first_round("value"), estimate.WORKERS, LOCAL),
    )
    return "; ".join(effect.described for effect in effects_of((part,), rows))


def _same_number_before_stop(rows: pd.DataFrame) -> str:
    if "same_number_seconds" not in rows:
        return "as many workers at random before the stop: not in these rows"
    part = Part(
        what="expected time of as many workers at random / the scheduler's, before the stop (100 log)",
        estimand=estimate.ahead_before_stop,
        unit="%",
    )
    return "; ".join(effect.described for effect in effects_of((part,), rows))


def _same_number(rows: pd.DataFrame) -> str:
    part = Part(
        what="maximum time of as many workers drawn at random / the scheduler's, fig. 30 (100 log)",
        estimand=estimate.ahead_of_same_number,
        unit="%",
    )
    return "; ".join(effect.described for effect in effects_of((part,), rows))


def _scheduler(number: int, statement: str, place: str, artifact: str, *parts: Part, **more: object) -> Claim:
    """A claim about the scheduler, with the code's reading beside it."""
    given = {"gates": (SCHEDULER_TRAINED,), "supplements": (_in_code(artifact, *parts),)} | more
    given |= {"statement": statement, "place": place, "artifact": f"frl/{artifact}", "parts": parts}
    return Claim(id=f"FRL-C{number}", **given)


REWARD_SHRINKS = Part(
    what="|reward|, first / second half of the training (100 log)", estimand=estimate.reward_shrinks, unit="%"
)
AHEAD = Part(
    what="probability of the fastest tenth - mean at the stop",
    estimand=estimate.fastest_ahead,
    unit="points",
    margin=SHIFT,
)
TIME_FALLS = Part(
    what="maximum time, first / second half of the training (100 log)",
    estimand=estimate.maximum_time_falls,
    unit="%",
)
SAME_ROUNDS = Part(
    what="rounds to the threshold, scheduler - random",
    estimand=estimate.more_rounds,
    unit="rounds",
    kind=EQUIVALENCE,
    margin=1.0,  # the resolution of a count
)
SHORTER = Part(
    what="maximum time, random / scheduler (100 log)",
    estimand=estimate.log_ratio("max_seconds", faster=True),
    unit="%",
    printed=lambda: estimate.printed_time_ratio("table2"),
)
TWICE = Part(
    what="rounds to the threshold, scheduler / random (100 log)",
    estimand=estimate.log_ratio("rounds", faster=False),
    unit="%",
    printed=estimate.printed_round_ratio,
)
NO_SHORTER = Part(
    what="maximum time, scheduler / random (100 log)",
    estimand=estimate.log_ratio("max_seconds", faster=False),
    unit="%",
    kind=EVERYWHERE,
    printed=lambda: -estimate.printed_time_ratio("table3"),
)

CLAIMS = (
    Claim(
        id="FRL-C1",
        statement="FedAvg is fast when all labels are on all workers, slower with balanced non-IID labels, "
        "worst with unbalanced ones",
        place="sec. IV.ii, figs. 10 to 13",
        artifact="frl/cases",
        parts=tuple(
            Part(what=f"mean accuracy of rounds 1 to 10, {what}", estimand=estimate.mean_accuracy(a, b))
            for what, a, b in (
                ("IID - balanced labels", "fig10", "fig12"),
                ("skewed volume - balanced labels", "fig11", "fig12"),
                ("balanced - unbalanced labels", "fig12", "fig13"),
            )
        ),
        gates=(TEN_ROUNDS,),
    ),
    Claim(
        id="FRL-C2",
        statement="EvaluatorFL 1 settles on a selection within one episode with 20 workers, after about 18 "
        "of 20 with 100 workers",
        place="sec. IV.iii.1, figs. 14, 15",
        artifact="frl/fig16",
        parts=tuple(
            Part(
                what=f"episodes that keep the selection, {workers} workers",
                estimand=by_size(estimate.episodes_settled, (workers,)),
                unit="episodes",
                printed=lambda figure=figure: estimate.printed_settled(figure),
            )
            for workers, figure in ((20, "fig14"), (100, "fig15"))
        ),
        gates=(FULL_SIZE,),
    ),
    Claim(
        id="FRL-C3",
        statement="its reward rises to a plateau, slower and oscillating with 100 workers",
        place="sec. IV.iii.1, fig. 16",
        artifact="frl/fig16",
        parts=(
            Part(what="Rhat, last - first 5 episodes", estimand=by_size(estimate.late_gain("value"))),
            Part(what="spread of the reward, 100 - 20 workers", estimand=estimate.spread_difference),
        ),
        gates=(FULL_SIZE,),
    ),
    Claim(
        id="FRL-C4",
        statement="EvaluatorFL 1 does not make the accuracy rise faster over the episodes",
        place="sec. IV.iii.1, figs. 17, 18",
        artifact="frl/fig16",
        parts=(
            Part(
                what="accuracy, first - last 5 episodes",
                estimand=lambda rows: -by_size(estimate.late_gain("test_accuracy"))(rows),
                kind=EVERYWHERE,
                cells=2,
            ),
        ),
        gates=(FULL_SIZE,),
    ),
    Claim(
        id="FRL-C5",
        statement="EvaluatorFL 2 does not converge to a selection; nearly all workers are used",
        place="sec. IV.iii.2, figs. 19, 20",
        artifact="frl/fig21",
        parts=(
            Part(
                what="workers that change from round to round, above 5 %",
                estimand=by_size(estimate.still_changing, estimate.WORKERS, "evaluatorfl", "evaluatorfl_old"),
                unit="% of the workers",
                margin=5.0,
            ),
            Part(
                what=f"workers used at the end, above {USED:.0%}",
                estimand=by_size(
                    estimate.used_above(USED), estimate.WORKERS, "evaluatorfl", "evaluatorfl_old"
                ),
                unit="% of the workers",
                margin=5.0,
            ),
        ),
        gates=(FULL_SIZE,),
    ),
    Claim(
        id="FRL-C6",
        statement="with approach 2 the first round already reaches about 85 % for 20 and 100 workers",
        place="sec. IV.iii.2, figs. 22, 23",
        artifact="frl/first-round",
        parts=(
            Part(
                what="accuracy after the first round - 85 %",
                estimand=by_size(estimate.first_round("test_accuracy"), estimate.WORKERS, LOCAL),
                kind=EQUIVALENCE,
                margin=ABOUT,
            ),
        ),
        gates=(BOTH_SIZES, PAPER_TASK),
        supplements=(Supplement("frl/first-round", _workers_own),),
    ),
    Claim(
        id="FRL-C7",
        statement="neither approach beats FedAvg",
        place="sec. V",
        artifact="frl/sec5",
        parts=(
            Part(
                what="FedAvg - EvaluatorFL after as many rounds",
                estimand=estimate.behind_fedavg,
                kind=EVERYWHERE,
                cells=4,
            ),
        ),
        gates=(FULL_SIZE,),
    ),
    Claim(
        id="FRL-C8",
        statement="two principal components explain about 25 % and separate the four clusters; 37 of 40 keep "
        "95 %",
        place="sec. IV.iii.3, fig. 24",
        artifact="frl/fig24",
        parts=(
            Part(
                what="variance explained by two components - 25 %",
                estimand=estimate.embedding("pca", "explained_2", 25.0, 100),
                kind=EQUIVALENCE,
                margin=ABOUT,
            ),
            Part(
                what=f"adjusted Rand index above {SEPARATED}",
                estimand=estimate.embedding("pca", "rand_index", SEPARATED),
                unit="index",
                printed=lambda: 1 - SEPARATED,
            ),
            Part(
                what="components for 95 % - 37",
                estimand=estimate.embedding("pca", "components_95", 37.0),
                unit="components",
                kind=EQUIVALENCE,
                margin=2.0,  # 5 % of 40
            ),
        ),
        gates=(FORTY_WORKERS,),
    ),
    Claim(
        id="FRL-C9",
        statement="spectral embedding separates the clusters too",
        place="sec. IV.iii.3, fig. 25",
        artifact="frl/fig25",
        parts=(
            Part(
                what=f"adjusted Rand index above {SEPARATED}",
                estimand=estimate.embedding("spectral", "rand_index", SEPARATED),
                unit="index",
                printed=lambda: 1 - SEPARATED,
            ),
        ),
        gates=(FORTY_WORKERS,),
    ),
    _scheduler(
        10,
        "the scheduler's reward tends to zero as the fastest workers are chosen",
        "sec. IV.iv.3, fig. 26",
        "fig26",
        REWARD_SHRINKS,
        AHEAD,
    ),
    _scheduler(
        11,
        "selection probabilities concentrate on the fastest workers",
        "sec. IV.iv.3, figs. 27, 28",
        "fig27",
        AHEAD,
    ),
    _scheduler(
        12,
        "the maximum time falls over the experiments",
        "sec. IV.iv.3, fig. 29",
        "fig29",
        TIME_FALLS,
        supplements=(
            _in_code("fig29", TIME_FALLS),
            Supplement("frl/fig29", _same_number_before_stop),
            Supplement("frl/fig30", _same_number),
        ),
    ),
    _scheduler(
        13,
        "IID: the scheduler converges as fast as random selection, with a shorter maximum time (0.52 x)",
        "sec. IV.iv.3, fig. 30, table 2",
        "table2",
        SAME_ROUNDS,
        SHORTER,
        gates=(HUNDRED_WORKERS,),
    ),
    _scheduler(
        14,
        "non-IID: it takes about twice the rounds of random selection and gains no time",
        "sec. IV.iv.3, fig. 30, table 3",
        "table3",
        TWICE,
        NO_SHORTER,
        gates=(HUNDRED_WORKERS,),
    ),
    Claim(
        id="FRL-C15",
        statement="rewards that are always positive (negative) drive all probabilities to 1 (0)",
        place="sec. V",
        artifact="frl/sec5-rewards",
        parts=tuple(
            Part(
                what=f"change of the mean probability towards {int(share)} where all rewards are {sign}",
                estimand=estimate.one_sign(share),
                printed=lambda: 50.0,  # from the untrained policy's one half all the way
            )
            for share, sign in ((1.0, "positive"), (0.0, "negative"))
        ),
    ),
)
