"""The report's figures, drawn from stored rows into figures/frl."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fedlib import figures, tables
from fedlib.papers import frl_measures as measure
from fedlib.papers.frl_embedding import METHODS as EMBEDDINGS
from fedlib.papers.frl_grid import CASES

SCHEDULER_ORDER = (
    "schedulerfl", "random", "learned_rate", "fastest", "keep_all", "schedulerfl_unit", "schedulerfl_draws",
)  # fmt: skip


def _caption(fig: Figure, rows: pd.DataFrame) -> Figure:
    """With the line that says where the rows come from."""
    parts = [] if "dataset" in rows else ["simulated times, no data"]
    parts += tables.provenance_line(rows).split("; ")
    if "samples" in rows:
        parts[0] += f", {rows['samples'].max():,} training images"
    figures.write_caption(fig, "; ".join(parts))
    return fig


def plot_partitions(rows: pd.DataFrame) -> Figure:
    """Fig. 9: stacked images per label, one colour per worker, as the report draws them."""
    figures.use_style()
    cases = list(dict.fromkeys(rows["case"]))
    fig, axes = plt.subplots(1, len(cases), figsize=(13, 3.6), sharey=True)
    for ax, case in zip(axes, cases, strict=True):
        table = rows[rows["case"] == case].pivot(index="label", columns="worker", values="images")
        bottom = np.zeros(len(table))
        for worker in table:
            colour = plt.get_cmap("tab20")(int(worker) % 20)
            ax.bar(table.index.astype(int), table[worker], bottom=bottom, color=colour, width=0.85)
            bottom += table[worker].to_numpy()
        ax.set(title=case, xlabel="label", xticks=range(len(table)))
    axes[0].set_ylabel("images (a colour per worker)")
    return _caption(fig, rows)


def plot_case(rows: pd.DataFrame) -> Figure:
    """Figs. 10 to 13, one each: accuracy per round."""
    figures.use_style()
    name = rows["artifact"].iloc[0]
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    percent = rows.assign(test_accuracy=100 * rows["test_accuracy"])
    figures.plot_curves(percent, ax, y_label="weighted local test accuracy (%)")
    ax.set(title=f"FedAvg: {CASES[name][0]}", ylim=(0, 100))
    return _caption(fig, rows)


def plot_cases(rows: pd.DataFrame) -> Figure:
    """Figs. 10 to 13 in one picture, mean over seeds with its 95 % t interval."""
    figures.use_style()
    fig, ax = plt.subplots(figsize=(8, 4.2))
    titles = {figure: title for figure, (title, _) in CASES.items()}
    percent = rows.assign(test_accuracy=100 * rows["test_accuracy"], case=rows["artifact"].map(titles))
    figures.plot_curves(
        percent, ax, by="case", y_label="weighted local test accuracy (%)", styles=_case_styles()
    )
    ax.set(title="FedAvg in the report's four cases", ylim=(0, 100))
    return _caption(fig, rows)


def _case_styles() -> dict[str, figures.MethodStyle]:
    """A colour, marker and line for each of the four cases, which are all FedAvg's."""
    looks = zip(("#0072B2", "#56B4E9", "#E69F00", "#D55E00"), "os^D", ("-", "--", "-.", ":"), strict=True)
    return {
        title: figures.MethodStyle(colour, marker, title, line)
        for (title, _), (colour, marker, line) in zip(CASES.values(), looks, strict=True)
    }


def plot_selections(rows: pd.DataFrame) -> Figure:
    """Figs. 14, 15, 19, 20: who entered the average, seed 0; the agent as described and as coded."""
    figures.use_style()
    rows = measure.named(rows)
    rows = rows[(rows["seed"] == 0) & rows["variant"].isin(["evaluatorfl", "evaluatorfl_code"])]
    variants = list(dict.fromkeys(rows["variant"]))
    fig, axes = plt.subplots(len(variants), 1, figsize=(11, 3.2 * len(variants)), sharex=True, squeeze=False)
    for ax, variant in zip(axes[:, 0], variants, strict=True):
        own = rows[(rows["variant"] == variant) & (rows["round"] > 0)].sort_values("round")
        chosen = measure.selections(own)
        ax.imshow(chosen.T, aspect="auto", cmap="Blues", interpolation="nearest", origin="lower", vmax=1.3)
        length = int(own["episode_round"].max())
        for start in range(length, len(own), length):
            ax.axvline(start - 0.5, color="#888888", linewidth=0.4)
        label = figures.method_style(variant).label
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(title=f"{label}: mean {own['selected'].mean():.1f} of {chosen.shape[1]}", ylabel="worker")
        ax.grid(visible=False)
    axes[-1, 0].set_xlabel("round (lines between episodes)")
    return _caption(fig, rows)


