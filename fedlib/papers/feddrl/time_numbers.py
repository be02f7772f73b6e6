"""Numbers of docs/feddrl.md that are times: what the server's agent costs, by `feddrl/fig9`."""

from fedlib.analysis.intervals import Interval
from fedlib.analysis.numbers import TIMES, Number, RowsOf, single
from fedlib.papers.feddrl import tables

PAGE = "docs/feddrl.md"


def _timed(name: str, what: str, unit: str, column: str, *, model: str = "mlp", alone: bool = True) -> Number:
    """A column of `tables.agent_share`; alone: learning in line, where no core is free for it."""

    def compute(rows_of: RowsOf) -> Interval | None:
        found = tables.agent_share(rows_of("feddrl/fig9"))
        found = found[(found.model == model) & (found.timed_on == "cpu")].sort_values("threads")
        return single(found[column].iloc[-1 if alone else 0]) if len(found) and column in found else None

    return Number(id=f"feddrl-{name}", what=what, unit=unit, artifacts=("feddrl/fig9",), compute=compute,
                  places=(PAGE,), factor=TIMES)  # fmt: skip


def _decision(model: str, words: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of("feddrl/fig9")
        own = rows[(rows.what == "decision") & (rows.model == model) & (rows.timed_on == "cpu")]
        return single(own.median_ms.iloc[0]) if len(own) else None

    return Number(id=f"feddrl-decision-{model}", what=f"median time of a decision, {words}", unit="ms",
                  artifacts=("feddrl/fig9",), compute=compute, places=(PAGE,), factor=TIMES)  # fmt: skip


TIME_NUMBERS = (
    _decision("mlp", "MLP"),
    _decision("cnn-feddrl", "the paper's smaller CNN"),
    _timed("round-mlp", "median time of an MLP's round, one thread", "ms", "round_ms", alone=False),
    _timed("learning-40-aside", "what deciding and learning from 40 experiences add to that round, learning "
           "on a core of its own", "%", "40 in D_%", alone=False),
    _timed("learning-40-in-line", "the same without a free core", "%", "40 in D_%"),
    _timed("learning-1000-aside", "the same from 1,000 experiences, on a core of its own", "%",
           "1000 in D_%", alone=False),
    _timed("learning-1000-in-line", "the same without a free core", "%", "1000 in D_%"),
    _timed("learning-1000-cnn", "the same for the smaller CNN's round", "%", "1000 in D_%",
           model="cnn-feddrl"),
)  # fmt: skip
