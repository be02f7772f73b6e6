"""What the rows say about FedDdrl, in sentences for the head of notebook and report."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fedlib.analysis.tables import summarise_seeds
from fedlib.papers.fedddrl.tables import at_learned_rate

if TYPE_CHECKING:
    import pandas as pd


def headline(rows_of: "Callable[[str], pd.DataFrame]") -> list[str]:
    """One sentence for each rule of one line: FedDdrl's accuracy less the rule's at as many uploads.

    rows_of: artifact id to its rows.
    """
    rows = rows_of("fedddrl/controls")
    if rows.empty:
        return ["No rows of the controls are stored."]
    table = at_learned_rate(rows)
    own = table[table.method == "fedddrl"]
    gaps = [name for name in own if name.startswith("accuracy - ")]
    return [_sentence(own, name) for name in gaps if own[name].notna().any()]


def _sentence(own: "pd.DataFrame", name: str) -> str:
    found = own.dropna(subset=name).groupby("seed")[name].mean().reset_index().assign(all="all")
    line = summarise_seeds(found, "all", name).iloc[0]
    words = f"{line['mean']:+.1f} points [{line.low:+.1f}, {line.high:+.1f}]".replace("-", "−")
    rule = name.removeprefix("accuracy - ").replace("_", " ")
    return f"At as many uploads FedDdrl's accuracy is {words} against the rule '{rule}'."