def plot_rewards(rows: pd.DataFrame) -> Figure:
    """Figs. 16, 21: the reward R and the accuracy Rhat that it is made of, mean over seeds."""
    figures.use_style()
    rows = measure.named(rows)
    rows = rows[rows["variant"].isin(["evaluatorfl", "evaluatorfl_code"]) & (rows["round"] > 0)]
    sizes = sorted(set(rows["num_clients"]))
    fig, axes = plt.subplots(2, len(sizes), figsize=(12, 6), sharex=True, squeeze=False)
    for column, workers in enumerate(sizes):
        own = rows[rows["num_clients"] == workers]
        for ax, value in zip(axes[:, column], ("reward", "value"), strict=True):
            figures.plot_curves(own, ax, y=value, by="variant")
            ax.set(title=f"{workers} workers", ylabel={"reward": "R", "value": "$\\hat R$"}[value], xlabel="")
            if column < len(sizes) - 1 or value == "value":
                ax.get_legend().remove()
        axes[1, column].set_xlabel("round")
    return _caption(fig, rows)


def plot_accuracies(rows: pd.DataFrame) -> Figure:
    """Figs. 17, 18, 22, 23: accuracy by episode and round, mean over seeds."""
    figures.use_style()
    rows = measure.named(rows)
    rows = rows[(rows["variant"] == "evaluatorfl") & (rows["round"] > 0)]
    table = 100 * rows.pivot_table(index="episode_round", columns="episode", values="test_accuracy")
    fig, ax = plt.subplots(figsize=(8, 4))
    image = ax.imshow(table, aspect="auto", origin="lower", vmin=0, vmax=100, interpolation="nearest")
    ax.set_xticks(range(0, table.shape[1], 2), [int(e) for e in table.columns[::2]])
    ax.set_yticks(range(len(table)), [int(r) for r in table.index])
    ax.set(xlabel="episode", ylabel="round", title=f"EvaluatorFL, {rows['num_clients'].iloc[0]} workers")
    ax.grid(visible=False)
    fig.colorbar(image, ax=ax, label="test accuracy (%)")
    return _caption(fig, rows)


