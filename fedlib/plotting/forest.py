"""Forest plots: an effect and its interval per line, the published value as a mark."""

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE, NOT_TESTABLE
from fedlib.analysis.intervals import LOGARITHM, Interval, effect_words, number_words, ratio_words
from fedlib.plotting.style import WHITE, use_style

WIDTH_INCHES = 6.4  # a narrow page shrinks a wider figure until its text is unreadable
LINEAR_WITHIN = 2  # smallest effects of interest
_MARKERS = {EQUIVALENCE: "s", EVERYWHERE: "^"}  # by kind of claim; others are dots
_PUBLISHED: dict[str, Any] = {"markerfacecolor": "none", "markersize": 10, "zorder": 4}  # a mark fits into it
_LETTERS = 80  # of a line of text as wide as the figure


@dataclass(frozen=True)
class _Lines:
    """Size of the text of a figure's lines, its letters in the figure's width, heights in inches."""

    fontsize: str
    letters: int
    gap: float  # a mark and the space around it
    name: float  # a line of a name
    rise: float  # of a name over its mark


MANY = 40  # lines of a figure, from which on they are small
_USUAL, _SMALL = _Lines("medium", _LETTERS, 0.24, 0.18, 0.1), _Lines("small", 96, 0.18, 0.14, 0.08)

VERDICT_COLOURS = {
    "supported": "#0072B2",
    "supported, smaller than printed": "#56B4E9",
    "partly supported": "#009E73",
    "inconclusive": "#999999",
    "not supported": "#D55E00",
    "not testable here": "#BBBBBB",
}  # Okabe and Ito, https://jfly.uni-koeln.de/color/


def plot_claims(effects: pd.DataFrame) -> Figure:
    """Plot a line per part of a claim: its effect over the smallest effect of interest, on an asinh axis.

    effects: `reporting.verdicts.effects`, oriented so that the paper claims an effect above 0 (a dot), of
    equal things one within the shaded margin (a square), or in every cell, the weakest of which is drawn,
    one above minus the margin (a triangle). The part's name stands above its line, the numbers, with units,
    at the right; both are small where there are `MANY` lines.
    """
    effects = effects[effects.effect.notna()].reset_index(drop=True)
    use_style()
    lines = _SMALL if len(effects) >= MANY else _USUAL
    names = [textwrap.fill(name, lines.letters) for name in _names(effects)]
    places = np.cumsum([lines.gap + lines.name * (name.count("\n") + 1) for name in names])  # inches, down
    fig, ax = plt.subplots(figsize=(WIDTH_INCHES, places[-1] + 1.9), layout="constrained")
    for place, name, row in zip(places, names, effects.itertuples(), strict=True):
        _draw_line(ax, place, row)
        above = {"va": "bottom", "fontsize": lines.fontsize, "bbox": WHITE}
        label = ax.text(0, place - lines.rise, name, transform=ax.get_yaxis_transform(), **above)
        label.set_in_layout(False)
    _label(ax, effects, places, lines.fontsize)
    ax.set_ylim(places[-1] + 0.17, -0.1)
    fig.legend(handles=_handles(effects), loc="outside upper left", ncols=2, fontsize="medium")
    return fig


def _names(effects: pd.DataFrame) -> list[str]:
    """`C1  FedDRL - best baseline`: the claim's number, the part, the cell of a claim of ours."""
    parts = effects.part.str.replace(f" {LOGARITHM}", "")
    numbers = effects.claim.str.split("-").str[-1]
    cells = effects.place.str.extract(r"^ours(: [^,]*(?:, [A-Z]{2})?)", expand=False).fillna("")
    return (numbers + "  " + parts + cells).tolist()


def _look(verdict: str) -> dict[str, Any]:
    """Colour of a verdict, and a hollow mark where rows decide nothing."""
    colour = VERDICT_COLOURS.get(verdict, "#777777")
    return {"color": colour, "markerfacecolor": "white" if verdict == NOT_TESTABLE else colour}


