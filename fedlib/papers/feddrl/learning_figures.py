"""Figures about FedDRL's learning: gains over uniform weights, the agent's means, the agent alone."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.papers.feddrl import learning, quantities
from fedlib.papers.feddrl.runs import COHORT

UNITS = (("nats", "mean reward (nats)"), ("points", "best accuracy (points)"))
COLOURS = {"small": "#D55E00", "main": "#0072B2"}
FEW = ("feddrl", "uniform", "best_constant", "main_group")  # apart enough to be seen in one panel
SETTINGS = {"printed": "as printed", "centring": "centred reward", "all": "five of the changes"}
LEARNERS = ("untrained", "feddrl", "feddrl_online", "permuted", "repaired", "repaired_permuted")


def plot_gains(rows: pd.DataFrame) -> Figure:
    """Each variant less uniform weights in reward and in accuracy: a row of panels for each data set."""
    found = {data: part for data, part in learning.gains(rows).groupby("dataset")}
    height = sum(0.28 * len(part) + 0.9 for part in found.values()) + 0.5
    fig, axes = plotting.subplots(len(found), 2, figsize=(9.0, height), squeeze=False, sharey="row")
    for row, (data, part) in zip(axes, found.items(), strict=True):
        part = part[part.variant != "uniform"]
        at = np.arange(len(part))[::-1]
        for ax, (unit, label) in zip(row, UNITS, strict=True):
            ends = plotting.arms(part[unit], part[f"{unit} low"], part[f"{unit} high"])
            ax.errorbar(part[unit], at, xerr=ends, fmt="o", color="#333333", markersize=4, linewidth=1)
            ax.axvline(0, color="#999999", linewidth=1)
            ax.set_xlabel(f"{label}, less uniform")
        row[0].set_yticks(at, [plotting.method_style(name).label for name in part.variant])
        row[0].set_title(quantities.PAPER_DATA[data], loc="left")
    note = "Mean over seeds with 95 % t interval; right of the line: more than uniform weights."
    return plotting.caption(fig, rows, note)


def plot_small_setting(rows: pd.DataFrame) -> Figure:
    """Each variant's mean reward less uniform weights', and reward per round of a few of them."""
    found = learning.gains(rows)
    found = found[found.variant != "uniform"]
    fig, (forest, curves) = plotting.subplots(1, 2, figsize=(9.2, max(3.4, 0.26 * len(found) + 1.6)))
    at = np.arange(len(found))[::-1]
    for place, line in zip(at, found.to_dict("records"), strict=True):
        ends = plotting.arms(*([line[name]] for name in ("nats", "nats low", "nats high")))
        colour = plotting.method_style(line["variant"]).colour
        forest.errorbar([line["nats"]], [place], xerr=ends, fmt="o", color=colour, capsize=2)
    forest.axvline(0, color="black", linewidth=0.8, zorder=0.5)
    forest.set_yticks(at, [plotting.method_style(name).label for name in found.variant], fontsize=8)
    forest.set_xlabel("mean reward less uniform weights' (nats)")
    named = quantities.named(rows)
    few = named[named.variant.isin(FEW) & (named["round"] > 0)]
    shown = few.assign(reward=quantities.reward(few))
    plotting.plot_curves(shown, curves, y="reward", by="variant", y_label="reward (nats)")
    curves.legend(fontsize=8)
    note = "Left: 95 % t interval over seeds, right of the line more than uniform weights. Right: mean over "
    return plotting.caption(fig, named, f"{note}seeds, band = 95 % t interval.")


def plot_means(rows: pd.DataFrame) -> Figure:
    """The agent's mean of every client over the rounds, a row of panels for each data set."""
    found = learning.means(rows, LEARNERS)
    shown = [name for name in LEARNERS if (found.variant == name).any()]
    sets = list(found.dataset.unique())
    size = (min(9.2, 2.6 * len(shown)), 2.4 * len(sets) + 1.0)
    fig, axes = plotting.subplots(
        len(sets), len(shown), figsize=size, squeeze=False, sharex=True, sharey=True
    )
    for (data, name), part in found.groupby(["dataset", "variant"]):
        ax = axes[sets.index(data), shown.index(name)]
        for client, line in part.groupby("client"):
            group = "main" if client < quantities.main_group(COHORT) else "small"
            ax.plot(line["round"], line.mu, color=COLOURS[group], linewidth=1, label=f"{group} group")
        ax.set_ylim(-0.02, 1.02)
        ax.set_title(textwrap.fill(plotting.method_style(name).label, 18), fontsize=9)
    for ax, data in zip(axes[:, 0], sets, strict=True):
        ax.set_ylabel(f"{quantities.PAPER_DATA[data]}: mean $\\mu_k$")
    for ax in axes[-1]:
        ax.set_xlabel("round")
    plotting.one_legend(fig, axes[:1, 0], 2)
    note = "Mean over seeds, one line a client, no exploration noise; equal means are uniform weights."
    return plotting.caption(fig, rows[rows.mu.notna()], note)


def plot_bandit(rows: pd.DataFrame) -> Figure:
    """The agent alone: mean mu of both groups over its updates, a panel for each offset and settings."""
    panels = list(rows.groupby(["settings", "offset"], sort=False))
    amplitudes = sorted(rows.amplitude.unique())
    size = (min(2.2 * len(panels), 9.2), 2.0 * len(amplitudes) + 1.2)
    fig, axes = plotting.subplots(
        len(amplitudes), len(panels), figsize=size, squeeze=False, sharex=True, sharey=True
    )
    for column, ((settings, offset), part) in enumerate(panels):
        title = f"{SETTINGS[settings]}\nrewards around {offset:g}".replace("-", "−")
        axes[0, column].set_title(title, fontsize=8)
        for ax, amplitude in zip(axes[:, column], amplitudes, strict=True):
            mine = part[part.amplitude == amplitude]
            for group, colour in COLOURS.items():
                mean = mine.groupby("updates")[f"mu_{group}"].mean()
                ax.plot(mean.index, mean, color=colour, label=f"{group} group")
            ax.set_ylim(0, 1)
    for ax, amplitude in zip(axes[:, 0], amplitudes, strict=True):
        ax.set_ylabel("constant reward" if amplitude == 0 else f"+{amplitude:g} nats per tilt")
    for ax in axes[-1]:
        ax.set_xlabel("updates")
    fig.supylabel("mean $\\mu$ of a group's clients", fontsize="medium")
    plotting.one_legend(fig, axes[:1, 0], 2)
    note = (
        f"Means over {rows.seed.nunique()} agents, without intervals. The level of the rewards changes no "
        "best answer: an agent that learns leaves 1/2 in the lower row only, where tilting to the small "
        "group pays."
    )
    return plotting.caption(fig, rows.drop(columns="seed"), note)
