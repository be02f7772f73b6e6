"""Estimands of FedDdrl's claims, by seed and data set, and the same from the printed tables.

A contrast `A - B` is paired by seed. Columns are named `<data set>: A - B`, with the paper's names for
the data sets, so that printed and own effects pool over the same cells.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import pandas as pd

from fedlib.analysis.claims import Gate
from fedlib.analysis.memo import map_distinct
from fedlib.analysis.published import printed_value, printed_values
from fedlib.papers.fedddrl import runs
from fedlib.papers.fedddrl.latencies import latencies
from fedlib.papers.fedddrl.quantities import (
    cell,
    decisions,
    evaluations,
    final_accuracy,
    kept_by_round,
    normalised,
    reward_terms,
)

ROLES = tuple(runs.ALPHAS)
HARD = ("CIFAR-10", "CrisisIBD")
FIRST_ROUNDS, LAST_ROUNDS = 2, 5  # of C7, of C14
ROUNDS, EPISODES = 15, 40  # T and N_ep of the paper
SHORT = {
    "fedavg_mixup": "FedAvg+", "fedprox_mixup": "FedProx+", "fedavg": "FedAvg", "fedprox": "FedProx",
    "fedmarl_a": "FedMarl (A)", "fedmarl_b": "FedMarl-opt (B)", "fedmarl": "FedMarl+ (C)",
    "fedmarl_mixup_bias": "FedMarl+ with b", "fedddrl": "FedDdrl",
    "fedddrl: untrained": "FedDdrl untrained", "fedddrl: permuted": "FedDdrl on permuted rewards",
}  # fmt: skip
Pairs = tuple[tuple[str, str], ...]


def against(best: str, *others: str) -> Pairs:
    return tuple((best, other) for other in others)


def contrasts(
    pairs: Pairs,
    roles: Iterable[str] = ROLES,
    values: Callable[[pd.DataFrame], pd.Series] = final_accuracy,
    cohort_sizes: tuple[float | None, ...] = (None,),
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The estimand `first - second` of each pair on each data set where both were run."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        by_setting, found = values(rows), {}
        for role in roles:
            for first, second in pairs:
                for size in cohort_sizes:
                    a, b = (cell(by_setting, role, name, size) for name in (first, second))
                    found[name_of(role, first, second, size)] = a - b
        return pd.DataFrame(found)

    return estimand


def name_of(role: str, first: str, second: str, size: float | None = None) -> str:
    at = f", {size:g} clients a round" if size else ""
    return f"{role}: {SHORT[first]} - {SHORT[second]}{at}"


def over_the_best(name: str, others: tuple[str, ...], role: str) -> Callable[[pd.DataFrame], pd.Series]:
    """Final accuracy of a method less that of the other with the highest mean over the common seeds."""

    def estimand(rows: pd.DataFrame) -> pd.Series:
        by_setting = final_accuracy(rows)
        levels = pd.DataFrame({one: cell(by_setting, role, one) for one in (name, *others)}).dropna()
        return levels[name] - levels[levels[list(others)].mean().idxmax()] if len(levels) else levels[name]

    return estimand


def printed_over_the_best(name: str, others: tuple[str, ...], role: str) -> Callable[[], float]:
    """Accuracy of a method in table 4 less the highest of the others."""

    def compute() -> float:
        values = accuracies("table4")[role]
        return float(
            values[runs.TABLE4[name].label] - values[[runs.TABLE4[one].label for one in others]].max()
        )

    return compute


def printed(
    pairs: Pairs, roles: Iterable[str] = ROLES, table: str = "table4", size: int | None = None
) -> Callable[[], Mapping[str, float]]:
    """Contrasts of the printed accuracies."""

    def compute() -> Mapping[str, float]:
        values = accuracies(table, size)
        label = {name: runs.TABLE4[name].label for pair in pairs for name in pair}
        return {
            name_of(role, a, b, size): values[role, label[a]] - values[role, label[b]]
            for role in roles
            for a, b in pairs
        }

    return compute


def accuracies(table: str, size: int | None = None, metric: str = "accuracy_mean") -> pd.Series:
    """Printed accuracies (%), by default the means, by data set and method; size: C, of table 5."""
    where = {"note": f"C={size}"} if size is not None else {}
    return printed_values(f"fedddrl_{table}", "dataset", "method", metric=metric, **where)


def printed_mixup() -> Mapping[str, float]:
    """Gains of Balanced-MixUp in table 5, with 5 and with 10 clients a round."""
    pair = against("fedavg_mixup", "fedavg")
    return {name: value for size in (5, 10) for name, value in printed(pair, HARD, "table5", size)().items()}


SECONDS, UPLOADS = (partial(normalised, value=value) for value in ("latency_seconds", "uploads"))


def share_by_fedmarls_rule(rows: pd.DataFrame) -> pd.Series:
    """Latency in percent of FedAvg's where the server waits for every probing epoch (FEDDDRL-A2)."""
    own = evaluations(rows)
    own = own[own.variant.isin(("fedavg_mixup", "fedddrl"))]
    return normalised(own.assign(seconds=latencies(own).fedmarl), "seconds")


def later_than_first(rows: pd.DataFrame) -> pd.DataFrame:
    """Clients kept in rounds 3 to T less rounds 1 and 2, by data set."""
    kept = kept_by_round(rows)
    first, later = (
        kept[mask].groupby(["seed", "role"]).uploads.mean()
        for mask in (kept.t <= FIRST_ROUNDS, kept.t > FIRST_ROUNDS)
    )
    return (later - first).unstack("role")