def _draw_line(ax: Axes, place: float, row: "pd.core.frame.Pandas") -> None:
    look = _look(row.part_verdict)
    mean, low, high = (value / row.margin for value in (row.effect, row.effect_low, row.effect_high))
    if not (pd.isna(low) or pd.isna(high)):
        ax.plot([low, high], [place, place], color=look["color"], linewidth=2.5, solid_capstyle="butt")
    ax.plot(mean, place, _MARKERS.get(row.kind, "o"), markersize=6, **look)
    if not pd.isna(row.printed):
        ax.plot(row.printed / row.margin, place, "D", color="black", **_PUBLISHED)


def _label(ax: Axes, effects: pd.DataFrame, places: np.ndarray, fontsize: str) -> None:
    ax.axvline(0, color="black", linewidth=0.8, zorder=0.5)
    ax.axvspan(-1, 1, color="black", alpha=0.05, linewidth=0)
    shown = effects[["effect", "effect_low", "effect_high", "printed"]].div(effects.margin, axis=0)
    ax.set_xscale("asinh", linear_width=LINEAR_WITHIN)
    ax.set_xlim(1.3 * min(-2, shown.min().min()), 1.3 * max(2, shown.max().max()))
    words = {EQUIVALENCE: "a square in the shade", EVERYWHERE: "a triangle right of the shade's left edge"}
    others = "".join(f", {words[kind]}" for kind in words if (effects.kind == kind).any())
    told = textwrap.fill(
        f"effect over the smallest effect of interest; as claimed: right of 0{others}", _LETTERS
    )
    ax.set_xlabel(f"{told}\n(axis linear near 0, logarithmic beyond ±{LINEAR_WITHIN})", x=0, ha="left")
    ax.set_xticks([-100, -10, 0, 10, 100], ["−100", "−10", "0", "10", "100"])
    ax.tick_params(labeltop=True)
    ax.minorticks_off()
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    numbers = ax.secondary_yaxis("right")
    numbers.set_yticks(places, [_numbers(row) for row in effects.itertuples()], fontsize=fontsize)
    numbers.tick_params(length=0)
    numbers.spines["right"].set_visible(False)


def _numbers(row: "pd.core.frame.Pandas") -> str:
    """The effect with its interval and unit; a logarithm as the ratio that it stands for."""
    interval = Interval(row.effect, row.effect_low, row.effect_high, 1 if pd.isna(row.effect_low) else 2)
    alike = ""
    if row.effect_low == row.effect_high:  # no width, and no certainty
        interval, alike = Interval(row.effect, math.nan, math.nan, 1), f" in each of {row.seeds} seeds"
    words = f"× {ratio_words(interval)}" if LOGARITHM in row.part else _of_effect(interval, row.unit)
    return words + alike


def _of_effect(interval: Interval, unit: str) -> str:
    """`effect_words`; a 0 that has no interval without a sign and decimals."""
    return f"0 {unit}".strip() if interval.n == 1 and interval.mean == 0 else effect_words(interval, unit)


def _handles(effects: pd.DataFrame) -> list[Line2D]:
    found = [name for name in VERDICT_COLOURS if (effects.part_verdict == name).any()]
    handles = [Line2D([], [], marker="o", label=name, **_look(name)) for name in found]
    if effects.printed.notna().any():
        handles.append(
            Line2D([], [], color="black", marker="D", linestyle="", label="published", **_PUBLISHED)
        )
    return handles


