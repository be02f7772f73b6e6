"""Numbers shown beside the report's verdicts, deciding nothing: other readings of the registered estimands.

Each has its verdict by its part's own rule; `Claim.how` explains them. All were added on 2026-11-25, after
the rows had been looked at.
"""

from functools import partial

import numpy as np
import pandas as pd

from fedlib.analysis.claims import Part
from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE
from fedlib.analysis.supplements import supplement
from fedlib.papers.frl import estimands, quantities
from fedlib.papers.frl.estimands import ABOUT, READ, SHIFT, USED, WORKERS, by_size

ADDED = "added on 2026-11-25, after the rows had been looked at"  # said in `Claim.how`
CODE_ACCURACY = 0.95  # at which the authors' branch scheduler-v3 stops (FRL-A19)
EARLY = 5  # rounds of an episode that "faster" is about
SHUFFLED = "evaluatorfl_shuffled"


decided = partial(supplement, decided=True)


# C3 to C7: EvaluatorFL


def early_rise(rows: pd.DataFrame) -> float:
    """Accuracy of the first rounds of an episode, first less last five episodes, in points."""
    return -quantities.late_gain(rows[rows["episode_round"].between(1, EARLY)], "test_accuracy")


def early_rise_net(rows: pd.DataFrame) -> pd.DataFrame:
    """`early_rise` less that of the control, which draws as many workers at random."""
    return by_size(early_rise)(rows) - by_size(early_rise, WORKERS, SHUFFLED)(rows)


def used_in_some_round(rows: pd.DataFrame) -> float:
    """Percent of the workers used in some round of an episode, mean over the last ones, over `USED`."""
    late = rows[rows["episode"] > rows["episode"].max() - quantities.END_EPISODES]
    used = [quantities.selections(part).any(axis=0).mean() for _, part in late.groupby("episode")]
    return 100 * (float(np.mean(used)) - USED)


# C10 to C14: the scheduler


def reward_shrinks_to_the_end(rows: pd.DataFrame) -> pd.Series:
    """100 x log of |reward|, first over second half of the experiments, also those after the stop."""

    def fall(own: pd.DataFrame) -> float:
        sizes = own["reward"].abs().groupby(own["experiment"]).mean()
        middle = len(sizes) // 2
        return float(100 * np.log(sizes.iloc[:middle].mean() / sizes.iloc[middle:].mean()))

    return by_seed(rows[rows["method"] == READ], fall)


def ahead_at_the_end(rows: pd.DataFrame) -> pd.Series:
    """`estimands.fastest_ahead` at the last decision of the training, not at its stop."""
    return estimands.fastest_ahead(rows.assign(before_stop=True))


def ahead_in_reading(name: str, rows: pd.DataFrame) -> pd.Series:
    """The fastest tenth's lead at the stop, in points, in a reading of `frl/readings`."""
    own = rows[(rows["world"] == "changing times") & (rows["method"] == name)]
    return own.set_index("seed")["fastest_ahead"].sort_index().astype(float)


def median_time_ratio(rows: pd.DataFrame) -> pd.Series:
    """100 x log of the median maximum time up to the threshold, random over scheduler."""
    named, keys = quantities.named(rows), ["variant", "seed"]
    table = quantities.rounds_to_threshold(named)
    if table.empty:  # random selection was not run
        return pd.Series(dtype=float)
    arrival = table.set_index(keys)["rounds"].fillna(named["round"].max())
    own = named[named["round"] > 0].join(arrival.rename("arrival"), on=keys)
    medians = own[own["round"] <= own["arrival"]].groupby(keys)["max_seconds"].median().unstack("variant")
    pair = medians.reindex(columns=["random", READ])
    return (100 * np.log(pair["random"] / pair[READ])).dropna()


