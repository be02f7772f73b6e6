"""Gates of FedDisk's claims: curves flat, levels above chance, density models that ended by their rule."""

import pandas as pd

from fedlib.analysis.claims import Gate
from fedlib.analysis.gates import TOLERANCE, curves_flat
from fedlib.analysis.tables import json_column, listed
from fedlib.methods.feddisk.method import FedDisk
from fedlib.papers.feddisk import quantities
from fedlib.papers.feddisk.measurements import CLASSES
from fedlib.papers.feddisk.quantities import FOREIGN
from fedlib.papers.feddisk.runs import case_of
from fedlib.papers.feddisk.tables import ACCURACY


def _papers_settings(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[~rows.dataset.isin(FOREIGN)]


def _above_chance(rows: pd.DataFrame) -> tuple[bool, str]:
    """FedAvg's last mean accuracy above chance on every data set."""
    own = _papers_settings(rows)
    own = own[(own.method == "fedavg") & own[ACCURACY].notna()]
    last = own[own["round"] == own.groupby("dataset")["round"].transform("max")]
    for dataset, values in last.groupby("dataset")[ACCURACY]:
        chance = 1 / CLASSES[case_of(dataset)]
        if values.mean() <= chance:
            return False, f"FedAvg ends at {values.mean():.1%} on {dataset}, chance is {chance:.1%}"
    return True, ""


def _flat(rows: pd.DataFrame) -> tuple[bool, str]:
    own = _papers_settings(rows)
    keys = ("dataset", "method_options", "method")
    gate = curves_flat(keys, length=quantities.longest(own), value=ACCURACY)
    return gate.check(own)


def _made_ended(rows: pd.DataFrame) -> tuple[bool, str]:
    """Phase 1 ended by its stopping rule in every trial."""
    own = _papers_settings(rows)
    start = own[(own["round"] == 0) & own.made_rounds_run.notna()]
    most = json_column(start.method_options).iloc[0].get("made_max_rounds", FedDisk.made_max_rounds)
    cut = int((start.made_rounds_run >= most).sum())
    return not cut, f"the MADE was cut off in {cut} of {len(start)} trials" if cut else ""


def _widths_ended(rows: pd.DataFrame) -> tuple[bool, str]:
    """Whether training ended by its patience or after the paper's most rounds."""
    stopped = rows.made_rounds_run - rows.made_rounds >= FedDisk.made_patience
    most = FedDisk.made_max_rounds
    cut = sorted({int(width) for width in rows.hidden[~stopped & (rows.made_rounds_run < most)]})
    if cut:
        return False, f"cut off before they had stopped: {', '.join(map(str, cut))} units"
    ended = rows.hidden[~stopped].value_counts().sort_index()
    told = listed([f"{count} of {width} units" for width, count in ended.items()])
    return True, f"ended by the paper's {most} rounds: {told}" if len(ended) else ""


ABOVE_CHANCE = Gate("FedAvg above chance", _above_chance)
FLAT = Gate(f"curves flat ({TOLERANCE:g} point over the last quarter) or as many rounds as the paper", _flat)
MADE_ENDED = Gate("the global MADE ended by its stopping rule", _made_ended)
WIDTHS_ENDED = Gate(
    f"every MADE ended by its stopping rule or the paper's {FedDisk.made_max_rounds} rounds", _widths_ended
)
LEVELS = (FLAT, ABOVE_CHANCE)
