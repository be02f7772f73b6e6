"""Estimands of FedDRL's claims: a number per seed and cell, and the same from the printed tables.

rows: as `load_rows` gives them. Cells have the paper's names (`CIFAR-100/CE/N=100`), whatever images
stand for its data, so that printed and own effects pool over the same cells.
"""

import json
import math
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from fedlib.analysis.claims import Gate
from fedlib.analysis.gates import curves_flat
from fedlib.analysis.memo import kept_per_frame
from fedlib.analysis.tables import json_lists
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.errata import accuracies, from_text, relative_gains
from fedlib.papers.feddrl.learning import updates
from fedlib.papers.feddrl.quantities import BASELINES, THREE
from fedlib.papers.feddrl.runs import DELTA

INITIAL = 0.25  # share of the rounds that is the "initial phase": 200 to 300 of 1000
ROUNDS = 1000  # T of the paper


def paper_name(cell: tuple) -> str:
    """`CIFAR-100/CE/N=100`: a cell of tables 3 and 4 in the paper's words."""
    dataset, partition, clients = cell
    return f"{quantities.PAPER_DATA[dataset]}/{quantities.PAPER_PARTITIONS[partition]}/N={clients}"


def by_cell(
    measure: Callable[[pd.DataFrame], pd.Series], *, needs: tuple[str, ...] = THREE, **where: object
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The estimand that measures every cell with all of these methods.

    where: `data` (names of the paper's data sets), and values of columns of the rows.
    """

    def estimand(rows: pd.DataFrame) -> pd.DataFrame:
        chosen = picked(quantities.named(rows), **where)
        return pd.DataFrame(
            {paper_name(cell): measure(part) for cell, part in quantities.cells(chosen, needs=needs)}
        )

    return estimand


def picked(rows: pd.DataFrame, data: tuple[str, ...] = (), **columns: object) -> pd.DataFrame:
    """Rows of some of the paper's data sets, and of these values of columns (a tuple: any of them)."""
    if data:
        rows = rows[rows.dataset.map(quantities.PAPER_DATA).isin(data)]
    for name, value in columns.items():
        rows = rows[rows[name].isin(value if isinstance(value, tuple) else (value,))]
    return rows


Level = Callable[[pd.DataFrame, str], pd.Series]  # accuracy of a variant by seed


def lead(part: pd.DataFrame, own: str = "feddrl", level: Level = quantities.best) -> pd.Series:
    """FedDRL's accuracy, or a variant's, by default the best, less the better baseline's, in points."""
    return level(part, own) - quantities.baseline(part, level=level)


def gain_over(part: pd.DataFrame, end: Callable[..., pd.Series] = max, own: str = "feddrl") -> pd.Series:
    """Relative gain (%) over the better baseline, or the worse (`min`): impr.(a) and impr.(b) of table 3."""
    return quantities.relative_gain(quantities.best(part, own), quantities.baseline(part, end))


def bound_by_single_set(part: pd.DataFrame) -> pd.Series:
    """SingleSet's best accuracy less that of the best federated method, in points."""
    federated = max((quantities.best(part, name) for name in THREE), key=lambda values: values.mean())
    return quantities.best(part, "singleset") - federated


def below_single_set(part: pd.DataFrame) -> pd.Series:
    """SingleSet's best accuracy less the mean of FedAvg's and FedProx's, in points."""
    return quantities.best(part, "singleset") - sum(quantities.best(part, name) for name in BASELINES) / 2


def late(part: pd.DataFrame, variant: str) -> pd.Series:
    """A variant's mean accuracy (%) of the last 50 of 1000 rounds, by seed."""
    return quantities.late_levels(part)[variant]


def below_pareto(rows: pd.DataFrame, level: Level = quantities.best) -> pd.DataFrame:
    """FedAvg's and FedProx's accuracy under PA less that under CE and CN (points), by cell."""
    found = {}
    for (dataset, clients), part in quantities.cells(quantities.named(rows), ("dataset", "num_clients")):
        of = {
            scheme: sum(level(own, name) for name in BASELINES) / 2
            for scheme, own in part.groupby("partition")
            if set(BASELINES) <= set(own.variant.unique())
        }
        for scheme in [name for name in ("ce", "cn") if {"pa", name} <= set(of)]:
            found[paper_name((dataset, scheme, clients))] = of["pa"] - of[scheme]
    return pd.DataFrame(found)


def less(own: str, other: str, level: Level = quantities.best) -> Callable[[pd.DataFrame], pd.Series]:
    """Difference of two variants' levels, in points."""
    return lambda part: level(part, own) - level(part, other)


def gains_by_clients(part: pd.DataFrame) -> dict[int, pd.Series]:
    """Gain over the better baseline (%), by seed, for each N with all three methods; part: named rows."""
    groups = part.groupby("num_clients")
    return {int(n): gain_over(own) for n, own in groups if set(THREE) <= set(own.variant.unique())}


def growth(rows: pd.DataFrame) -> pd.DataFrame:
    """Gain over the better baseline at N = 100 less that at N = 10 (%), by data set and partition."""
    found = {}
    for (dataset, scheme), part in quantities.cells(quantities.named(rows), ("dataset", "partition")):
        gains = gains_by_clients(part)
        if {10, 100} <= set(gains):
            name = f"{quantities.PAPER_DATA[dataset]}/{quantities.PAPER_PARTITIONS[scheme]}"
            found[name] = gains[100] - gains[10]
    return pd.DataFrame(found)


def loss_ratio(
    value: str,
    *,
    initial: bool,
    needs: tuple[str, ...] = THREE,
    data: tuple[str, ...] = ("CIFAR-100",),
    own: str = "feddrl",
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """100 x log of the baselines' `value` over FedDRL's (`own`) after the initial phase; in it, the inverse.

    By cell of ten clients, all of whose losses are known in every round.
    """

    def measure(part: pd.DataFrame) -> pd.Series:
        ratios = quantities.loss_ratios(part, value, 1, own)
        ratios = ratios[ratios.variant.isin(BASELINES)]
        ratios = ratios[(ratios["round"] > INITIAL * part["round"].max()) != initial]
        logs = ratios.ratio.map(math.log).groupby(ratios.seed).mean()
        return -100 * logs if initial else 100 * logs

    return by_cell(measure, needs=needs, data=data, num_clients=10)


@kept_per_frame
def factor_gap(part: pd.DataFrame, variant: str = "feddrl") -> pd.Series:
    """Mean factor of small groups' clients less the main group's, later rounds, in % of a uniform factor."""
    factors = quantities.group_factors(part[part.variant == variant])
    later = factors[factors["round"] > INITIAL * factors["round"].max()].groupby("seed")
    return 100 * part.cohort_size.iloc[0] * (later.others.mean() - later.main.mean())


@kept_per_frame
def factor_gap_in_slot(part: pd.DataFrame, variant: str) -> pd.Series:
    """`factor_gap` among clients in the same slot: what a policy does beyond preferring some slots.

    Slots are sorted by client number (FEDDRL-A5) and the main group has the lowest numbers, so that a slot
    tells something of the group. Least squares on the group and a level for each slot, later rounds.
    """
    rows = part[(part.variant == variant) & part.weights.notna()]
    found = {}
    for seed, own in rows[rows["round"] > INITIAL * rows["round"].max()].groupby("seed"):
        clients, factors = (np.array(json_lists(own[name])) for name in ("clients", "weights"))
        small = clients >= quantities.main_group(own.num_clients.iloc[0])
        x, y = (values - values.mean(axis=0) for values in (small, factors))
        varies = (x * x).sum()  # 0 where every slot has clients of one group only
        found[seed] = 100 * clients.shape[1] * (x * y).sum() / varies if varies else float("nan")
    return pd.Series(found, dtype=float)


def lead_by_cohort(rows: pd.DataFrame) -> pd.DataFrame:
    """`lead` in CIFAR-100's CE cell for each number K of participants (fig. 7)."""
    parts = quantities.cells(_fig7(rows), ("cohort_size",), needs=THREE)
    return pd.DataFrame({f"K={size:g}": lead(part) for (size,), part in parts})


def _fig7(rows: pd.DataFrame) -> pd.DataFrame:
    return picked(quantities.named(rows), data=("CIFAR-100",), num_clients=100)


def across_cohorts(rows: pd.DataFrame) -> pd.DataFrame:
    """Best accuracy with the most participants less that with the fewest (points), by method."""
    few, many = _fewest_and_most(rows)
    return pd.DataFrame(
        {name: quantities.best(many, name) - quantities.best(few, name) for name in few.attrs["of"]}
    )


def speed_of_cohorts(rows: pd.DataFrame) -> pd.DataFrame:
    """100 x log ratio of the rounds to what both reach, fewest over most participants, by method."""
    few, many = _fewest_and_most(rows)
    found = {}
    for name in few.attrs["of"]:
        target = quantities.best(few, name).combine(quantities.best(many, name), min)
        rounds = [quantities.rounds_to(part, name, target) for part in (few, many)]
        found[name] = 100 * (rounds[0] / rounds[1]).map(math.log)
    return pd.DataFrame(found)


def _fewest_and_most(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of the fewest and of the most participants; `attrs['of']`: the methods, if both are there."""
    parts = {size: part for (size,), part in quantities.cells(_fig7(rows), ("cohort_size",), needs=THREE)}
    sizes = sorted(parts)
    few, many = (parts[sizes[i]].copy() if sizes else rows.iloc[:0].copy() for i in (0, -1))
    few.attrs["of"] = THREE if len(sizes) > 1 else ()
    return few, many


def fall_with_delta(rows: pd.DataFrame) -> pd.DataFrame:
    """Best accuracy at the smallest delta less that at 0.6 (points), by partition and method (fig. 8)."""
    named = picked(quantities.named(rows), partition=("ce", "cn"), num_clients=100)
    named = named.assign(
        delta=[quantities.partition_setting(text, "delta") for text in named.partition_options]
    )
    found = {}
    for (scheme,), part in quantities.cells(named, ("partition",), needs=THREE):
        low, high = (part[part.delta == end] for end in (part.delta.min(), DELTA))
        if part.delta.min() < DELTA and set(THREE) <= set(low.variant.unique()) & set(high.variant.unique()):
            for name in THREE:
                fall = quantities.best(low, name) - quantities.best(high, name)
                found[f"{quantities.PAPER_PARTITIONS[scheme]}/{name}"] = fall
    return pd.DataFrame(found)


def speed_lead(part: pd.DataFrame) -> pd.Series:
    """100 x log of the faster baseline's rounds over FedDRL's, to the accuracy that all three reach."""
    target = quantities.target_accuracy(part)
    rounds = {name: quantities.rounds_to(part, name, target) for name in THREE}
    fastest = pd.concat([rounds[name] for name in BASELINES], axis=1).min(axis=1)
    return 100 * (fastest / rounds["feddrl"]).map(math.log)


# C16 is about times: its sampling unit is a pair of network and data, not a seed


def server_times(rows: pd.DataFrame, what: str) -> pd.Series:
    """Median times (ms) of the paper's networks at K = 10 on the CPU, by network and data."""
    own = rows[(rows.what == what) & (rows.cohort_size == 10) & (rows.timed_on == "cpu")]
    own = own[own.model.isin(("vgg11", "cnn-feddrl"))]
    return own.set_index(own.model + " on " + own.data).median_ms


def vgg_over_cnn(rows: pd.DataFrame, what: str) -> pd.Series:
    """100 x log ratio of VGG-11's time over the CNN's, by the CNN's data."""
    times = server_times(rows, what)
    vgg = times.filter(like="vgg11").mean()
    return 100 * (vgg / times.filter(like="cnn")).map(math.log)


def printed_averaging() -> float:
    """The printed `vgg_over_cnn` of averaging."""
    vgg, cnn = (from_text("aggregation_time", dataset=d) for d in ("CIFAR-100", "MNIST,Fashion-MNIST"))
    return 100 * math.log(vgg / cnn)


# The same of the printed tables, by cell


def gains_from_printed(
    over: str, data: tuple[str, ...], clients: tuple[int, ...], schemes: tuple[str, ...]
) -> Callable[[], Mapping[str, float]]:
    """Relative gain over the best or worst baseline in these cells, computed from the printed accuracies."""

    def compute() -> Mapping[str, float]:
        names = [(d, quantities.PAPER_PARTITIONS[p], n) for d in data for n in clients for p in schemes]
        return _by_name(relative_gains().loc[names, over])

    return compute


def printed_lead(table: str = "feddrl_table3") -> Callable[[], Mapping[str, float]]:
    def compute() -> Mapping[str, float]:
        values = accuracies(table)
        return _by_name(values.FedDRL - values[["FedAvg", "FedProx"]].max(axis=1))

    return compute


def printed_room() -> Mapping[str, float]:
    """SingleSet less the best federated method, tables 3 and 4."""
    found: dict[str, float] = {}
    for table in ("feddrl_table3", "feddrl_table4"):
        values = accuracies(table)
        found |= _by_name(values.SingleSet - values[["FedAvg", "FedProx", "FedDRL"]].max(axis=1))
    return found


def printed_below_single_set() -> Mapping[str, float]:
    values = accuracies()
    return _by_name(values.SingleSet - values[["FedAvg", "FedProx"]].mean(axis=1))


def printed_below_pareto() -> Mapping[str, float]:
    values = accuracies()[["FedAvg", "FedProx"]].mean(axis=1)
    return {
        name_of(cell): values[cell[0], "PA", cell[2]] - value
        for cell, value in values.items()
        if cell[1] != "PA"
    }


def printed_growth() -> Mapping[str, float]:
    best = relative_gains().best.unstack("n_clients")
    return {f"{data}/{scheme}": float(row[100] - row[10]) for (data, scheme), row in best.iterrows()}


def _by_name(values: pd.Series) -> Mapping[str, float]:
    return {name_of(cell): float(value) for cell, value in values.items()}


def name_of(cell: tuple) -> str:
    """`paper_name` of a key of the published tables."""
    return f"{cell[0]}/{cell[1]}/N={cell[2]:g}"


# Gates


def flat(*variants: str) -> Gate:
    """The curves of these methods in every cell."""
    gate = curves_flat(
        ("dataset", "partition", "num_clients", "cohort_size", "partition_options", "variant"),
        length=ROUNDS,
        only=variants,
    )
    return Gate(gate.name, lambda rows: gate.check(quantities.named(rows)))


def _agent_trained(rows: pd.DataFrame) -> tuple[bool, str]:
    own = quantities.named(rows)
    own = own[own.variant == "feddrl"]
    found = []
    for run in own.drop_duplicates("run").itertuples():
        given = FedDRL(worker_rounds=json.loads(run.method_options).get("worker_rounds"))
        found.append((updates(given, run.rounds), updates(FedDRL(), run.rounds)))
    made, needed = min(found, key=lambda pair: pair[0] / pair[1])
    whole = updates(FedDRL(), ROUNDS)
    if made == needed == whole:
        return True, f"{made:,} updates, as in the paper's scheme"
    words = f"agent made {made:,} of the {needed:,} updates of the paper's scheme at this length"
    return made >= needed, f"{words} (at T = {ROUNDS}: {whole:,})"


AGENT_TRAINED = Gate("agent trained: the paper's number of updates at the run's length", _agent_trained)
