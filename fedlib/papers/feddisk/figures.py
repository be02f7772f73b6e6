"""FedDisk's figures, from stored rows.

Bands and bars are 95 % t intervals over trials (the paper's fig. 3 shows the standard deviation).
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from fedlib import plotting
from fedlib.analysis import tables
from fedlib.analysis.intervals import Interval, effect_words, mean_interval, number_words
from fedlib.data.titles import title_of
from fedlib.papers.feddisk.ablation_tables import ablation_table
from fedlib.papers.feddisk.runs import CASES, METHODS, case_of
from fedlib.papers.feddisk.samples import unpack_images
from fedlib.papers.feddisk.tables import ACCURACY, all_bytes, effective_costs
from fedlib.plotting.curves import BAND_FROM
from fedlib.plotting.style import WHITE

BELOW = 4  # points: a line that another may cover


def panels(
    rows: pd.DataFrame, *, height: float = 3.4, lines: int = 1
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Rows (`lines`) of axes, the first with one for each data set, titled with ours and the paper's name."""
    names = list(rows.dataset.unique())
    fig, axes = plotting.subplots(
        lines, len(names), figsize=(min(9.2, 3.3 * len(names) + 1.2), height), squeeze=False
    )
    pairs = []
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(f"{title_of(name)}\npaper: {CASES[case_of(name)]}", fontsize=9)
        pairs.append((ax, rows[rows.dataset == name]))
    return fig, pairs


def finish(fig: Figure, rows: pd.DataFrame, note: str = "") -> Figure:
    """Add a legend at the top and the provenance below."""
    title = note.replace("\n", " ")
    columns = 5 if len(fig.axes) > 1 else 3
    plotting.one_legend(fig, fig.axes, columns, counts=True, title=title, title_fontsize=8)
    return plotting.caption(fig, rows)


def plot_accuracy(rows: pd.DataFrame) -> Figure:
    """`feddisk/fig3`: mean client accuracy per round and method, one panel for each data set."""
    return _curves(rows, ACCURACY, "mean client accuracy (%)", 100.0)


def plot_length(rows: pd.DataFrame) -> Figure:
    """`feddisk/converged`: mean client accuracy per round above, below it each method's less FedAvg's."""
    fig, (levels, leads) = plotting.subplots(2, 1, figsize=(6.6, 6.0), sharex=True)
    points = rows[rows["round"] > 0].assign(**{ACCURACY: 100 * rows[ACCURACY]})
    points = points.sort_values("method", key=_order)
    plotting.plot_curves(points, levels, y=ACCURACY, y_label="mean client accuracy (%)")
    for line in levels.lines:
        if str(line.get_label()).startswith(plotting.method_style("fedavg").label):
            line.set(linewidth=BELOW, zorder=1.5)  # FedProx's curve may lie on it
    levels.set(xlabel="", title=", ".join(map(title_of, rows.dataset.unique())))
    fedavg = points[points.method == "fedavg"].set_index(["seed", "round"])[ACCURACY].rename("fedavg")
    others = points[points.method != "fedavg"].join(fedavg, on=["seed", "round"], how="inner")
    if len(others):
        others = others.assign(lead=others[ACCURACY] - others.fedavg)
        plotting.plot_curves(others, leads, y="lead", y_label="less FedAvg's (points)")
        leads.axhline(0, color="black", linewidth=0.8)
    else:
        leads.set_axis_off()  # nothing beside FedAvg was run
    plotting.one_legend(fig, (levels, leads), counts=True)
    return plotting.caption(fig, rows, "Mean over trials, band = 95 % t interval; below: of the same trial.")


def plot_loss(rows: pd.DataFrame) -> Figure:
    """`feddisk/fig7`: training loss per round and method, one panel for each data set."""
    return _curves(rows, "client_loss_mean", "training loss (nats)")


def _curves(rows: pd.DataFrame, column: str, label: str, scale: float = 1.0) -> Figure:
    fig, pairs = panels(rows)
    for ax, own in pairs:
        later = own[own["round"] > 0].assign(**{column: scale * own[column]})
        plotting.plot_curves(later.sort_values("method", key=_order), ax, y=column, y_label=label)
    drawn = rows.groupby(["dataset", "method"]).seed.nunique().max() >= BAND_FROM
    return finish(fig, rows, "mean, 95 % interval\nover n trials" if drawn else "mean over n trials")


def _order(methods: pd.Series) -> pd.Series:
    return methods.map({name: at for at, name in enumerate(METHODS)})


