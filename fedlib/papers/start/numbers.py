"""Numbers of the first screen of 00_start_here."""

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import Number, RowsOf, single
from fedlib.papers.start.claims import LONGER, ROUNDS, Level, difference

ROWS = "start/curves"
NOTEBOOK = "notebooks/00_start_here.ipynb"


def _final(rows_of: RowsOf, method: str) -> pd.Series:
    rows = rows_of(ROWS)
    return contrasts.final(rows[rows.method == method])


def _less(method: str, other: str, what: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval:
        return contrasts.paired(_final(rows_of, method), _final(rows_of, other))

    return Number(id=f"start-{method}-{other}", what=what, unit="points", artifacts=(ROWS,), compute=compute,
                  places=(NOTEBOOK,))  # fmt: skip


def _at_length(
    method: str, other: str, what: str, measure: Level = contrasts.final, name: str = ""
) -> Number:
    """Difference of two methods in a cell of FedDRL's table 3 at the paper's length; None without rows.

    measure: rows of a method to its level by seed. name: what the number's id ends with.
    """

    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(LONGER)
        if rows.empty or rows["rounds"].max() < ROUNDS or not {method, other} <= set(rows.method.unique()):
            return None
        return mean_interval(difference(rows, method, other, measure).to_numpy())

    return Number(
        id=f"start-length-{method}-{other}{name}",
        what=f"{what}, FedDRL's cell of {ROUNDS} rounds", unit="points",
        artifacts=(LONGER,), compute=compute, places=(NOTEBOOK,),
    )  # fmt: skip


LESS_UNION_AT_LENGTH = _at_length(
    "fedavg", "singleset", "FedAvg's last accuracy less that of 200 epochs on the union"
)
PROXIMAL = _less("fedprox", "fedavg", "FedProx's accuracy less FedAvg's")
PROXIMAL_AT_LENGTH = _at_length("fedprox", "fedavg", "FedProx's last accuracy less FedAvg's")
BEST_AT_LENGTH = _at_length(
    "fedavg",
    "singleset",
    "FedAvg's best accuracy less that of 200 epochs on the union",
    contrasts.best,
    "-best",
)
NUMBERS = (
    Number(
        id="start-fedavg", what="FedAvg's accuracy under cluster skew after the last round", unit="%",
        artifacts=(ROWS,), compute=lambda rows_of: single(_final(rows_of, "fedavg").mean()),
        places=(NOTEBOOK,), tolerance=1.0,
    ),
    _less("fedavg", "singleset", "that less the accuracy of training on the union of the data"),
    PROXIMAL,
    LESS_UNION_AT_LENGTH,
    BEST_AT_LENGTH,
    PROXIMAL_AT_LENGTH,
)  # fmt: skip
