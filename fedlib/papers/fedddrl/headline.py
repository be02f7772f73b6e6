"""What the rows say about FedDdrl, in sentences for the head of notebook and report."""

from fedlib.analysis.numbers import RowsOf, stated
from fedlib.papers.fedddrl.numbers import LESS_RULE, ROWS


def headline(rows_of: RowsOf) -> list[str]:
    """One sentence for each rule of one line: FedDdrl's accuracy less the rule's at as many uploads."""
    if rows_of(ROWS).empty:
        return ["No rows of the controls are stored."]
    gaps = {rule.replace("_", " "): stated(number, rows_of) for rule, number in LESS_RULE.items()}
    return [
        f"At as many uploads FedDdrl's accuracy is {gap} against the rule '{rule}'."
        for rule, gap in gaps.items()
        if gap
    ]
