"""Sentences and a table on all data sets at once, for the first screen of notebook 05."""

from collections import Counter
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
        f"Of {number} {listed([_against(rival, runs, rows_of) for rival in RIVALS])}, uncorrected."
        f"{_behind(runs, rows_of)} Each set counts by its own mean: {where}. By held-back images the best "
        f"baseline is {chosen}."
    )


def _behind(runs: Mapping[str, pd.DataFrame], rows_of: RowsOf) -> str:
    """` Behind FedAvg: FAVOR on MNIST; ...`, the same of the untrained policy; empty if none is."""
    told = []
    for rival in RIVALS[:2]:
        standings = _standings(rival, runs, rows_of)
        if set(standings.values()) == {BEHIND}:  # all of them, as `_against` says
            continue
        where = {
            title: [set_titles(runs[one]) for (one, own), side in standings.items()
                    if own == name and side == BEHIND]
            for name, title in LEARNED.items()
        }  # fmt: skip
        each = [f"{title} on {listed(sets)}" for title, sets in where.items() if sets]
        told += [f" Behind {rival}: {'; '.join(each)}."] * bool(each)
    return "".join(told)


def _against(rival: str, runs: Mapping[str, pd.DataFrame], rows_of: RowsOf) -> str:
    """`none is ahead of FedAvg`, `all are behind the best baseline`, or who is ahead on which data set."""
    found = _standings(rival, runs, rows_of)
    if set(found.values()) == {BEHIND}:
        return f"all are behind {rival}"
    ahead = [
        f"{LEARNED[name]} on {set_titles(runs[artifact])}"
        for (artifact, name), standing in found.items() if standing == AHEAD
    ]  # fmt: skip
    if not ahead:
        return f"none is ahead of {rival}"
    return f"{listed(ahead)} {'are' if len(ahead) > 1 else 'is'} ahead of {rival}"


def _standings(rival: str, runs: Mapping[str, pd.DataFrame], rows_of: RowsOf) -> dict[tuple[str, str], str]:
    """(artifact, learned method) -> its standing against a rival, of the methods that ran there."""
    return {
        (artifact, name): standing_against(numbers[rival], rows_of)[0]
        for artifact, own in runs.items()
        for name, numbers in ALL[artifact].items()
        if name in set(own.contestant)
    }


def cells_words(rows_of: RowsOf) -> str:
    """Leads over FedAvg in single cells, and whether the one that was asked repeats."""
    found = [(artifact, rows) for artifact in ALL if not (rows := rows_of(artifact)).empty]
    told = [_count_words([one for _, rows in found for one in sides_by_cell(rows)])]
    for artifact, rows in found:
        told += [*single_cell_leads(rows, controls=False), repeat_words(rows) * (artifact == THIRD)]
    return " ".join(filter(None, told))


def _count_words(sides: Collection[tuple[str, str]]) -> str:
    """`Of 44 contrasts with FedAvg in single cells 1 lies above 0 and 16 below, 11 of these FAVOR's.`

    sides: method and side.
    """
    above, below = ([name for name, side in sides if side == one] for one in ("above", "below"))
    whose = ""
    if len(set(below)) > 1:
        name, most = Counter(below).most_common(1)[0]
        whose = f", {most} of these {name}'s"
    return (
        f"Of {counted(len(sides), 'contrast')} with FedAvg in single cells {len(above) or 'none'} "
        f"{'lies' if len(above) < 2 else 'lie'} above 0 and {len(below) or 'none'} below{whose}, uncorrected."
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
