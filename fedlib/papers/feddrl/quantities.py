"""Quantities of FedDRL's tables, figures and claims: best accuracies, gains, ratios, factors.

rows: as `load_rows` gives them, many cells and methods; part: those of one cell. A series by seed has
one number per seed. Accuracies and gains are in percent.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.memo import kept_per_frame, map_distinct
from fedlib.analysis.tables import json_lists
from fedlib.analysis.variants import with_variant
from fedlib.data.titles import title_of
from fedlib.experiments.results import finished_rows
from fedlib.papers.feddrl.repair import FROZEN, REPAIRED, SEARCHED
from fedlib.papers.feddrl.runs import CONTROLS, DELTA, DRAWN, PAPER_METHODS, VARIANTS
from fedlib.papers.feddrl.small_setting import EXTRA

BASELINES = ("fedavg", "fedprox")
THREE = (*BASELINES, "feddrl")
LATE_SHARE = 0.05  # share of the rounds, the last ones, over which `late_levels` averages
# The first that fits names a row: those with more options first
_REPAIRS = {
    "repaired" if name == FROZEN else name: ("feddrl", options)
    for name, options in SEARCHED.items()
    if options
}
_REPAIRS |= {
    f"repaired_{control}": ("feddrl", {**REPAIRED, "agent": control}) for control in ("permuted", "untrained")
}
_OURS = {
    "fedprox_uniform": ("fedprox", {"weights": "uniform"}),
    "drawn": ("feddrl", DRAWN),
    "drawn_online": ("feddrl", {"mode": "online", **DRAWN}),
}
_NAMES = {**_OURS, **EXTRA, **_REPAIRS, **CONTROLS}
_NAMES = dict(sorted(_NAMES.items(), key=lambda named: -len(named[1][1]))) | PAPER_METHODS
_ORDER = tuple(dict.fromkeys((*VARIANTS, *EXTRA, *_REPAIRS, *_OURS, "best_constant")))
REACHABLE = ("small_groups", "main_group", "largest_losses", "proportional", "best_constant")  # by the agent
CELL = ("dataset", "partition", "num_clients")
PAPER_DATA = {
    "cifar100": "CIFAR-100", "standin-cifar100": "CIFAR-100", "cifar10": "CIFAR-100",
    "cifar10-jpeg": "CIFAR-100", "fmnist": "Fashion-MNIST", "fmnist-embedded": "Fashion-MNIST",
    "mnist": "MNIST", "mnist-5k": "MNIST",
}  # fmt: skip
PAPER_PARTITIONS = {
    "pa": "PA", "ce": "CE", "cn": "CN", "equal_shards": "Equal", "nonequal_shards": "Non-equal"
}  # fmt: skip


@kept_per_frame
def named(rows: pd.DataFrame) -> pd.DataFrame:
    """Finished rows with a column `variant`, the method's name in our tables, in their order.

    Cells cut by labels that are not the images' own, or by the authors' files, count under the scheme
    that cut them. A frame without columns stays as it is.
    """
    if rows.columns.empty:
        return rows
    found = with_variant(finished_rows(rows), _NAMES)
    ranks = {name: rank for rank, name in enumerate(_ORDER)}
    found = found.sort_values("variant", key=lambda names: names.map(ranks), kind="stable")
    cut = found.partition.isin(("from_file", "foreign_labels"))
    if not cut.any():
        return found
    texts = found.partition_options[cut]
    schemes = texts.map({text: partition_setting(text, "scheme") for text in texts.unique()})
    return found.assign(partition=found.partition.where(~cut, schemes))


def on_authors_file(part: pd.DataFrame) -> bool:
    """Whether the rows of one cell have a partition that the authors drew."""
    return "path" in json.loads(part.partition_options.iloc[0])


def partition_setting(options: str, name: str) -> str | float:
    """A setting of a partition, out of its options (JSON); of the authors' files, out of their name.

    name: delta, or scheme (of files and foreign labels only). Files without a delta in their name have
    table 3's.
    """
    given = json.loads(options)
    if "path" not in given:
        return given[name]
    scheme, delta = re.search(r"_(pa|ce|cn)_n\d+(?:_delta(\d+))?\.", given["path"]).groups()
    return scheme if name == "scheme" else int(delta) / 100 if delta else DELTA


def cells(
    rows: pd.DataFrame, by: tuple[str, ...] = CELL, needs: tuple[str, ...] = ()
) -> Iterator[tuple[tuple, pd.DataFrame]]:
    """Rows of each cell, in the paper's order; a cell without all of `needs` is left out."""
    found = {cell: part for cell, part in rows.groupby(list(by)) if set(needs) <= set(part.variant.unique())}
    for cell in sorted(found, key=_place):
        yield cell, found[cell]


