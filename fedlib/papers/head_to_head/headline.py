"""Findings in sentences, for the head of notebook and report."""

import numpy as np
import pandas as pd

from fedlib.analysis.numbers import Number, RowsOf, stated
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.claims import BASELINES, LEARNED, best_baseline
from fedlib.papers.head_to_head.numbers import AGREE, BENCHMARK, DECIDED, LESS, ROWS
from fedlib.papers.head_to_head.quantities import divergence_words, per_run

MARGIN = 0.5  # points: a smaller difference is no lead


def headline(rows_of: RowsOf) -> list[str]:
    """A sentence for each learned method and one for the public benchmark."""
    rows = rows_of(ROWS)
    if rows.empty:
        return ["No rows of the comparison are stored."]
    runs = per_run(rows)
    seen = [name for name in LESS if name in set(runs.contestant)]
    told = [divergence_words(rows).strip()] if runs.diverged.any() else []
    return [*(_sentence(rows_of, runs, name) for name in seen), *told, *benchmark_answer(rows_of)]


def _sentence(rows_of: RowsOf, runs: pd.DataFrame, name: str) -> str:
    settings = runs.groupby(["dataset", "cell"]).ngroups
    over = f"Over {settings} setting{'s' if settings > 1 else ''}"
    parts = [f"{_against(number, rows_of)} {words}" for words, number in LESS[name].items()]
    return (
        f"{over} {LEARNED[name]} is {', '.join(parts[:-1])} and "
        f"{parts[-1]} ({best_baseline(runs)}, chosen among {len(BASELINES)} on held-back images)."
    )


def _against(number: Number, rows_of: RowsOf) -> str:
    """`ahead (+1.2 [+0.8, +1.6] points) of`, `behind (...)`, equal within the margin, or not decided."""
    found = number.value(rows_of)
    if found is None:
        return "not yet compared with"
    if found.n < 2 or np.isnan(found.low):
        return f"({stated(number, rows_of)}, one seed) not decided against"
    numbers = f"({stated(number, rows_of)})"
    if found.low > 0:
        return f"ahead {numbers} of"
    if found.high < 0:
        return f"behind {numbers}"
    return f"{'equal' if max(-found.low, found.high) < MARGIN else 'not decided'} {numbers} against"


def benchmark_answer(rows_of: RowsOf) -> list[str]:
    """Cells of the public benchmark that agree with ours, in a sentence, or that none can decide yet."""
    rows = rows_of(BENCHMARK)
    if rows.empty:
        return []
    if not (decided := stated(DECIDED, rows_of)):
        rounds = int(tables.benchmark(rows)["rounds"].max())
        return [f"The public benchmark has 50 rounds; ours stand at {rounds} and decide nothing yet."]
    return [f"{stated(AGREE, rows_of)} of {decided} cells of the public benchmark agree with ours."]
