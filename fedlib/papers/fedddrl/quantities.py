"""From stored rows of FedDdrl's runs to the quantities that its tables, figures and claims speak of.

A run holds evaluation episodes of T rounds, whose cohorts and devices are the same for every method;
agents learn before round 1 (FEDDDRL-A23).
"""

import json

import numpy as np
import pandas as pd

from fedlib.analysis.claims import real_rows
from fedlib.analysis.memo import kept_per_frame, map_distinct, once_per_frame
from fedlib.analysis.variants import name_distinct
from fedlib.methods.fedddrl.method import GAIN
from fedlib.papers.fedddrl import runs
from fedlib.papers.fedddrl.latencies import latencies

CELL = ["role", "variant", "cohort_size", "seed"]


@kept_per_frame
def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the paper's data set (`role`), the name of the setting (`variant`), and the number `t`
    of each round in its episode."""
    if "variant" in rows:
        return rows
    names = name_distinct(
        rows.assign(mixup=rows.mixup_alpha.notna()), ("method", "method_options", "mixup"),
        lambda method, text, mixup: runs.name_of(method, json.loads(text), mixup=mixup),
    )  # fmt: skip
    number, length = rows["round"].astype(int), rows.episode_rounds.astype(int)
    return rows.assign(
        role=rows.dataset.map(runs.ROLE_OF).fillna(rows.dataset),
        variant=names,
        cohort_size=rows.cohort_size.fillna(rows.num_clients),  # null: all of them
        t=np.where(number > 0, (number - 1) % length + 1, 0),
    )


def in_papers_order(table: pd.DataFrame, column: str = "role") -> pd.DataFrame:
    """The lines sorted by the paper's data set in a column, others last; in a data set in their order."""
    place = {name: n for n, name in enumerate(runs.ALPHAS)}
    return table.sort_values(column, key=lambda names: names.map(place), kind="stable", ignore_index=True)


