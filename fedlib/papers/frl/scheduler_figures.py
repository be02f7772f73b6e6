"""Figures of the report's scheduler: its training, the times of its rounds, and whom it selects."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fedlib import plotting
from fedlib.papers.frl import quantities
from fedlib.papers.frl.estimands import of_agent
from fedlib.papers.frl.figures import caption
from fedlib.papers.frl.tables import missing_seeds

SIGNS = {  # display names of the rewards of `plot_one_sign`
    "printed": "as printed", "positive": "its negative", "minus_10": "shifted by −10",
    "plus_10": "shifted by +10",
}  # fmt: skip
SELECTED = "selected"
EXPECTED = "expected"  # of as many workers at random, exactly
_EXPECTED_STYLE = {EXPECTED: plotting.MethodStyle("#6699CC", "x", "as many at random, expected", ":")}
SCHEDULER_ORDER = (
    "schedulerfl", "random", "learned_rate", "fastest", "keep_all", "schedulerfl_unit", "schedulerfl_draws",
    "schedulerfl_literal",
)  # fmt: skip


def plot_scheduler_reward(rows: pd.DataFrame) -> Figure:
    """Fig. 26: mean |R| of an experiment, mean over seeds; on the right the agent up to its stop (C10)."""
    return _plot_experiments(rows.assign(size=rows["reward"].abs()), "size", "mean |R| (no unit)", "C10")


def plot_probabilities(rows: pd.DataFrame) -> Figure:
    """Fig. 27: probabilities per decision, seed 0, workers from fast (bottom) to slow."""
    return _plot_map(rows, "probability", lambda own: np.array([json.loads(t) for t in own["chances"]]) / 100)


def plot_draws(rows: pd.DataFrame) -> Figure:
    """Fig. 28: who was drawn at each decision, seed 0, workers from fast (bottom) to slow."""
    return _plot_map(
        rows, SELECTED, lambda own: np.array([[one == "x" for one in text] for text in own["drawn"]], float),
        colours="Blues",
    )  # fmt: skip


def _plot_map(
    rows: pd.DataFrame, label: str, values_of: Callable[[pd.DataFrame], np.ndarray], colours: str = "coolwarm"
) -> Figure:
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
            cmap=colours,
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
    if label == SELECTED:  # yes or no: two colours of the map
        looks = {SELECTED: image.cmap(1.0), "not selected": image.cmap(0.0)}
        patches = [Patch(color=colour, label=words) for words, colour in looks.items()]
        fig.legend(handles=patches, loc="outside right upper")
    else:
        fig.colorbar(image, ax=axes[:, 0], label=label)
    return caption(fig, rows)


def plot_maximum_time(rows: pd.DataFrame) -> Figure:
    """Fig. 29: mean maximum time of an experiment's rounds, mean over seeds; on the right up to the stop.

    There beside the time expected of as many workers at random (C12).
    """
    return _plot_experiments(rows, "max_seconds", "maximum time (s)", "C12", "same_number_seconds")


def _plot_experiments(
    rows: pd.DataFrame, column: str, label: str, claim: str, control: str | None = None
) -> Figure:
    """Means of a column by experiment with 95 % intervals over seeds; left of every agent and decision.

    On the right the report's agent up to its stop, as far as half of the seeds train, beside the column
    `control` of the same rounds.
    """
    means = _by_experiment(rows, column)
    own = of_agent(rows, before_stop=True)
    beside = _by_experiment(own, column)
    if control:
        same = own.assign(method=EXPECTED, **{column: own[control]})
        beside = pd.concat([beside, _by_experiment(same, column)])
    seeds = beside.groupby("experiment").seed.transform("nunique")
    beside = beside[seeds >= own.seed.nunique() / 2]
    fig, axes = plotting.subplots(1, 2, figsize=(9.2, 3.8), sharey=True)
    titles = ("all decisions", f"up to the stop ({claim})")
    for ax, shown, title in zip(axes, (means, beside), titles, strict=True):
        plotting.plot_curves(shown, ax, x="experiment", y=column, y_label=label, styles=_EXPECTED_STYLE)
        ax.set(title=title)
    axes[0].set_ylim(bottom=0)  # intervals over three seeds reach below
    axes[1].set_ylabel("")
    plotting.one_legend(fig, axes)
    notes = (_seed_counts(means, "that select anybody"), _seed_counts(beside, "up to the stop"))
    return caption(fig, rows, " ".join(notes).strip())


def _by_experiment(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean of a column over the rounds of an experiment, by method and seed."""
    return rows.groupby(["method", "seed", "experiment"], as_index=False, sort=False)[column].mean()


def _seed_counts(means: pd.DataFrame, which: str) -> str:
    """Number of seeds in the first and last experiment shown, of agents whose number changes."""
    counts = means.dropna().groupby(["method", "experiment"], sort=False).seed.nunique()
    told = [
        f"{plotting.method_style(str(agent)).label} from {own.iloc[0]} to {own.iloc[-1]}"
        for agent, own in counts.groupby(level="method", sort=False)
        if agent != EXPECTED and own.nunique() > 1
    ]
    return f"Seeds {which}, first to last experiment: {'; '.join(told)}." if told else ""


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
    note = (
        "A run has a mark of each kind; each seed was run with the even and with the odd workers slow. "
        "Found: slow below 0.1 and fast above."
    )
    return caption(fig, rows, note)


def plot_one_sign(rows: pd.DataFrame) -> Figure:
    """Sec. V: mean probability at the end of training under rewards of one sign, one dot per seed."""
    fig, ax = plotting.subplots(figsize=(6.4, 3.4))
    kinds = list(dict.fromkeys(rows["reward"]))
    for place, kind in enumerate(kinds):
        own = rows[rows["reward"] == kind]
        ax.plot(own["last_chance"], np.full(len(own), place), "d", color="#999933", alpha=0.7)
    shares = [100 * rows.loc[rows["reward"] == kind, "rewards_above_0"].mean() for kind in kinds]
    names = [f"{SIGNS.get(k, k)} ({s:.0f} % above 0)" for k, s in zip(kinds, shares, strict=True)]
    ax.set_yticks(range(len(kinds)), names)
    ax.set(xlim=(-0.03, 1.03), xlabel="mean selection probability at the end", title="Rewards of one sign")
    return caption(fig, rows)


def plot_schedulers(rows: pd.DataFrame) -> Figure:
    """Fig. 30: accuracy per round from the second on, IID and non-IID, mean over seeds."""
    rows = quantities.named(rows)
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
    rows = quantities.named(rows)
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
    ax.set(yscale="log", ylabel="maximum time of a round (s)", title=f"{case}, all rounds (bars: means)")
    return caption(fig, rows, "The clock charges five times the images that are trained on (A16).")


def plot_fairness(rows: pd.DataFrame) -> Figure:
    """Variance of participation per round (the report's table 1), mean over seeds with its interval."""
    rows = quantities.named(rows)
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
