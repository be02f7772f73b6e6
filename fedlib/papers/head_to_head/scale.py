"""Scale of the comparison in sentences: images, curves that still rise, machines."""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fedlib.analysis.decisions import cells_below
from fedlib.analysis.gates import TOLERANCE, last_quarter_rise
from fedlib.analysis.intervals import effect_words, mean_interval
from fedlib.analysis.tables import dataset_titles, listed, machine_words, span_words
from fedlib.experiments.results import finished_rows
from fedlib.papers.head_to_head.clients import CLASSES, Sizes, client_sizes
from fedlib.papers.head_to_head.quantities import (
    AHEAD,
    BEHIND,
    CELL,
    labelled,
    per_run,
    standing_of,
)
from fedlib.papers.head_to_head.runs import CELL_WORDS, CONTESTANTS, SCALES
from fedlib.plotting.style import method_style
from fedlib.words import counted


def images_words(rows: pd.DataFrame) -> str:
    """Say on how many images the comparison trains and tests, and how many a client has."""
    given, titles = json.loads(rows.dataset_options.iloc[0]), listed(dataset_titles(rows))
    head = f"All images of {titles} are trained and tested on, but for those of the server."
    if "train_per_class" in given:
        train, test = (CLASSES * given[f"{part}_per_class"] for part in ("train", "test"))
        server = round(given["server_share"] * test)
        head = (
            f"The comparison has {train:,} training images of {titles}, {test - server:,} test images and "
            f"{server:,} for the server."
        )
    parts = [_client_words(one, cells) for one, cells in _alike(client_sizes(rows))]
    return " ".join([head, *parts])


def images_in_brief(rows: pd.DataFrame) -> str:
    """Say on how many images the comparison trains, and for how many local steps a round."""
    given = json.loads(rows.dataset_options.iloc[0])
    images = f"{CLASSES * given['train_per_class']:,}" if "train_per_class" in given else "all"
    steps = steps_words(rows)
    titles = listed(dataset_titles(rows))
    return f"The comparison has {images} training images of {titles}{steps and f' and {steps}'}."


def steps_words(rows: pd.DataFrame) -> str:
    """`3 to 13 local steps a round`; empty where the clients' numbers of images do not follow."""
    counts = [count for one in client_sizes(rows).values() for count in one.steps]
    return f"{span_words(counts)} local steps a round" if counts else ""


def total_words(rows: pd.DataFrame) -> str:
    """`, of which clients hold 20,000 images`; empty where that does not follow."""
    totals = [one.total for one in client_sizes(rows).values()]
    return f", of which clients hold {span_words(totals)} images" * bool(totals)


def _client_words(one: Sizes, cells: Sequence[str]) -> str:
    where = listed([CELL_WORDS.get(cell, cell) for cell in cells])
    steps = f"{span_words(one.steps)} local step{'s' * (max(one.steps) > 1)}"
    return (
        f"In {where} a client trains on {span_words(one.trained)} images in {steps} a round and holds "
        f"{span_words(one.held)} back. All clients together have {one.total:,}."
    )


def worst_tenth_words(rows: pd.DataFrame) -> str:
    """Say on how few images the worst tenth of the clients rests."""
    held: dict[str, list[str]] = {}
    for cell, one in client_sizes(rows).items():
        held.setdefault(span_words(one.held), []).append(cell)
    counts = listed([f"{count} ({', '.join(cells)})" for count, cells in held.items()])
    return f"The worst tenth rests on {counts} held-back images a client, after the last round only." * bool(
        held
    )


def worst_tenth_leads(rows: pd.DataFrame) -> str:
    """Say whose worst tenth is ahead of FedAvg's or behind, mean over the cells; empty without FedAvg."""
    return _apart_words(per_run(rows), "worst_tenth", "The worst tenth less FedAvg's")


def _apart_words(runs: pd.DataFrame, value: str, words: str) -> str:
    """Whose value differs from FedAvg's in the mean over the cells, the largest difference first."""
    levels = runs.pivot_table(index=["seed", *CELL], columns="contestant", values=value)
    if "fedavg" not in levels:
        return ""
    gaps = levels.sub(levels.fedavg, axis=0).drop(columns="fedavg").groupby("seed").mean()
    found = {name: mean_interval(gap.dropna().to_numpy()) for name, gap in gaps.items() if gap.notna().any()}
    apart = sorted(
        ((one.mean, str(name), one) for name, one in found.items() if standing_of(one) in (AHEAD, BEHIND)),
        reverse=True,
    )
    told = [f"{method_style(name).label} {effect_words(one)}" for _, name, one in apart]
    return (
        f"{words} over the cells, in points, where the interval leaves out 0: "
        f"{', '.join(told) or 'none'}. {_at_once(gaps, [name for _, name, _ in apart])}"
    )


