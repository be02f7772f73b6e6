"""FedDdrl's figures, from stored rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fedlib import plotting
from fedlib.analysis.intervals import mean_interval
from fedlib.papers.fedddrl import quantities, runs, tables
from fedlib.papers.fedddrl.episode_plots import (
    DROPPED,
    EPOCH_COLOURS,
    KEPT,
    PROBE,
    beside_each_other,
    epoch_colour,
    handles_of,
    one_episode,
    plot_accuracy_over_time,
    plot_timeline,
    rows_of,
)
from fedlib.papers.fedddrl.weight_search import PRINTED, UNITS, choose, search_weights

FEWER = plotting.MethodStyle("#56B4E9", "v", "fewer clients", "--")
MEAN = "mean over seeds, bar = 95 % interval"


def plot_table4(rows: pd.DataFrame) -> Figure:
    """Accuracy of the eight settings, the published value beside ours."""
    table = tables.accuracies4(rows)
    names = list(table.dataset.unique())
    size = (min(9.2, 2.4 + 2.6 * len(names)), 3.6)
    fig, axes = plotting.subplots(1, len(names), figsize=size, squeeze=False)
    for role, ax in zip(names, axes[0], strict=True):
        own = table[table.dataset == role].reset_index(drop=True)
        place = np.arange(len(own))[::-1]
        ax.errorbar(
            own.ours,
            place,
            xerr=plotting.arms(own.ours, own.low, own.high),
            fmt="o",
            color=KEPT,
            label="ours",
        )
        ax.plot(own.published, place, "D", mfc="none", color=DROPPED, label="published")
        ax.set_yticks(place, [text.split(" (w1")[0] for text in own.method])
        ax.set_title(role)
    for ax in axes[0, 1:]:
        ax.tick_params(labelleft=False)
    axes[0, len(names) // 2].set_xlabel("accuracy after round T (%)")
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return _finish(fig, rows, MEAN)


def plot_fig2(rows: pd.DataFrame) -> Figure:
    """FedAvg's accuracy per round, half as many clients per round beside all of them."""
    own = quantities.evaluations(rows)
    own = own.assign(clients="FedAvg, " + own.cohort_size.astype(int).astype(str) + " clients a round")
    mean = own.groupby(["clients", "t", "seed"], as_index=False).test_accuracy.mean()
    fig, ax = plotting.subplots(figsize=(6.6, 3.8))
    percent = mean.assign(test_accuracy=100 * mean.test_accuracy)
    fewer = dict.fromkeys(own.clients[own.cohort_size == own.cohort_size.min()], FEWER)
    all_of_them = dict.fromkeys(own.clients, plotting.method_style("fedavg"))
    labels = {"x_label": "round", "y_label": "test accuracy (%)"}
    plotting.plot_curves(percent, ax, x="t", by="clients", styles=_named(all_of_them | fewer), **labels)
    ax.set_title(f"{own.role.iloc[0]}, majority label, sigma 0.8")
    return _finish(fig, rows, "mean over seeds of the mean over evaluation episodes")


def _named(styles: dict[str, plotting.MethodStyle]) -> dict[str, plotting.MethodStyle]:
    return {name: replace(style, label=name) for name, style in styles.items()}


def plot_fig5(rows: pd.DataFrame) -> Figure:
    """U(A) with its line, and the difference."""
    fig, (left, right) = plotting.subplots(1, 2, figsize=(8, 3.2))
    left.plot(rows.accuracy, rows.utility, color=KEPT, label="U(A), eq. (4)")
    left.plot(rows.accuracy, rows.line, color=DROPPED, linestyle="--", label="line, eq. (8)")
    left.set(xlabel="accuracy A", ylabel="utility")
    left.legend()
    right.plot(rows.accuracy, 1000 * rows.deviation, color=KEPT)
    right.set(xlabel="accuracy A", ylabel="U(A) - line (1/1000)")
    return _finish(fig, rows, "analytic, no data")


STEPS = {"fedmarl": "C (FedMarl+)", "fedddrl": "D (FedDdrl)"}  # labels beside methods with Balanced-MixUp


