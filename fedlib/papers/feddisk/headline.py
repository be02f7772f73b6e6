"""What the rows say about FedDisk, in sentences for the head of notebook and report."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fedlib.analysis.intervals import Interval, interval_words
from fedlib.papers.feddisk.figures import ablation_table, weights_worth

if TYPE_CHECKING:
    import pandas as pd


def headline(rows_of: "Callable[[str], pd.DataFrame]") -> list[str]:
    """Two sentences: FedDisk against FedAvg, and against its own weights on other samples.

    rows_of: artifact id to its rows.
    """
    rows = rows_of("feddisk/ablations")
    if rows.empty:
        return ["No rows of the ablations are stored."]
    gain = ablation_table(rows).set_index("variant").loc["feddisk"]
    sentences = [f"FedDisk's accuracy after the last round is {_words(gain)} against FedAvg."]
    worth = weights_worth(rows).set_index("variant")
    if "feddisk" in worth.index:
        shuffled = _words(worth.loc["feddisk"])
        sentences.append(f"Against the same weights on other samples, which know nothing, it is {shuffled}.")
    return sentences


def _words(line: "pd.Series") -> str:
    interval = Interval(line["mean"], line.low, line.high, int(line.n))
    return f"{interval_words(interval)} points".replace("-", "−")
