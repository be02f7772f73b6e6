"""Layout of the figures of all papers: axes, bands, error bars, one legend, the caption."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlib.analysis.intervals import Interval
from fedlib.analysis.tables import provenance_line
from fedlib.errors import check
from fedlib.plotting.style import use_style, write_caption


def subplots(rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """`matplotlib.pyplot.subplots` in the look of the suite; UsageError where rows fill no panel."""
    check(rows > 0 and columns > 0, "these rows fill no panel of this figure")
    use_style()
    return plt.subplots(rows, columns, **options)


def caption(fig: Figure, rows: pd.DataFrame, note: str = "", *, above: str = "") -> Figure:
    """The figure with a caption: `above` in lines of its own, `note`, and where the rows come from."""
    write_caption(fig, above, f"{note} {provenance_line(rows)}".strip())
    return fig


def one_legend(
    fig: Figure, axes: Iterable[Axes], columns: int | None = None, *, counts: bool = False, **options: Any
) -> None:
    """Put a single legend above all panels.

    columns: None takes as many as fit, at most five. counts: with the numbers of seeds. options: of
    `Figure.legend`.
    """
    axes = list(axes)
    found = legend_entries(axes, counts=counts)
    for ax in axes:
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    columns = columns or min(5, len(found), int(fig.get_figwidth() / 1.7))
    if found:
        fig.legend(found.values(), found.keys(), loc="outside upper center", ncols=columns, **options)


def legend_entries(axes: Iterable[Axes], *, counts: bool = True) -> dict[str, Any]:
    """Label -> handle of the curves of several panels, each curve once.

    counts: with the number of seeds, `FedAvg (n = 19–20)` where panels differ; else without.
    """
    handles: dict[str, Any] = {}
    seeds: dict[str, set[int]] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            name = _COUNT.sub("", label)
            handles.setdefault(name, handle)
            seeds.setdefault(name, set()).update(
                int(n) for n in _NUMBER.findall(label.removeprefix(name)) if n
            )
    if not counts:
        return handles
    return {f"{name}{_count_words(seeds[name])}": handle for name, handle in handles.items()}


_COUNT, _NUMBER = re.compile(r" \(n = \d+(–\d+)?\)$"), re.compile(r"\d+")


def _count_words(seeds: set[int]) -> str:
    if not seeds:
        return ""
    few, many = min(seeds), max(seeds)
    return f" (n = {few})" if few == many else f" (n = {few}–{many})"


def arms(mean: Sequence[float], low: Sequence[float], high: Sequence[float]) -> np.ndarray:
    """[2, n] lengths of error bars; none where there is no interval."""
    mean, low, high = (np.asarray(values, dtype=float) for values in (mean, low, high))
    return np.nan_to_num(np.stack([mean - low, high - mean]))


def draw_band(ax: Axes, at: Sequence[float], intervals: Sequence[Interval], colour: str, **line: Any) -> None:
    """A curve of means over `at` with its intervals as a band; line: of `Axes.plot`."""
    ax.plot(at, [one.mean for one in intervals], color=colour, **line)
    low, high = ([getattr(one, end) for one in intervals] for end in ("low", "high"))
    ax.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
