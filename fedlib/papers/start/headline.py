"""Findings about the baselines in sentences, for the notebook's head and end."""

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import effect_words
from fedlib.analysis.numbers import RowsOf

METHODS = ("singleset", "fedavg", "fedprox")


def headline(rows_of: RowsOf) -> list[str]:
    """Two sentences: what cluster skew costs FedAvg, and what a proximal term changes.

    rows_of: artifact id to its rows.
    """
    rows = rows_of("start/curves")
    if rows.empty:
        return ["No rows of the curves are stored."]
    union, fedavg, fedprox = (contrasts.final(rows[rows.method == name]) for name in METHODS)
    cost = effect_words(contrasts.paired(fedavg, union), "points")
    proximal = effect_words(contrasts.paired(fedprox, fedavg), "points")
    return [
        "Under cluster skew (a large group of clients holds the same labels) FedAvg ends at "
        f"{fedavg.mean():.1f} % accuracy, {cost} against training on the union of the data.",
        f"A proximal term that holds clients close to the global model (FedProx) changes that by {proximal}.",
    ]
