"""Tables of the head to head: levels, aggregates over cells, the public benchmarks beside ours."""

import json
from typing import Any

import numpy as np
import pandas as pd

from fedlib.analysis.aggregates import (
    interquartile_mean,
    probability_of_improvement,
    rank_intervals,
    stratified_interval,
)
from fedlib.analysis.decisions import INCONCLUSIVE, NOT_TESTABLE, REFUTED, SUPPORTED
from fedlib.analysis.intervals import NO_INTERVAL, Interval, effect_words, mean_interval
from fedlib.analysis.published import load_published
from fedlib.data.titles import title_of
from fedlib.errors import check
from fedlib.experiments.results import finished_rows
from fedlib.papers.head_to_head import public
from fedlib.papers.head_to_head.clients import round_seconds
from fedlib.papers.head_to_head.pretraining import local_trainings
from fedlib.papers.head_to_head.quantities import (
    CELL,
    SHARE,
    benchmark_cells,
    cell_titles,
    labelled,
    levels_by_seed,
    median_with_never,
    per_run,
    score_matrix,
    shared_runs,
    standing_of,
)
from fedlib.papers.head_to_head.runs import CELLS, CONTESTANTS
from fedlib.plotting.style import method_style

REFERENCE = "fedavg"
ONLY_PUBLIC = {"label_quantity 1": "1 label a client"} | {
    name: f"Dirichlet shares ({name[-3:]})" for name in ("dir1.0", "dir0.1")
}
LESS = "less FedAvg (points)"
AGREEMENT = {  # a verdict of equivalence with a public benchmark, in words
    SUPPORTED: "agrees", REFUTED: "differs", INCONCLUSIVE: "undecided", NOT_TESTABLE: "too few runs",
}  # fmt: skip


def present(runs: pd.DataFrame) -> list[str]:
    """The contestants that these runs have, in the comparison's order."""
    return [name for name in CONTESTANTS if name in set(runs.contestant)]


