"""Findings about the report's agents in sentences, for the head of notebook and report."""

from fedlib.analysis.numbers import RowsOf, stated
from fedlib.papers.frl.numbers import FIRST_ROUND, LONGEST_ROUND, NUMBERS, OTHER_ROUNDS


def headline(rows_of: RowsOf) -> list[str]:
    """Two sentences: where EvaluatorFL's reward comes from, and SchedulerFL against random selection."""
    if any(rows_of(name).empty for number in NUMBERS for name in number.artifacts):
        return ["Not all rows of both agents are stored."]
    return [
        "The mean size of EvaluatorFL's reward (approach 1, the smaller task) is "
        f"{stated(FIRST_ROUND, rows_of)} in the first round of an episode, whatever was drawn, and "
        f"{stated(OTHER_ROUNDS, rows_of)} in the others.",
        f"SchedulerFL's longest round is {stated(LONGEST_ROUND, rows_of)} against as many workers drawn at "
        "random (table 2; below 0 is faster).",
    ]
