"""The protocol's cells on all data sets together: a mean that no claim asks for, in a table and in words."""

import pandas as pd

from fedlib.analysis.intervals import Interval, by_side, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.claims import LEARNED, less_if_run
from fedlib.papers.head_to_head.leads import label_of
from fedlib.papers.head_to_head.numbers import OTHERS, ROWS, twin_of
from fedlib.papers.head_to_head.quantities import per_run
from fedlib.papers.head_to_head.runs import CONTESTANTS
from fedlib.words import counted

REFERENCE = "fedavg"
_COLUMNS = {"less FedAvg (points)": False, "less its untrained policy (points)": True}  # is it a twin's


def together(rows_of: RowsOf) -> pd.DataFrame:
    """Level less FedAvg's, and less the untrained policy's, mean over all cells of a seed (points).

    Of the contestants that ran in every cell; a diverged run counts as 0 %. Empty without one of the sets.
    """
    gaps = _gaps(rows_of)
    lines = []
    for name in CONTESTANTS:
        line: dict[str, object] = {"contestant": label_of(name)}
        for words, twin in _COLUMNS.items():
            if found := gaps.get((name, twin)):
                line |= found.columns(words)
        lines += [line] * ((name, False) in gaps)
    return pd.DataFrame(lines)


def together_words(rows_of: RowsOf) -> list[str]:
    """Say who is ahead of FedAvg and behind it over all cells, and so of the untrained policy; or none."""
    gaps = _gaps(rows_of)
    if not gaps:
        return []
    cells = sum(per_run(rows_of(name)).cell.nunique() for name in (ROWS, *OTHERS))
    told = [
        f"{side} {rival}: {listed([f'{label_of(name)} {effect_words(found[name])}' for name in names])}"
        for twin, rival in ((False, "FedAvg"), (True, "their untrained policy"))
        if (found := {name: gap for (name, own), gap in gaps.items() if own == twin})
        for side, names in by_side(found, above="Ahead of", below="Behind").items()
        if names and side != "undecided"
    ]
    head = f"Over the {counted(cells, 'cell')} of all data sets together, a mean that no claim asks for"
    return [f"{head}, in points and uncorrected. {'. '.join(told) or 'No interval leaves out 0'}."]


def _gaps(rows_of: RowsOf) -> dict[tuple[str, bool], Interval]:
    """(contestant, whether the rival is its untrained policy) -> its lead over all cells."""
    sets = [rows_of(name) for name in (ROWS, *OTHERS)]
    if any(rows.empty for rows in sets):
        return {}
    ran = set.intersection(*(set(per_run(rows).contestant) for rows in sets))
    rivals = {(name, False): REFERENCE for name in CONTESTANTS if name != REFERENCE}
    rivals |= {(name, True): twin_of(name) for name in LEARNED}
    found = {}
    for (name, twin), rival in rivals.items():
        if {name, rival} <= ran:
            gaps = pd.concat([less_if_run(rows, name, rival) for rows in sets], axis=1).dropna()
            if len(gaps):
                found[name, twin] = mean_interval(gaps.mean(axis=1).to_numpy())
    return found
