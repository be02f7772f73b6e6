"""Curves over rounds with a band over seeds."""

import pandas as pd
from matplotlib.axes import Axes

from fedlib.errors import UsageError, check
from fedlib.figures.style import method_style
from fedlib.intervals import mean_interval


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
) -> Axes:
    """One curve per value of `by`: mean over seeds of `y` against `x`, band = 95 % t interval.

    frame: tidy rows, at most one per (by, x, seed); rows where `y` is missing are left out. The
    legend names the number of seeds; where it varies along a curve, the smallest and largest.
    """
    _check_rows(frame, [x, y, by, seed])
    for name, rows in frame.dropna(subset=[y]).groupby(by, sort=False):
        style = method_style(str(name))
        points = [(at, mean_interval(group[y].to_numpy())) for at, group in rows.groupby(x)]
        at = [position for position, _ in points]
        counts = sorted({interval.n for _, interval in points})
        number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        ax.plot(
            at,
            [interval.mean for _, interval in points],
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markevery=max(1, len(at) // 8),
            label=f"{style.label} (n = {number})",
        )
        low, high = ([getattr(interval, bound) for _, interval in points] for bound in ("low", "high"))
        ax.fill_between(at, low, high, color=style.colour, alpha=0.15, linewidth=0)
    ax.set_xlabel(x_label or x.replace("_", " "))
    ax.set_ylabel(y_label or y.replace("_", " "))
    title = "mean, 95 % interval\nover n seeds"  # beside the axes: curves may be anywhere inside
    ax.legend(title=title, title_fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    return ax


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
