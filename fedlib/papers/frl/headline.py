"""What the rows say about the report's agents, in sentences for the head of notebook and report."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fedlib.analysis.intervals import Interval, interval_words
from fedlib.papers.frl.questions import agent_less_random, state_and_reward

if TYPE_CHECKING:
    import pandas as pd


def headline(rows_of: "Callable[[str], pd.DataFrame]") -> list[str]:
    """Two sentences: where EvaluatorFL's reward comes from, and SchedulerFL against random selection.

    rows_of: artifact id to its rows.
    """
    if any(rows_of(name).empty for name in ("frl/fig16", "frl/fig24", "frl/table2", "frl/table3")):
        return ["Not all rows of both agents are stored."]
    sizes = state_and_reward(rows_of).set_index(["question", "of"]).measured
    first, rest = (
        sizes[f"reward: |R| in {when}", "20 workers"]
        for when in ("round 1 of an episode", "its other rounds")
    )
    gap = agent_less_random(rows_of).query("quantity == 'max_seconds'").iloc[0]
    mean = gap["agent less random at its rate"]
    words = interval_words(Interval(mean, gap.low, gap.high, int(gap.n))).replace("-", "−")
    return [
        f"EvaluatorFL's mean reward is {first:.2f} in the first round of an episode, whatever was drawn, and "
        f"{rest:.3f} in the others.",
        f"SchedulerFL's longest round is {words} s against as many workers drawn at random (table 2).",
    ]