def trials(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of contestants and trials: rate, options, mean validation accuracy (%), runs, diverged.

    The mean is over seeds, with diverged runs as 0.
    """
    table = (
        per_run(rows)
        .groupby(["contestant", "local_learning_rate", "options"], as_index=False)
        .agg(validation=("validation", "mean"), runs=("run", "nunique"), diverged=("diverged", "sum"))
    )
    return table.rename(columns={"local_learning_rate": "rate"}).round({"validation": 2})


def search(rows: pd.DataFrame) -> pd.DataFrame:
    """`trials` for readers: a line per contestant and own option, a column of accuracy per rate."""
    found = trials(rows)
    found["option"] = [
        ", ".join(f"{k} {v}" for k, v in json.loads(text).items() if k not in CONTESTANTS[name].options)
        for name, text in zip(found.contestant, found.options, strict=True)
    ]
    found["rate"] = "accuracy on held-back images (%): rate " + found.rate.astype(str)
    table = found.pivot(index=["contestant", "option"], columns="rate", values="validation")
    table = table.sort_index(level="contestant", key=lambda n: n.map(list(CONTESTANTS).index), kind="stable")
    return table.rename_axis(columns=None).reset_index()


def levels(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy (%) over the last tenth of the rounds, and of the best round: a line per contestant.

    Two columns per cell. A diverged run's level counts as 0 %, its best round is what it had.
    """
    runs = per_run(rows)
    runs["label"] = cell_titles(runs)
    table = runs.groupby(["contestant", "label"], sort=False)[["level", "best"]].mean().unstack("label")
    labels = runs.label.unique()
    table = table[[(measure, label) for label in labels for measure in ("level", "best")]]
    table.columns = [f"{label} (%): {measure}" for measure, label in table.columns]
    return table.reindex(present(runs)).round(1).rename_axis("contestant").reset_index()


def differences(rows: pd.DataFrame, value: str = "level") -> pd.DataFrame:
    """Each contestant less FedAvg, points of accuracy: mean over cells, 95 % interval over seeds.

    value: level, or another column of `per_run`. Columns contestant, mean, low, high, n: one value per seed
    that both have, the mean over the cells.
    """
    return differences_of(per_run(rows), value)


def differences_of(runs: pd.DataFrame, value: str = "level") -> pd.DataFrame:
    """`differences` of runs (`per_run`)."""
    levels, lines = levels_by_seed(runs, value), []
    check(REFERENCE in levels, f"no rows of {REFERENCE}, with which the others are compared")
    for name in present(runs):
        gap = (levels[name] - levels[REFERENCE]).dropna(axis=1, how="all").dropna()
        if name != REFERENCE and len(gap):
            found = mean_interval(gap.mean(axis=1).to_numpy())
            lines.append((name, found.mean, found.low, found.high, found.n))
    return pd.DataFrame(lines, columns=["contestant", "mean", "low", "high", "n"])


def ahead_of_fedavg(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of leads over FedAvg and their cost: MB a round, trainings before round 1, rounds to the target.

    Sorted by the difference of the level; that of the best round is beside it. The target is 95 % of
    FedAvg's level (`costs`).
    """
    found, best = differences(rows), differences(rows, "best").set_index("contestant")
    bounds = zip(found["mean"], found.low, found.high, found.n, strict=True)
    table = pd.DataFrame(
        {
            "contestant": found.contestant, f"{LESS}: level": found["mean"], f"{LESS}: low": found.low,
            f"{LESS}: high": found.high, "standing": [standing_of(Interval(*one)) for one in bounds],
        }
    )  # fmt: skip
    best = best[["mean", "low", "high"]].set_axis(
        [f"{LESS}: best round{end}" for end in ("", " low", " high")], axis=1
    )
    table = table.join(best, on="contestant")
    reference = pd.DataFrame({"contestant": [REFERENCE]})
    table = pd.concat([table.sort_values(f"{LESS}: level", ascending=False), reference])
    megabytes = per_run(rows).groupby("contestant").megabytes.mean().rename("MB a round")
    before = local_trainings(rows).rename("trainings before round 1")
    spent = costs(rows)
    reached = spent.reached.astype(str) + " of " + spent.runs.astype(str)
    names = {"median_rounds": "rounds", "median_hours": "hours", "reached": "reached"}
    spent = spent.assign(reached=reached).rename(columns={k: f"to the target: {v}" for k, v in names.items()})
    for cost in (megabytes, before, spent.drop(columns="runs")):
        table = table.merge(cost, on="contestant")
    return table.fillna({"standing": ""}).round(2)


def diverged(rows: pd.DataFrame) -> pd.DataFrame:
    """The runs that diverged: whose, where, in which round, and their level (%) and best until then.

    Sorted by cell, contestant and seed. Round 0: in training before round 1.
    """
    runs, orders = per_run(rows), {"contestant": list(CONTESTANTS), "cell": list(CELLS)}
    found = runs[runs.diverged].sort_values(
        ["dataset", "cell", "contestant", "seed"],
        key=lambda one: one.map(orders[one.name].index) if one.name in orders else one,
    )
    found["dataset"] = found.dataset.map(title_of)
    found = found.rename(columns={"stopped": "round", "before": "level before (%)", "best": "best (%)"})
    columns = ["contestant", *CELL, "seed", "round", "level before (%)", "best (%)"]
    return found[columns].round(1).reset_index(drop=True)


def aggregates(rows: pd.DataFrame) -> pd.DataFrame:
    """Over all cells: interquartile mean, P(better than FedAvg), mean rank, worst tenth, diverged runs.

    Over the cells and seeds that all contestants have; no line if there are none.
    """
    runs = shared_runs(per_run(rows))
    if runs.empty:
        return pd.DataFrame()
    names = present(runs)
    scores = {name: score_matrix(runs, name) for name in names}
    ranks = rank_intervals(np.stack([scores[name] for name in names]))
    lines = []
    for name, rank in zip(names, ranks, strict=True):
        own = runs[runs.contestant == name]
        middle = stratified_interval(interquartile_mean, scores[name])
        better = NO_INTERVAL  # of FedAvg against itself, or without it
        if name != REFERENCE and REFERENCE in scores:
            better = stratified_interval(
                probability_of_improvement, scores[name], scores[REFERENCE], independent=True
            )
        lines.append(
            {
                "contestant": name, **middle.columns("IQM (%)"), **better.columns("P(> FedAvg)"),
                **rank.columns("mean rank"), "worst tenth (%)": own.worst_tenth.mean(),
                "diverged": int(own.diverged.sum()), "runs": len(own),
            }
        )  # fmt: skip
    return pd.DataFrame(lines)


def benchmark(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours beside the public benchmark's accuracies (%), a line per cell and method, in words."""
    return pd.DataFrame(
        {
            "method": method_style(line.method).label,
            "data": f"{title_of(line.dataset)}, {public.CELL_WORDS[line.cell]}",
            "public (%)": f"{line.public:.2f} ± {line.sd:.2f}",
            "ours (%)": f"{line.ours:.2f}, {_runs_words(line)}",
            "difference": effect_words(line.difference),
            "margin": f"{line.margin:.2f}",
            "verdict": AGREEMENT[line.verdict],
        }
        for line in benchmark_cells(rows).itertuples()
    )


def benchmark_not_run(rows: pd.DataFrame) -> pd.DataFrame:
    """Public numbers (%) of the rows' benchmark without a whole run of ours: cells by methods."""
    ours = benchmark_cells(rows)
    whole = ours[ours.verdict != NOT_TESTABLE]
    run = {(line.dataset, line.cell, line.method) for line in whole.itertuples()}
    printed = load_published("benchmarks")
    printed = printed[printed.benchmark.isin(ours.benchmark)]
    keys = zip(printed.dataset, printed.cell, printed.method, strict=True)
    return _by_method(printed[[key not in run for key in keys]]).drop(columns="benchmark")


def other_benchmarks(rows: pd.DataFrame) -> pd.DataFrame:
    """Public numbers (%) of a benchmark of which nothing was run: as `benchmark_not_run`."""
    printed = load_published("benchmarks")
    return _by_method(printed[~printed.benchmark.isin(public.MEASURES)])


def _by_method(printed: pd.DataFrame) -> pd.DataFrame:
    """Public numbers in words: a line per benchmark and cell, a column per method."""
    shown = pd.DataFrame(
        {
            "benchmark": public.TITLES[one.benchmark],
            "data": f"{title_of(one.dataset)}, {(public.CELL_WORDS | ONLY_PUBLIC).get(one.cell, one.cell)}",
            "method": method_style(one.method).label,
            "words": f"{one.accuracy:.2f}{f' ± {one.sd:.2f}' * bool(np.isfinite(one.sd))}",
        }
        for one in printed.itertuples()
    )
    wide = shown.pivot(index=["benchmark", "data"], columns="method", values="words").fillna("")
    order = pd.MultiIndex.from_frame(shown[["benchmark", "data"]].drop_duplicates())
    return wide.loc[order, shown.method.unique()].rename_axis(columns=None).reset_index()


def _runs_words(line: Any) -> str:
    """`3 seeds`, with the rounds of a short run and the number of diverged ones, if any."""
    short = f", {line.rounds} rounds" * (line.rounds < public.ROUNDS)
    return f"{line.seeds} seeds{short}{f', {line.diverged} diverged' * bool(line.diverged)}"


def costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Rounds and simulated hours until 95 % of FedAvg's level in the same cell and seed: medians, reached.

    A run that never gets there counts as later than any: no median where half of them do not. Where FedAvg
    diverged there is no such level: nobody reaches it.
    """
    runs = per_run(rows).set_index("run")
    levels = runs[runs.contestant == REFERENCE].set_index([*CELL, "seed"]).level
    goals = runs.join(SHARE * levels.rename("goal") / 100, on=[*CELL, "seed"]).goal
    timed = rows.assign(
        goal=rows["run"].map(goals[goals > 0]), seconds=round_seconds(rows).seconds.to_numpy()
    ).sort_values("round", kind="stable")
    timed["hours"] = timed.groupby("run").seconds.cumsum() / 3600
    first = timed[timed.test_accuracy >= timed.goal].groupby("run")[["round", "hours"]].min()
    lines = []
    for name, own in runs.reset_index().groupby("contestant", sort=False).run:
        rounds, hours = (median_with_never(first[column].reindex(own)) for column in ("round", "hours"))
        lines.append((name, rounds, hours, int(own.isin(first.index).sum()), len(own)))
    return pd.DataFrame(lines, columns=["contestant", "median_rounds", "median_hours", "reached", "runs"])


def round_words(rows: pd.DataFrame) -> str:
    """Say how long a simulated round lasts, over FedAvg's of the same cell and seed; diverged runs aside."""
    own = labelled(finished_rows(rows))
    own = own.assign(seconds=round_seconds(own).seconds.to_numpy())
    means = own[own["round"] > 0].groupby([*CELL, "seed", "contestant"]).seconds.mean().unstack("contestant")
    if REFERENCE not in means or len(means.columns) < 2 or means[REFERENCE].isna().all():
        return ""
    over = means.drop(columns=REFERENCE).div(means[REFERENCE], axis=0).mean().dropna().sort_values()
    least, most = (f"{over[name]:.2f} ({method_style(str(name)).label})" for name in over.index[[0, -1]])
    return (
        "In simulated time, on FedDdrl's devices as in section 4, a round lasts as long as the slowest of "
        f"its clients: FedAvg's {means[REFERENCE].mean():.1f} s on average, the others' {least} to {most} "
        "times as long."
    )
