"""EvaluatorFL, approach 2: the report's reading of its reward, and the released code's (FRL-A8, F1)."""

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.papers.frl import quantities
from fedlib.papers.frl.figures import caption

_CODE_COLOURS = {  # readings of approach 2, which lie too close for line and marker alone
    "evaluatorfl": "#AA4499", "evaluatorfl_initial": "#E69F00", "evaluatorfl_local": "#0072B2",
    "evaluatorfl_code": "#009E73",
}  # fmt: skip


def plot_code_readings(rows: pd.DataFrame) -> Figure:
    """R and Rhat over the rounds of an episode, mean of the 20 episodes, by reading of approach 2 (F1)."""
    rows = quantities.named(rows)
    rows = rows[rows["variant"].isin(_CODE_COLOURS) & (rows["round"] > 0)]
    keys = ["num_clients", "variant", "seed", "episode_round"]
    means = rows.groupby(keys, as_index=False)[["reward", "value"]].mean()
    styles = {name: replace(plotting.method_style(name), colour=c) for name, c in _CODE_COLOURS.items()}
    sizes = sorted(set(means["num_clients"]))
    fig, axes = plotting.subplots(2, len(sizes), figsize=(9.2, 5.6), sharex=True, sharey="row", squeeze=False)
    for column, workers in enumerate(sizes):
        own = means[means["num_clients"] == workers]
        for ax, value in zip(axes[:, column], ("reward", "value"), strict=True):
            plotting.plot_curves(own, ax, x="episode_round", y=value, by="variant", styles=styles)
            ax.set(title=f"{workers} workers", ylabel={"reward": "R", "value": "$\\hat R$"}[value], xlabel="")
            ax.get_legend().remove()
        axes[1, column].set_xlabel("round of the episode")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2)
    return caption(fig, rows)
