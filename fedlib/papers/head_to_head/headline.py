"""Findings in sentences, for the head of notebook and report."""

import numpy as np
import pandas as pd

from fedlib.analysis.numbers import Number, RowsOf, stated
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.claims import BASELINES, LEARNED, best_baseline
from fedlib.papers.head_to_head.numbers import AGREE, BENCHMARK, DECIDED, DEVICES, LESS, ROWS
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
    answers = [*(_sentence(rows_of, runs, name) for name in seen), *told, *benchmark_answer(rows_of)]
    return [*answers, *open_questions(rows_of)]


def _sentence(rows_of: RowsOf, runs: pd.DataFrame, name: str) -> str:
    settings = runs.groupby(["dataset", "cell"]).ngroups
    over = f"Over {settings} setting{'s' if settings > 1 else ''}"
    parts = [_against(words, number, rows_of) for words, number in LESS[name].items()]
    return (
        f"{over} {LEARNED[name]} is {', '.join(parts[:-1])} and "
        f"{parts[-1]} ({best_baseline(runs)}, chosen among {len(BASELINES)} on held-back images)."
    )


def _against(what: str, number: Number, rows_of: RowsOf) -> str:
    """`ahead of FedAvg (+1.2 [+0.8, +1.6] points)`, behind it, equal to it within the margin, or neither."""
    found = number.value(rows_of)
    if found is None:
        return f"not yet compared with {what}"
    if found.n < 2 or np.isnan(found.low):
        return f"of one seed, too few to compare with {what} ({stated(number, rows_of)})"
    if found.low > 0:
        standing = "ahead of"
    elif found.high < 0:
        standing = "behind"
    else:
        standing = (
            "equal to" if max(-found.low, found.high) < MARGIN else "neither clearly ahead of nor behind"
        )
    return f"{standing} {what} ({stated(number, rows_of)})"


def open_questions(rows_of: RowsOf) -> list[str]:
    """The questions of the notebook that only a smoke run, or none, has rows for; in one sentence."""
    questions = {BENCHMARK: "are our baselines right?", DEVICES: "who gets there first in simulated time?"}
    still = [words for name, words in questions.items() if set(_profiles(rows_of(name))) <= {"smoke"}]
    return [f"No rows beyond a smoke run answer, and these stay open: {' '.join(still)}"] if still else []


def _profiles(rows: pd.DataFrame) -> list[str]:
    return [] if rows.empty else list(rows["profile"].unique())


def benchmark_answer(rows_of: RowsOf) -> list[str]:
    """Cells of the public benchmark that agree with ours, in a sentence, or that none can decide yet."""
    rows = rows_of(BENCHMARK)
    if rows.empty:
        return []
    if not (decided := stated(DECIDED, rows_of)):
        rounds = int(tables.benchmark(rows)["rounds"].max())
        return [f"The public benchmark has 50 rounds; ours stand at {rounds} and decide nothing yet."]
    return [f"{stated(AGREE, rows_of)} of {decided} cells of the public benchmark agree with ours."]
