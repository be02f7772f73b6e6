"""The report's figures, from stored rows."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fedlib import plotting
from fedlib.analysis import tables
from fedlib.papers.frl import quantities
from fedlib.papers.frl.runs import CASES, EMBEDDINGS
from fedlib.papers.frl.tables import LESS_FEDAVG, evaluators

AGENTS = (  # EvaluatorFL in all readings, without its control
    "evaluatorfl", "evaluatorfl_code", "evaluatorfl_old", "evaluatorfl_local", "evaluatorfl_initial",
)  # fmt: skip
# In the order of drawing: dashes above the lines that they cover
_DRAWN = ("evaluatorfl", "evaluatorfl_shuffled", *AGENTS[2:], "evaluatorfl_code")
_X_LABELS = {"episode": "episode", "episode_round": "round of the episode"}
_CODE_COLOURS = {  # readings of approach 2 (FRL-A8), which lie too close for line and marker alone
    "evaluatorfl": "#AA4499", "evaluatorfl_initial": "#E69F00", "evaluatorfl_local": "#0072B2",
    "evaluatorfl_code": "#009E73",
}  # fmt: skip


def caption(fig: Figure, rows: pd.DataFrame, note: str = "") -> Figure:
    """With a note, and the line that says where the rows come from."""
    parts = [] if "dataset" in rows else ["simulated times, no data"]
    parts += tables.provenance_line(rows).split("; ")
    if "samples" in rows:
        parts[0] += f", {rows['samples'].max():,} training images"
    plotting.write_caption(fig, f"{note} {'; '.join(parts)}".strip())
    return fig


def plot_partitions(rows: pd.DataFrame) -> Figure:
    """Fig. 9: stacked images per label, one colour per worker, as the report draws them."""
    cases = list(dict.fromkeys(rows["case"]))
    fig, axes = plotting.subplots(1, len(cases), figsize=(9.2, 3.2), sharey=True)
    for ax, case in zip(axes, cases, strict=True):
        table = rows[rows["case"] == case].pivot(index="label", columns="worker", values="images")
        bottom = np.zeros(len(table))
        for worker in table:
            colour = colormaps["tab20"](int(worker) % 20)
            ax.bar(table.index.astype(int), table[worker], bottom=bottom, color=colour, width=0.85)
            bottom += table[worker].to_numpy()
        ax.set(title=case, xlabel="label", xticks=range(len(table)))
    axes[0].set_ylabel("images (a colour per worker)")
    return caption(fig, rows)


def plot_case(rows: pd.DataFrame) -> Figure:
    """Figs. 10 to 13, one each: accuracy per round."""
    name = rows["artifact"].iloc[0]
    fig, ax = plotting.subplots(figsize=(6.4, 3.8))
    percent = rows.assign(test_accuracy=100 * rows["test_accuracy"])
    plotting.plot_curves(percent, ax, y_label="weighted local test accuracy (%)")
    ax.set(title=f"FedAvg: {CASES[name][0]}", ylim=(0, 100))
    return caption(fig, rows)


def plot_cases(rows: pd.DataFrame) -> Figure:
    """Figs. 10 to 13 in one picture, mean over seeds with its 95 % t interval."""
    fig, ax = plotting.subplots(figsize=(8, 4.2))
    titles = {figure: title for figure, (title, _) in CASES.items()}
    percent = rows.assign(test_accuracy=100 * rows["test_accuracy"], case=rows["artifact"].map(titles))
    plotting.plot_curves(
        percent, ax, by="case", y_label="weighted local test accuracy (%)", styles=_case_styles()
    )
    ax.set(title="FedAvg in the report's four cases", ylim=(0, 100))
    return caption(fig, rows)


def _case_styles() -> dict[str, plotting.MethodStyle]:
    """A colour, marker and line for each of the four cases, which are all FedAvg's."""
    looks = zip(("#0072B2", "#56B4E9", "#E69F00", "#D55E00"), "os^D", ("-", "--", "-.", ":"), strict=True)
    return {
        title: plotting.MethodStyle(colour, marker, title, line)
        for (title, _), (colour, marker, line) in zip(CASES.values(), looks, strict=True)
    }