def plot_samples(rows: pd.DataFrame) -> Figure:
    """`feddisk/fig2`: the first images of five clients of each data set."""
    fig, pairs = panels(rows, height=2.5)
    for ax, own in pairs:
        images = np.concatenate([unpack_images(row.shape, row.images) for row in own.itertuples()])
        names = [
            f"{row.client}" + (f", var {row.noise_variance:.2f}" if own.noise_variance.max() > 0 else "")
            for row in own.itertuples()
        ]
        title = ax.get_title()
        plotting.plot_images(images, ax, columns=len(images) // len(own), row_names=names)
        ax.set_title(title, fontsize=9)
        ax.set_ylabel("client")
    return finish(fig, rows)


def plot_boxes(rows: pd.DataFrame) -> Figure:
    """`feddisk/fig4`: accuracy on every client's own test part after the last round, all trials together."""
    fig, pairs = panels(rows)
    for ax, own in pairs:
        told = own[own.client_test_accuracies.notna()]
        methods = [m for m in METHODS if (told.method == m).any()]
        values = [
            100 * np.concatenate(tables.json_column(told[told.method == m].client_test_accuracies).tolist())
            for m in methods
        ]
        boxes = ax.boxplot(values, patch_artist=True, widths=0.6, medianprops={"color": "black"})
        for box, points, method in zip(boxes["boxes"], boxes["fliers"], methods, strict=True):
            colour = plotting.method_style(method).colour
            box.set(facecolor=colour, alpha=0.6)
            points.set(marker=".", markersize=3, markeredgecolor=colour)
        labels = [plotting.method_style(m).label for m in methods]
        ax.set_xticks(range(1, len(methods) + 1), labels, rotation=40, ha="right", fontsize=8)
        ax.set_ylabel("test accuracy of a client (%)")
    return finish(fig, rows)


def plot_weights(rows: pd.DataFrame) -> Figure:
    """FedDisk's weights client by client in the first trial (FEDDISK-A4): h, alpha, effective samples.

    Thin lines reach from the least to the greatest value, thick ones from quartile to quartile.
    """
    start = rows[(rows["round"] == 0) & rows.alpha_quantiles.notna()]
    start = start[start.seed == start.seed.min()]
    fig, pairs = panels(start, height=6.6, lines=3)
    for column, (first, own) in enumerate(pairs):
        axes = [first, *(fig.axes[column + line * len(pairs)] for line in (1, 2))]
        for ax, name, label in zip(axes, ("h", "alpha"), ("h on u_loc", "alpha (mean 1)"), strict=False):
            levels = np.array(tables.json_column(own[f"{name}_quantiles"]).iloc[0]).T
            at = np.arange(levels.shape[1])
            ax.vlines(at, levels[0], levels[4], color="#882255", lw=0.6)
            ax.vlines(at, levels[1], levels[3], color="#882255", lw=2.2)
            ax.plot(at, levels[2], "k.", ms=3, label="median")
            ax.set_ylabel(label)
        size = np.array(tables.json_column(own.effective_sample_size).iloc[0])
        axes[2].bar(np.arange(len(size)), size, color="#882255", alpha=0.6)
        axes[2].set(xlabel="client", ylabel="effective samples")
    return finish(fig, start, "one trial")


def plot_made(rows: pd.DataFrame) -> Figure:
    """`feddisk/fig5`: loss of the global MADE per round, every trial a line; dots: the best round."""
    start = rows[(rows["round"] == 0) & rows.made_rounds.notna()]
    fig, pairs = panels(start)
    for ax, own in pairs:
        for number, row in enumerate(own.itertuples()):
            train, held = (
                tables.json_column(pd.Series([text])).iloc[0]
                for text in (row.made_train_loss, row.made_validation_loss)
            )
            at, first = np.arange(1, len(held) + 1), number == 0
            ax.plot(at, train, color="#0072B2", lw=0.8, label="training" if first else None)
            ax.plot(at, held, color="#D55E00", lw=0.8, label="validation" if first else None)
            best = int(row.made_rounds)
            ax.plot(best, held[best - 1], "k.", label="best round" if first else None)
        ax.set(xlabel="round", ylabel="negative log-likelihood (nats)")
    return finish(fig, start)


def plot_costs(rows: pd.DataFrame) -> Figure:
    """`feddisk/fig6`: bytes of one client until the effective round, eqs. (18) and (19), logarithmic axis.

    Hatched and in words where that round is never reached: more than all that was sent.
    """
    costs = effective_costs(rows)
    fig, pairs = panels(rows)
    for ax, own in pairs:
        table = costs[costs.dataset == own.dataset.iloc[0]].reset_index(drop=True)
        ends = []
        for at, row in table.iterrows():
            style = plotting.method_style(row.method)
            if np.isfinite(row.formula):
                ends.append(row.formula / 1e6)
                ax.bar(at, ends[-1], color=style.colour, alpha=0.7)
                continue
            sent = all_bytes(own[own.method == row.method]) / 1e6
            ends.append(sent)
            ax.bar(at, sent, color="none", edgecolor=style.colour, hatch="///", alpha=0.7)
            ax.plot(at, sent, "^", color=style.colour, clip_on=False)
            words = f"not reached:\nover {number_words(sent)} MB"
            ax.annotate(words, (at, sent), (0, -6), textcoords="offset points", ha="center", va="top",
                        rotation=90, fontsize=8, bbox=WHITE)  # fmt: skip
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        if ends:  # none without the methods whose costs are compared
            ax.set_ylim(min(ends) / 3, 1.5 * max(ends))
        labels = [plotting.method_style(m).label for m in table.method]
        ax.set_xticks(range(len(table)), labels, rotation=40, ha="right", fontsize=8)
        ax.set(ylabel="sent and received (MB)", xlim=(-0.7, len(table) - 0.3))
    return finish(fig, rows)


def plot_widths(rows: pd.DataFrame) -> Figure:
    """`feddisk/made-width`: least validation loss against the width of the hidden layer."""
    fig, pairs = panels(rows)
    for ax, own in pairs:
        by_width = {
            width: mean_interval(part.validation_loss.to_numpy()) for width, part in own.groupby("hidden")
        }
        mean, low, high = ([getattr(i, end) for i in by_width.values()] for end in ("mean", "low", "high"))
        ax.errorbar(
            list(by_width), mean, yerr=plotting.arms(mean, low, high), fmt="o-", color="#882255", capsize=3
        )
        ax.axvline(own.chosen.iloc[0], color="grey", ls=":", label="the paper's width")
        ax.set(xlabel="hidden units", ylabel="least validation loss (nats)")
    return finish(fig, rows)


def plot_privacy(rows: pd.DataFrame) -> Figure:
    """`feddisk/sec5-privacy`: leakage about one draw and its bound, against the number of clients."""
    fig, ax = plotting.subplots(figsize=(5.6, 3.6))
    equal = rows[rows.kappa == "equal"].groupby("clients")[["leakage", "bound"]].mean()
    for name, colour in (("bound", "#D55E00"), ("leakage", "#0072B2")):
        ax.loglog(equal.index, equal[name], "o-", color=colour, label=name)
    ax.loglog(equal.index, equal.bound.iloc[0] * 2 / equal.index, "k:", lw=1, label="1 / K")
    ax.set(xlabel="clients K", ylabel="nats, mean over clients and trials")
    ax.legend()
    return plotting.caption(fig, rows, "Computed exactly.")


_FAR = 10  # points: an effect beyond is an arrow at the edge and its numbers


def plot_ablations(rows: pd.DataFrame) -> Figure:
    """`feddisk/ablations`: accuracy after the last round minus FedAvg's, paired by trial.

    Two variants, which are learning rates and nothing else, lose tens of points: arrows, so that the axis
    shows the others.
    """
    fig, pairs = panels(rows, height=3.6)
    for ax, own in pairs:
        table = ablation_table(own).iloc[::-1].reset_index(drop=True)
        near = table[table["mean"].abs() < _FAR]
        widest = near[["mean", "low", "high"]].abs().max(axis=None)
        edge = 1.15 * widest if widest > 0 else _FAR
        for at, row in table.iterrows():
            colour = plotting.method_style(row.variant).colour
            if at in near.index:
                ends = plotting.arms([row["mean"]], [row.low], [row.high])
                ax.errorbar(row["mean"], at, xerr=ends, fmt="o", color=colour, capsize=3)
                continue
            side = np.sign(row["mean"])
            ax.plot(side * edge, at, "<" if side < 0 else ">", color=colour, clip_on=False)
            words = effect_words(Interval.from_columns(row, "mean", ""))
            ax.annotate(words, (side * edge, at), (-8 * side, 0), textcoords="offset points", va="center",
                        ha="left" if side < 0 else "right", fontsize=8)  # fmt: skip
        ax.set_xlim(-edge, edge)
        ax.axvline(0, color="grey", lw=0.8)
        ax.set_yticks(range(len(table)), [plotting.method_style(v).label for v in table.variant])
        ax.set_xlabel("mean client accuracy\nless FedAvg's of as many\nsteps (points), 95 % interval")
    return finish(fig, rows)
