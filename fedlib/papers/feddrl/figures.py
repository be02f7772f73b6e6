"""FedDRL's figures, from stored rows."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fedlib import plotting
from fedlib.analysis import contrasts
from fedlib.analysis.intervals import effect_words, mean_interval
from fedlib.papers.feddrl import quantities, tables

# Thin lines: four curves have bands, eight would hide them
THIN = ("uniform", "untrained", "shuffled", "repaired_untrained")
CURVES = (
    "singleset",
    "fedavg",
    "fedprox",
    "feddrl",
    "feddrl_online",
    "drawn",
    "drawn_online",
    "repaired",
    *THIN,
)
FIRST = 0.1  # share of the rounds in which curves may start below the panel of `plot_length`
SMOOTHED = 100  # rounds per round of smoothing: the paper smooths Fashion-MNIST over 10 of 1000
GROUPS = {"others": ("#D55E00", "-", "client of a small group"), "main": ("#0072B2", "--", "main group")}


def _grid(
    rows: int, columns: int, size: tuple[float, float] = (3.0, 2.4), *, sharex: str = "row"
) -> tuple[Figure, np.ndarray]:
    fig, axes = plotting.subplots(
        rows, columns, figsize=(columns * size[0], rows * size[1] + 1.0), squeeze=False, sharex=sharex
    )
    return fig, axes


def plot_curves(
    rows: pd.DataFrame, *, columns: int, size: tuple[float, float] = (3.0, 2.4), note: str = ""
) -> Figure:
    """Test accuracy per round, one panel per cell: mean over seeds, band = 95 % t interval.

    size: of a panel, in inches. note: further sentences of the caption.
    """
    named = quantities.named(rows)
    named = named[named.variant.isin(CURVES)]
    cells = list(quantities.cells(named))
    fig, axes = _grid(-(-len(cells) // columns), columns, size)
    for ax, (cell, part) in zip(axes.flat, cells, strict=False):
        _accuracy_curves(part, ax)
        ax.set_title(quantities.cell_name(cell), fontsize=8)
    for ax in axes.flat[len(cells) :]:
        ax.set_axis_off()
    plotting.one_legend(fig, axes.flat[: len(cells)])
    window = max(_window(part) for _, part in cells)
    smooth = f" (Fashion-MNIST: of moving averages over {window} rounds)" if window > 1 else ""
    return plotting.caption(
        fig, named, f"Mean over seeds{smooth}, band = 95 % t interval{_thin_words(named)}. {note}".strip()
    )


def plot_early_lead(rows: pd.DataFrame) -> Figure:
    """`plot_curves` of the first rounds; the caption has the repaired agent's lead over uniform weights."""
    named = quantities.named(rows)
    note = ""
    if {"repaired", "uniform"} <= set(named.variant.unique()):
        own, uniform = (quantities.over_rounds(named, name) for name in ("repaired", "uniform"))
        lead = effect_words(contrasts.paired(own, uniform), "points")
        note = f"Mean over these rounds, repaired FedDRL less uniform weights, paired by seed: {lead}."
    return plot_curves(rows, columns=1, size=(6.6, 2.6), note=note)


def _thin_words(named: pd.DataFrame) -> str:
    return (
        "; thin lines: controls, without bands; a hidden curve coincides with another"
        if named.variant.isin(THIN).any()
        else ""
    )


