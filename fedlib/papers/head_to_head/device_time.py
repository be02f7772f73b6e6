"""Methods that choose by time, on the same simulated devices: accuracy against simulated time.

All see FedDdrl's devices (`fedlib.methods.fedddrl.devices`): a client's seconds per sample and per upload
follow from (seed, client), a round lasts as long as the slowest of those that it waits for. N = 20 clients
and five local epochs for everybody; who trains, stops early or is averaged is the method's choice.
EvaluatorFL lets all clients train, so its rounds last as long as FedAvg's. FedDdrl and FedMarl are trained
before round 1, SchedulerFL on times alone; that costs no simulated time here.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.papers.head_to_head.device_runs import CONTESTANTS, runs
from fedlib.papers.head_to_head.quantities import last_rounds

SHARE = 0.95  # of FedAvg's level, the target
COLOURS = dict(zip(("fedavg", "drop", "fedddrl", "fedmarl", "schedulerfl", "evaluatorfl"), (
    "#000000", "#999999", "#332288", "#44AA99", "#999933", "#AA4499"), strict=True))  # fmt: skip


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of rounds 1 to T with columns `contestant` and `hours`, simulated time so far."""
    profile = str(rows.profile.iloc[0])
    names = {run.group_key: name for name, run in zip(CONTESTANTS, runs(profile), strict=True)}
    own = rows[rows["round"] > 0].sort_values(["run", "round"], kind="stable")
    seconds = own.latency_seconds.fillna(0.0)  # of a round that failed before it began
    return own.assign(contestant=own.group.map(names), hours=seconds.groupby(own.run).cumsum() / 3600)


def time_to_target(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of contestants: level (%), simulated time and uploads, time to 95 % of FedAvg's level.

    level: mean accuracy of the last tenth of the rounds, diverged runs as 0. hours: median over the runs
    that reach the target of the same seed, `reached` of them.
    """
    own = named(rows)
    levels = {run: _level(part) for run, part in own.groupby("run")}
    reference = own[own.contestant == "fedavg"].groupby("seed").run.first().map(levels)
    lines = []
    for name in CONTESTANTS:
        mine = own[own.contestant == name]
        parts = [part for _, part in mine.groupby("run")]
        if not parts:
            continue
        hours = [_first(part, SHARE * reference.get(part.seed.iloc[0], np.nan)) for part in parts]
        found = [value for value in hours if value is not None]
        lines.append(
            {
                "contestant": name, "level (%)": float(np.mean([levels[part.run.iloc[0]] for part in parts])),
                "minutes a round": mine.latency_seconds.mean() / 60, "uploads a round": mine.uploads.mean(),
                "hours to target": float(np.median(found)) if found else np.nan, "reached": len(found),
                "runs": len(parts), "diverged": sum(part.status.iloc[-1] != "ok" for part in parts),
            }
        )  # fmt: skip
    return pd.DataFrame(lines).round(2)


def _level(part: pd.DataFrame) -> float:
    """Level (%) of one run."""
    return 100 * last_rounds(part).test_accuracy.mean() if part.status.iloc[-1] == "ok" else 0.0


def _first(part: pd.DataFrame, level: float) -> float | None:
    """Simulated hours until one run first has this accuracy (%); None if it never has."""
    reached = part[100 * part.test_accuracy >= level] if level > 0 else part[:0]
    return float(reached.hours.iloc[0]) if len(reached) else None


def plot_accuracy_in_time(rows: pd.DataFrame) -> Figure:
    """Test accuracy against simulated hours, both as means over the seeds of each round."""
    own = named(rows)
    fig, ax = plotting.subplots(figsize=(7.2, 4.4))
    for name in CONTESTANTS:
        curve = own[own.contestant == name].groupby("round")[["hours", "test_accuracy"]].mean()
        control, colour = "," in name, COLOURS[name.replace(",", " ").split()[0]]
        ax.plot(
            curve.hours, 100 * curve.test_accuracy, label=name, color=colour,
            linestyle=":" if control else "-", linewidth=1.0 if control else 1.8,
        )  # fmt: skip
    ax.set_xlabel("simulated time (hours)")
    ax.set_ylabel("test accuracy (%)")
    ax.legend(ncols=2)
    ax.set_title("Accuracy in simulated time; dotted: as many clients at random")
    lost, count = int((own.groupby("run").status.last() != "ok").sum()), own.seed.nunique()
    told = f"; diverged runs end where they failed: {lost} of {own.run.nunique()}" if lost else ""
    return plotting.caption(fig, rows, f"Means over {count} seeds{told}.")
