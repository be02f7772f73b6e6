"""Figures of FedDdrl's return: beside accuracy and clients kept, and over the training episodes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.papers.fedddrl import quantities, returns, runs
from fedlib.papers.fedddrl.tables import FASTEST, RANDOM

AGENTS = {
    "fedmarl_a": ("#DDCC77", "v", "A: FedMarl"),
    "fedmarl_b": ("#CC6677", "^", "B: w1 = 2.9"),
    "fedmarl": ("#44AA99", "X", "C: B + Balanced-MixUp"),
    "fedddrl": ("#332288", "D", "D: FedDdrl"),
}


def plot_returns(rows: pd.DataFrame) -> Figure:
    """Above: accuracy against return (15). Below: return against clients kept, a dot for each agent."""
    found, shown = returns.measured(rows), quantities.shown_roles(rows)
    roles = [role for role in runs.ALPHAS if role in set(found.role)]
    fig, axes = plotting.subplots(2, len(roles), figsize=(min(9.2, 2.2 + 2.6 * len(roles)), 6), squeeze=False)
    for column, role in enumerate(roles):
        own = found[found.role == role]
        _plot_plane(axes[0, column], own, "return", "accuracy")
        _plot_plane(axes[1, column], own, "kept", "return")
        axes[0, column].set(title=shown[role], xlabel="return of an episode, (15)")
        axes[1, column].set_xlabel("clients kept")
    axes[0, 0].set_ylabel("accuracy after round T (%)")
    axes[1, 0].set_ylabel("return of an episode, (15)")
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="x-small")
    what = (
        "Lines: rules that keep 2, 4, 6, 8 of 10 clients, up to FedAvg with Balanced-MixUp (all), mean over "
        "seeds. Other marks: one trained agent each. Return by the printed weights and b of FedAvg's trace"
    )
    return plotting.caption(fig, rows, above=what)


def _plot_plane(ax: Axes, found: pd.DataFrame, x: str, y: str) -> None:
    for rule in (RANDOM, FASTEST):
        own = found[found.variant.str.startswith(rule) | (found.variant == "fedavg_mixup")]
        mean = own.groupby("variant")[["kept", "return", "accuracy"]].mean().sort_values("kept")
        style = plotting.method_style(rule)
        ax.plot(mean[x], mean[y], style.line, marker="o", ms=4, color=style.colour, label=style.label)
    fedavg = found[found.variant == "fedavg_mixup"][[x, y]].mean()
    ax.plot(fedavg[x], fedavg[y], "s", ms=7, mfc="none", color="#0072B2", label="FedAvg + Balanced-MixUp")
    for variant, (colour, marker, label) in AGENTS.items():
        own = found[found.variant == variant]
        if len(own):
            ax.plot(own[x], own[y], marker, ms=5, mew=0.4, mec="white", color=colour, label=label)


def plot_learning(rows: pd.DataFrame) -> Figure:
    """Return of the training episodes in the agent's own reward, C above and D below."""
    found, shown = returns.training_returns(rows), quantities.shown_roles(rows)
    roles = [role for role in runs.ALPHAS if role in set(quantities.labelled(rows).role)]
    fig, axes = plotting.subplots(
        2, len(roles), figsize=(min(9.2, 2.2 + 2.6 * len(roles)), 5.2), squeeze=False, sharex=True
    )
    for column, role in enumerate(roles):
        for row, (variant, bonus) in enumerate((("fedmarl", False), ("fedddrl", True))):
            ax = axes[row, column]
            _plot_episodes(ax, found[(found.role == role) & (found.variant == variant)], variant)
            _plot_levels(ax, rows, role, bonus)
        axes[0, column].set_title(shown[role])
        axes[1, column].set_xlabel("training episode")
    axes[0, 0].set_ylabel("return, C, reward (12)")
    axes[1, 0].set_ylabel("return, D, reward (15)")
    axes[1, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="x-small")
    what = (
        "Thin: each agent, mean of five episodes; thick: mean over agents; exploration falls from 1 to 0.1. "
        "Horizontal: rules and FedAvg with Balanced-MixUp in the evaluation episodes, same reward"
    )
    return plotting.caption(fig, rows, above=what)


def _plot_episodes(ax: Axes, found: pd.DataFrame, variant: str) -> None:
    """Each agent and their mean, over blocks of five episodes."""
    if found.empty:
        return
    colour, *_ = AGENTS[variant]
    blocks = found.assign(at=(found.episode - 1) // 5 * 5 + 3).groupby(["seed", "at"])["return"].mean()
    for seed in blocks.index.unique("seed"):
        ax.plot(blocks[seed].index, blocks[seed], color=colour, linewidth=0.8, alpha=0.6)
    mean = blocks.groupby("at").mean()
    ax.plot(mean.index, mean, color=colour, linewidth=2.4, label="training")


def _plot_levels(ax: Axes, rows: pd.DataFrame, role: str, bonus: bool) -> None:
    terms = returns.episode_terms(rows)
    values = terms.sum(axis=1) if bonus else terms.drop(columns="bonus").sum(axis=1)
    levels = {
        f"{FASTEST}_20%": ("#117733", "--", "keep the fastest 20 %"),
        f"{RANDOM}_20%": ("#777777", ":", "random 20 %"),
        "fedavg_mixup": ("#0072B2", "-.", "FedAvg"),
    }
    for name, (colour, line, label) in levels.items():
        own = quantities.cell(values, role, name)
        if len(own):
            ax.axhline(np.mean(own), color=colour, linestyle=line, linewidth=1.2, label=label)