def plot_published(effects: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Ours over the published effect, one panel per paper: 1 is as published, 0 no effect.

    effects: `reporting.verdicts.effects`; parts without a published value, and those that are not testable
    here, are left out. A number that two claims share stands once. The part's name stands above its line,
    cut where it is long. A panel's title has the least and the largest number of seeds. Marks are those of
    `plot_claims`. An arrow marks an interval that leaves its panel; a number, a ratio that does. titles: of
    papers, by the prefix of their claims.
    """
    use_style()
    known = _without_repetitions(effects[effects.ratio.notna() & (effects.part_verdict != NOT_TESTABLE)])
    papers = {str(name): part for name, part in known.groupby(known.claim.str.split("-").str[0], sort=False)}
    half = -(-len(papers) // 2)
    columns = [list(papers)[:half], list(papers)[half:]]
    lines = max(sum(len(papers[name]) for name in names) for names in columns)
    fig = plt.figure(figsize=(WIDTH_INCHES, _RATIO_LINE * lines + 2.6), layout="constrained")
    for column, names in zip(fig.subfigures(1, 2, squeeze=False)[0], columns, strict=True):
        _ratio_column(column, {titles.get(name, name): papers[name] for name in names})
    fig.suptitle("Published against ours: 1 as published, 0 no effect")
    fig.legend(
        handles=_handles(known.assign(printed=None)), loc="outside lower left", ncols=2, fontsize="medium"
    )
    return fig


def _without_repetitions(effects: pd.DataFrame) -> pd.DataFrame:
    """Effects whose number a claim before has left out, that claim named `A-C3, C15` for both.

    Intervals without width are kept: what all seeds share, different quantities may share as well.
    """
    number = [effects.claim.str.split("-").str[0], *(effects[name] for name in _SAME)]
    apart = effects.claim.where(~(effects.low < effects.high), "")
    names = effects.claim.groupby([*number, apart], dropna=False, sort=False)
    joined = names.transform(lambda own: ", ".join([own.iloc[0], *own.iloc[1:].str.split("-").str[-1]]))
    return effects.assign(claim=joined)[names.cumcount() == 0]


_SAME = ("part", "part_verdict", "ratio", "low", "high")
_EDGES = (-2.5, 3.5)
_PANEL_LETTERS = 50  # of a line of small text as wide as a panel
_RATIO_LINE = 0.34  # inches of a line and the name above it


def _ratio_column(fig: SubFigure, parts: Mapping[str, pd.DataFrame]) -> None:
    if not parts:
        return
    heights = [len(part) + 1 for part in parts.values()]
    axes = fig.subplots(len(parts), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for ax, (title, part) in zip(axes, parts.items(), strict=True):
        _ratio_panel(ax, part)
        fewest, most = part.seeds.min(), part.seeds.max()
        ax.set_title(f"{title}, n = {fewest}{f' to {most}' * bool(fewest < most)}")
    axes[-1].set_xlabel("ours over published")


def _ratio_panel(ax: Axes, part: pd.DataFrame) -> None:
    of_names = {"va": "bottom", "fontsize": "small", "bbox": WHITE, "transform": ax.get_yaxis_transform()}
    for place, (name, row) in enumerate(zip(_names(part), part.itertuples(), strict=True)):
        short = textwrap.shorten(name, _PANEL_LETTERS, placeholder=" …")
        ax.text(0.01, place - 0.2, short, **of_names).set_in_layout(False)
        look, (left, right) = _look(row.part_verdict), _EDGES
        ax.plot([row.low, row.high], [place, place], color=look["color"], linewidth=2)
        low, high = min(row.ratio, row.low), max(row.ratio, row.high)  # NaN ends: one seed
        for edge, beyond, marker in ((left, low < left, "<"), (right, high > right, ">")):
            if beyond:
                ax.plot(edge, place, marker, clip_on=False, **look)
        number = number_words(row.ratio).replace("-", "−")
        if row.ratio < left:
            ax.text(max(left, high) + 0.2, place, number, va="center")
        elif row.ratio > right:
            ax.text(min(right, low) - 0.2, place, number, va="center", ha="right")
        else:
            ax.plot(row.ratio, place, _MARKERS.get(row.kind, "o"), **look)
    ax.axvline(0, color="black", linewidth=0.8, zorder=0.5)
    ax.axvline(1, color="black", linewidth=0.8, linestyle=":", zorder=0.5)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_ylim(len(part) - 0.6, -0.9)
    ax.set_xlim(*_EDGES)
