"""Methods that choose by time, on the same simulated devices: accuracy against simulated time.

All see FedDdrl's devices (`fedlib.methods.fedddrl.devices`): a client's seconds per sample and per upload
follow from (seed, client), a round lasts as long as the slowest of those that are kept (FEDDDRL-A2). N = 20
clients and five local epochs for everybody; who trains, stops early or is averaged is the method's choice.
EvaluatorFL lets all clients train, so its rounds last as long as FedAvg's. FedDdrl and FedMarl are trained
before round 1, SchedulerFL on times alone; that costs no simulated time here.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binomtest

from fedlib import plotting
from fedlib.analysis.aggregates import probability_of_improvement, rank_intervals, stratified_interval
from fedlib.analysis.decisions import holm
from fedlib.analysis.intervals import NO_INTERVAL, Interval, by_side, mean_interval, mean_words, t_bounds
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.device_quantities import less_at_equal_time, named, per_run
from fedlib.papers.head_to_head.device_runs import CONTESTANTS, ROUNDS, TIMED, at_random, rivals
from fedlib.papers.head_to_head.quantities import SHARE, median_with_never
from fedlib.words import counted

FEDAVG = "FedAvg"
BASELINES = (FEDAVG, "faster half alone", "faster half alone, random")
COLOURS = dict(zip((FEDAVG, *TIMED), ("#000000", "#332288", "#44AA99", "#999933", "#AA4499"), strict=True))


def answer(rows: pd.DataFrame) -> list[str]:
    """Say whose simulated time to the target is shorter than FedAvg's with the same seed, and by what."""
    if rows.empty or rows["rounds"].max() < ROUNDS["reduced"]:
        return [
            "Open: the rows at hand are too short to tell; "
            "`python -m fedlib run head_to_head/devices --profile reduced`."
        ]
    runs = per_run(named(rows)).set_index(["contestant", "seed"])
    found = {name: _share_sooner(runs, name) for name in TIMED}
    known = {name: share for name, share in found.items() if share}
    words = {name: f"{name} ({_sooner_words(runs, name)})" for name in known}
    sides = by_side(known, above="Sooner, uncorrected", below="Later, uncorrected", undecided="Undecided")
    sides["Not run, or no seed reaches it"] = [name for name in found if name not in known]
    told = [
        f"{side}: {', '.join(words.get(name, name) for name in names)}."
        for side, names in sides.items() if names
    ]  # fmt: skip
    head = (
        f"The simulated time to {100 * SHARE:.0f} % of FedAvg's level is compared with FedAvg's own; a "
        "method that never gets there is later. Seeds are counted by an exact sign test, ties left out."
    )
    controls = [
        f"{(order := _order(runs, control))[0]} of {sum(order)} ({name}'s number)"
        for name in known if (control := f"{name}, random") in runs.index
    ]  # fmt: skip
    random = f"As many clients at random are sooner than FedAvg in so many seeds: {', '.join(controls)}."
    first = " ".join(filter(None, [_at_once(runs, list(known)), _by_size(runs, sides["Undecided"])]))
    return [words for words in (first, " ".join([head, *told]), random * bool(controls)) if words]


def _by_size(runs: pd.DataFrame, names: list[str]) -> str:
    """Say which of these always reach the target, with a ratio whose interval leaves out 1; else empty."""
    ratios = {name: ratio for name in names if (ratio := _time_ratio(runs, name))}
    whole = {name: ratio for name, ratio in ratios.items() if ratio.n == len(runs.loc[name])}
    sides = by_side(whole, above="later", below="sooner")
    return " ".join(
        f"By the size of the difference, which that test ignores, {listed(sides[side])} "
        f"{'are' if len(sides[side]) > 1 else 'is'} {side} (uncorrected)."
        for side in ("sooner", "later") if sides[side]
    )  # fmt: skip


def sooner_in_brief(rows: pd.DataFrame) -> str:
    """Name who reaches the target sooner than FedAvg: by sign tests at once (Holm), and by size alone."""
    runs = per_run(named(rows)).set_index(["contestant", "seed"])
    known = [name for name in TIMED if _share_sooner(runs, name)]
    asked = f"Who reaches {100 * SHARE:.0f} % of FedAvg's level first?"
    return " ".join(filter(None, [_at_once(runs, known, asked), _by_size(runs, known)]))


