"""Curves over rounds with a band over seeds, and means over a few settings with bars."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.errors import UsageError, check
from fedlib.plotting.layout import legend_entries
from fedlib.plotting.style import MethodStyle, method_style

BAND_FROM = 3  # seeds
THIN = 0.9  # points: lines that stand back
STROKES = {"markersize": 9, "markeredgewidth": 2}  # markers without an area, else hidden by their bars


def plot_curves(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    x: str = "round",
    y: str = "test_accuracy",
    by: str = "method",
    seed: str = "seed",
    x_label: str | None = None,
    y_label: str | None = None,
    styles: Mapping[str, MethodStyle] | None = None,
    thin: Collection[str] = (),
    bands: bool = True,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Axes:
    """Plot a curve per value of `by`: mean over seeds of `y` against `x`, band = 95 % t interval.

    frame: tidy rows, at most one per (by, x, seed); rows where `y` is missing are left out. The
    legend names the number of seeds; where it varies along a curve, the smallest and largest.
    styles: of values of `by` that are no methods. thin: values of `by` that are drawn as thin lines
    without bands, so that many controls leave the rest to be seen. bands: False leaves all out. Two seeds
    have no band: their t interval is 13 standard errors wide on either side and hides the curves.
    within: what `y` can be; bands end there.
    """
    _check_rows(frame, [x, y, by, seed])
    for place, (name, points, number) in enumerate(_means(frame, x, y, by)):
        style, at = (styles or {}).get(name) or method_style(name), list(points)
        every = max(1, len(at) // 8)
        ax.plot(
            at,
            [interval.mean for interval in points.values()],
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markevery=(place % every, every) if name in thin else every,
            linewidth=THIN if name in thin else None,
            markersize=4 if name in thin else None,
            label=f"{style.label} (n = {number})",
        )
        if name in thin or not bands or all(i.n < BAND_FROM for i in points.values()):
            continue
        low, high = (
            np.clip([_bound(i, bound) for i in points.values()], *within) for bound in ("low", "high")
        )
        ax.fill_between(at, low, high, color=style.colour, alpha=0.15, linewidth=0)
    if x == "round":
        ax.xaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True, steps=[1, 2, 5, 10]))
    return _finish(ax, x, y, x_label, y_label)


def plot_settings(
    frame: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    y: str = "test_accuracy",
    by: str = "method",
    y_label: str | None = None,
) -> Axes:
    """Plot means for a few values of `x` side by side, bars = 95 % t interval over seeds."""
    _check_rows(frame, [x, y, by, "seed"])
    drawn = list(_means(frame, x, y, by))
    ticks = sorted(frame.dropna(subset=[y])[x].unique())
    for place, (name, points, number) in enumerate(drawn):
        style = method_style(name)
        shift = 0.7 * ((place + 0.5) / len(drawn) - 0.5)
        means = [interval.mean for interval in points.values()]
        ends = [
            [m - i.low for m, i in zip(means, points.values(), strict=True)],
            [i.high - m for m, i in zip(means, points.values(), strict=True)],
        ]
        at = [ticks.index(value) + shift for value in points]
        label = f"{style.label} (n = {number})"
        size = {} if style.marker in Line2D.filled_markers else STROKES
        ax.errorbar(
            at, means, yerr=ends, fmt=style.marker, color=style.colour, capsize=2, label=label, **size
        )
    ax.set_xticks(range(len(ticks)), [f"{value:g}" for value in ticks])
    return _finish(ax, x, y, None, y_label)


def _bound(interval: Interval, name: str) -> float:
    return getattr(interval, name) if interval.n >= BAND_FROM else math.nan


def _means(frame: pd.DataFrame, x: str, y: str, by: str) -> Iterator[tuple[str, dict[Any, Interval], str]]:
    """Per value of `by`: its name, the mean over seeds at each x, and the number of seeds in words."""
    for name, rows in frame.dropna(subset=[y]).groupby(by, sort=False):
        points = {at: mean_interval(values.to_numpy()) for at, values in rows.groupby(x)[y]}
        counts = sorted({interval.n for interval in points.values()})
        yield str(name), points, f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def _finish(ax: Axes, x: str, y: str, x_label: str | None, y_label: str | None) -> Axes:
    ax.set_xlabel(x_label or x.replace("_", " "))
    ax.set_ylabel(y_label or y.replace("_", " "))
    ax.legend(**_beside([ax]))
    return ax


def _beside(axes: Sequence[Axes]) -> dict[str, Any]:
    """Options of a legend right of the axes (curves may be anywhere inside), with what the axes show."""
    drawn = any(ax.collections for ax in axes)  # bands or error bars
    title = f"mean{', 95 % interval' * drawn}\nover n seeds"
    return {"title": title, "title_fontsize": "small", "loc": "upper left", "bbox_to_anchor": (1.01, 1)}


def legend_beside_last(axes: Sequence[Axes]) -> None:
    """Keep the legend of the last of several panels, with numbers of seeds that hold for all of them."""
    found = legend_entries(axes)
    for ax in axes:
        ax.get_legend().remove()
    axes[-1].legend(found.values(), found.keys(), **_beside(axes))


def _check_rows(frame: pd.DataFrame, columns: list[str]) -> None:
    for column in columns:
        check(column in frame, f"no column {column!r} to plot; allowed: {', '.join(map(str, frame.columns))}")
    x, y, by, seed = columns
    rows = frame.dropna(subset=[y])
    check(len(rows) > 0, f"no rows with a value of {y!r} to plot")
    twice = rows[rows.duplicated([by, x, seed])]
    if len(twice):
        row = twice.iloc[0]
        raise UsageError(
            f"more than one row for {by} {row[by]}, {x} {row[x]}, {seed} {row[seed]}; allowed: one each"
        )
