"""What the runs on the authors' own partition files say about C1 and C13: evidence that decides nothing.

The files may not be at hand; our recipe draws the partitions that decide. Those of CIFAR go with
CIFAR-10's images (FEDDRL-A25).
"""

from typing import TYPE_CHECKING

from fedlib.papers import decide
from fedlib.papers import feddrl_accuracy_claims as accuracy
from fedlib.papers import feddrl_analysis as analysis

if TYPE_CHECKING:
    import pandas as pd

    from fedlib.intervals import Interval

WHERE = "on the authors' partition files, deciding nothing"


def pooled_leads(named: "pd.DataFrame") -> "dict[str, Interval]":
    """FedDRL's best accuracy less the better baseline's (points), pooled over the cells of each data set."""
    pairs: dict[str, list] = {}
    for cell, part in analysis.cells(named, needs=analysis.THREE):
        pair = (analysis.best(part, "feddrl"), analysis.best_baseline(part))
        pairs.setdefault(analysis.cell_name(cell).split("/")[0], []).append(pair)
    return {data: decide.pooled(of_data) for data, of_data in pairs.items()}


def leads_there(rows: "pd.DataFrame") -> str:
    """C1's comparison in the cells of these files."""
    named = analysis.named(rows)
    pooled = [f"{data} {decide.words(lead)}" for data, lead in pooled_leads(named).items()]
    if not pooled:
        return ""
    counts = decide.tally(accuracy.leads(named))
    return f"{WHERE}: FedDRL - best baseline {', '.join(pooled)}; {counts}"


def gain_there(rows: "pd.DataFrame") -> str:
    """C13's comparison, Fashion-MNIST, N = 100, CE and CN of delta 0.6, in the cells of these files."""
    named = analysis.named(rows)
    skewed = named[named.partition.isin(("ce", "cn"))]
    gain = accuracy.mean_gain(skewed, "best", 2, data="Fashion-MNIST", num_clients=100)
    return f"{WHERE}: gain over the best baseline {decide.words(gain, '%')}" if gain else ""
