"""Numbers of the first screen of 03_fedddrl."""

from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.numbers import README, Number, RowsOf, of_claim
from fedlib.papers.fedddrl.claims import CLAIMS
from fedlib.papers.fedddrl.tables import FASTEST, RANDOM, at_learned_rate

ROWS = "fedddrl/controls"
PLACES = (README, "notebooks/03_fedddrl.ipynb")


def _less(rule: str, quantity: str, unit: str) -> Number:
    """FedDdrl's return (15) or accuracy less that of a one-line rule at as many uploads, on real images."""

    def compute(rows_of: RowsOf) -> Interval | None:
        table, name = at_learned_rate(real_rows(rows_of(ROWS))), f"{quantity} - {rule}"
        gaps = table[table.method == "fedddrl"].dropna(subset=name)
        return mean_interval(gaps.groupby("seed")[name].mean().to_numpy()) if len(gaps) else None

    words = rule.replace("_", " ")
    return Number(
        id=f"fedddrl-{'return-' * (quantity == 'return')}{words.replace(' ', '-')}",
        what=f"FedDdrl's {quantity} less that of the rule '{words}' at as many uploads", unit=unit,
        artifacts=(ROWS,), compute=compute, places=PLACES,
    )  # fmt: skip


LESS_RULE = {
    rule: (_less(rule, "return", ""), _less(rule, "accuracy", "points")) for rule in (RANDOM, FASTEST)
}
SAVED_SECONDS, SAVED_UPLOADS, ACCURACY = PROMISED = tuple(
    of_claim(CLAIMS, "FEDDDRL-C16", part, id=f"fedddrl-{name}", places=PLACES)
    for part, name in enumerate(("latency-saved", "uploads-saved", "accuracy-fedavg"))
)
NUMBERS = (*PROMISED, *(number for numbers in LESS_RULE.values() for number in numbers))
