"""Numbers of the repaired agent and of its controls in the small setting (FEDDRL-R1 to R3)."""

from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import Number, RowsOf
from fedlib.data.titles import title_of
from fedlib.papers.feddrl import learning
from fedlib.papers.feddrl.quantities import named
from fedlib.papers.feddrl.time_numbers import PAGE

JUDGED = "feddrl/repair_judged"
NOTEBOOK = "notebooks/01_feddrl.ipynb"
AGENT_WORDS = {
    "feddrl": "the agent as printed", "untrained": "the agent never trained",
    "repaired": "the repaired agent", "repaired_permuted": "the same with permuted rewards",
    "small_groups": "the rule that gives small groups e times the weight",
}  # fmt: skip


def _repair(data: str, variant: str, what: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        found = learning.gains(rows_of(JUDGED))
        found = found[(found.dataset == data) & (found.variant == variant)]
        return Interval.from_columns(found.iloc[0], "nats") if len(found) else None

    return Number(
        id=f"feddrl-{'printed' if variant == 'feddrl' else variant.replace('_', '-')}-{data}",
        what=f"mean reward of {what} less that of uniform weights, {title_of(data)}", unit="nats",
        artifacts=(JUDGED,), compute=compute, places=(PAGE,),
    )  # fmt: skip


def _share(data: str) -> Number:
    def compute(rows_of: RowsOf) -> Interval | None:
        rows = rows_of(JUDGED)
        part = named(rows[rows.dataset == data]) if len(rows) else rows
        return mean_interval(learning.share_of_rule(part).to_numpy()) if len(part) else None

    return Number(
        id=f"feddrl-repaired-share-{data}",
        what=f"the repaired agent's gain over uniform weights, of the rule's, {title_of(data)}", unit="%",
        artifacts=(JUDGED,), compute=compute, places=(PAGE, NOTEBOOK),
    )  # fmt: skip


_DATA = ("fmnist", "mnist")
REPAIR_NUMBERS = (
    *(_repair(data, variant, what) for variant, what in AGENT_WORDS.items() for data in _DATA),
    *(_share(data) for data in _DATA),
)
