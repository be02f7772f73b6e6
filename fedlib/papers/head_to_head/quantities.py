"""Rows to numbers: what each run of the comparison and of the public benchmarks is judged by."""

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedlib.analysis.contrasts import last_rounds
from fedlib.analysis.decisions import EQUIVALENCE, NOT_TESTABLE, decide
from fedlib.analysis.intervals import Interval, t_bounds
from fedlib.analysis.memo import kept_per_frame, once_per_frame
from fedlib.analysis.published import load_published
from fedlib.analysis.tables import listed
from fedlib.analysis.variants import name_distinct
from fedlib.data.titles import title_of
from fedlib.papers.head_to_head import public
from fedlib.papers.head_to_head.runs import CELLS, CONTESTANTS, RAN_FIRST

WORST = 0.1  # share of the clients that count as badly served
SHARE = 0.95  # of FedAvg's level, the target that is timed
CELL = ["dataset", "cell"]
POINTS = 1.0  # least margin of the equivalence with a public benchmark, in points
MARGIN = 0.5  # points: a smaller difference is no lead
STANDINGS = AHEAD, EQUAL, OPEN, BEHIND, TOO_FEW = (
    "ahead", "equal within half a point", "undecided", "behind", "too few seeds",
)  # fmt: skip


def contestant_of(method: str, options: str) -> str:
    """The contestant whose method and fixed options a row has; options: as JSON text."""
    given = json.loads(options)
    fixed = [
        name
        for name, one in CONTESTANTS.items()
        if one.method == method and all(given.get(key) == value for key, value in one.options.items())
    ]
    return max(fixed, key=lambda name: len(CONTESTANTS[name].options))


def cell_of(partition: str, options: str, cells: Mapping[str, tuple[str, dict]] = CELLS) -> str:
    """The cell that a row's partition is, in our words; options: as JSON text."""
    given = json.loads(options)
    return next(name for name, (kind, wanted) in cells.items() if (kind, wanted) == (partition, given))


@kept_per_frame
def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with columns `contestant` and `cell`."""
    return rows.assign(
        contestant=name_distinct(rows, ("method", "method_options"), contestant_of),
        cell=name_distinct(rows, ("partition", "partition_options"), cell_of),
    )


def cell_titles(runs: pd.DataFrame) -> pd.Series:
    """Data set and cell of each run, e.g. `Fashion-MNIST, cluster skew`."""
    return runs.dataset.map(title_of) + ", " + runs.cell


def on_all_images(dataset_options: str) -> bool:
    """Whether a run with these options (JSON text) trains on all images of its data set."""
    return "train_per_class" not in json.loads(dataset_options)


def set_titles(runs: pd.DataFrame) -> str:
    """Data sets of runs (`per_run`) in a sentence; `all of Fashion-MNIST` if no image is left out."""
    return f"{'all of ' * bool(runs.whole.all())}{listed([title_of(name) for name in runs.dataset.unique()])}"


def worst_tenth(text: str) -> float:
    """Mean accuracy of the tenth of the clients that are served worst; text: a JSON list."""
    values = np.sort(json.loads(text))
    return float(values[: max(1, round(WORST * len(values)))].mean())


@once_per_frame
def per_run(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of runs: cells, level (%), best, worst-tenth client, validation, MB a round, diverged.

    A run that diverged counts as 0 % wherever levels, worst tenths and validations are averaged: what it
    left is no model. `stopped` is the round (0: in training before round 1), `before` its level until then;
    `whole`: on all images of the data set.
    """
    rows = labelled(rows)
    first = rows.drop_duplicates("run").set_index("run")
    final = rows.drop_duplicates("run", keep="last").set_index("run")
    by_run, late = rows.groupby("run", sort=False), last_rounds(rows).groupby("run", sort=False)
    sound = last_rounds(rows[rows.status == "ok"]).groupby("run", sort=False)
    clients = final.get("client_test_accuracies", pd.Series(index=final.index, dtype=object))
    runs = first[[*CELL, "contestant", "seed", "local_learning_rate"]].assign(
        options=first.method_options,
        whole=[on_all_images(text) for text in first.dataset_options],
        level=100 * late.test_accuracy.mean(),
        best=100 * by_run.test_accuracy.max(),
        worst_tenth=[100 * worst_tenth(text) if isinstance(text, str) else np.nan for text in clients],
        validation=100 * late.client_test_accuracy_mean.mean(),
        megabytes=(by_run.uplink_bytes.mean() + by_run.downlink_bytes.mean()) / 1e6,
        diverged=final.status != "ok",
        stopped=final["round"].clip(lower=0).astype(int),
        before=100 * sound.test_accuracy.mean(),
    )
    runs.loc[runs.diverged, ["level", "worst_tenth", "validation"]] = 0.0
    return runs.reset_index()