def tell_code_accuracy(rows: pd.DataFrame) -> str:
    """Count the runs that reach the test accuracy at which the authors' branch stops."""
    best = quantities.named(rows).groupby(["variant", "seed"])["test_accuracy"].max() >= CODE_ACCURACY
    counts = [
        f"{int(best[name].sum())} of {len(best[name])} runs of {words}"
        for name, words in (("random", "random selection"), (READ, "the scheduler"))
        if name in best.index
    ]
    return f"test accuracy of {100 * CODE_ACCURACY:.0f} % reached in {', '.join(counts)}" if counts else ""


def tell_training(rows: pd.DataFrame) -> str:
    """Number of decisions after which the scheduler's training stopped."""
    if "training_rounds" not in rows:
        return ""
    named = quantities.named(rows)
    decisions = named[named["variant"] == READ].groupby("seed")["training_rounds"].max().dropna()
    if decisions.empty:
        return ""
    return (
        f"training stopped after {decisions.min():g} to {decisions.max():g} decisions, "
        f"median {decisions.median():g}"
    )


_spread = partial(Part, unit="points")
_behind = partial(Part, kind=EVERYWHERE, cells=4)
_ahead = partial(Part, unit="points", margin=SHIFT)

SPREADS = tuple(
    _spread(
        f"spread of the reward, {words}{of}, 100 - 20 workers", estimands.spread_difference(*after, variant)
    )
    for words, after in (
        ("from round 3 on", (estimands.EPISODES // 2, 2)),
        ("last 5 episodes", (estimands.EPISODES - quantities.END_EPISODES, 1)),
    )
    for of, variant in (("", "evaluatorfl"), (", as many at random", SHUFFLED))
)
FASTER_EARLY = (
    Part(
        f"accuracy of an episode's rounds 1 to {EARLY}, first - last 5 episodes", by_size(early_rise),
        kind=EVERYWHERE, cells=2,
    ),
    Part("the same less that of as many workers at random", early_rise_net, kind=EVERYWHERE, cells=2),
)  # fmt: skip
IN_SOME_ROUND = tuple(
    Part(
        f"workers used in some round of an episode at the end{of}, above {100 * USED:.0f} %",
        by_size(used_in_some_round, WORKERS, *variants), unit="% of the workers", margin=5.0,
    )
    for of, variants in (("", ("evaluatorfl", "evaluatorfl_old")), (", as many at random", (SHUFFLED,)))
)  # fmt: skip
BOTH_SIZES_MEAN = Part(
    "accuracy after the first round - 85 %, mean of both numbers of workers",
    by_size(estimands.first_round("test_accuracy"), WORKERS, "evaluatorfl_local"), kind=EQUIVALENCE,
    margin=ABOUT,
)  # fmt: skip
BEHIND = (
    _behind("FedAvg - EvaluatorFL, mean over the rounds", estimands.behind_fedavg(pd.Series.mean)),
    _behind("FedAvg - EvaluatorFL, best round", estimands.behind_fedavg(pd.Series.max)),
    _behind("FedAvg - EvaluatorFL, last episode alone", estimands.behind_fedavg(lambda own: own.iloc[-1], 1)),
    _behind(
        "FedAvg - EvaluatorFL as coded (A3, A4, A8), last round",
        estimands.behind_fedavg(lambda own: own.iloc[-1], variants=("evaluatorfl_code", "evaluatorfl_old")),
    ),
)
TO_THE_END = (
    Part("|reward|, first / second half of the experiments (100 log)", reward_shrinks_to_the_end, unit="%"),
    _ahead("probability of the fastest tenth - mean at the last decision", ahead_at_the_end),
)
DRAW_REWARDED_AND = tuple(
    _ahead(f"probability of the fastest tenth - mean at the stop, {words}", partial(ahead_in_reading, name))
    for name, words in (
        ("literal_drawn", "the draw rewarded and stored"),
        ("literal_undecayed", "the draw rewarded, critic without decay"),
    )
)
MEDIAN_TIMES = Part(
    "median maximum time, random / scheduler (100 log)", median_time_ratio, unit="%",
    printed=partial(estimands.printed_time_ratio, "table2", "median"),
)  # fmt: skip
CODE_CRITERION = (tell_code_accuracy, tell_training)