def _at_once(runs: pd.DataFrame, names: list[str], asked: str = "Who gets there first?") -> str:
    """Which sign tests hold with Holm's correction for all methods; empty without any."""
    if not names:
        return ""
    p = np.array([binomtest(order[0], sum(order)).pvalue for order in (_order(runs, one) for one in names)])
    held = [name for name, holds in zip(names, holm(p, level=0.05), strict=True) if holds]
    sides = [f"{name} {'sooner' if np.greater(*_order(runs, name)) else 'later'}" for name in held]
    return f"{asked} By a sign test, corrected for {counted(len(names), 'method')} (Holm), " + (
        f"only these differ from FedAvg: {listed(sides)}."
        if sides
        else "none is sooner or later than FedAvg."
    )


def _order(runs: pd.DataFrame, name: str) -> tuple[int, int]:
    """Seeds in which a contestant reaches the target sooner than FedAvg, and later; never is later."""
    hours = pd.DataFrame({"own": runs.loc[name].hours, "fedavg": runs.loc["FedAvg"].hours})
    own, fedavg = (hours[column].fillna(np.inf) for column in hours)
    return int((own < fedavg).sum()), int((own > fedavg).sum())


def _share_sooner(runs: pd.DataFrame, name: str) -> Interval | None:
    """Share of the seeds in which it is sooner, less a half, with its exact interval; None without any."""
    if name not in runs.index or (total := sum(counts := _order(runs, name))) == 0:
        return None
    exact = binomtest(counts[0], total).proportion_ci(0.95, method="exact")
    return Interval(counts[0] / total - 0.5, exact.low - 0.5, exact.high - 0.5, total)


def _sooner_words(runs: pd.DataFrame, name: str) -> str:
    """`sooner in 11 of 15 seeds, p = 0.12; 0.61 [0.42, 0.88] times FedAvg's time`.

    No ratio where a seed never gets there: the others are the quicker ones.
    """
    sooner, later = _order(runs, name)
    p = binomtest(sooner, sooner + later).pvalue
    told = f"sooner in {sooner} of {sooner + later} seeds, p = {p:.2g}"
    if (ratio := _time_ratio(runs, name)) is None or ratio.n < len(runs.loc[name]):
        return told
    mean, low, high = (np.exp(x) for x in (ratio.mean, ratio.low, ratio.high))
    return f"{told}; {mean:.2f} [{low:.2f}, {high:.2f}] times FedAvg's time"


def rival_words(rows: pd.DataFrame) -> str:
    """Say that FedAvg itself is ahead of the faster half alone; empty where it is not, or not run."""
    gap = less_at_equal_time(rows, "FedAvg", rivals("FedAvg")["the faster half alone"])
    if gap.empty or not mean_interval(gap.to_numpy()).low > 0:
        return ""
    return f"To be ahead of the faster half alone says little: FedAvg is by {mean_words(gap, 'points')}."


def best_baseline_words(rows: pd.DataFrame) -> str:
    """Which contestant without an agent ends highest, beside the others; empty with fewer than two."""
    levels = per_run(named(rows)).groupby("contestant")["level"].mean().reindex(BASELINES).dropna()
    if len(levels) < 2:
        return ""
    best = str(levels.idxmax())
    others = listed([f"{level:.1f} ({name})" for name, level in levels.drop(best).items()])
    return f"Of the baselines {best} ends highest, at {levels[best]:.1f} % against {others}."


def _time_ratio(runs: pd.DataFrame, name: str) -> Interval | None:
    """Logarithm of the time to the target over FedAvg's, over the seeds that have both; None without any.

    Of a method that does not always get there this is the time of its better runs.
    """
    if name not in runs.index:
        return None
    logs = np.log(runs.loc[name].hours / runs.loc["FedAvg"].hours).dropna().to_numpy()
    return mean_interval(logs) if len(logs) else None


