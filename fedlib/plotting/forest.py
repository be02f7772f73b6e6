"""Forest plots: an effect and its interval per line, the published value as a mark."""

import math
import textwrap
from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fedlib.analysis.decisions import EQUIVALENCE, EVERYWHERE
from fedlib.analysis.intervals import Interval, effect_words
from fedlib.plotting.style import use_style

LINE_INCHES = 0.36
LINEAR_WITHIN = 2  # smallest effects of interest
_MARKERS = {EQUIVALENCE: "s", EVERYWHERE: "^"}  # by kind of claim; others are dots
_LETTERS = 46  # of a line's label
_LOGARITHM = " (100 log)"  # of parts whose effect is 100 times the logarithm of a ratio

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
    one above minus the margin (a triangle). The numbers, with units, stand at the right.
    """
    effects = effects[effects.effect.notna()].reset_index(drop=True)
    use_style()
    height = LINE_INCHES * len(effects) + 1.3
    fig, ax = plt.subplots(figsize=(9.0, height), layout="constrained")
    for place, row in enumerate(effects.itertuples()):
        _draw_line(ax, place, row)
    _label(ax, effects)
    fig.legend(handles=_handles(effects), loc="outside upper center", ncols=4)
    return fig


def _draw_line(ax: Axes, place: int, row: "pd.core.frame.Pandas") -> None:
    colour = VERDICT_COLOURS.get(row.part_verdict, "#777777")
    mean, low, high = (value / row.margin for value in (row.effect, row.effect_low, row.effect_high))
    if not (pd.isna(low) or pd.isna(high)):
        ax.plot([low, high], [place, place], color=colour, linewidth=2.5, solid_capstyle="butt")
    ax.plot(mean, place, _MARKERS.get(row.kind, "o"), color=colour, markersize=6)
    if not pd.isna(row.printed):
        ax.plot(row.printed / row.margin, place, "D", color="black", markerfacecolor="none", markersize=6)


def _label(ax: Axes, effects: pd.DataFrame) -> None:
    ax.axvline(0, color="black", linewidth=0.8, zorder=0.5)
    ax.axvspan(-1, 1, color="black", alpha=0.05, linewidth=0)
    shown = effects[["effect", "effect_low", "effect_high", "printed"]].div(effects.margin, axis=0)
    ax.set_xscale("asinh", linear_width=LINEAR_WITHIN)
    ax.set_xlim(1.3 * min(-2, shown.min().min()), 1.3 * max(2, shown.max().max()))
    words = {EQUIVALENCE: "a square in the shade", EVERYWHERE: "a triangle right of the shade's left edge"}
    others = "".join(f", {words[kind]}" for kind in words if (effects.kind == kind).any())
    ax.set_xlabel(
        f"effect over the smallest effect of interest; as claimed: right of 0{others}\n"
        f"(axis linear near 0, logarithmic beyond ±{LINEAR_WITHIN})"
    )
    parts = effects.part.str.replace(_LOGARITHM, "")
    names = [
        textwrap.fill(f"{claim}  {part}", _LETTERS, max_lines=2)
        for claim, part in zip(effects.claim, parts, strict=True)
    ]
    ax.set_xticks([-100, -10, 0, 10, 100], ["−100", "−10", "0", "10", "100"])
    ax.minorticks_off()
    ax.set_yticks(range(len(effects)), names, fontsize=8)
    ax.set_ylim(len(effects) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    numbers = ax.secondary_yaxis("right")
    numbers.set_yticks(range(len(effects)), [_numbers(row) for row in effects.itertuples()], fontsize=8)
    numbers.tick_params(length=0)
    numbers.spines["right"].set_visible(False)


def _numbers(row: "pd.core.frame.Pandas") -> str:
    """The effect with its interval and unit; a logarithm as the ratio that it stands for."""
    if _LOGARITHM in row.part:
        mean, *ends = (f"{math.exp(x / 100):.3g}" for x in (row.effect, row.effect_low, row.effect_high))
        return f"× {mean}" if pd.isna(row.effect_low) else f"× {mean} [{', '.join(ends)}]"
    interval = Interval(row.effect, row.effect_low, row.effect_high, 1 if pd.isna(row.effect_low) else 2)
    return effect_words(interval, row.unit)


def _handles(effects: pd.DataFrame) -> list[Line2D]:
    found = [name for name in VERDICT_COLOURS if (effects.part_verdict == name).any()]
    handles = [Line2D([], [], color=VERDICT_COLOURS[name], marker="o", label=name) for name in found]
    if effects.printed.notna().any():
        shape = {"color": "black", "marker": "D", "markerfacecolor": "none", "linestyle": ""}
        handles.append(Line2D([], [], label="published", **shape))
    return handles


def plot_published(effects: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Ours over the published effect, one panel per paper: 1 is as published, 0 no effect.

    effects: `reporting.verdicts.effects`; parts without a published value are left out. Intervals are cut
    at the panel's edge. titles: of papers, by the prefix of their claims.
    """
    use_style()
    known = effects[effects.ratio.notna()]
    papers = known.claim.str.split("-").str[0]
    counts = papers.value_counts(sort=False)
    fig, axes = plt.subplots(
        2, 2, figsize=(9.0, 7.0), layout="constrained", sharex=True, height_ratios=_heights(counts)
    )
    for ax, paper in zip(axes.flat, counts.index, strict=False):
        _ratio_panel(ax, known[papers == paper])
        ax.set_title(titles.get(paper, paper))
    for ax in axes.flat[len(counts) :]:
        ax.set_axis_off()
    for ax in axes[-1]:
        ax.set_xlabel("our effect over the published one")
    fig.suptitle("Published against ours: 1 as published, 0 no effect")
    found = [name for name in VERDICT_COLOURS if (known.part_verdict == name).any()]
    handles = [Line2D([], [], color=VERDICT_COLOURS[name], marker="o", label=name) for name in found]
    fig.legend(handles=handles, loc="outside lower center", ncols=5)
    return fig


_EDGES = (-2.5, 3.5)


def _heights(counts: pd.Series) -> list[int]:
    lines = [*counts, *[1] * (4 - len(counts))]
    return [max(lines[:2]), max(lines[2:4])]


def _ratio_panel(ax: Axes, part: pd.DataFrame) -> None:
    for place, row in enumerate(part.itertuples()):
        colour = VERDICT_COLOURS.get(row.part_verdict, "#777777")
        ax.plot([row.low, row.high], [place, place], color=colour, linewidth=2)
        ax.plot(min(max(row.ratio, _EDGES[0]), _EDGES[1]), place, "o", color=colour, clip_on=False)
    ax.axvline(0, color="black", linewidth=0.8, zorder=0.5)
    ax.axvline(1, color="black", linewidth=0.8, linestyle=":", zorder=0.5)
    ax.set_yticks(range(len(part)), part.claim.str.split("-").str[1], fontsize=8)
    ax.set_ylim(len(part) - 0.4, -0.6)
    ax.set_xlim(*_EDGES)
