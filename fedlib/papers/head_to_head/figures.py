"""Figures of the head to head, from stored rows."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedlib import plotting
from fedlib.analysis.intervals import Interval, effect_words
from fedlib.analysis.tables import listed
from fedlib.data.titles import title_of
from fedlib.papers.head_to_head import leads, public, tables
from fedlib.papers.head_to_head.claims import BASELINES
from fedlib.papers.head_to_head.quantities import CELL, benchmark_cells, labelled, levels_by_seed, per_run
from fedlib.papers.head_to_head.runs import CONTESTANTS
from fedlib.plotting.style import WHITE, method_style

MOST_PANELS = 5  # beside each other
NEAR = 8.0  # points from FedAvg that a panel of gaps shows
FAR = 3.0  # Tukey's fence of far outliers, in quartile ranges
LEARNS, CONTROL, BASELINE = "#aa3377", "#d9a6c2", "#555555"  # none is the colour of a verdict


def _colour(name: str) -> str:
    one = CONTESTANTS[name]
    return LEARNS if one.learns else CONTROL if one.twin_of else BASELINE


def plot_differences(rows: pd.DataFrame) -> Figure:
    """Each contestant less FedAvg with its 95 % interval over seeds: mean of the cells, then each cell.

    Panels end where the contestants near FedAvg end; arrows mark what lies beyond, with its numbers.
    """
    rows = labelled(rows)
    cells = {(title_of(data), cell): own for (data, cell), own in rows.groupby(CELL, sort=False)}
    parts = {"mean over\nthe cells": rows} if len(cells) > 1 else {}
    parts |= {",\n".join(cell): part for cell, part in cells.items()}
    order = tables.differences(rows).sort_values("mean").contestant.tolist()
    lines = -(-len(parts) // MOST_PANELS)
    columns = -(-len(parts) // lines)
    size = (max(6.6, 2.2 + 1.8 * columns), (0.34 * len(order) + 1.0) * lines + 0.6)
    fig, axes = plotting.subplots(lines, columns, figsize=size, squeeze=False, sharey=True)
    for ax, (title, part) in zip(axes.flat, parts.items(), strict=False):
        _plot_intervals(ax, part, order)
        ax.set_title(title)
        ax.set_xlabel("less FedAvg (points)")
    for ax in axes.flat[len(parts) :]:
        ax.axis("off")
    axes[0, 0].set_yticks(range(len(order)), [method_style(name).label for name in order])
    kinds = {"learns by reinforcement": LEARNS, "its controls": CONTROL, "baselines": BASELINE}
    handles = [Line2D([], [], color=colour, marker="o", label=kind) for kind, colour in kinds.items()]
    fig.legend(handles=handles, loc="outside upper right", ncols=3)
    n = int(tables.differences(rows).n.max())
    note = f"Mean and 95 % interval over {n} seeds. {leads.divergence_words(rows)}".rstrip()
    told = (
        "Level less FedAvg's. Every panel has its own scale; an arrow marks what lies beyond it, with mean "
        "and interval. Where runs diverged: their number, and as small dots the seeds "
        "without, of those in the panel. Sorted by the mean over the cells, diverged runs as 0 %."
    )
    return plotting.caption(fig, rows, note, above=told)


def _plot_intervals(ax: Axes, part: pd.DataFrame, order: list[str]) -> None:
    """Draw a line per contestant, at its place in `order`; of those with diverged runs the other seeds."""
    found, diverged = tables.differences(part), tables.diverged(part).contestant.value_counts()
    low, high = _span(found[~found.contestant.isin(diverged.index)])
    runs = per_run(part)
    whole = levels_by_seed(runs.assign(level=runs.level.mask(runs.diverged)))
    for line in found.itertuples():
        at, colour = order.index(line.contestant), _colour(line.contestant)
        if line.contestant in diverged:
            count = (runs.contestant == line.contestant).sum()
            gaps = (whole.get(line.contestant, whole[[]]) - whole[tables.REFERENCE]).dropna().mean(axis=1)
            near = gaps[gaps >= low]
            ax.plot(near, [at] * len(near), "o", color=colour, markersize=3)
            words = f" {diverged[line.contestant]} of {count} diverged "
            ax.text(low, at + 0.12, words, va="bottom", fontsize="small", bbox=WHITE)
            continue
        ax.plot([line.low, line.high], [at, at], color=colour, linewidth=2)
        ax.plot(line.mean, at, "o", color=colour)
        left, right = line.low < low, line.high > high
        for edge, beyond, marker in ((low, left, "<"), (high, right, ">")):
            if beyond:
                ax.plot(edge, at, marker, color=colour, clip_on=False)
        if left or right:
            words = effect_words(Interval(line.mean, line.low, line.high, line.n))
            edge, side = (low, "left") if left else (high, "right")
            ax.text(edge, at + 0.12, f" {words} ", ha=side, va="bottom", fontsize="small", bbox=WHITE)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xlim(low, high)
    ax.set_ylim(-0.6, len(order) - 0.2)


def _span(found: pd.DataFrame) -> tuple[float, float]:
    """Range of the intervals, without contestants three quartile ranges below the lower quartile."""
    lower, upper = found["mean"].quantile([0.25, 0.75])
    near = found[found["mean"] >= lower - FAR * (upper - lower)]
    low, high = min(0.0, near.low.min()), max(0.0, near.high.max())
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def plot_curves(rows: pd.DataFrame) -> Figure:
    """Test accuracy per round, a line of panels per cell; right: less FedAvg's, `smoothed`, near 0 alone.

    FedAvg, what learns and the two highest baselines; left all others as thin lines. A diverged run counts
    as 0 % from then on, to the last round.
    """
    rows = labelled(rows)
    looks = _lines(rows)
    cells = {(title_of(data), cell): own for (data, cell), own in rows.groupby(CELL, sort=False)}
    fig, axes = plotting.subplots(len(cells), 2, figsize=(9.2, 2.7 * len(cells) + 0.6), squeeze=False)
    for (left, right), (cell, part) in zip(axes, cells.items(), strict=True):
        curves = _curves(part)
        for name, curve in curves.items():
            others = "controls" if CONTESTANTS[name].twin_of else "other baselines"
            label = method_style(name).label if name in looks else others
            left.plot(
                curve,
                label=label,
                **looks.get(name, {"color": _colour(name), "linewidth": 0.6, "alpha": 0.6}),
            )
        left.set(title=", ".join(cell), xlabel="round", ylabel="test accuracy (%)")
        if tables.REFERENCE in curves:
            gaps = smoothed(curves.sub(curves[tables.REFERENCE], axis=0))
            for name in filter(gaps.columns.__contains__, looks):
                right.plot(gaps[name], **looks[name])
        right.set(title="less FedAvg", xlabel="round", ylabel="points", ylim=(-NEAR, NEAR))
    plotting.one_legend(fig, axes[:, 0])
    return plotting.caption(fig, rows, f"Mean over seeds. {leads.divergence_words(rows)}".rstrip())


def _curves(part: pd.DataFrame) -> pd.DataFrame:
    """Mean test accuracy over seeds in %, [rounds, contestants]; rounds before the first left out."""
    runs = part.pivot(index="round", columns=["contestant", "run"], values="test_accuracy")
    means = 100 * runs.loc[runs.index >= 0].fillna(0.0).T.groupby(level="contestant").mean().T
    return means[[name for name in CONTESTANTS if name in means]]


def smoothed(curves: pd.DataFrame) -> pd.DataFrame:
    """Means over the last twentieth of all rounds up to each, as far as there are so many."""
    return curves.rolling(max(len(curves) // 20, 1)).mean()


def _lines(rows: pd.DataFrame) -> dict[str, dict[str, object]]:
    """Line styles of the contestants that have a line of their own in `plot_curves`."""
    runs = per_run(rows)
    levels = runs[runs.contestant.isin(BASELINES)].groupby("contestant")["level"].mean()
    strong = levels.drop(tables.REFERENCE, errors="ignore").nlargest(2).index
    lines = {
        name: {"color": BASELINE, "linestyle": style}
        for name, style in zip(strong, ("--", ":"), strict=False)
    }
    lines |= {name: {"color": method_style(name).colour} for name, one in CONTESTANTS.items() if one.learns}
    return {tables.REFERENCE: {"color": "black", "zorder": 3}} | lines


def plot_benchmark(rows: pd.DataFrame) -> Figure:
    """Ours less the public accuracies with its 95 % interval, on the margin of equivalence, by cell."""
    found = benchmark_cells(rows)
    fig, ax = plotting.subplots(figsize=(7.2, 0.35 * len(found) + 1.5))
    for at, line in enumerate(found.itertuples()):
        margin = ax.plot(
            [-line.margin, line.margin], [at, at], color="#d9d9d9", linewidth=9, solid_capstyle="butt"
        )[0]
        bounds = [line.difference.low, line.difference.high]
        ours = ax.plot(bounds, [at, at], color=BASELINE, linewidth=2)[0]
        ax.plot(line.difference.mean, at, "o", color=BASELINE)
    ax.axvline(0, color="black", linewidth=1)
    words = zip(found.method, found.dataset, found.cell, strict=True)
    names = [
        f"{method_style(method).label}, {title_of(dataset)}, {public.CELL_WORDS[cell]}"
        for method, dataset, cell in words
    ]
    ax.set_yticks(range(len(found)), names)
    ax.set_ylim(len(found) - 0.5, -0.5)
    measure = {"best": "best test accuracy", "last": "test accuracy after the last round"}
    words = listed([measure[public.MEASURES[name]] for name in found.benchmark.unique()])
    ax.set_xlabel(f"{words}\nless the public mean (points)")
    fig.legend([ours, margin], ["ours, 95 % interval", "margin"], loc="outside upper right", ncols=2)
    return plotting.caption(fig, rows)
