"""An episode of FedDdrl on the simulated clock: its decisions and their plot."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fedlib import plotting
from fedlib.errors import check
from fedlib.papers.fedddrl import quantities, runs

KEPT, DROPPED, PROBE, UPLOAD = "#0072B2", "#D55E00", "#BBBBBB", "#E69F00"
EPOCH_COLOURS = ("#9ECAE1", "#4292C6", "#084594")  # of the fewest, middle and most epochs


def one_episode(rows: pd.DataFrame, which: int = 0) -> tuple[pd.DataFrame, str]:
    """FedDdrl's decisions in the first evaluation episode of one seed, on CIFAR-10 if it was run."""
    table = quantities.decisions(quantities.evaluations(rows)[lambda t: t.variant == "fedddrl"])
    roles = set(table.role)
    check(bool(roles), "no evaluation episode of FedDdrl in these rows")
    role = "CIFAR-10" if "CIFAR-10" in roles else sorted(roles)[-1]
    own = table[table.role == role]
    seeds = sorted(own.seed.unique())
    seed = seeds[which % len(seeds)]
    own = own[own.seed == seed]
    return own[own.episode == own.episode.min()], f"{role}, seed {seed}, first evaluation episode"


def rows_of(rows: pd.DataFrame, episode: pd.DataFrame) -> pd.DataFrame:
    """The rows of the episode's data set and seed, for its caption."""
    found = quantities.evaluations(rows)
    return found[(found.role == episode.role.iloc[0]) & (found.seed == episode.seed.iloc[0])]


def plot_timeline(episode: pd.DataFrame, ax: Axes) -> Axes:
    """Bars of one episode's clients on the simulated clock, one line per slot of the cohort.

    episode: `decisions` of one episode. Grey is the probing epoch, blue the further ones (darker:
    more in total), orange the upload, a cross a dropped client. A round ends with its last upload
    and waits for no dropped client.
    """
    starts = episode.groupby("t").latency_seconds.first().cumsum().shift(fill_value=0.0)
    begin = episode.t.map(starts).to_numpy()
    probe = episode.probing_seconds.to_numpy()
    rest = np.where(episode.kept, episode.epochs - 1, 0) * probe
    colours = [epoch_colour(epochs) for epochs in episode.epochs]
    upload = np.where(episode.kept, episode.upload_seconds, 0.0)
    probe = np.where(episode.kept, probe, np.minimum(probe, episode.latency_seconds))  # nobody waits (A2)
    bars = {"height": 0.7, "linewidth": 0}
    ax.barh(episode.slot, probe, left=begin, color=PROBE, **bars)
    ax.barh(episode.slot, rest, left=begin + probe, color=colours, **bars)
    ax.barh(episode.slot, upload, left=begin + probe + rest, color=UPLOAD, **bars)
    dropped = ~episode.kept.to_numpy()
    ax.plot((begin + probe)[dropped], episode.slot[dropped], "x", color=DROPPED, ms=4)
    for t, start in starts.items():
        ax.axvline(start, color="#444444", linewidth=0.6)
        ax.text(start, -0.9, f" {t}", fontsize=7, va="bottom")
    ax.set(xlabel="simulated time (s)", ylabel="slot of the cohort", ylim=(episode.slot.max() + 0.6, -1.6))
    ax.set_yticks(range(episode.slot.max() + 1))
    marks = [("s", PROBE, "probing epoch")]
    marks += [
        ("s", epoch_colour(e), f"{e} epochs in total") for e in sorted(episode[episode.kept].epochs.unique())
    ]
    marks += [("s", UPLOAD, "upload"), ("x", DROPPED, "dropped")]
    ax.legend(handles=handles_of(marks), loc="upper left", bbox_to_anchor=(1.01, 1))
    return ax


def plot_accuracy_over_time(rows: pd.DataFrame, ax: Axes) -> Axes:
    """Accuracy against simulated time of FedDdrl's episode, and of FedAvg's first one if it is in `rows`."""
    own, _ = one_episode(rows)
    role, seed = own.role.iloc[0], own.seed.iloc[0]
    found = quantities.evaluations(rows)
    for variant in ("fedddrl", "fedavg_mixup"):
        part = found[(found.variant == variant) & (found.role == role) & (found.seed == seed)]
        if len(part):
            part = part[part.episode == part.episode.min()].sort_values("t")
            style = plotting.method_style(runs.SETTINGS[variant].method)
            label = f"{style.label}{'+' * variant.endswith('mixup')}: {part.uploads.sum():.0f} uploads"
            ax.plot(part.latency_seconds.cumsum(), 100 * part.test_accuracy, color=style.colour,
                    marker=style.marker, label=label)  # fmt: skip
    ax.set_ylabel("test accuracy (%)")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    return ax


def epoch_colour(epochs: int) -> str:
    """Darker for more epochs."""
    return EPOCH_COLOURS[min(max((int(epochs) - 2) // 2, 0), 2)]


def beside_each_other(part: pd.DataFrame) -> np.ndarray:
    """Rounds, clients of one round a little apart, since many have the same latency."""
    return part.t.to_numpy() + 0.06 * (part.slot.to_numpy() - 4.5)


def handles_of(marks: list[tuple[str, str, str]]) -> list[Line2D]:
    """Legend entries of (marker, colour, text)."""
    return [Line2D([], [], marker=m, color=c, linestyle="", label=text) for m, c, text in marks]