def _place(cell: tuple) -> tuple:
    """Data sets and partitions as the paper has them, N rising before partitions."""
    known = [*PAPER_DATA, *PAPER_PARTITIONS]
    ranks = [known.index(value) if value in known else value for value in cell]
    return (ranks[0], *reversed(ranks[1:]))


def cell_name(cell: tuple) -> str:
    """`Fashion-MNIST/CE/N=100`, with the title of the data set that was run."""
    dataset, partition, clients = cell
    return f"{title_of(dataset)}/{PAPER_PARTITIONS[partition]}/N={clients}"


def of_feddrl(part: pd.DataFrame) -> tuple[str, str]:
    """Variants of FedDRL as a cell has it, and with slots in drawn order: in stages, or online only."""
    online = "" if "feddrl" in part.variant.unique() else "_online"
    return f"feddrl{online}", f"drawn{online}"


@kept_per_frame
def best(part: pd.DataFrame, variant: str) -> pd.Series:
    """Best test accuracy (%) over the rounds of each seed, the paper's metric (FEDDRL-A34)."""
    return contrasts.best(part.loc[part.variant == variant, ["seed", "round", "test_accuracy"]])


def equal_amounts(named: pd.DataFrame) -> bool:
    """Whether all clients hold as many images (CE), so that uniform weights are FedAvg's."""
    return set(named.partition.unique()) == {"ce"}


def over_rounds(part: pd.DataFrame, variant: str) -> pd.Series:
    """A variant's mean accuracy (%) over all evaluated rounds but round 0, by seed."""
    own = part[(part.variant == variant) & (part["round"] > 0)]
    return own.groupby("seed").test_accuracy.mean() * 100


@kept_per_frame
def late_levels(part: pd.DataFrame, share: float = LATE_SHARE) -> pd.DataFrame:
    """Mean accuracy (%) of the last rounds, by default 50 of 1000: a row per seed, a column per variant.

    Unlike the best round (FEDDRL-A34) it is not chosen with the test data. SingleSet's last are of its own
    epochs.
    """
    return 100 * _late_accuracies(part, share).mean().unstack("variant")


def highest_mean(part: pd.DataFrame, variant: str) -> pd.Series:
    """The highest mean accuracy (%) of as many rounds in a row as `late_levels` has, by seed.

    Chosen with the test data as the best round is, but hardly by the noise of single rounds.
    """
    own = part[(part.variant == variant) & (part["round"] > 0) & part.test_accuracy.notna()]
    curves = own.pivot(index="round", columns="seed", values="test_accuracy")
    window = int((curves.index > (1 - LATE_SHARE) * curves.index.max()).sum())
    return 100 * curves.rolling(window).mean().max()


def late_spread(part: pd.DataFrame) -> pd.DataFrame:
    """Standard deviation of the accuracy over the last rounds, in points, as `late_levels` has their mean.

    The best of many rounds grows with it.
    """
    return 100 * _late_accuracies(part).std().unstack("variant")


def _late_accuracies(part: pd.DataFrame, share: float = LATE_SHARE) -> pd.api.typing.SeriesGroupBy:
    length = part.groupby("variant")["round"].transform("max")
    last_rows = part[(part["round"] > (1 - share) * length) & part.test_accuracy.notna()]
    return last_rows.groupby(["seed", "variant"]).test_accuracy


def best_by_cell(named: pd.DataFrame, needs: tuple[str, ...] = ()) -> Iterator[tuple[tuple, pd.DataFrame]]:
    """`best` of every variant in each cell: a row per seed, a column per variant, in our order."""
    own = named[[*CELL, "variant", "seed", "round", "test_accuracy"]]
    for cell, part in cells(own, needs=needs):
        yield cell, contrasts.best_of_each(part, "variant")[variant_order(part)]


