"""What the rows say, in sentences for the head of notebook and report."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from fedlib.analysis.intervals import mean_interval
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.claims import BASELINES, best_baseline, less
from fedlib.papers.head_to_head.quantities import per_run
from fedlib.papers.head_to_head.runs import CONTESTANTS

MARGIN = 0.5  # points: a smaller difference is no lead


def headline(rows_of: Callable[[str], pd.DataFrame]) -> list[str]:
    """One sentence for each learned method, one for the public benchmark; rows_of: artifact id to rows."""
    rows = rows_of("head_to_head/comparison")
    if rows.empty:
        return ["No rows of the comparison are stored."]
    runs = per_run(rows)
    seen = [name for name in CONTESTANTS if CONTESTANTS[name].learns and name in set(runs.contestant)]
    return [*(_sentence(rows, runs, name) for name in seen), *_benchmark(rows_of("head_to_head/benchmark"))]


def _sentence(rows: pd.DataFrame, runs: pd.DataFrame, name: str) -> str:
    settings = runs.groupby(["dataset", "cell"]).ngroups
    twin = next(twin for twin, one in CONTESTANTS.items() if one.twin_of == name)
    rivals = {"FedAvg": "fedavg", "its untrained policy": twin, "the best baseline": "best"}
    parts = [f"{_against(less(rows, name, rival))} {words}" for words, rival in rivals.items()]
    best = best_baseline(runs)
    return (
        f"Over {settings} setting{'s' if settings > 1 else ''} {name} is {', '.join(parts[:-1])} and "
        f"{parts[-1]} ({best}, chosen among {len(BASELINES)} on held-back images)."
    )


def _against(gaps: pd.DataFrame) -> str:
    """`ahead (+1.2 points [+0.8, +1.6]) of`, `behind (...)`, equal within the margin, or not decided."""
    found = mean_interval(gaps.mean(axis=1).to_numpy())
    if found.n < 2 or np.isnan(found.low):
        return f"({found.mean:+.1f} points, one seed) not decided against"
    numbers = f"({found.mean:+.1f} points [{found.low:+.1f}, {found.high:+.1f}])".replace("-", "−")
    if found.low > 0:
        return f"ahead {numbers} of"
    if found.high < 0:
        return f"behind {numbers}"
    return f"{'equal' if max(-found.low, found.high) < MARGIN else 'not decided'} {numbers} against"


def _benchmark(rows: pd.DataFrame) -> list[str]:
    if rows.empty:
        return []
    found = tables.benchmark(rows)
    decided = found[found.equivalent.notna()]
    if decided.empty:
        rounds = int(found["rounds"].max())
        return [f"The public benchmark has 50 rounds; ours stand at {rounds} and decide nothing yet."]
    agree = int(decided.equivalent.astype(bool).sum())
    return [f"{agree} of {len(decided)} cells of the public benchmark agree with ours."]