def plot_evaluators(rows: pd.DataFrame) -> Figure:
    """Sec. V: final accuracy of the last episodes less FedAvg's, with its 95 % t interval."""
    from fedlib.papers.frl_tables import evaluators

    figures.use_style()
    table = evaluators(rows)
    table = table[table["variant"] != "fedavg"].reset_index(drop=True)
    fig, ax = plt.subplots(figsize=(8, 0.42 * len(table) + 1.4))
    for place, row in table.iterrows():
        style = figures.method_style(row["variant"])
        error = [[row["minus_fedavg"] - row["low"]], [row["high"] - row["minus_fedavg"]]]
        ax.errorbar(row["minus_fedavg"], place, xerr=error, fmt=style.marker, color=style.colour, capsize=3)
    names = [
        f"{figures.method_style(r.variant).label}"
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
    return _caption(fig, rows)


def plot_embedding(rows: pd.DataFrame, *, name: str) -> Figure:
    """Figs. 24, 25, 31 to 34: the workers' updates in two dimensions, seed 0, a colour per cluster."""
    figures.use_style()
    method = next(method for method, (figure, _) in EMBEDDINGS.items() if figure == name)
    own = rows[rows["method"] == method]
    first = own[own["seed"] == 0].iloc[0]
    points, cluster = np.array(json.loads(first["points"])), np.array(json.loads(first["cluster"]))
    fig, ax = plt.subplots(figsize=(5.6, 4.6))
    for which, marker in enumerate("os^D"):
        at = cluster == which
        colour = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")[which]
        ax.scatter(*points[at].T, marker=marker, color=colour, label=f"cluster {which + 1}")
    index = ", ".join(f"{value:.2f}" for value in own.sort_values("seed")["rand_index"])
    ax.set(title=f"{EMBEDDINGS[method][1]}: adjusted Rand index {index}", xlabel="first", ylabel="second")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return _caption(fig, own)


def plot_scheduler_reward(rows: pd.DataFrame) -> Figure:
    """Fig. 26: reward per decision, mean over seeds, running mean of 19 (an experiment)."""
    figures.use_style()
    fig, ax = plt.subplots(figsize=(9, 4))
    for agent, own in rows.groupby("method", sort=False):
        style = figures.method_style(str(agent))
        mean = own.groupby("round")["reward"].mean()
        ax.plot(mean.index, mean, color=style.colour, alpha=0.15, linewidth=0.6)
        ax.plot(
            mean.index,
            mean.rolling(19, min_periods=1).mean(),
            color=style.colour,
            linestyle=style.line,
            label=style.label,
        )
    ax.set(
        xlabel="decision", ylabel="reward", title="SchedulerFL: reward while it trains (running mean of 19)"
    )
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return _caption(fig, rows)


def plot_scheduler_map(rows: pd.DataFrame, *, name: str) -> Figure:
    """Figs. 27, 28: probabilities or draws per decision, seed 0, workers from fast (bottom) to slow."""
    figures.use_style()
    rows = rows[rows["seed"] == 0]
    agents = list(dict.fromkeys(rows["method"]))
    fig, axes = plt.subplots(len(agents), 1, figsize=(10, 2.7 * len(agents)), squeeze=False, sharex=True)
    for ax, agent in zip(axes[:, 0], agents, strict=True):
        own = rows[rows["method"] == agent].sort_values("round")
        if name == "fig27":
            values = np.array([json.loads(text) for text in own["chances"]]) / 100
        else:
            values = np.array([[one == "x" for one in text] for text in own["drawn"]], dtype=float)
        image = ax.imshow(
            values.T, aspect="auto", origin="lower", cmap="coolwarm", vmin=0, vmax=1, interpolation="nearest"
        )
        after = own["before_stop"].astype(bool).sum()
        if after < len(own):
            ax.axvline(after, color="black", linewidth=1, linestyle="--")
        ax.set(ylabel="worker, fast to slow", title=figures.method_style(agent).label)
        ax.grid(visible=False)
    axes[-1, 0].set_xlabel("decision (dashed: fewer than ten selected, training would stop)")
    fig.colorbar(image, ax=axes[:, 0], label="probability" if name == "fig27" else "selected")
    return _caption(fig, rows)


def plot_maximum_time(rows: pd.DataFrame) -> Figure:
    """Fig. 29: maximum time per experiment (mean over its rounds), mean over seeds with its interval."""
    figures.use_style()
    means = rows.groupby(["method", "seed", "experiment"], as_index=False, sort=False)["max_seconds"].mean()
    fig, axes = plt.subplots(1, 2, figsize=(12, 4))
    for ax, scale in zip(axes, ("log", "linear"), strict=True):
        figures.plot_curves(means, ax, x="experiment", y="max_seconds", y_label="maximum time (s)")
        ax.set(yscale=scale, title=scale)
    axes[0].set_ylim(bottom=10)
    axes[1].set_ylim(bottom=0)  # intervals over three seeds reach below
    axes[0].get_legend().remove()
    return _caption(fig, rows)


def plot_static(rows: pd.DataFrame) -> Figure:
    """Static times: mean probability of the fast and the largest one of the slow, a dot per run."""
    figures.use_style()
    sizes, agents = sorted(set(rows["workers"])), list(dict.fromkeys(rows["method"]))
    fig, axes = plt.subplots(1, len(sizes), figsize=(5.2 * len(sizes) + 2, 3.6), sharey=True, squeeze=False)
    looks = (
        ("fast", -0.12, "o", "#0072B2", "fast, mean"),
        ("slow_max", 0.12, "X", "#D55E00", "slow, largest"),
    )
    for ax, workers in zip(axes[0], sizes, strict=True):
        for place, agent in enumerate(agents):
            own = rows[(rows["workers"] == workers) & (rows["method"] == agent)]
            for column, shift, marker, colour, label in looks:
                at = np.full(len(own), place + shift)
                ax.plot(own[column], at, marker, color=colour, alpha=0.7, label=None if place else label)
        ax.set(xlim=(-0.03, 1.03), xlabel="probability at the end", title=f"{workers} workers")
    axes[0, 0].set_yticks(range(len(agents)), [figures.method_style(agent).label for agent in agents])
    axes[0, 0].invert_yaxis()
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return _caption(fig, rows)


def plot_one_sign(rows: pd.DataFrame) -> Figure:
    """Sec. V: mean probability at the end of training under rewards of one sign, one dot per seed."""
    figures.use_style()
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    kinds = list(dict.fromkeys(rows["reward"]))
    for place, kind in enumerate(kinds):
        own = rows[rows["reward"] == kind]
        ax.plot(own["last_chance"], np.full(len(own), place), "d", color="#999933", alpha=0.7)
    shares = [100 * rows.loc[rows["reward"] == kind, "rewards_above_0"].mean() for kind in kinds]
    ax.set_yticks(range(len(kinds)), [f"{k} ({s:.0f} % above 0)" for k, s in zip(kinds, shares, strict=True)])
    ax.set(xlim=(-0.03, 1.03), xlabel="mean selection probability at the end", title="Rewards of one sign")
    return _caption(fig, rows)


def plot_schedulers(rows: pd.DataFrame) -> Figure:
    """Fig. 30: accuracy per round, and over simulated time, IID and non-IID, mean over seeds."""
    figures.use_style()
    rows = measure.named(rows)
    percent = rows.assign(test_accuracy=100 * rows["test_accuracy"])
    fig, axes = plt.subplots(1, 2, figsize=(13, 4.4), sharey=True)
    for ax, case in zip(axes, ("IID", "non-IID"), strict=True):
        own = percent[percent["case"] == case]
        own = own.assign(rank=own["variant"].map(SCHEDULER_ORDER.index)).sort_values(["rank", "round"])
        figures.plot_curves(own, ax, by="variant", y_label="test accuracy (%)")
        ax.set(title=f"{case}, {rows['num_clients'].iloc[0]} workers", ylim=(0, 100))
    axes[0].get_legend().remove()
    return _caption(fig, rows)


def plot_times(rows: pd.DataFrame) -> Figure:
    """Tables 2, 3: the maximum time of each round of every policy, all seeds, and their means."""
    figures.use_style()
    rows = measure.named(rows)
    own = rows[rows["round"] > 0]
    fig, ax = plt.subplots(figsize=(8, 4))
    shown = [variant for variant in SCHEDULER_ORDER if (own["variant"] == variant).any()]
    for place, variant in enumerate(shown):
        values = own.loc[own["variant"] == variant, "max_seconds"].to_numpy()
        style = figures.method_style(variant)
        spread = np.random.default_rng(0).uniform(-0.25, 0.25, len(values))
        ax.plot(place + spread, values, ".", color=style.colour, alpha=0.4)
        ax.plot([place - 0.35, place + 0.35], [values.mean()] * 2, color="black", linewidth=1.5)
    labels = [figures.method_style(v).label for v in shown]
    ax.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
    case = rows["case"].iloc[0]
    ax.set(yscale="log", ylabel="maximum time of a round (s)", title=f"{case} (bars: means)")
    return _caption(fig, rows)


def plot_fairness(rows: pd.DataFrame) -> Figure:
    """Variance of participation per round (the report's table 1), mean over seeds with its interval."""
    figures.use_style()
    rows = measure.named(rows)
    fig, axes = plt.subplots(1, 2, figsize=(13, 4.2), sharey=True)
    for ax, case in zip(axes, ("IID", "non-IID"), strict=True):
        own = rows[(rows["case"] == case) & (rows["round"] > 0)]
        own = own.assign(rank=own["variant"].map(SCHEDULER_ORDER.index)).sort_values(["rank", "round"])
        figures.plot_curves(
            own, ax, y="participation_variance", by="variant", y_label="participation variance"
        )
        ax.set_title(case)
    axes[0].get_legend().remove()
    return _caption(fig, rows)


def draw(rows: pd.DataFrame, folder: Path, *, name: str) -> Path:
    """Draw an artifact's figure into `folder`/frl."""
    fig = PLOTS[name](rows)
    path = figures.save_figure(fig, f"frl/{name}", folder)
    plt.close(fig)
    return path


PLOTS: dict[str, Callable[[pd.DataFrame], Figure]] = {
    "fig9": plot_partitions,
    **dict.fromkeys(CASES, plot_case),
    "cases": plot_cases,
    **dict.fromkeys(("fig14", "fig15", "fig19", "fig20"), plot_selections),
    "fig16": plot_rewards,
    "fig21": plot_rewards,
    **dict.fromkeys(("fig17", "fig18", "fig22", "fig23"), plot_accuracies),
    "sec5": plot_evaluators,
    **{figure: partial(plot_embedding, name=figure) for figure, _ in EMBEDDINGS.values()},
    "fig26": plot_scheduler_reward,
    "fig27": partial(plot_scheduler_map, name="fig27"),
    "fig28": partial(plot_scheduler_map, name="fig28"),
    "fig29": plot_maximum_time,
    "static": plot_static,
    "sec5-rewards": plot_one_sign,
    "fig30": plot_schedulers,
    "table2": plot_times,
    "table3": plot_times,
    "fairness": plot_fairness,
}

FIGURES: dict[str, Callable[[pd.DataFrame, Path], Path]] = {name: partial(draw, name=name) for name in PLOTS}