def plot_normalised(rows: pd.DataFrame, *, value: str, label: str) -> Figure:
    """Bars in groups by data set, all methods with Balanced-MixUp."""
    share = quantities.normalised(rows, value)
    roles = [role for role in runs.ALPHAS if role in share.index.get_level_values("role")]
    fig, ax = plotting.subplots(figsize=(7.2, 3.6))
    for place, variant in enumerate(runs.FIG8):
        cells = {at: quantities.cell(share, role, variant) for at, role in enumerate(roles)}
        found = [mean_interval(values.to_numpy()) for values in cells.values() if len(values)]
        at = np.array([at for at, values in cells.items() if len(values)]) + 0.2 * (place - 1.5)
        style = plotting.method_style(runs.SETTINGS[variant].method)
        means, lows, highs = (np.array([getattr(i, n) for i in found]) for n in ("mean", "low", "high"))
        ax.bar(
            at,
            means,
            0.18,
            yerr=plotting.arms(means, lows, highs),
            color=style.colour,
            label=STEPS.get(variant, style.label),
            capsize=2,
        )
    ax.set_xticks(range(len(roles)), [quantities.shown_roles(rows)[role] for role in roles])
    ax.set(ylabel=label)
    ax.set_ylim(bottom=0)  # intervals over three seeds reach below
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return _finish(fig, rows, f"all with Balanced-MixUp; {MEAN}")


def plot_controls(rows: pd.DataFrame) -> Figure:
    """Accuracy against uploads and against latency: the rules as lines, what is learned as points."""
    parts = {
        "uploads": quantities.normalised(rows, "uploads"),
        "latency": quantities.normalised(rows, "latency_seconds"),
        "accuracy": quantities.final_accuracy(rows),
    }
    table = pd.DataFrame(parts).reset_index()
    roles = [role for role in runs.ALPHAS if role in set(table.role)]
    fig, axes = plotting.subplots(
        2, len(roles), figsize=(min(9.2, 1.2 + 3.1 * len(roles)), 6), squeeze=False, sharey="col"
    )
    for column, role in enumerate(roles):
        for row, cost in enumerate(("uploads", "latency")):
            _plot_frontier(axes[row, column], table[table.role == role], cost)
            axes[row, column].set_xlabel(f"{cost} (% of FedAvg's)")
        axes[0, column].set_title(quantities.shown_roles(rows)[role])
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy after round T (%)")
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return _finish(fig, rows, f"all with Balanced-MixUp; {MEAN}")


def _plot_frontier(ax: Axes, table: pd.DataFrame, cost: str) -> None:
    for rule in (tables.RANDOM, tables.FASTEST):
        own = table[table.variant.str.startswith(rule) | (table.variant == "fedavg_mixup")]
        mean = own.groupby("variant")[["uploads", "latency", "accuracy"]].mean().sort_values("uploads")
        style = plotting.method_style(rule)
        ax.plot(
            mean[cost], mean.accuracy, style.line, marker=style.marker, color=style.colour, label=style.label
        )
    for variant in ("fewest_epochs", "fedavg_mixup", "fedmarl", "fedddrl"):
        own, style = table[table.variant == variant], plotting.method_style(runs.SETTINGS[variant].method)
        if len(own):
            x, y = mean_interval(own[cost].to_numpy()), mean_interval(own.accuracy.to_numpy())
            ax.errorbar(
                x.mean, y.mean, yerr=plotting.arms(*([v] for v in (y.mean, y.low, y.high))),
                xerr=plotting.arms(*([v] for v in (x.mean, x.low, x.high))),
                fmt=style.marker, color=style.colour, label=STEPS.get(variant, style.label),
            )  # fmt: skip


