"""Numbers of the first screen of 00_start_here."""

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import Interval
from fedlib.analysis.numbers import Number, RowsOf, single

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


NUMBERS = (
    Number(
        id="start-fedavg", what="FedAvg's accuracy under cluster skew after the last round", unit="%",
        artifacts=(ROWS,), compute=lambda rows_of: single(_final(rows_of, "fedavg").mean()),
        places=(NOTEBOOK,), tolerance=1.0,
    ),
    _less("fedavg", "singleset", "that less the accuracy of training on the union of the data"),
    _less("fedprox", "fedavg", "FedProx's accuracy less FedAvg's"),
)  # fmt: skip
