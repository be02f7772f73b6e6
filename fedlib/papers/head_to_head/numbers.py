"""Numbers of the first screen of 05_head_to_head."""

from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import Number, RowsOf, single
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.claims import CHOSEN, less
from fedlib.papers.head_to_head.quantities import per_run
from fedlib.papers.head_to_head.runs import CONTESTANTS

ROWS, BENCHMARK, DEVICES = "head_to_head/comparison", "head_to_head/benchmark", "head_to_head/devices"
NOTEBOOK = "notebooks/05_head_to_head.ipynb"
LEARNED = tuple(name for name, one in CONTESTANTS.items() if one.learns)


def twin_of(name: str) -> str:
    """The untrained policy that stands beside a learned one."""
    return next(twin for twin, one in CONTESTANTS.items() if one.twin_of == name)


def _less(name: str, rival: str, words: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(ROWS)
        needed = {name, "fedavg"} if rival in CHOSEN else {name, rival}
        there = needed <= set(per_run(rows).contestant)
        return mean_interval(less(rows, name, rival).mean(axis=1).to_numpy()) if there else None

    return Number(
        id=f"head-to-head-{name}-{words.split()[-1].lower()}",
        what=f"accuracy of {name} less that of {words}, mean over the settings", unit="points",
        artifacts=(ROWS,), compute=compute, places=(NOTEBOOK,),
    )  # fmt: skip


def _cells(column: str, what: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        found = tables.benchmark(rows_of(BENCHMARK))
        decided = found[found.equivalent.notna()]
        count = len(decided) if column == "decided" else decided.equivalent.astype(bool).sum()
        return single(count) if len(decided) else None

    return Number(
        id=f"head-to-head-cells-{column}", what=f"cells of the public benchmark that {what}", unit="",
        artifacts=(BENCHMARK,), compute=compute, places=(NOTEBOOK,), tolerance=0.5,
    )  # fmt: skip


# contestant -> its numbers, by the rival's words
LESS = {
    name: {
        words: _less(name, rival, words)
        for words, rival in (
            ("FedAvg", "fedavg"),
            ("its untrained policy", twin_of(name)),
            ("the best baseline", "best"),
        )
    }
    for name in LEARNED
}
STRONGEST = {name: _less(name, "strongest", "the baseline that is strongest") for name in LEARNED}
AGREE, DECIDED = _cells("agree", "agree with ours"), _cells("decided", "ours decide")
NUMBERS = (
    *(number for each in LESS.values() for number in each.values()),
    *STRONGEST.values(),
    AGREE,
    DECIDED,
)