def plot_weights(rows: pd.DataFrame) -> Figure:
    """Algorithm 1: the feasible weights of each data set, H in both units (A3); A5's constant traces."""
    roles = [role for role in runs.ALPHAS if role in set(quantities.traces(rows).role)]
    shown = quantities.shown_roles(rows)
    fig, axes = plotting.subplots(
        len(UNITS), len(roles) + 1, figsize=(9.2, 5.0), sharex=True, sharey=True, squeeze=False
    )
    for (unit, words), row in zip(UNITS.items(), axes, strict=True):
        traces = quantities.traces(rows, unit)
        traces = traces[(traces.seed == traces.seed.min()) & (traces.episode == traces.episode.min())]
        for role, ax in zip(roles, row, strict=False):
            own = traces[traces.role == role]
            plot_feasible(search_weights(*(own[name].to_numpy() for name in ("dA", "B", "H"))), ax)
            ax.set_title(f"{shown[role]}\n{ax.get_title()}", fontsize=8)
        row[0].set_ylabel(f"H by {words}\nw3")
    constant = (np.full(15, 0.53 / 15), np.ones(15), np.full(15, 0.33))
    plot_feasible(search_weights(*constant), axes[-1, -1])
    axes[-1, -1].set_title(f"B 1, H 0.33, gain 0.53 (A5)\n{axes[-1, -1].get_title()}", fontsize=8)
    axes[0, -1].axis("off")
    shades = zip(EPOCH_COLOURS, ("0.1", "0.2", "0.3 or more"), strict=True)
    marks = [("o", colour, f"feasible, w2 = {text}") for colour, text in shades]
    marks += [
        (".", PROBE, "breaks (10d) only"),
        ("v", "#000000", "smallest R"),
        ("^", "#000000", "largest R"),
    ]
    marks += [("x", DROPPED, "printed, w2 = 0.1")]
    handles = handles_of(marks)
    for handle in handles[-3:-1]:  # the triangles are hollow, so that they hide no point
        handle.set_markerfacecolor("none")
    axes[0, -1].legend(handles=handles, loc="center")
    for ax in axes[-1]:
        ax.set_xlabel("w1")
    return _finish(fig, rows[rows.seed == rows.seed.min()], "first evaluation episode of FedAvg")


def plot_feasible(table: pd.DataFrame, ax: Axes) -> Axes:
    """The points of `search_weights` in the plane of w1 and w3, w2 as colour."""
    nearly = table[table.c10b & table.c10c & table.c10e & ~table.c10d]
    ax.plot(nearly.w1, nearly.w3, ".", ms=2, color=PROBE)
    points = table[table.feasible].sort_values("w2")
    shades = [EPOCH_COLOURS[min(round(10 * w2), 3) - 1] for w2 in points.w2]
    ax.scatter(points.w1, points.w3, s=45 - 12 * np.arange(len(points)) / max(len(points), 1), color=shades)
    for chosen, marker in ((choose(table), "v"), (choose(table, largest=True), "^")):
        if chosen:
            ax.plot(chosen[0], chosen[2], marker, ms=12, mfc="none", color="#000000")
    ax.plot(PRINTED[0], PRINTED[2], "x", ms=9, color=DROPPED)
    ax.set(title=f"{len(points)} feasible of {len(table):,}", xlim=(0, 3.2), ylim=(0, 1.05))
    return ax


def plot_bias(rows: pd.DataFrame) -> Figure:
    """Gain and penalty of reward (12) per round, and clients kept with it and with the bias."""
    terms = quantities.reward_terms(quantities.evaluations(rows))
    both = quantities.of_common_seeds(terms)
    fig, (left, right) = plotting.subplots(1, 2, figsize=(8.6, 3.4))
    plain = terms[terms.variant == "fedmarl_b"]
    for name, colour in (("gain", KEPT), ("penalty", DROPPED)):
        _plot_mean(left, plain, name, colour, name)
    left.axhline(0, color="#999999", linewidth=0.8)
    left.set(xlabel="round", ylabel="term of reward (12)")
    for variant, colour, label in (
        ("fedmarl_b", "#555555", "reward (12)"),
        ("fedmarl_bias", "#CC79A7", "with the bias b"),
    ):
        by_seed = both[both.variant == variant].groupby(["t", "seed"]).uploads.mean().unstack()
        right.plot(by_seed.index, by_seed, color=colour, linewidth=0.6, alpha=0.6)
        right.plot(by_seed.index, by_seed.mean(axis=1), color=colour, linewidth=2.2, label=label)
    right.set(xlabel="round", ylabel="clients kept", ylim=(0, terms.cohort_size.max()))
    for ax in (left, right):
        ax.legend()
    seeds = f"right: the {both.seed.nunique()} seeds that both rewards have, thin each, thick their mean"
    return _finish(
        fig, rows,
        f"Mean over episodes. Left: mean over {plain.seed.nunique()} seeds, band = 95 % interval; {seeds}",
    )  # fmt: skip


