"""Estimands of the report's claims, by seed, and the same from its printed numbers.

Logarithms of ratios are in percent (100 log). Cells are numbers of workers, approaches or cases.
"""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.memo import once_per_frame
from fedlib.analysis.published import printed_value
from fedlib.papers.frl import errata, quantities
from fedlib.papers.frl.runs import CASES

EPISODES, WORKERS = 20, (20, 100)
USED = 0.8  # share of the workers that "nearly all" means at least
ABOUT = 5.0  # points: "about 25 %", "about 85 %"
SHIFT = 10.0  # margin in points of selection probability: a tenth of the way from none to all
READ, AS_CODED = "schedulerfl", "schedulerfl_unit"  # readings of the scheduler's state (FRL-A12)
LITERAL = "schedulerfl_literal"  # of its reward: the draw is rewarded (FRL-A10)
APPROACHES = ((1, ("fig14", "fig15")), (2, ("fig19", "fig20")))
READINGS = {"evaluatorfl": "as read", "evaluatorfl_old": "old global model rewarded"}  # names of cells


def mean_accuracy(first: str, second: str) -> Callable[[pd.DataFrame], pd.Series]:
    """Mean accuracy over rounds 1 to 10 of one case of figs. 10 to 13 less another's, in points."""

    def estimand(rows: pd.DataFrame) -> pd.Series:
        own = rows[rows["round"] > 0]
        of = {
            figure: by_seed(own[own["artifact"] == figure], lambda part: 100 * part["test_accuracy"].mean())
            for figure in CASES
        }
        return of[first] - of[second]

    return estimand


def of_size(rows: pd.DataFrame, workers: int, variant: str = "evaluatorfl") -> pd.DataFrame:
    rows = quantities.named(rows)
    return rows[(rows["num_clients"] == workers) & (rows["variant"] == variant)]