def _window(part: pd.DataFrame) -> int:
    """Rounds of the moving average: the paper smooths its curves of Fashion-MNIST only."""
    smooths = quantities.PAPER_DATA[part.dataset.iloc[0]] == "Fashion-MNIST"
    return max(1, int(part["rounds"].max()) // SMOOTHED) if smooths else 1


def _accuracy_curves(part: pd.DataFrame, ax: Axes, *, bands: bool = True) -> None:
    window = _window(part)
    smooth = part.groupby(["variant", "seed"]).test_accuracy.transform(
        lambda values: values.rolling(window, min_periods=1).mean()
    )
    shown = part.assign(test_accuracy=100 * smooth)
    plotting.plot_curves(
        shown, ax, by="variant", y_label="accuracy (%)", thin=THIN, bands=bands, within=(0, 100)
    )


def plot_federated(rows: pd.DataFrame) -> Figure:
    """`plot_curves`, three cells a row, without SingleSet, whose curve is of its own epochs."""
    return plot_curves(rows[rows.method != "singleset"], columns=3)


def plot_length(rows: pd.DataFrame) -> Figure:
    """Test accuracy of one cell per round above, below it each variant's less FedAvg's."""
    named = quantities.named(rows)
    named = named[named.variant.isin(CURVES)]
    fig, (levels, leads) = plotting.subplots(2, 1, figsize=(6.6, 6.4), sharex=True)
    _accuracy_curves(named, levels, bands=False)  # seeds differ by more than methods do
    levels.set(xlabel="")
    _start_below_later_curves(levels)
    shown, window = _over_fedavg(named)
    if len(shown):
        thin = THIN[1:]
        plotting.plot_curves(
            shown, leads, y="lead", by="variant", y_label="less FedAvg's (points)", thin=thin
        )
        leads.axhline(0, color="black", linewidth=0.8)
    else:
        leads.set_axis_off()  # nothing beside FedAvg was run
    plotting.one_legend(fig, (levels, leads))
    note = f"Below: of the same seed, moving averages over {window} evaluated rounds"
    smooth = f"moving averages over {_window(named)} rounds; " * (_window(named) > 1)
    first = f"Above: {smooth}lower accuracies of the first {100 * FIRST:g} % of the rounds are off the panel"
    equal = "; uniform weights are FedAvg's here" * quantities.equal_amounts(named)
    return plotting.caption(fig, named, f"Means over seeds. {first}. {note}, band = 95 % t interval{equal}.")


def _start_below_later_curves(ax: Axes) -> None:
    """Start the y axis just below the lowest point of the curves after the first rounds."""
    at, height = np.concatenate([line.get_xydata() for line in ax.lines]).T
    low, top = height[at >= FIRST * at.max()].min(), height.max()
    pad = 0.1 * (top - low) or 1.0
    ax.set_ylim(low - pad, top + pad)


def _over_fedavg(named: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Accuracy less FedAvg's in the same round and seed (points), smoothed, in columns variant, lead."""
    levels = named.pivot_table(index=["seed", "round"], columns="variant", values="test_accuracy")
    levels = levels.reindex(columns=levels.columns.union(["fedavg"]))
    window = max(1, levels.index.get_level_values("round").nunique() // 20)
    own = ["fedavg", "singleset"] + ["uniform"] * quantities.equal_amounts(named)
    leads = 100 * levels.drop(columns=own, errors="ignore").sub(levels.fedavg, axis=0)
    if leads.columns.empty:
        return pd.DataFrame(), window
    smooth = leads.groupby(level="seed").transform(lambda values: values.rolling(window).mean())
    long = smooth.stack().rename("lead").reset_index()
    ranks = {name: rank for rank, name in enumerate(quantities.variant_order(long))}
    return long.sort_values("variant", key=lambda names: names.map(ranks), kind="stable"), window


def plot_fig4(rows: pd.DataFrame) -> Figure:
    """Images of each label on each client under PA, CE and CN."""
    fig, axes = _grid(1, 3, (3.0, 3.0))
    for ax, (partition, part) in zip(axes[0], rows.groupby("partition", sort=False), strict=True):
        labels = np.repeat(part.label.to_numpy(), part.images)
        owners = np.repeat(part.client.to_numpy(), part.images)
        lists = [np.flatnonzero(owners == client) for client in range(10)]
        plotting.plot_partition(lists, labels, ax=ax, num_classes=10)
        ax.set(title=quantities.PAPER_PARTITIONS[partition], ylabel="label" if partition == "pa" else "")
    return plotting.caption(fig, rows, "Area of a bubble = images, scaled per panel.")


def plot_fig6(rows: pd.DataFrame) -> Figure:
    """Mean and variance over the clients of the global model's loss, over FedDRL's in the same round."""
    named = quantities.named(rows)
    cells = list(quantities.cells(named, needs=("feddrl",)))
    fig, axes = _grid(2, len(cells))
    window = max(1, int(named["rounds"].max()) // SMOOTHED)
    kinds = {"client_loss_mean": "mean loss", "client_loss_variance": "variance"}
    for line, (value, name) in zip(axes, kinds.items(), strict=True):
        for ax, (cell, part) in zip(line, cells, strict=True):
            ratios = quantities.loss_ratios(part, value, window)
            shown = pd.concat([ratios[ratios.variant == v] for v in quantities.variant_order(ratios)])
            shown = shown[shown.variant != "feddrl"]
            plotting.plot_curves(shown, ax, y="ratio", by="variant", y_label=f"{name} / FedDRL's", thin=THIN)
            ax.axhline(1, color="black", linewidth=0.8)
            ax.set_title(quantities.cell_name(cell))
    plotting.one_legend(fig, axes.flat)
    note = "Above 1: larger than with FedDRL (two-stage). Mean over seeds, band = 95 % t interval"
    return plotting.caption(fig, named, f"{note}{_thin_words(named)}.")


def plot_over(rows: pd.DataFrame, *, column: str, x_label: str) -> Figure:
    """Best accuracy against a setting, below it less the better baseline's; a column per partition.

    Axes stay empty where a baseline or FedDRL is missing.
    """
    found = tables.over(rows, column)
    leads = tables.over_baseline(found, column)
    partitions = list(found.partition.unique())
    fig, axes = _grid(2, len(partitions), (4.6, 2.7), sharex="col")
    kinds = ((found, "best", "best accuracy (%)"), (leads, "lead", "over the better\nbaseline (points)"))
    for line, (frame, y, label) in zip(axes, kinds, strict=True):
        for ax, partition in zip(line, partitions, strict=True):
            part = frame[frame.partition == partition]
            if len(part):
                plotting.plot_settings(part, ax, x=column, y=y, by="variant", y_label=label)
            ax.set_xlabel("")
    for (levels, below), partition in zip(axes.T, partitions, strict=True):
        levels.set_title(quantities.PAPER_PARTITIONS[partition])
        below.set_xlabel(x_label)
        below.axhline(0, color="black", linewidth=0.8, zorder=0.5)
    plotting.one_legend(fig, axes.flat)
    note = (
        "Above: levels. Below: less the better of FedAvg and FedProx (by mean), paired by seed. Mean over "
        "seeds, bars = 95 % t interval."
    )
    return plotting.caption(fig, rows, note)


TIMED = {"decision": "#D55E00", "averaging": "#0072B2"}  # colours of fig. 9


def plot_fig9(rows: pd.DataFrame) -> Figure:
    """Decision and averaging time per network and data set, on a logarithmic axis, with deciles."""
    devices = list(rows.timed_on.unique())
    fig, axes = _grid(1, len(devices) + 1, (4.6, 3.2), sharex="none")
    for ax, device in zip(axes[0], devices, strict=False):
        _times(rows[(rows.timed_on == device) & (rows.cohort_size == 10)], ax)
        ax.set(yscale="log", ylabel="ms per round", title=f"K = 10, clients on {device}")
    axes[0, 0].legend()
    agent = rows[(rows.what == "decision") & (rows.model == "mlp") & (rows.timed_on == devices[0])]
    agent = agent.sort_values("cohort_size")
    last = axes[0, -1]
    last.errorbar(
        agent.cohort_size, agent.median_ms, _deciles(agent), color=TIMED["decision"], marker="D", capsize=3
    )
    last.set(xlabel="participants K", ylabel="decision (ms)", title="agent, MLP", ylim=(0, None))
    note = "Median, whiskers = first and last decile. Images of the shape of the named data."
    return plotting.caption(fig, rows, note)


def _deciles(part: pd.DataFrame) -> list[pd.Series]:
    return [part.median_ms - part.p10_ms, part.p90_ms - part.median_ms]


def _times(rows: pd.DataFrame, ax: Axes) -> None:
    averaged = rows[rows.what == "averaging"]
    places = {setting: at for at, setting in enumerate(zip(averaged.model, averaged.data, strict=True))}
    for what, style, shift in (("decision", "D", -0.1), ("averaging", "o", 0.1)):
        part = rows[rows.what == what]
        at = [places[setting] + shift for setting in zip(part.model, part.data, strict=True)]
        ax.errorbar(at, part.median_ms, _deciles(part), fmt=style, color=TIMED[what], label=what, capsize=3)
    ax.set_xticks(range(len(places)), [f"{model}\n{data}" for model, data in places], fontsize=8)
    ax.set_xlim(-0.5, len(places) - 0.5)


def plot_fig10(rows: pd.DataFrame) -> Figure:
    """Rounds to the target over FedDRL's, per cell: of the baselines, and beside them of the controls."""
    found = tables.rounds_table(rows)
    fig, (bars, points) = plotting.subplots(1, 2, figsize=(9.0, 0.4 * len(found) + 1.8), sharey=True,
                                       width_ratios=(3, 2))  # fmt: skip
    at = np.arange(len(found))
    printed = tables.printed_rounds(rows).set_index("quantity").published
    for method, shift in (("fedavg", -0.2), ("fedprox", 0.2)):
        style = plotting.method_style(method)
        column = f"{style.label} / FedDRL"
        bars.barh(at + shift, found[column], 0.4, color=style.colour, label=style.label)
        if column in printed:
            place = _printed_cell(found) + shift
            bars.plot(printed[column], place, "k*", markerfacecolor="white", markersize=8, label="printed")
    seeds = tables.seed_ratios(rows)
    shifts = seeds.variant.map({"fedavg": -0.2, "fedprox": 0.2})
    bars.scatter(seeds.ratio, seeds.place + shifts, 9, "black", label="seeds", zorder=3)
    for control, shift in zip(tables.CONTROLS, (-0.3, -0.1, 0.1, 0.3), strict=True):
        style = plotting.method_style(control)
        ratio = found[control] / found.FedDRL
        points.plot(ratio, at + shift, style.marker, color=style.colour, markersize=7, label=style.label)
    names = [f"{d}/{p}/N={n}" for d, p, n in found[tables.CELL].itertuples(index=False, name=None)]
    bars.set_yticks(at, names)
    bars.set_ylim(len(found) - 0.4, -0.6)
    for ax, kind in ((bars, "baselines"), (points, "controls and the other mode")):
        ax.axvline(1, color="black", linewidth=0.8, zorder=0.5)
        ax.set(title=kind, xlabel="rounds to the target, over FedDRL's")
    points.xaxis.set_major_locator(MaxNLocator(4))
    plotting.one_legend(fig, [bars, points])
    note = (
        "Target: what FedAvg, FedProx and FedDRL all reach in a seed, the best round of the weakest of them. "
        "Above 1: slower than FedDRL; stage 1 is not counted; no point: not reached in every seed. Bars: "
        "ratios of means over seeds; dots: single seeds; axes differ."
    )
    return plotting.caption(fig, rows, note)


def _printed_cell(found: pd.DataFrame) -> int:
    """Place of the one cell for which the text prints rounds: CIFAR-100, CE, N = 10."""
    cifar = found.data.str.startswith("CIFAR")
    return int(np.flatnonzero(cifar & (found.partition == "CE") & (found.N == 10))[0])


def plot_table3(rows: pd.DataFrame) -> Figure:
    """FedDRL less each baseline and control in best accuracy, per cell, with its interval."""
    found = tables.control_table(rows)
    controls = list(found.control.unique())
    cells = list(found[tables.CELL].drop_duplicates().itertuples(index=False, name=None))
    height = 0.26 * len(cells) + 1.8
    fig, axes = plotting.subplots(1, len(controls), figsize=(9.2, height), sharey=True, squeeze=False)
    for ax, control in zip(axes[0], controls, strict=True):
        part, style = found[found.control == control], plotting.method_style(control)
        at = [cells.index(cell) for cell in part[tables.CELL].itertuples(index=False, name=None)]
        ends = plotting.arms(part["mean"], part.low, part.high)
        ax.errorbar(part["mean"], at, xerr=ends, fmt=style.marker, color=style.colour, capsize=2)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_title(textwrap.fill(f"less {style.label}", 14), fontsize=8)
        ax.tick_params(labelsize=8)
    names = [f"{data}/{partition}/N={clients}" for data, partition, clients in cells]
    axes[0, 0].set_yticks(range(len(cells)), names)
    axes[0, 0].invert_yaxis()
    note = "FedDRL's best accuracy less that of each control (points), 95 % t interval; axes differ."
    return plotting.caption(fig, rows, note)


def plot_impact_factors(rows: pd.DataFrame) -> Figure:
    """Mean impact factor of a main-group client and of another over the rounds, trained and untrained."""
    named = quantities.named(rows)
    shown = [name for name in ("feddrl", "untrained") if name in set(named.variant.unique())]
    panels = [(cell, part, name) for cell, part in quantities.cells(named) for name in shown]
    fig, axes = _grid(-(-len(panels) // 4), 4, (2.25, 1.7))
    for ax, (cell, part, variant) in zip(axes.flat, panels, strict=False):
        factors = quantities.group_factors(part[part.variant == variant])
        for group, (colour, dash, label) in GROUPS.items():
            by_round = 100 * factors.set_index("round")[group]
            means = by_round.groupby("round").agg(lambda values: mean_interval(values.to_numpy()))
            plotting.draw_band(ax, means.index, means, colour, linestyle=dash, label=label)
        ax.set_title(f"{plotting.method_style(variant).label}\n{quantities.cell_name(cell)}", fontsize=8)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("impact factor (%)")
    for ax in axes[-1]:
        ax.set_xlabel("round")
    plotting.one_legend(fig, axes.flat)
    note = "Mean over seeds, band = 95 % t interval. With uniform weights every factor is 1 / K."
    return plotting.caption(fig, named, note)