def baseline(
    part: pd.DataFrame,
    end: Callable[..., pd.Series] = max,
    level: Callable[[pd.DataFrame, str], pd.Series] = best,
) -> pd.Series:
    """The better of FedAvg and FedProx in this cell by its mean over seeds; end: `min` for the worse."""
    return end((level(part, name) for name in BASELINES), key=lambda values: values.mean())


def relative_gain(ours: pd.Series, other: pd.Series) -> pd.Series:
    """Gain in percent of the other's accuracy, by seed."""
    return 100 * (ours - other) / other


def rounds_to(part: pd.DataFrame, variant: str, target: pd.Series) -> pd.Series:
    """First evaluated round whose test accuracy reaches the seed's target (FEDDRL-A45); NaN if none does."""
    rows = part[(part.variant == variant) & (part["round"] > 0)].dropna(subset=["test_accuracy"])
    reached = rows[100 * rows.test_accuracy >= rows.seed.map(target) - 1e-9]
    return reached.groupby("seed")["round"].min().reindex(target.index)


def target_accuracy(part: pd.DataFrame) -> pd.Series:
    """The smallest best accuracy of the three methods, by seed: what all of them reach (fig. 10)."""
    return pd.concat([best(part, name) for name in THREE], axis=1).dropna().min(axis=1)


def loss_ratios(part: pd.DataFrame, value: str, window: int, own: str = "feddrl") -> pd.DataFrame:
    """fig. 6: `value` of every method over FedDRL's (`own`), by round and seed, smoothed (FEDDRL-A41).

    value: client_loss_mean or client_loss_variance. Columns variant, seed, round, ratio.
    """
    known = part[part[value].notna() & (part["round"] > 0)]
    table = known.pivot_table(index=["seed", "round"], columns="variant", values=value)
    ratio = table.div(table[own], axis=0)
    smooth = ratio.groupby(level="seed").transform(lambda x: x.rolling(window, min_periods=1).mean())
    return pd.DataFrame(smooth.stack().rename("ratio")).reset_index()


def main_group(num_clients: int) -> int:
    """Clients of the main group, the first ones, as `partition_ce` and `partition_cn` number them."""
    return int(DELTA * num_clients + 0.5)


def group_factors(part: pd.DataFrame) -> pd.DataFrame:
    """Mean impact factor of the main group's clients and of the others, per variant, seed and round.

    The main group is the first delta N clients, as `partition_ce` and `partition_cn` number them.
    Rounds without a main-group client or without any other are left out.
    """
    columns = ["variant", "seed", "round", "num_clients", "clients", "weights"]
    rows = part.loc[part.weights.notna() & (part.variant != "singleset"), columns].reset_index(drop=True)
    clients, weights = (json_lists(rows[name]) for name in ("clients", "weights"))
    owner = np.repeat(np.arange(len(rows)), [len(own) for own in clients])
    number, factor = (np.array(list(chain.from_iterable(lists))) for lists in (clients, weights))
    in_main = number < map_distinct(rows.num_clients, main_group).to_numpy()[owner]
    means = {
        name: pd.Series(factor[of]).groupby(owner[of]).mean()
        for name, of in (("main", in_main), ("others", ~in_main))
    }
    return rows[["variant", "seed", "round"]].assign(**means).dropna(ignore_index=True)


def rewards(part: pd.DataFrame, variant: str) -> pd.Series:
    """Mean over the rounds of eq. (7), negated, from the losses of the new global model, by seed.

    With K = N these are the losses that pay for each round's action (FEDDRL-A2).
    """
    rows = part[(part.variant == variant) & (part["round"] > 0) & part.client_loss_mean.notna()]
    return reward(rows).groupby(rows.seed).mean()


def reward(rows: pd.DataFrame) -> pd.Series:
    """Eq. (7), negated, of every row."""
    return -(rows.client_loss_mean + rows.client_loss_max - rows.client_loss_min)


def variant_order(rows: pd.DataFrame) -> list[str]:
    """The variants at hand in the order of our tables."""
    known = set(rows.variant.unique())
    return [name for name in _ORDER if name in known]