def _at_once(gaps: pd.DataFrame, apart: Sequence[str]) -> str:
    """Say which of these differences hold with Holm's correction, over the seeds that all have."""
    found = gaps.dropna()
    if len(found) < 2:
        return ""
    values = found.to_numpy()
    held = set(found.columns[cells_below(values, 0.0) | cells_below(-values, 0.0)])
    names = [method_style(name).label for name in apart if name in held]
    hold = f"{listed(names)} hold{'s' * (len(names) < 2)}" if names else "none holds"
    return f"Corrected for {counted(values.shape[1], 'comparison')} (Holm), {hold}."


def rising_curves(rows: pd.DataFrame) -> pd.Series:
    """Rise (points) over the last quarter of each cell's and contestant's curve, without diverged runs.

    No line for a curve with fewer than three evaluated rounds there.
    """
    rise = last_quarter_rise(finished_rows(labelled(rows)), [*CELL, "contestant"], "test_accuracy")
    return rise[np.isfinite(rise)]


def curves_in_brief(rows: pd.DataFrame) -> str:
    """Say how many curves still rise."""
    rise = rising_curves(rows)
    if rise.empty:
        return "The curves are too short for a slope."
    still = int((rise > TOLERANCE).sum())
    what = f"{still} of {len(rise)} curves still rise by more than {TOLERANCE:g} point over the last quarter"
    return f"{what}{': standings are of this length, not of trained-out models' * (2 * still >= len(rise))}."


def curves_words(rows: pd.DataFrame) -> str:
    """`curves_in_brief`; then FedAvg's steepest curve, and what the claims' gate asks instead."""
    rise, length = rising_curves(rows), SCALES["extended"].rounds
    told = ["A curve is the mean of a method in a cell, without diverged runs.", curves_in_brief(rows)]
    if "fedavg" in rise.index.get_level_values("contestant"):
        own = rise.xs("fedavg", level="contestant")
        told.append(f"FedAvg's rises most in {own.idxmax()[-1]}, by {own.max():.1f} points.")
    if rows["round"].max() >= length:
        told.append(f"Claims are decided after {length} rounds even where curves rise, as registered.")
    return " ".join(told)


def machines_words(rows: pd.DataFrame) -> str:
    """Name the cells in which contestants ran on different devices, and who ran where; empty if none."""
    found: dict[str, list[str]] = {}
    for cell, part in labelled(rows.drop_duplicates("run")).groupby("cell", sort=False):
        groups = sorted((own for _, own in part.groupby(["device_name", "torch"])), key=len)
        if len(groups) > 1:
            *few, most = groups
            told = [_ran(own) for own in few]
            told.append(f"the other {most.contestant.nunique()} on {_machine(most)}")
            found.setdefault("; ".join(told), []).append(str(cell))
    words = [f"In {listed(cells)} {told}." for told, cells in found.items()]
    if words:
        words.append(
            "Pairs across devices differ in the last digits of float32 too, which training amplifies."
        )
    return " ".join(words)


def absent_words(rows: pd.DataFrame) -> str:
    """Name the contestants without rows in the comparison; empty if all have some."""
    names = set(labelled(rows.drop_duplicates("run")).contestant)
    absent = [method_style(name).label for name in CONTESTANTS if name not in names]
    return f"No rows at this length: {'; '.join(absent)}." * bool(absent)


def _machine(rows: pd.DataFrame) -> str:
    return f"{machine_words(rows)} (torch {', '.join(sorted(set(rows.torch)))})"


def _ran(rows: pd.DataFrame) -> str:
    names = set(rows.contestant)
    labels = [f"*{method_style(name).label}*" for name in CONTESTANTS if name in names]
    return f"{listed(labels)} ran on {_machine(rows)}"


def _alike(sizes: dict[str, Sizes]) -> list[tuple[Sizes, list[str]]]:
    """Each distinct size with the cells that have it."""
    found: dict[Sizes, list[str]] = {}
    for cell, one in sizes.items():
        found.setdefault(one, []).append(cell)
    return list(found.items())