def plot_kept(rows: pd.DataFrame) -> Figure:
    """Loss of every client of one episode above, below it clients kept per round, all seeds and episodes."""
    own, title = one_episode(rows)
    fig, (loss, number) = plotting.subplots(2, 1, figsize=(7.2, 5.6), sharex=True)
    _plot_clients(loss, own, "probing_loss", "probing loss (nats)")
    loss.set(title=title, xlabel="")
    kept, shown = quantities.kept_by_round(rows), quantities.shown_roles(rows)
    for role, colour in zip(runs.ALPHAS, (KEPT, DROPPED, "#009E73"), strict=True):
        part = kept[kept.role == role]
        for _, seed in part.groupby("seed"):
            number.plot(seed.t, seed.uploads, color=colour, linewidth=0.6, alpha=0.6)
        if len(part):
            mean = part.groupby("t").uploads.mean()
            label = shown[role].replace(" (", "\n(")
            number.plot(mean.index, mean, color=colour, linewidth=2.2, label=label)
    number.set(xlabel="round", ylabel="clients kept", ylim=(0, rows.cohort_size.max() + 0.5))
    number.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    what = "Above: one evaluation episode. Below: thick = mean over seeds, thin = each seed"
    return _each_round(_finish(fig, rows, what), own)


def plot_kept_latency(rows: pd.DataFrame) -> Figure:
    """Probing latency of every client of one episode, kept or dropped."""
    own, title = one_episode(rows)
    fig, ax = plotting.subplots(figsize=(7.2, 3.4))
    _plot_clients(ax, own, "probing_seconds", "probing latency (s)")
    ax.set_title(title)
    what = "One evaluation episode; fig. 10 has the number of clients kept in each round"
    return _each_round(_finish(fig, rows_of(rows, own), what), own)


def _plot_clients(ax: Axes, own: pd.DataFrame, value: str, label: str) -> None:
    for kept, colour, words in ((True, KEPT, "kept"), (False, DROPPED, "dropped")):
        part = own[own.kept == kept]
        ax.scatter(beside_each_other(part), part[value], s=22, color=colour, label=words)
    ax.set(xlabel="round", ylabel=label)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))


def plot_epochs(rows: pd.DataFrame, *, which: int) -> Figure:
    """Kept clients of one episode: probing latency by round, larger and darker dots train longer.

    The axis reaches from the fastest to the slowest client, dropped ones too.
    """
    own, title = one_episode(rows, which)
    ends, rows, own = own.probing_seconds.agg(["min", "max"]), rows_of(rows, own), own[own.kept]
    choices = sorted(own.epochs.unique())
    fig, ax = plotting.subplots(figsize=(7.2, 3.6))
    for epochs in choices:
        part = own[own.epochs == epochs]
        ax.scatter(
            beside_each_other(part), part.probing_seconds, s=10 * (epochs - 2), color=epoch_colour(epochs),
            label=f"{epochs} epochs", zorder=2 + 1 / epochs,  # small dots on top of large ones
        )  # fmt: skip
    ax.set(xlabel="round", ylabel="probing latency (s)", title=title)
    ax.set_ylim(0.9 * ends["min"], 1.05 * ends["max"])
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return _each_round(_finish(fig, rows, "one evaluation episode"), own)


def _each_round(fig: Figure, own: pd.DataFrame) -> Figure:
    """The figure with a tick at each round and lines between, as dots of a round stand side by side."""
    for ax in fig.axes:
        ax.set_xticks(range(1, own.t.max() + 1))
        ax.set_xticks(np.arange(0.5, own.t.max() + 1), minor=True)
        ax.tick_params(axis="x", which="minor", length=0)
        ax.grid(axis="x", visible=False)
        ax.grid(axis="x", which="minor")
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    return fig


def plot_episode(rows: pd.DataFrame) -> Figure:
    """Plot an episode on the simulated clock: dropped clients, training times, costs."""
    fig, (top, bottom) = plotting.subplots(2, 1, figsize=(9.2, 5.8), height_ratios=(1, 2), sharex=True)
    plot_accuracy_over_time(rows, top)
    own, title = one_episode(rows)
    plot_timeline(own, bottom)
    top.set_title(title)
    return _finish(fig, rows_of(rows, own), "one evaluation episode, one seed")


def _plot_mean(ax: Axes, rows: pd.DataFrame, value: str, colour: str, label: str) -> None:
    """Mean over seeds of the mean over episodes per round, with its band."""
    by_seed = rows.groupby(["t", "seed"])[value].mean()
    found = by_seed.groupby("t").agg(lambda part: mean_interval(part.to_numpy()))
    plotting.draw_band(ax, found.index, found, colour, label=label)


def _finish(fig: Figure, rows: pd.DataFrame, what: str) -> Figure:
    """Caption with what is shown and where it comes from."""
    for ax in fig.axes:
        if ax.get_xlabel() == "round":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return plotting.caption(fig, rows, above=what)