def plot_selections(rows: pd.DataFrame) -> Figure:
    """Figs. 14, 15, 19, 20: who entered the average, seed 0; the agent as described and as coded."""
    every = quantities.named(rows)
    every = every[every["variant"].isin(AGENTS)]
    rows = every[every["seed"] == 0]
    variants = list(dict.fromkeys(rows["variant"]))
    fig, axes = plotting.subplots(
        len(variants), 1, figsize=(9.2, 3.0 * len(variants)), sharex=True, squeeze=False
    )
    for ax, variant in zip(axes[:, 0], variants, strict=True):
        own = rows[(rows["variant"] == variant) & (rows["round"] > 0)].sort_values("round")
        chosen = quantities.selections(own)
        rounds, workers = chosen.shape
        ax.imshow(
            chosen.T, aspect="auto", cmap="Blues", interpolation="nearest", origin="lower", vmax=1.3,
            extent=(0.5, rounds + 0.5, -0.5, workers - 0.5),
        )  # fmt: skip
        length = int(own["episode_round"].max())
        for end in range(length, rounds, length):
            ax.axvline(end + 0.5, color="#888888", linewidth=0.4)
        label = plotting.method_style(variant).label
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        ax.set(title=f"{label}: mean {own['selected'].mean():.1f} of {workers}", ylabel="worker")
        ax.grid(visible=False)
    axes[-1, 0].set_xlabel("round (lines between episodes)")
    told = "; ".join(_held(every[every["variant"] == variant]) for variant in variants)
    last = min(quantities.LAST, int(every.groupby(["variant", "seed"])["round"].max().min()))
    return caption(
        fig, rows, f"Workers chosen alike in {quantities.ALIKE:.0%} of the last {last} rounds: {told}."
    )


def _held(rows: pd.DataFrame) -> str:
    """`as coded 13, 0, 0 with seeds 0, 1, 2`: workers that the agent always takes or always leaves, late."""
    counts = {seed: quantities.held_fixed(own) for seed, own in rows.groupby("seed")}
    seeds, label = ", ".join(map(str, counts)), plotting.method_style(rows["variant"].iloc[0]).label
    return f"{label} {', '.join(map(str, counts.values()))} with seeds {seeds}"


def plot_rewards(rows: pd.DataFrame) -> Figure:
    """Figs. 16, 21: R by round of the episode; Rhat by episode. Mean over seeds, with as many at random."""
    rows = quantities.named(rows)
    return _plot_reward_panels(rows[rows["variant"].isin(_DRAWN)], "episode")


def plot_code_readings(rows: pd.DataFrame) -> Figure:
    """R and Rhat over the rounds of an episode, mean of the 20 episodes, by reading of approach 2 (F1)."""
    rows = quantities.named(rows)
    styles = {name: replace(plotting.method_style(name), colour=c) for name, c in _CODE_COLOURS.items()}
    return _plot_reward_panels(rows[rows["variant"].isin(_CODE_COLOURS)], "episode_round", styles)


def _plot_reward_panels(
    rows: pd.DataFrame, below: str, styles: dict[str, plotting.MethodStyle] | None = None
) -> Figure:
    """R by round of the episode above, Rhat by `below`; a curve for each variant, a column for each size.

    A point is the mean of the run's other rounds or episodes first, then over seeds.
    """
    shown = rows[rows["round"] > 0]
    shown = shown.assign(rank=shown["variant"].map(_DRAWN.index)).sort_values("rank", kind="stable")
    sizes = sorted(set(shown["num_clients"]))
    fig, axes = plotting.subplots(
        2, len(sizes), figsize=(9.2, 5.6), sharex="row", sharey="row", squeeze=False
    )
    panels = (("reward", "reward R (share of 1)", "episode_round"),
              ("value", "accuracy $\\hat R$ (share of 1)", below))  # fmt: skip
    for column, workers in enumerate(sizes):
        own = shown[shown["num_clients"] == workers]
        for ax, (value, label, x) in zip(axes[:, column], panels, strict=True):
            means = own.groupby(["variant", "seed", x], as_index=False, sort=False)[value].mean()
            plotting.plot_curves(
                means, ax, x=x, y=value, by="variant", styles=styles, x_label=_X_LABELS[x], y_label=label
            )
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.set(title=f"{workers} workers")
    plotting.one_legend(fig, axes.flat, 2, counts=True)
    return caption(fig, rows)


