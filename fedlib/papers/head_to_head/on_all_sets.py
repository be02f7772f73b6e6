"""Sentences and a table on all data sets at once, for the first screen of notebook 05."""

from collections.abc import Collection, Mapping

import pandas as pd

from fedlib.analysis.intervals import effect_words
from fedlib.analysis.numbers import Number, RowsOf
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.claims import LEARNED, best_baseline
from fedlib.papers.head_to_head.leads import label_of
from fedlib.papers.head_to_head.numbers import LESS, LESS_ELSEWHERE, ROWS, STRONG_LESS, THIRD
from fedlib.papers.head_to_head.other_sets import repeat_words, sides_by_cell, single_cell_leads
from fedlib.papers.head_to_head.quantities import AHEAD, BEHIND, per_run, set_titles
from fedlib.papers.head_to_head.standings import BEST, standing_against
from fedlib.plotting.style import method_style
from fedlib.words import counted

ALL = {ROWS: LESS, **LESS_ELSEWHERE}  # artifact -> learned method -> its numbers, by the rival's words
RIVALS = "FedAvg", "its untrained policy", BEST


def stand_words(rows_of: RowsOf) -> str:
    """Say whether a learned method is ahead of FedAvg, of its untrained policy, of the best baseline."""
    runs = _runs(rows_of)
    if ROWS not in runs:
        return "No rows of the comparison are stored."
    where = listed([f"{counted(own.cell.nunique(), 'cell')} of {set_titles(own)}" for own in runs.values()])
    names = [title for name, title in LEARNED.items() if name in set(runs[ROWS].contestant)]
    number = f"{counted(len(names), 'learned method')}, {listed(names)},"
    best: dict[str, list[str]] = {}
    for own in runs.values():
        best.setdefault(method_style(best_baseline(own)).label, []).append(set_titles(own))
    chosen = ", ".join(f"{name} on {listed(titles)}" for name, titles in best.items())
    return (
        f"Of {number} {listed([_against(rival, runs, rows_of) for rival in RIVALS])}, uncorrected. Each set "
        f"counts by its own mean: {where}. By held-back images the best baseline is {chosen}."
    )


def _against(rival: str, runs: Mapping[str, pd.DataFrame], rows_of: RowsOf) -> str:
    """`none is ahead of FedAvg`, `all are behind the best baseline`, or who is ahead on which data set."""
    found = {
        (artifact, name): standing_against(numbers[rival], rows_of)[0]
        for artifact, own in runs.items()
        for name, numbers in ALL[artifact].items()
        if name in set(own.contestant)
    }
    if set(found.values()) == {BEHIND}:
        return f"all are behind {rival}"
    ahead = [
        f"{LEARNED[name]} on {set_titles(runs[artifact])}"
        for (artifact, name), standing in found.items() if standing == AHEAD
    ]  # fmt: skip
    if not ahead:
        return f"none is ahead of {rival}"
    return f"{listed(ahead)} {'are' if len(ahead) > 1 else 'is'} ahead of {rival}"


def cells_words(rows_of: RowsOf) -> str:
    """Leads over FedAvg in single cells, and whether the one that was asked repeats."""
    found = [(artifact, rows) for artifact in ALL if not (rows := rows_of(artifact)).empty]
    told = [_count_words([side for _, rows in found for side in sides_by_cell(rows)])]
    for artifact, rows in found:
        told += [*single_cell_leads(rows, controls=False), repeat_words(rows) * (artifact == THIRD)]
    return " ".join(filter(None, told))


def _count_words(sides: Collection[str]) -> str:
    """`Of 44 contrasts with FedAvg in single cells 1 lies above 0 and 16 below, uncorrected.`"""
    above, below = (sum(side == one for side in sides) for one in ("above", "below"))
    return (
        f"Of {counted(len(sides), 'contrast')} with FedAvg in single cells {above or 'none'} "
        f"{'lies' if above < 2 else 'lie'} above 0 and {below or 'none'} below, uncorrected."
    ) * bool(sides)


def less_fedavg(rows_of: RowsOf) -> pd.DataFrame:
    """Accuracy less FedAvg's (points), mean over the cells, of learned methods and strong baselines."""
    runs = _runs(rows_of)
    columns = {
        f"{set_titles(own)}, {counted(own.cell.nunique(), 'cell')}": _column(
            {
                **{LEARNED[name]: one["FedAvg"] for name, one in ALL[artifact].items()},
                **STRONG_LESS[artifact],
            },
            rows_of,
            {label_of(name) for name in own.contestant[own.diverged].unique()},
        )
        for artifact, own in runs.items()
    }
    table = pd.DataFrame(columns)
    return table[(table != "–").any(axis=1)].rename_axis("less FedAvg").reset_index()


def _column(numbers: Mapping[str, Number], rows_of: RowsOf, lost: Collection[str]) -> dict[str, str]:
    """Effects by label; a star marks who has runs that diverged."""
    values = {name: number.value(rows_of) for name, number in numbers.items()}
    return {
        name: f"{effect_words(value)}{' *' * (name in lost)}" if value else "–"
        for name, value in values.items()
    }


def _runs(rows_of: RowsOf) -> dict[str, pd.DataFrame]:
    """Artifact -> its runs (`per_run`), of those with rows."""
    return {name: per_run(rows) for name in ALL if not (rows := rows_of(name)).empty}
