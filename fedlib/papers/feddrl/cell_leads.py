"""FedDRL's leads over FedAvg and over controls in each cell of the paper's length."""

from dataclasses import dataclass

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import Interval
from fedlib.analysis.numbers import RowsOf
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.errata import accuracies
from fedlib.papers.feddrl.estimands import ROUNDS
from fedlib.papers.feddrl.length_runs import LENGTH_CELLS
from fedlib.papers.feddrl.runs import CLUSTERED, EXACT_CELL, PAPERS_CNN

ON_FILES = tuple(f"authors_{scheme}_at_length" for scheme in CLUSTERED)  # the authors' partitions
AT_LENGTH = (*LENGTH_CELLS, EXACT_CELL, *ON_FILES)
MOST_CELLS, MOST_CLIENTS = "Fashion-MNIST", 100


@dataclass(frozen=True)
class CellLead:
    """FedDRL's lead over FedAvg in a cell of the paper's length, and over controls in the last rounds.

    None: the control was not run.
    """

    data: str
    scheme: str
    best: Interval  # in the best round
    late: Interval  # in the last rounds
    uniform: Interval | None  # less uniform weights in these rounds, FedAvg's where all hold as many images
    trained: Interval | None  # less its untrained policy
    drawn: Interval | None  # FedDRL with clients listed in drawn order less FedAvg
    drawn_uniform: Interval | None  # the same less uniform weights
    drawn_best: Interval | None  # less FedAvg, in the best round
    equal: bool  # all clients hold as many images
    exact: bool  # with the paper's network, where the others have an MLP
    clients: int  # N
    authors: bool  # on their own partition file
    paper: float  # its printed lead over FedAvg

    @property
    def printed(self) -> str:
        """The lead that table 3 prints for the cell, in points."""
        return f"{self.paper:+.2f}".replace("-", "−")

    @property
    def cell(self) -> str:
        """`CE`, `CE on MNIST` of other data than most cells have, `CE with the paper's CNN, online`."""
        data = "" if self.data == MOST_CELLS else f" on {self.data}"
        few = f" with {self.clients} clients" * (self.clients < MOST_CLIENTS)
        own = " with the paper's CNN, online" * self.exact + " on the authors' file" * self.authors
        return f"{self.scheme}{data}{few}{own}"


def cell_leads(rows_of: RowsOf) -> list[CellLead]:
    """`CellLead` of every cell of the paper's length that was run."""
    found = (lead_of(rows_of, name) for name in AT_LENGTH)
    return [lead for lead in found if lead]


def lead_of(rows_of: RowsOf, name: str) -> CellLead | None:
    return _lead(rows_of(f"feddrl/{name}"), authors=name in ON_FILES)


def _lead(rows: pd.DataFrame, *, authors: bool) -> CellLead | None:
    """The leads of a cell; None for shorter runs and where no control was run."""
    if rows.empty or rows["rounds"].max() < ROUNDS:
        return None
    late, cell = quantities.late_levels(named := quantities.named(rows)), named.iloc[0]
    feddrl, in_drawn_order = quantities.of_feddrl(named)
    if not {feddrl, "fedavg"} <= set(late):
        return None
    equal = quantities.equal_amounts(named)
    weights = "fedavg" if equal else "uniform"
    pairs = (
        (feddrl, weights), (feddrl, "untrained"), (in_drawn_order, "fedavg"), (in_drawn_order, weights),
    )  # fmt: skip
    controls = [contrasts.paired(late[a], late[b]) if {a, b} <= set(late) else None for a, b in pairs]
    fedavg = quantities.best(named, "fedavg")
    drawn = in_drawn_order in set(late)
    drawn_best = contrasts.paired(quantities.best(named, in_drawn_order), fedavg) if drawn else None
    if not any(controls):
        return None
    data, scheme, clients = quantities.PAPER_DATA[cell.dataset], cell.partition.upper(), int(cell.num_clients)
    printed = accuracies().loc[data, scheme, clients]
    return CellLead(
        data, scheme,
        contrasts.paired(quantities.best(named, feddrl), fedavg),
        contrasts.paired(late[feddrl], late.fedavg), *controls, drawn_best, equal=equal,
        exact=cell.model == PAPERS_CNN, clients=clients, authors=authors,
        paper=printed.FedDRL - printed.FedAvg,
    )  # fmt: skip