def by_size(
    value: Callable[[pd.DataFrame], float], sizes: tuple[int, ...] = WORKERS, *variants: str
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A measure of each seed's run, by number of workers and variant."""
    chosen = variants or ("evaluatorfl",)

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        named = quantities.named(rows)
        parts = {
            f"{k} workers{', ' + READINGS[v] if len(chosen) > 1 else ''}": of_size(named, k, v)
            for k in sizes
            for v in chosen
        }
        return pd.DataFrame({name: by_seed(own, value) for name, own in parts.items() if len(own)})

    return estimand


def episodes_settled(rows: pd.DataFrame) -> float:
    """Episodes of the run that keep the selection to its end, out of 20; 0 if it never settles."""
    settled = quantities.settled_from(rows)
    return 0.0 if math.isnan(settled) else EPISODES + 1 - settled


def printed_settled(figure: str) -> float:
    return EPISODES + 1 - printed_value("frl_settings", metric="convergence_episode", artifact=figure)


def spread_difference(
    after_episode: int, after_round: int, variant: str = "evaluatorfl"
) -> Callable[[pd.DataFrame], pd.DataFrame | pd.Series]:
    """Spread of the reward over later episodes and rounds, 100 less 20 workers, in points."""

    def estimand(rows: pd.DataFrame) -> pd.Series:
        late = rows[(rows["episode"] > after_episode) & (rows["episode_round"] > after_round)]
        found = by_size(lambda part: 100 * part["reward"].std(), WORKERS, variant)(late)
        return found.get("100 workers", pd.Series(dtype=float)) - found.get("20 workers", np.nan)

    return estimand


def still_changing(rows: pd.DataFrame) -> float:
    """Percent of the workers whose selection changes from round to round, over what counts as settled."""
    return 100 * (quantities.SETTLED - quantities.agreement(rows).iloc[-quantities.END_EPISODES :].mean())


def used_above(share: float) -> Callable[[pd.DataFrame], float]:
    """Percent of the workers used in the last episodes above this share."""
    return lambda rows: 100 * (quantities.share_selected(rows) - share)


def first_round(column: str) -> Callable[[pd.DataFrame], float]:
    """Accuracy after the first round of an episode less the printed 85 %, in points.

    column: test_accuracy, of the global model; value, of the workers' own (FRL-F1).
    """

    def measured(rows: pd.DataFrame) -> float:
        first = rows[rows["episode_round"] == 1]
        return 100 * first[column].mean() - printed_value("frl_settings", metric="first_round_accuracy")

    return measured


def behind_fedavg(
    of_episode: Callable[[pd.Series], float],
    episodes: int = quantities.END_EPISODES,
    variants: tuple[str, str] = ("evaluatorfl", "evaluatorfl"),
) -> Callable[[pd.DataFrame], pd.DataFrame | pd.Series]:
    """FedAvg's accuracy less each approach's over the last episodes, in points.

    of_episode: of the accuracies of an episode's rounds, FedAvg's run being one. variants: of approach 1, 2.
    """

    def level(rows: pd.DataFrame) -> float:
        own = rows[rows["round"] > 0].sort_values("round")
        by = own["episode"].fillna(1)  # FedAvg has no episodes
        return 100 * own.groupby(by)["test_accuracy"].agg(of_episode).iloc[-episodes:].mean()

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        named, found = quantities.named(rows), {}
        for workers in WORKERS:
            fedavg = by_seed(of_size(named, workers, "fedavg"), level)
            for (approach, artifacts), variant in zip(APPROACHES, variants, strict=True):
                own = of_size(named, workers, variant)
                own = own[own["artifact"].isin(artifacts)]
                if len(own) and len(fedavg):
                    found[f"approach {approach}, {workers} workers"] = fedavg - by_seed(own, level)
        return pd.DataFrame(found)

    return estimand


def embedding(
    method: str, column: str, less: float, scale: float = 1.0
) -> Callable[[pd.DataFrame], pd.Series]:
    """A column of an embedding's rows, scaled, less a reference."""

    def estimand(rows: pd.DataFrame) -> pd.Series:
        own = rows[rows["method"] == method].set_index("seed").sort_index()
        return scale * own[column].astype(float) - less

    return estimand


def in_reading(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with this reading's of the scheduler in place of ours; empty if it was not run."""
    rows = quantities.named(rows) if "method_options" in rows else rows
    column = "variant" if "variant" in rows else "method"
    if not (rows[column] == name).any():
        return rows.iloc[:0]
    return rows[rows[column] != READ].replace({column: {name: READ}})


def of_agent(rows: pd.DataFrame, *, before_stop: bool = False) -> pd.DataFrame:
    own = rows[rows["method"] == READ]
    return own[own["before_stop"].astype(bool)] if before_stop else own


def reward_shrinks(rows: pd.DataFrame) -> pd.Series:
    """100 x log of |reward| over the first half of the decisions by that over the second, before the stop."""
    return _halves(of_agent(rows, before_stop=True).assign(size=lambda own: own["reward"].abs()), "size")


def maximum_time_falls(rows: pd.DataFrame) -> pd.Series:
    """100 x log of the maximum time of the first half by that of the second, before the stop (FRL-A17)."""
    return _halves(of_agent(rows, before_stop=True), "max_seconds")


def net_fall(rows: pd.DataFrame) -> pd.Series:
    """`maximum_time_falls` less the fall of the time expected of as many workers drawn at random."""
    own = of_agent(rows, before_stop=True)
    return _halves(own, "max_seconds") - _halves(own, "same_number_seconds")


def _halves(rows: pd.DataFrame, column: str) -> pd.Series:
    def fall(own: pd.DataFrame) -> float:
        values = own.sort_values("round")[column]
        middle = len(values) // 2
        return 100 * math.log(values.iloc[:middle].mean() / values.iloc[middle:].mean())

    return by_seed(rows, fall)


def at_the_stop(rows: pd.DataFrame) -> pd.DataFrame:
    """The agent's row of each seed at which training stops (FRL-A17), by seed."""
    own = of_agent(rows, before_stop=True).sort_values(["seed", "round"])
    return own.groupby("seed").tail(1).set_index("seed")


def fastest_ahead(rows: pd.DataFrame) -> pd.Series:
    """Selection probability of the fastest tenth less the mean's where training stops, in points."""
    end = at_the_stop(rows)
    return 100 * (end["chance_fastest_tenth"] - end["expected_selected"] / end["drawn"].str.len())


@once_per_frame
def _compared(rows: pd.DataFrame, threshold: float = quantities.THRESHOLD) -> pd.DataFrame:
    return quantities.rounds_to_threshold(quantities.named(rows), threshold)


def _pair(table: pd.DataFrame, column: str) -> tuple[pd.Series, pd.Series]:
    """The scheduler's and random selection's, by seed."""
    return tuple(quantities.of_variant(table, name, column) for name in (READ, "random"))


def _column(
    rows: pd.DataFrame, column: str, threshold: float = quantities.THRESHOLD
) -> tuple[pd.Series, pd.Series]:
    """`_pair`; rounds never reached count as all that were run."""
    table = _compared(rows, threshold)
    return _pair(table.assign(rounds=table["rounds"].fillna(rows["round"].max())), column)


def never_arrive(rows: pd.DataFrame) -> int:
    """Runs of the scheduler that do not reach the threshold."""
    return int(rounds_in_pairs(rows)[0].isna().sum())


def rounds_in_pairs(rows: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Rounds to the threshold of scheduler and random selection, by seed; NaN where it is never reached."""
    return _pair(_compared(rows), "rounds")


def later_words(rows: pd.DataFrame) -> str:
    """`paired by seed later than random selection in 18 of 20 (sign test, p = 0.0004)`; ties left out.

    A threshold never reached is later than one that is.
    """
    ours, random = (one.fillna(math.inf) for one in rounds_in_pairs(rows))
    later, sooner = int((ours > random).sum()), int((ours < random).sum())
    if not later + sooner:
        return "paired by seed neither is later"
    p = binomtest(later, later + sooner).pvalue
    return (
        f"paired by seed it is later than random selection in {later} of {later + sooner} (sign test, "
        f"p = {p:.2g})"
    )


def tell_unreached(rows: pd.DataFrame) -> str:
    """Count the scheduler's runs that do not reach the threshold, and tell how far both get."""
    table = _compared(rows)
    ours, random = (table[table["variant"] == name] for name in (READ, "random"))
    never = never_arrive(rows)
    bound = f" and a ratio of rounds that the length of the runs sets; {later_words(rows)}" * bool(never)
    return (
        f"threshold not reached in {never} of {len(ours)} runs of the scheduler{bound}; "
        f"final accuracy {ours['final'].mean():.1f} %, random selection's {random['final'].mean():.1f} %"
    )


def tell_every_policy(rows: pd.DataFrame) -> str:
    """Count the runs of all policies, controls included, that reach the threshold, and tell when."""
    table = _compared(rows)
    reached = table["rounds"].dropna()
    told = (
        f"threshold reached in {len(reached)} of {len(table)} runs of {table['variant'].nunique()} policies"
    )
    return f"{told}, after {reached.min():g} to {reached.max():g} rounds" if len(reached) else told


def more_rounds(rows: pd.DataFrame, threshold: float = quantities.THRESHOLD) -> pd.Series:
    """Rounds to the threshold, scheduler less random selection."""
    ours, random = _column(rows, "rounds", threshold)
    return ours - random


def final_ahead(rows: pd.DataFrame) -> pd.Series:
    """Accuracy after the last round, scheduler less random selection, in points."""
    ours, random = _pair(_compared(rows), "final")
    return ours - random


def round_ratio_of_arrivals(rows: pd.DataFrame) -> pd.Series:
    """100 x log of the rounds to the threshold, scheduler over random, for seeds where both reach it."""
    ours, random = _pair(_compared(rows), "rounds")
    return 100 * (ours / random).dropna().map(math.log)


def slower_over_all_rounds(rows: pd.DataFrame) -> pd.Series:
    """100 x log of the maximum time, mean over all rounds, scheduler over random."""
    named = quantities.named(rows)
    times = named[named["round"] > 0].groupby(["variant", "seed"])["max_seconds"].mean()
    return 100 * (times[READ] / times["random"]).map(math.log)


def log_ratio(column: str, *, faster: bool) -> Callable[[pd.DataFrame], pd.Series]:
    """100 x log of a column, random over scheduler (faster), or the inverse."""

    def estimand(rows: pd.DataFrame) -> pd.Series:
        ours, random = _column(rows, column)
        return (100 if faster else -100) * (random / ours).map(math.log)

    return estimand


def ahead_before_stop(rows: pd.DataFrame) -> pd.Series:
    """100 x log of the time expected of as many workers at random over the agent's, before the stop."""
    own = of_agent(rows, before_stop=True)

    def ahead(part: pd.DataFrame) -> float:
        return 100 * math.log(part["same_number_seconds"].mean() / part["max_seconds"].mean())

    return by_seed(own, ahead)


def shorter_than(twin: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """100 x log of the mean maximum time of a round, twin's over the scheduler's: by seed and case."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        named, found = quantities.named(rows), {}
        for case, part in named[named["round"] > 0].groupby("case"):
            times = {name: own.groupby("seed")["max_seconds"].mean() for name, own in part.groupby("variant")}
            if {READ, twin} <= set(times):
                found[case] = 100 * (times[twin] / times[READ]).map(math.log)
        return pd.DataFrame(found)

    return estimand


def printed_time_ratio(table: str, level: str = "mean") -> float:
    """100 x log of the printed maximum times, random over DDPG; level: `mean` or `median` of the rounds."""
    random, ours = (errata.times(table, name).agg(level) for name in ("random", "DDPG"))
    return 100 * math.log(random / ours)


def printed_round_ratio() -> float:
    """100 x log of table 3's rounds, DDPG over random."""
    return 100 * math.log(len(errata.times("table3", "DDPG")) / len(errata.times("table3", "random")))


def one_sign(share: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Change of the mean probability towards 1 (share 1: all rewards above 0) or 0 (share 0), in points."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        own = rows[rows["rewards_above_0"] == share]
        change = (100 if share else -100) * (own["last_chance"] - own["first_chance"])
        return change.groupby([own["seed"], own["reward"]]).mean().unstack("reward")

    return estimand
