"""Findings about the baselines in sentences, for the notebook's head and end."""

from fedlib.analysis.intervals import NO_INTERVAL, by_sign
from fedlib.analysis.numbers import RowsOf, stated
from fedlib.papers.start.claims import LONGER, ROUNDS
from fedlib.papers.start.numbers import NUMBERS, PROXIMAL
from fedlib.words import counted


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three sentences: what cluster skew costs FedAvg, what a proximal term changes, both at length.

    rows_of: artifact id to its rows.
    """
    rows = rows_of("start/curves")
    if rows.empty:
        return ["No rows of the curves are stored."]
    level, cost, proximal, union_at_length, best_at_length, proximal_at_length = (
        stated(number, rows_of) for number in NUMBERS
    )
    does = by_sign(
        PROXIMAL.value(rows_of) or NO_INTERVAL,
        above="raises FedAvg's accuracy", below="lowers FedAvg's accuracy",
        undecided="changes FedAvg's accuracy does not show",
    )  # fmt: skip
    that = "That a" if does.endswith("show") else "A"
    clients, rounds = counted(int(rows.num_clients.iloc[0]), "client"), int(rows["round"].max())
    longer = rows_of(LONGER)
    epochs = longer.loc[longer.method == "singleset", "rounds"].max() if len(longer) else 0
    return [
        f"With {clients} under cluster skew, where a large group of them holds the same labels, FedAvg ends "
        f"at {level} accuracy after {rounds} rounds. That is {cost} against training on the union of the "
        "data (SingleSet).",
        f"{that} proximal term that holds clients close to the global model (FedProx) {does}: {proximal}.",
    ] + [
        f"In a cell of FedDRL's table 3 (100 clients, an MLP, {ROUNDS} rounds) FedAvg ends {union_at_length} "
        f"against {epochs} epochs of training on the union, and its best round is {best_at_length} against "
        f"theirs. FedProx ends {proximal_at_length} against FedAvg."
    ] * bool(union_at_length and proximal_at_length)