def by_policy(cells: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Table with a line for each policy and a group of columns for each data set: rules, FedAvg, agents.

    cells: by role and variant. rows: of which data sets, as `shown_roles` calls them.
    """
    shown, variants = shown_roles(rows), set(cells.index.get_level_values("variant"))
    order = sorted(runs.CONTROLS, key=lambda name: not name.startswith("drop_slowest"))
    lines = []
    for variant in (name for name in dict.fromkeys((*order, *runs.SETTINGS)) if name in variants):
        line = {"method": runs.SETTINGS[variant].label}
        for role in (name for name in runs.ALPHAS if name in shown):
            own = cells.loc[(role, variant)] if (role, variant) in cells.index else {}
            line |= {f"{shown[role]}: {column}": own.get(column, np.nan) for column in cells}
        lines.append(line)
    return pd.DataFrame(lines)


_PLACES = {"fmnist-embedded": " (in its place Fashion-MNIST)"}  # real images of another set, at `smoke`


def shown_roles(rows: pd.DataFrame) -> dict[str, str]:
    """The paper's data sets as tables and figures call them: what takes a set's place is told."""
    found = {}
    for role, own in rows.groupby(rows.dataset.map(runs.ROLE_OF).fillna(rows.dataset)):
        place = " (stand-in)" if own.stand_in.astype(bool).any() else _PLACES.get(own.dataset.iloc[0], "")
        found[role] = f"{role}{place}"
    return found


def real_images(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of real images, all rows where none are real, and their data sets: `MNIST and CIFAR-10`."""
    real = real_rows(rows)
    rows = real if len(real) else rows
    shown = shown_roles(rows)
    return rows, " and ".join(shown[role] for role in runs.ALPHAS if role in shown)


@kept_per_frame
def evaluations(rows: pd.DataFrame) -> pd.DataFrame:
    """The rounds of the evaluation episodes."""
    rows = labelled(rows)
    return rows[rows["round"] > 0]


def final_accuracy(rows: pd.DataFrame) -> pd.Series:
    """Percent after round T, mean over evaluation episodes, by `CELL`."""
    rows = evaluations(rows)
    last = rows[rows.t == rows.groupby(CELL).t.transform("max")]
    return 100 * last.groupby(CELL).test_accuracy.mean()


def totals(rows: pd.DataFrame, value: str) -> pd.Series:
    """`sum_t` of a column over an episode, mean over evaluation episodes, by `CELL`."""
    sums = evaluations(rows).groupby([*CELL, "episode"])[value].sum()
    return sums.groupby(CELL).mean()


def normalised(rows: pd.DataFrame, value: str) -> pd.Series:
    """A total over an episode in percent of FedAvg's of the same seed (FEDDDRL-A39), by `CELL`."""
    total = totals(rows, value).rename("total").reset_index()
    unit = total[total.variant == "fedavg_mixup"].groupby(["role", "seed"]).total.first().rename("unit")
    joined = total.join(unit, on=["role", "seed"])
    return (100 * joined.total / joined.unit).set_axis(total.set_index(CELL).index)


def steadiness(rows: pd.DataFrame, last: int = 5) -> pd.Series:
    """Minus the standard deviation of the accuracies of an episode's last rounds (points), by `CELL`."""
    rows = evaluations(rows)
    late = rows[rows.t > rows.t.max() - last]
    spread = 100 * late.groupby([*CELL, "episode"]).test_accuracy.std()
    return -spread.groupby(CELL).mean()


def smoothness(rows: pd.DataFrame) -> pd.Series:
    """Minus the mean absolute change of the accuracy from round to round (points), by `CELL`."""
    rows = evaluations(rows).sort_values([*CELL, "episode", "t"])
    change = 100 * rows.groupby([*CELL, "episode"]).test_accuracy.diff().abs()
    return -change.groupby([rows[key] for key in CELL]).mean()


def cell(values: pd.Series, role: str, variant: str, cohort_size: float | None = None) -> pd.Series:
    """The values of one cell by seed; empty if it was not run."""
    index = values.index
    wanted = (index.get_level_values("role") == role) & (index.get_level_values("variant") == variant)
    if cohort_size is not None:
        wanted &= index.get_level_values("cohort_size") == cohort_size
    return values[wanted].droplevel(["role", "variant", "cohort_size"])


def reward_terms(rows: pd.DataFrame) -> pd.DataFrame:
    """`gain` w1 U(dA_t) and `penalty` w2 B_t + w3 H_t of rewards (12) to (16), normalised as in A3."""
    options = map_distinct(rows.method_options, json.loads)
    w1, w2, w3 = (options.map(lambda o, w=w: o[w]) for w in ("w1", "w2", "w3"))
    return rows.assign(
        gain=w1 * GAIN * rows.accuracy_gain,
        penalty=w2 * rows.uploads / rows.cohort_size + w3 * rows.latency_share,
    )


def of_common_seeds(rows: pd.DataFrame, by: str = "variant") -> pd.DataFrame:
    """Keep the seeds of each data set that every value of a column has there, so that their means compare."""
    kept = rows.groupby(["role", "seed"])[by].transform("nunique")
    return rows[kept == rows.groupby("role")[by].transform("nunique")]


def of_agents(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the data sets and seeds that have an agent of FedDdrl, so that all means compare."""
    return rows.merge(rows.loc[rows.method == "fedddrl", ["dataset", "seed"]].drop_duplicates())


@once_per_frame
def traces(rows: pd.DataFrame, unit: str = "largest") -> pd.DataFrame:
    """Record of Algorithm 1 for a run: `CELL`, episode and t with the columns dA, B, H.

    dA: of the accuracy on the images that the server holds out (FEDDDRL-A9). B is a share of the cohort, H
    of its largest value; with unit "cohort" of the sum over the cohort (A3).
    """
    rows = labelled(rows)
    start = rows[rows["round"] == 0].groupby(CELL).server_accuracy.first()
    own = evaluations(rows).sort_values([*CELL, "episode", "t"])
    before = own.groupby([*CELL, "episode"]).server_accuracy.shift()
    first = start.reindex(pd.MultiIndex.from_frame(own[CELL])).set_axis(own.index)
    return own[[*CELL, "episode", "t"]].assign(
        dA=own.server_accuracy - before.fillna(first),
        B=own.uploads / own.cohort_size,
        H=own.latency_share if unit == "largest" else latencies(own).cohort_share,
    )


def decisions(rows: pd.DataFrame) -> pd.DataFrame:
    """Observations and decisions of the agents, a row per client and round of the evaluations.

    Columns: role, variant, seed, episode, t, slot, client, kept, epochs, probing_loss,
    probing_seconds, upload_seconds, test_accuracy and latency_seconds of the round.
    """
    own = evaluations(rows).dropna(subset=["kept"])
    lists = {
        "client": "clients", "kept": "kept", "epochs": "epochs", "probing_loss": "probing_loss",
        "probing_seconds": "probing_seconds", "upload_seconds": "upload_seconds",
    }  # fmt: skip
    parsed = {name: own[column].map(json.loads) for name, column in lists.items()}
    plain = ["role", "variant", "seed", "episode", "t", "test_accuracy", "latency_seconds"]
    table = own[plain].assign(**parsed, slot=parsed["kept"].map(lambda kept: list(range(len(kept)))))
    table = table.explode([*lists, "slot"], ignore_index=True)
    numbers = {
        name: table[name].astype(float) for name in ("probing_loss", "probing_seconds", "upload_seconds")
    }
    whole = {name: table[name].astype(int) for name in ("client", "epochs", "slot", "episode")}
    return table.assign(**numbers, **whole, kept=table.kept.astype(bool))


def kept_by_round(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean number of clients kept over evaluation episodes, by role, variant, seed and t."""
    return evaluations(rows).groupby(["role", "variant", "seed", "t"], as_index=False).uploads.mean()