def printed_later() -> float:
    """3 clients in rounds 1 and 2; 6 in round 3 rising to 10 in round 6, about 5 after (figs. 10, 11)."""
    first, third, sixth, after = (
        printed_value("fedddrl_text", metric=f"clients_completing_{name}")
        for name in ("t1_t2", "t3", "t6", "after_t6")
    )
    rising = [third + (sixth - third) * step / 3 for step in range(4)]
    later = [*rising, *[after] * (ROUNDS - FIRST_ROUNDS - len(rising))]
    return sum(later) / len(later) - first


def dropped_over_kept(column: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """100 x log of a column's mean over dropped clients by that over kept ones, rounds with both."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        table = decisions(rows)
        means = (
            table.groupby(["role", "seed", "episode", "t", "kept"])[column].mean().unstack("kept").dropna()
        )
        if means.shape[1] < 2 or means.empty:
            return pd.DataFrame()
        logs = 100 * (means[False] / means[True]).map(math.log)
        return logs.groupby(["seed", "role"]).mean().unstack("role")

    return estimand


def epochs_of_fast(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean epochs of the fastest kept clients less those of the slowest, by data set."""
    table = decisions(rows)
    table = table[table.kept]
    ends = [table.groupby("role").probing_seconds.transform(f) for f in ("min", "max")]
    fast, slow = (table[table.probing_seconds == end].groupby(["seed", "role"]).epochs.mean() for end in ends)
    return (fast - slow).unstack("role")


def _late_terms(rows: pd.DataFrame) -> pd.DataFrame:
    terms = reward_terms(evaluations(rows))
    return terms.assign(late=terms.t > terms.t.max() - LAST_ROUNDS)


def gain_below(share: float) -> Callable[[pd.DataFrame], pd.Series]:
    """A share of the penalty less the gain term over the last five rounds, with reward (12)."""

    def estimand(rows: pd.DataFrame) -> pd.Series:
        terms = _late_terms(rows)
        own = terms[terms.late & (terms.variant == "fedmarl_b")].groupby("seed")
        return share * own.penalty.mean() - own.gain.mean()

    return estimand


def printed_gain_below(share: float) -> Callable[[], float]:
    """`gain_below` of the printed means."""

    def compute() -> float:
        penalty, gain = (
            printed_value("fedddrl_text", metric=f"mean_{name}_last5") for name in ("penalty", "w1U")
        )
        return share * penalty - gain

    return compute


def dropping_late(rows: pd.DataFrame) -> pd.Series:
    """Clients kept in the earlier rounds less those of the last five, with reward (12)."""
    terms = _late_terms(rows)
    own = terms[terms.variant == "fedmarl_b"].groupby(["late", "seed"]).uploads.mean()
    return own[False] - own[True] if {False, True} <= set(own.index.levels[0]) else pd.Series(dtype=float)


def kept_by_bias(rows: pd.DataFrame) -> pd.Series:
    """Clients kept in the last five rounds with the bias b less without."""
    terms = _late_terms(rows)
    own = terms[terms.late].groupby(["variant", "seed"]).uploads.mean()
    wanted = {"fedmarl_b", "fedmarl_bias"}
    return own["fedmarl_bias"] - own["fedmarl_b"] if wanted <= set(terms.variant) else pd.Series(dtype=float)


def by_cohort_size(values: Callable[[pd.DataFrame], pd.Series]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """FedAvg with the largest C less with the smallest, by data set (fig. 2, table 5)."""

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        by_setting, sizes = values(rows), sorted(rows.cohort_size.unique())
        if len(sizes) < 2:
            return pd.DataFrame()
        ends = {role: [cell(by_setting, role, "fedavg", s) for s in (sizes[-1], sizes[0])] for role in ROLES}
        return pd.DataFrame({role: many - few for role, (many, few) in ends.items()})

    return estimand


def printed_by_cohort_size() -> Mapping[str, float]:
    many, few = accuracies("table5", 10), accuracies("table5", 5)
    return {role: float(many[role, "FedAvg"] - few[role, "FedAvg"]) for role in ROLES}


def option(rows: pd.DataFrame, name: str) -> pd.Series:
    """A method option of every row; 0 where it is not given."""
    return map_distinct(rows.method_options, lambda text: json.loads(text).get(name, 0))


def _length(rows: pd.DataFrame) -> tuple[bool, str]:
    length = int(rows.episode_rounds.min())
    return length >= ROUNDS, f"episodes of {length} rounds{', as in the paper' * (length == ROUNDS)}"


def _trained(rows: pd.DataFrame) -> tuple[bool, str]:
    """Number of updates: one of each VDN per round, once the buffer holds a batch of 32 (A18, A20)."""
    own = rows.drop_duplicates("run")
    episodes = option(own, "episodes")
    fewest = int(episodes[episodes > 0].min()) if (episodes > 0).any() else 0
    made, needed = (max(ROUNDS * n - 31, 0) for n in (fewest, EPISODES))
    return fewest >= EPISODES, f"agents made {made} of the paper's {needed} updates ({fewest} episodes)"


FULL_EPISODES = Gate(f"curves as long as the paper's ({ROUNDS} rounds)", _length)
AGENTS_TRAINED = Gate(f"agents trained: the paper's number of updates ({EPISODES} episodes)", _trained)
