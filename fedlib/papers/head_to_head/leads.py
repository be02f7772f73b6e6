"""Leads over FedAvg, and which of them hold when many are compared at once, in sentences."""

from collections.abc import Sequence

import pandas as pd

from fedlib.analysis.decisions import cells_below
from fedlib.analysis.intervals import Interval, effect_words, mean_interval
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.claims import BASELINES, LEARNED
from fedlib.papers.head_to_head.quantities import (
    AHEAD,
    BEHIND,
    CELL,
    STANDINGS,
    cell_titles,
    levels_by_seed,
    per_run,
    standing_of,
)
from fedlib.papers.head_to_head.runs import CONTESTANTS
from fedlib.papers.head_to_head.tables import REFERENCE, differences, present
from fedlib.plotting.style import method_style
from fedlib.words import counted


def ahead_words(rows: pd.DataFrame) -> str:
    """Name who is ahead of FedAvg, largest first, and whose lead holds (Holm); then baselines behind it."""
    found = differences(rows).sort_values("mean", ascending=False)
    bounds = {
        line.contestant: Interval(line.mean, line.low, line.high, line.n) for line in found.itertuples()
    }
    sides: dict[str, list[str]] = {side: [] for side in STANDINGS}
    for name, one in bounds.items():
        sides[standing_of(one)].append(name)
    lost = per_run(rows).groupby("contestant").diverged.agg(["sum", "size"])
    told = {
        name: f"{label_of(name)} ({effect_words(one, 'points')}{_lost_words(*lost.loc[name])})"
        for name, one in bounds.items()
    }
    behind = ", ".join(told[name] for name in sides[BEHIND] if name in BASELINES)
    trail = f" Baselines behind FedAvg, uncorrected: {behind}." * bool(behind)
    if not (ahead := sides[AHEAD]):
        return f"Nobody is ahead of FedAvg.{trail}"
    learns = sum(CONTESTANTS[name].learns for name in ahead)
    return (
        f"Ahead of FedAvg: {', '.join(told[name] for name in ahead)}; {learns or 'none'} of them by "
        f"reinforcement learning. {at_once_words(rows)}{trail}"
    )


def _lost_words(diverged: int, runs: int) -> str:
    return f"; {diverged} of {runs} runs diverged and count as 0" * bool(diverged)


def label_of(name: str) -> str:
    """A contestant's name in sentences."""
    return LEARNED.get(name, method_style(name).label)


def at_once_words(rows: pd.DataFrame) -> str:
    """Say whose lead over FedAvg holds with Holm's correction for all contestants.

    Then who is added where fewer are counted: without twins and controls, and the baselines alone.
    """
    names = list(differences(rows).contestant)
    holding = holding_at_once(rows, names)
    told = listed([label_of(name) for name in names if name in holding])
    leads = f"the lead{'s' * (len(holding) > 1)} of {told} hold{'s' * (len(holding) < 2)}"
    more = []
    for words, fewer in families(names).items():
        added = [name for name in fewer if name in holding_at_once(rows, fewer) - holding]
        if added:
            those = f"{'those' if len(added) > 1 else 'that'} of {listed([label_of(n) for n in added])}"
            also = f"{'do' if len(added) > 1 else 'does'}{', too' * bool(holding)}"
            more.append(f"; of {len(fewer)}, {words}, {those} {also}")
            holding |= set(added)
    return (
        f"Corrected for {len(names)} comparisons with FedAvg (Holm), {leads if told else 'no lead holds'}"
        f"{''.join(more)}."
    )


def families(names: Sequence[str]) -> dict[str, list[str]]:
    """Smaller families of comparisons, by their words: without twins and controls, and baselines alone."""
    contestants = [name for name in names if not CONTESTANTS[name].twin_of]
    return {
        "without controls": contestants,
        "baselines alone": [name for name in contestants if name in BASELINES],
    }


def holding_at_once(rows: pd.DataFrame, names: list[str]) -> set[str]:
    """Contestants whose lead over FedAvg holds with Holm's correction, over the seeds that all have."""
    levels = levels_by_seed(per_run(rows))
    gaps = {name: (levels[name] - levels[REFERENCE]).dropna(axis=1, how="all").mean(axis=1) for name in names}
    found = pd.DataFrame(gaps).dropna()
    return set(found.columns[cells_below(-found.to_numpy(), 0.0)]) if len(found) > 1 else set()


def undiverged_words(rows: pd.DataFrame) -> str:
    """Say how far contestants with diverged runs are from FedAvg in the seeds without; empty if none."""
    runs = per_run(rows)
    names = [name for name in present(runs) if name in set(runs.contestant[runs.diverged])]
    levels, told = levels_by_seed(runs.assign(level=runs.level.mask(runs.diverged))), []
    for name in names:
        cells = cell_titles(runs[runs.contestant == name].drop_duplicates(CELL))
        gaps = (levels.get(name, pd.DataFrame()) - levels[REFERENCE]).reindex(columns=cells).dropna()
        if len(gaps) > 1:
            found = mean_interval(gaps.mean(axis=1).to_numpy())
            told.append(f"{method_style(name).label} {effect_words(found)} ({counted(found.n, 'seed')})")
    return (
        f"Less FedAvg in the seeds in which no run of theirs diverged, in points: {', '.join(told)}."
        * bool(told)
    )


def divergence_words(rows: pd.DataFrame) -> str:
    """`Diverged runs count as zero: 2 of 36 (FedNova 2).`; empty if none did."""
    runs = per_run(rows)
    counts = runs[runs.diverged].contestant.value_counts(sort=False)
    if counts.empty:
        return ""
    named = "; ".join(f"{method_style(name).label} {count}" for name, count in counts.items())
    return f"Diverged runs count as zero: {counts.sum()} of {len(runs)} ({named})."
