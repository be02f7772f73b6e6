"""Findings about FedDdrl in sentences, for the head of notebook and report."""

from fedlib.analysis.numbers import RowsOf, stated
from fedlib.papers.fedddrl.numbers import LESS_RULE, ROWS

_RULES = {"random_drop": "dropping clients at random", "drop_slowest": "dropping the slowest clients"}


def headline(rows_of: RowsOf) -> list[str]:
    """A sentence for each one-line rule: FedDdrl's return and accuracy less the rule's, same uploads."""
    if rows_of(ROWS).empty:
        return ["No rows of the controls are stored."]
    found = {
        _RULES[rule]: [stated(number, rows_of) for number in numbers] for rule, numbers in LESS_RULE.items()
    }
    return [
        f"At as many uploads as {rule}, FedDdrl's return is {gain} and its accuracy {gap} against it."
        for rule, (gain, gap) in found.items()
        if gain and gap
    ]