def time_to_target(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of contestants: level (%), simulated time and uploads, time to 95 % of FedAvg's level.

    level: mean accuracy of the last tenth of the rounds, failed runs (SchedulerFL selects nobody) as 0.
    hours: median over all runs, of which `reached` get to the target of the same seed and the others count
    as later than any; none where half of them do not. Then over FedAvg's with the same seed, a geometric mean
    with its interval; none where a seed does not reach it.
    """
    own = named(rows)
    runs, lines = per_run(own), []
    by_seed = runs.set_index(["contestant", "seed"])
    for name in (known for known in CONTESTANTS if known in set(runs.contestant)):
        mine, shown = runs[runs.contestant == name], own[own.contestant == name]
        ratio = _time_ratio(by_seed, name) if name != "FedAvg" and "FedAvg" in by_seed.index else None
        ratio = ratio if ratio and ratio.n == len(mine) else None
        line = {
            "contestant": name, "level (%)": mine.level.mean(),
            "minutes a round": shown.latency_seconds.mean() / 60, "uploads a round": shown.uploads.mean(),
            "to the target: hours": median_with_never(mine.hours),
            "to the target: over FedAvg's": np.exp(ratio.mean) if ratio else np.nan,
            "to the target: over FedAvg's low": np.exp(ratio.low) if ratio else np.nan,
            "to the target: over FedAvg's high": np.exp(ratio.high) if ratio else np.nan,
            "to the target: reached": f"{int(mine.hours.notna().sum())} of {len(mine)}",
            "failed": int(mine.diverged.sum()),
        }  # fmt: skip
        lines.append(line)
    return pd.DataFrame(lines).round(2)


def beside_fedavg(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of contestants: best round and worst tenth less FedAvg's, P(> FedAvg), mean rank, cost in rounds.

    P and rank are of the level, with a bootstrap over the seeds that all have; no line if there are none.
    """
    own = named(rows)
    runs, traffic = per_run(own), own[["uplink_bytes", "downlink_bytes"]].sum(axis=1) / 1e6
    names = [name for name in CONTESTANTS if name in set(runs.contestant)]
    values = {
        value: runs.pivot(index="seed", columns="contestant", values=value)
        for value in ("level", "best", "worst_tenth")
    }
    levels = values["level"].dropna()  # the seeds that all have
    if levels.empty:
        return pd.DataFrame()
    scores = {name: levels[[name]].T.to_numpy() for name in names}
    lines = []
    for name, rank in zip(names, rank_intervals(np.stack(list(scores.values()))), strict=True):
        better = NO_INTERVAL
        if name != FEDAVG:
            better = stratified_interval(
                probability_of_improvement, scores[name], scores[FEDAVG], independent=True
            )
        line = {"contestant": name}
        for measure, words in (("best", "best round"), ("worst_tenth", "worst tenth")):
            gap = (values[measure][name] - values[measure][FEDAVG]).dropna().to_numpy()
            less = mean_interval(gap) if name != FEDAVG and len(gap) else NO_INTERVAL
            line |= less.columns(f"less FedAvg (points): {words}")
        line |= better.columns("level: P(> FedAvg)") | rank.columns("level: mean rank")
        line |= {
            "MB a round": traffic[own.contestant == name].mean(),
            "rounds to the target": median_with_never(runs[runs.contestant == name].rounds),
        }
        lines.append(line)
    return pd.DataFrame(lines).round(2)


def plot_accuracy_in_time(rows: pd.DataFrame) -> Figure:
    """Test accuracy against simulated hours, means over the seeds of each round, a panel per method.

    Beside it as many clients at random, and FedAvg. A failed run counts as 0 % from then on.
    """
    own = named(rows)
    own = own[own.contestant.isin([FEDAVG, *TIMED, *map(at_random, TIMED)])]
    fig, axes = plotting.subplots(2, 2, figsize=(9.2, 6.6), sharex=True, sharey=True)
    for ax, name in zip(axes.flat, TIMED, strict=True):
        looks = {
            FEDAVG: {"color": COLOURS[FEDAVG], "label": FEDAVG},
            at_random(name): {"color": COLOURS[name], "linestyle": ":", "label": "as many at random"},
            name: {"color": COLOURS[name], "label": "the method"},
        }
        for contestant, look in looks.items():
            _plot_curve(ax, own[own.contestant == contestant], **look)
        ax.set(title=name, xlabel="simulated time (hours)", ylabel="test accuracy (%)")
        ax.label_outer()
        if ax.lines:
            ax.legend(loc="lower right")
    lost, count = int((own.groupby("run").status.last() != "ok").sum()), own.seed.nunique()
    told = f"; failed runs ({lost} of {own.run.nunique()}) count as 0 % from then on" if lost else ""
    return plotting.caption(
        fig, rows, f"Means over {counted(count, 'seed')} with 95 % intervals of the accuracy{told}."
    )


def _plot_curve(ax: Axes, own: pd.DataFrame, **look: Any) -> None:
    """Mean accuracy of one contestant against its mean hours, with its band over seeds."""
    if own.empty:
        return
    hours = own.groupby("round").hours.mean()
    accuracy = 100 * own.pivot(index="round", columns="run", values="test_accuracy").fillna(0.0)
    low, high = t_bounds(accuracy.to_numpy())[1:]
    ax.plot(hours, accuracy.mean(axis=1), **look)
    ax.fill_between(hours, low, high, color=look["color"], alpha=0.15, linewidth=0)