def plot_accuracies(rows: pd.DataFrame) -> Figure:
    """Figs. 17, 18, 22, 23: accuracy by episode and round, mean over seeds."""
    rows = quantities.named(rows)
    rows = rows[(rows["variant"] == "evaluatorfl") & (rows["round"] > 0)]
    table = 100 * rows.pivot_table(index="episode_round", columns="episode", values="test_accuracy")
    fig, ax = plotting.subplots(figsize=(8, 4))
    image = ax.imshow(table, aspect="auto", origin="lower", interpolation="nearest")
    ax.set_xticks(range(0, table.shape[1], 2), [int(e) for e in table.columns[::2]])
    ax.set_yticks(range(len(table)), [int(r) for r in table.index])
    ax.set(xlabel="episode", ylabel="round", title=f"EvaluatorFL, {rows['num_clients'].iloc[0]} workers")
    ax.grid(visible=False)
    fig.colorbar(image, ax=ax, label="test accuracy (%)")
    return caption(fig, rows)


def plot_evaluators(rows: pd.DataFrame) -> Figure:
    """Sec. V: final accuracy of the last episodes less FedAvg's, with its 95 % t interval."""
    table = evaluators(rows)
    table = table[table["variant"] != "fedavg"].reset_index(drop=True)
    fig, ax = plotting.subplots(figsize=(8, 0.42 * len(table) + 1.4))
    for place, row in table.iterrows():
        style = plotting.method_style(row["variant"])
        error = plotting.arms([row[LESS_FEDAVG]], [row["low"]], [row["high"]])
        ax.errorbar(row[LESS_FEDAVG], place, xerr=error, fmt=style.marker, color=style.colour, capsize=3)
    names = [
        f"{plotting.method_style(r.variant).label}"
        + (f", approach {r.approach}" if r.approach != "-" else "")
        + f", {r.workers} workers"
        for r in table.itertuples()
    ]
    ax.set_yticks(range(len(table)), names)
    ax.axvline(0, color="#333333", linewidth=0.8)
    ax.set(
        xlabel="final accuracy - FedAvg's (points), 95 % interval",
        title="Does choosing whom to aggregate help?",
    )
    ax.invert_yaxis()
    return caption(fig, rows)


def plot_embedding(rows: pd.DataFrame, *, method: str) -> Figure:
    """Figs. 24, 25, 31 to 34: the workers' updates in two dimensions, seed 0, a colour per cluster."""
    own = rows[rows["method"] == method]
    first = own[own["seed"] == 0].iloc[0]
    points, cluster = np.array(json.loads(first["points"])), np.array(json.loads(first["cluster"]))
    fig, ax = plotting.subplots(figsize=(5.6, 4.6))
    for which, marker in enumerate("os^D"):
        at = cluster == which
        colour = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")[which]
        ax.scatter(*points[at].T, marker=marker, color=colour, label=f"cluster {which + 1}")
    ends = dict.fromkeys(f"{own['rand_index'].agg(end):.2f}" for end in ("min", "max"))
    ax.set(title=EMBEDDINGS[method][1], xlabel="first dimension", ylabel="second dimension")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return caption(fig, own, f"Seed 0; adjusted Rand index over all seeds: {' to '.join(ends)}.")
