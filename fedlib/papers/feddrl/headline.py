"""What the rows say about FedDRL, in sentences for the head of notebook and report."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fedlib.papers.feddrl import tables as feddrl_tables

if TYPE_CHECKING:
    import pandas as pd


def headline(rows_of: "Callable[[str], pd.DataFrame]") -> list[str]:
    """Two sentences: FedDRL against FedAvg, and against controls that know nothing.

    rows_of: artifact id to its rows.
    """
    rows = rows_of("feddrl/table3")
    if rows.empty:
        return ["No rows of table 3 are stored."]
    pooled = feddrl_tables.pooled_controls(rows).set_index("FedDRL less")
    cells = int(pooled.cells.max())
    return [
        f"Over {cells} cells of table 3 FedDRL's best accuracy is {_words(pooled, 'fedavg')} against FedAvg.",
        f"Against equal weights it is {_words(pooled, 'uniform')}, "
        f"against its own untrained policy {_words(pooled, 'untrained')}.",
    ]


def _words(pooled: "pd.DataFrame", control: str) -> str:
    line = pooled.loc[control]
    return f"{line.points:+.2f} points [{line.low:+.2f}, {line.high:+.2f}]".replace("-", "−")