def whole_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of cells and contestants that all met, so that means over cells compare.

    A cell counts once all of `RAN_FIRST` that have rows ran there, a further contestant once it ran in all
    of these cells. All rows where no cell counts.
    """
    named = labelled(rows)
    met = named.groupby([*CELL, "contestant"]).size().unstack(fill_value=0) > 0
    cells = met.index[met[met.columns.intersection(RAN_FIRST)].all(axis=1)]
    if cells.empty or met.to_numpy().all():
        return rows
    contestants = met.columns[met.loc[cells].all()]
    whole = named.set_index(CELL).index.isin(cells) & named.contestant.isin(contestants)
    return rows[whole.to_numpy()]


@kept_per_frame
def equal_sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the cells whose clients hold equally many images, so that FedNova is FedAvg there."""
    return rows[rows.partition != "label_volume"]


def standing_of(found: Interval) -> str:
    """Name the standing of a difference in points, one of `STANDINGS`."""
    if found.n < 2 or np.isnan(found.low):
        return TOO_FEW
    if found.low > 0:
        return AHEAD
    if found.high < 0:
        return BEHIND
    return EQUAL if max(-found.low, found.high) < MARGIN else OPEN


def levels_by_seed(runs: pd.DataFrame, value: str = "level") -> pd.DataFrame:
    """Levels (%), or another value: a row per seed, a column per contestant and cell; NaN: no run."""
    columns = runs.assign(label=cell_titles(runs))
    return columns.pivot_table(index="seed", columns=["contestant", "label"], values=value)


def shared_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs in the cells, and with the seeds, that every contestant has."""
    names, levels = set(runs.contestant), levels_by_seed(runs)
    cells = cell_titles(runs)
    every = {name for name, own in runs.groupby(cells) if set(own.contestant) == names}
    seeds = levels.loc[:, levels.columns.get_level_values("label").isin(every)].dropna().index
    return runs[cells.isin(every) & runs.seed.isin(seeds)]


def score_matrix(runs: pd.DataFrame, contestant: str) -> np.ndarray:
    """[cells, seeds] of one contestant, cells and seeds in sorted order."""
    own = runs[runs.contestant == contestant]
    return own.pivot(index=CELL, columns="seed", values="level").to_numpy()


def benchmark_levels(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy (%) that counts, by run: benchmark, dataset, cell, method, seed, rounds, ours, diverged.

    It is the best over the rounds or that of the last one, as the benchmark's (`public.MEASURES`). A run that
    diverged is whole, with the rounds that it was to have, and its accuracy until then.
    """
    lines = []
    for _, part in rows.groupby("run", sort=False):
        first = part.iloc[0]
        diverged = part.status.iloc[-1] != "ok"
        cell = cell_of(first.partition, first.partition_options, public.PUBLIC_CELLS)
        benchmark = "fedbench" if first.artifact == "fedbench" else "niid_bench"
        accuracy = part.test_accuracy.dropna()
        ours = accuracy.max() if public.MEASURES[benchmark] == "best" else accuracy.iloc[-1]
        lines.append(
            {
                "benchmark": benchmark, "dataset": first.dataset, "cell": cell, "method": first.method,
                "seed": first.seed, "rounds": int(first.rounds if diverged else part["round"].max()),
                "ours": 100 * ours, "diverged": diverged,
            }
        )  # fmt: skip
    return pd.DataFrame(lines)


def benchmark_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Our accuracies beside the public ones (%), one line per benchmark, cell and method.

    difference: `Interval` over seeds of ours less the public mean. margin: two public standard
    deviations, at least one point. verdict: of equivalence within it, *not testable here* with fewer
    than the protocol's 50 rounds or without a public number. Runs that diverged count by their accuracy
    until then, as the public means have such runs too; diverged: how many.
    """
    names = ["benchmark", "dataset", "cell", "method"]
    printed = load_published("benchmarks").set_index(names)[["accuracy", "sd"]]
    lines = []
    for key, part in benchmark_levels(rows).groupby(names, sort=False):
        accuracy, sd = printed.loc[key] if key in printed.index else (np.nan, np.nan)
        less, margin = part.ours.to_numpy() - accuracy, np.fmax(2 * sd, POINTS)
        whole = part.rounds.min() >= public.ROUNDS and np.isfinite(accuracy)
        verdict = str(decide(less[:, None], EQUIVALENCE, margin)) if whole else NOT_TESTABLE
        difference = Interval(*map(float, t_bounds(less)), n=len(less))
        lines.append(
            dict(zip(names, key, strict=True))
            | {"public": accuracy, "sd": sd, "ours": part.ours.mean(), "difference": difference}
            | {"margin": margin, "verdict": verdict, "rounds": int(part.rounds.min())}
            | {"seeds": len(part), "diverged": int(part.diverged.sum())}
        )
    return pd.DataFrame(lines)


def median_with_never(values: pd.Series) -> float:
    """Median over runs of which those without a value never get there; NaN where it is one of these."""
    median = float(values.fillna(np.inf).median())
    return median if np.isfinite(median) else np.nan
