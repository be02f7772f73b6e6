"""The report's figures, from stored rows."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fedlib import plotting
from fedlib.analysis import tables
from fedlib.papers.frl import quantities as measure
from fedlib.papers.frl.runs import CASES, EMBEDDINGS
from fedlib.papers.frl.tables import evaluators, missing_seeds

SCHEDULER_ORDER = (
    "schedulerfl", "random", "learned_rate", "fastest", "keep_all", "schedulerfl_unit", "schedulerfl_draws",
)  # fmt: skip


AGENTS = (  # EvaluatorFL in all readings, without its control
    "evaluatorfl", "evaluatorfl_code", "evaluatorfl_old", "evaluatorfl_local", "evaluatorfl_initial",
)  # fmt: skip


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
    every = measure.named(rows)
    every = every[every["variant"].isin(AGENTS)]
    rows = every[every["seed"] == 0]
    variants = list(dict.fromkeys(rows["variant"]))
    fig, axes = plotting.subplots(
        len(variants), 1, figsize=(9.2, 3.0 * len(variants)), sharex=True, squeeze=False
    )
    for ax, variant in zip(axes[:, 0], variants, strict=True):
        own = rows[(rows["variant"] == variant) & (rows["round"] > 0)].sort_values("round")
        chosen = measure.selections(own)
        ax.imshow(chosen.T, aspect="auto", cmap="Blues", interpolation="nearest", origin="lower", vmax=1.3)
        length = int(own["episode_round"].max())
        for start in range(length, len(own), length):
            ax.axvline(start - 0.5, color="#888888", linewidth=0.4)
        label = plotting.method_style(variant).label
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(title=f"{label}: mean {own['selected'].mean():.1f} of {chosen.shape[1]}", ylabel="worker")
        ax.grid(visible=False)
    axes[-1, 0].set_xlabel("round (lines between episodes)")
    told = "; ".join(_held(every[every["variant"] == variant]) for variant in variants)
    return caption(
        fig, rows, f"Workers chosen alike in {measure.ALIKE:.0%} of the last {measure.LAST} rounds: {told}."
    )


def _held(rows: pd.DataFrame) -> str:
    """`as coded 13, 0, 0 with seeds 0, 1, 2`: workers that the agent always takes or always leaves, late."""
    counts = {seed: measure.held_fixed(own) for seed, own in rows.groupby("seed")}
    seeds, label = ", ".join(map(str, counts)), plotting.method_style(rows["variant"].iloc[0]).label
    return f"{label} {', '.join(map(str, counts.values()))} with seeds {seeds}"


def plot_rewards(rows: pd.DataFrame) -> Figure:
    """Figs. 16, 21: the reward R and the accuracy Rhat that it is made of, mean over seeds."""
    rows = measure.named(rows)
    rows = rows[rows["variant"].isin(AGENTS) & (rows["round"] > 0)]
    sizes = sorted(set(rows["num_clients"]))
    fig, axes = plotting.subplots(2, len(sizes), figsize=(9.2, 5.6), sharex=True, squeeze=False)
    for column, workers in enumerate(sizes):
        own = rows[rows["num_clients"] == workers]
        for ax, value in zip(axes[:, column], ("reward", "value"), strict=True):
            plotting.plot_curves(own, ax, y=value, by="variant")
            ax.set(title=f"{workers} workers", ylabel={"reward": "R", "value": "$\\hat R$"}[value], xlabel="")
        axes[1, column].set_xlabel("round")
    plotting.legend_beside_last([*axes[1], *axes[0]])
    return caption(fig, rows)


def plot_accuracies(rows: pd.DataFrame) -> Figure:
    """Figs. 17, 18, 22, 23: accuracy by episode and round, mean over seeds."""
    rows = measure.named(rows)
    rows = rows[(rows["variant"] == "evaluatorfl") & (rows["round"] > 0)]
    table = 100 * rows.pivot_table(index="episode_round", columns="episode", values="test_accuracy")
    fig, ax = plotting.subplots(figsize=(8, 4))
    image = ax.imshow(table, aspect="auto", origin="lower", vmin=0, vmax=100, interpolation="nearest")
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
        error = plotting.arms([row["minus_fedavg"]], [row["low"]], [row["high"]])
        ax.errorbar(row["minus_fedavg"], place, xerr=error, fmt=style.marker, color=style.colour, capsize=3)
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
    index = ", ".join(f"{value:.2f}" for value in own.sort_values("seed")["rand_index"])
    ax.set(title=f"{EMBEDDINGS[method][1]}: adjusted Rand index {index}", xlabel="first", ylabel="second")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return caption(fig, own)


def plot_scheduler_reward(rows: pd.DataFrame) -> Figure:
    """Fig. 26: reward per decision, mean over seeds, running mean of 19 (an experiment)."""
    fig, ax = plotting.subplots(figsize=(9, 4))
    for agent, own in rows.groupby("method", sort=False):
        style = plotting.method_style(str(agent))
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
    return caption(fig, rows)


def plot_probabilities(rows: pd.DataFrame) -> Figure:
    """Fig. 27: probabilities per decision, seed 0, workers from fast (bottom) to slow."""
    return _plot_map(rows, "probability", lambda own: np.array([json.loads(t) for t in own["chances"]]) / 100)


def plot_draws(rows: pd.DataFrame) -> Figure:
    """Fig. 28: who was drawn at each decision, seed 0, workers from fast (bottom) to slow."""
    return _plot_map(
        rows, "selected", lambda own: np.array([[one == "x" for one in text] for text in own["drawn"]], float)
    )


def _plot_map(rows: pd.DataFrame, label: str, values_of: Callable[[pd.DataFrame], np.ndarray]) -> Figure:
    rows = rows[rows["seed"] == 0]
    agents = list(dict.fromkeys(rows["method"]))
    fig, axes = plotting.subplots(
        len(agents), 1, figsize=(9.2, 2.7 * len(agents)), squeeze=False, sharex=True
    )
    for ax, agent in zip(axes[:, 0], agents, strict=True):
        own = rows[rows["method"] == agent].sort_values("round")
        image = ax.imshow(
            values_of(own).T,
            aspect="auto",
            origin="lower",
            cmap="coolwarm",
            vmin=0,
            vmax=1,
            interpolation="nearest",
        )  # fmt: skip
        after = own["before_stop"].astype(bool).sum()
        if after < len(own):
            ax.axvline(after, color="black", linewidth=1, linestyle="--")
        ax.set(ylabel="worker, fast to slow", title=plotting.method_style(agent).label)
        ax.grid(visible=False)
    axes[-1, 0].set_xlabel("decision (dashed: fewer than ten selected, training would stop)")
    fig.colorbar(image, ax=axes[:, 0], label=label)
    return caption(fig, rows)


def plot_maximum_time(rows: pd.DataFrame) -> Figure:
    """Fig. 29: maximum time per experiment (mean over its rounds), mean over seeds with its interval."""
    means = rows.groupby(["method", "seed", "experiment"], as_index=False, sort=False)["max_seconds"].mean()
    fig, axes = plotting.subplots(1, 2, figsize=(9.2, 3.8))
    for ax, scale in zip(axes, ("log", "linear"), strict=True):
        plotting.plot_curves(means, ax, x="experiment", y="max_seconds", y_label="maximum time (s)")
        ax.set(yscale=scale, title=scale)
    axes[0].set_ylim(bottom=10)
    axes[1].set_ylim(bottom=0)  # intervals over three seeds reach below
    plotting.legend_beside_last(axes)
    return caption(fig, rows, _who_selects(means))


def _who_selects(means: pd.DataFrame) -> str:
    """Number of seeds in the first and last experiment, of agents that select nobody in some of them."""
    counts = means.dropna().groupby(["method", "experiment"], sort=False).seed.nunique()
    told = [
        f"{plotting.method_style(str(agent)).label} from {own.iloc[0]} to {own.iloc[-1]}"
        for agent, own in counts.groupby(level="method", sort=False)
        if own.nunique() > 1
    ]
    return f"Seeds that select anybody, first to last experiment: {'; '.join(told)}." if told else ""


def plot_static(rows: pd.DataFrame) -> Figure:
    """Static times: mean probability of the fast and the largest one of the slow, a dot per run."""
    sizes, agents = sorted(set(rows["workers"])), list(dict.fromkeys(rows["method"]))
    fig, axes = plotting.subplots(1, len(sizes), figsize=(9.2, 3.6), sharey=True, squeeze=False)
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
    axes[0, 0].set_yticks(range(len(agents)), [plotting.method_style(agent).label for agent in agents])
    axes[0, 0].invert_yaxis()
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return caption(fig, rows)


def plot_one_sign(rows: pd.DataFrame) -> Figure:
    """Sec. V: mean probability at the end of training under rewards of one sign, one dot per seed."""
    fig, ax = plotting.subplots(figsize=(6.4, 3.4))
    kinds = list(dict.fromkeys(rows["reward"]))
    for place, kind in enumerate(kinds):
        own = rows[rows["reward"] == kind]
        ax.plot(own["last_chance"], np.full(len(own), place), "d", color="#999933", alpha=0.7)
    shares = [100 * rows.loc[rows["reward"] == kind, "rewards_above_0"].mean() for kind in kinds]
    ax.set_yticks(range(len(kinds)), [f"{k} ({s:.0f} % above 0)" for k, s in zip(kinds, shares, strict=True)])
    ax.set(xlim=(-0.03, 1.03), xlabel="mean selection probability at the end", title="Rewards of one sign")
    return caption(fig, rows)


def plot_schedulers(rows: pd.DataFrame) -> Figure:
    """Fig. 30: accuracy per round from the second on, IID and non-IID, mean over seeds."""
    rows = measure.named(rows)
    percent = rows.assign(test_accuracy=100 * rows["test_accuracy"])
    fig, axes = plotting.subplots(1, 2, figsize=(9.2, 4.2))
    for ax, case in zip(axes, ("IID", "non-IID"), strict=True):
        own = percent[percent["case"] == case]
        steady = own.loc[own["round"] > 1].groupby(["variant", "round"])["test_accuracy"].mean()
        own = own.assign(rank=own["variant"].map(SCHEDULER_ORDER.index)).sort_values(["rank", "round"])
        plotting.plot_curves(own, ax, by="variant", y_label="test accuracy (%)")
        ax.set(title=f"{case}, {rows['num_clients'].iloc[0]} workers", ylabel="test accuracy (%)")
        if len(steady):
            ax.set_ylim(0.95 * steady.min(), 1.02 * steady.max())  # from round 2 on
    plotting.legend_beside_last(axes)
    return caption(fig, rows, missing_seeds(rows))


def plot_times(rows: pd.DataFrame) -> Figure:
    """Tables 2, 3: the maximum time of each round of every policy, all seeds, and their means."""
    rows = measure.named(rows)
    own = rows[rows["round"] > 0]
    fig, ax = plotting.subplots(figsize=(8, 4))
    shown = [variant for variant in SCHEDULER_ORDER if (own["variant"] == variant).any()]
    for place, variant in enumerate(shown):
        values = own.loc[own["variant"] == variant, "max_seconds"].to_numpy()
        style = plotting.method_style(variant)
        spread = np.random.default_rng(0).uniform(-0.25, 0.25, len(values))
        ax.plot(place + spread, values, ".", color=style.colour, alpha=0.4)
        ax.plot([place - 0.35, place + 0.35], [values.mean()] * 2, color="black", linewidth=1.5)
    labels = [plotting.method_style(v).label for v in shown]
    ax.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
    case = rows["case"].iloc[0]
    ax.set(yscale="log", ylabel="maximum time of a round (s)", title=f"{case} (bars: means)")
    return caption(fig, rows)


def plot_fairness(rows: pd.DataFrame) -> Figure:
    """Variance of participation per round (the report's table 1), mean over seeds with its interval."""
    rows = measure.named(rows)
    fig, axes = plotting.subplots(1, 2, figsize=(9.2, 4.0), sharey=True)
    for ax, case in zip(axes, ("IID", "non-IID"), strict=True):
        own = rows[(rows["case"] == case) & (rows["round"] > 0)]
        own = own.assign(rank=own["variant"].map(SCHEDULER_ORDER.index)).sort_values(["rank", "round"])
        plotting.plot_curves(
            own, ax, y="participation_variance", by="variant", y_label="participation variance"
        )
        ax.set_title(case)
    plotting.legend_beside_last(axes)
    return caption(fig, rows, missing_seeds(rows))
