"""Figures of the head to head, from stored rows."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.quantities import divergence_words, labelled
from fedlib.papers.head_to_head.runs import CONTESTANTS

LEARNS, CONTROL, BASELINE = "#d55e00", "#999999", "#0072b2"


def _colour(name: str) -> str:
    one = CONTESTANTS[name]
    return LEARNS if one.learns else CONTROL if one.twin_of else BASELINE


def plot_differences(rows: pd.DataFrame) -> Figure:
    """Each contestant less FedAvg, mean over the settings, with its 95 % interval over seeds."""
    found = tables.differences(rows).sort_values("mean", ignore_index=True)
    fig, ax = plotting.subplots(figsize=(7.2, 0.34 * len(found) + 1.6))
    for at, line in found.iterrows():
        ax.plot([line.low, line.high], [at, at], color=_colour(line.contestant), linewidth=2)
        ax.plot(line["mean"], at, "o", color=_colour(line.contestant))
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(found)), found.contestant)
    ax.set_xlabel("accuracy over the last tenth of the rounds, less FedAvg's (points)")
    ax.set_title("Orange: learns by reinforcement; grey: its controls; blue: baselines")
    n = int(found.n.max()) if len(found) else 0
    note = f"Mean and 95 % interval over {n} seeds. {divergence_words(rows)}".rstrip()
    return plotting.caption(fig, rows, note)


def plot_curves(rows: pd.DataFrame) -> Figure:
    """Test accuracy per round, one panel per setting; baselines as thin lines.

    A diverged run counts as 0 % from then on.
    """
    rows = labelled(rows)
    settings = list(dict.fromkeys(zip(rows.dataset, rows.cell, strict=True)))
    columns = min(2, len(settings))
    fig, axes = plotting.subplots(
        -(-len(settings) // columns), columns, figsize=(4.6 * columns, 3.2 * -(-len(settings) // columns)),
        squeeze=False, sharex=True,
    )  # fmt: skip
    for ax, (dataset, cell) in zip(axes.flat, settings, strict=False):
        part = rows[(rows.dataset == dataset) & (rows.cell == cell)]
        for name in CONTESTANTS:
            own = part[part.contestant == name].pivot(index="round", columns="run", values="test_accuracy")
            curve = own.fillna(0.0).mean(axis=1)
            wide = CONTESTANTS[name].learns or name == tables.REFERENCE
            ax.plot(
                curve.index, 100 * curve, color="black" if name == tables.REFERENCE else _colour(name),
                linewidth=1.8 if wide else 0.7, label=name,
            )  # fmt: skip
        ax.set_title(f"{dataset}, {cell}")
        ax.set_xlabel("round")
        ax.set_ylabel("test accuracy (%)")
    return plotting.caption(fig, rows, f"black: FedAvg; orange: learns. {divergence_words(rows)}".rstrip())


def plot_benchmark(rows: pd.DataFrame) -> Figure:
    """Public accuracies (mean, two standard deviations) beside ours (mean, 95 % interval), by cell."""
    found = tables.benchmark(rows)
    fig, ax = plotting.subplots(figsize=(7.2, 0.4 * len(found) + 1.4))
    at = np.arange(len(found))
    ax.errorbar(found.public, at - 0.12, xerr=2 * found.sd, fmt="s", color="black", label="public, ± 2 sd")
    ax.plot(found.ours, at + 0.12, "o", color=BASELINE, label="ours")
    ax.set_yticks(at, [f"{line.method}, {line.cell}" for line in found.itertuples()])
    ax.set_xlabel("best test accuracy over the rounds (%)")
    ax.legend()
    return plotting.caption(fig, rows)
