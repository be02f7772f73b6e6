"""Findings about FedDRL in sentences, for the notebook's head and end, and the report."""

import json
from dataclasses import dataclass

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows
from fedlib.analysis.decisions import above_zero
from fedlib.analysis.intervals import Interval, effect_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.estimands import ROUNDS
from fedlib.papers.feddrl.learning import updates
from fedlib.papers.feddrl.learning_answers import repaired, reward_gain
from fedlib.papers.feddrl.length_runs import LENGTH_CELLS, WITH_TEN
from fedlib.papers.feddrl.runs import CLUSTERED, EXACT_CELL, PAPERS_CNN
from fedlib.papers.feddrl.tables import LAST_ROUNDS, pooled_lead
from fedlib.words import counted

REPAIRED = "Section 3 repairs the agent by changing seven of its settings. Rewards are minus a loss, in nats."
BY_LEVEL = (
    "That is open. On a bandit the level of the loss moves the printed agent more than its actions' effect, "
    "and a state of shares hides that level from the critic."
)
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
    equal: bool  # all clients hold as many images
    exact: bool  # with the paper's network, where the others have an MLP
    clients: int  # N
    authors: bool  # on their own partition file

    @property
    def cell(self) -> str:
        """`CE`, `CE on MNIST` of other data than most cells have, `CE with the paper's CNN, online`."""
        data = "" if self.data == MOST_CELLS else f" on {self.data}"
        few = f" with {self.clients} clients" * (self.clients < MOST_CLIENTS)
        own = " with the paper's CNN, online" * self.exact + " on the authors' file" * self.authors
        return f"{self.scheme}{data}{few}{own}"


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three findings: FedDRL against FedAvg and controls, at the paper's length, and repaired.

    The numbers of the first are in `leads_at_length`.
    """
    rows = rows_of("feddrl/table3")
    if rows.empty:
        return ["No rows of table 3 are stored."]
    judged = rows_of("feddrl/repair_judged")
    at_length = [" ".join(in_brief_at_length(rows_of))] if cell_leads(rows_of) else []
    again = [" ".join(repaired(judged, [REPAIRED]))] if len(judged) else []
    return [*at_length, " ".join(short_runs(rows)), *again]


def conclusion(rows_of: RowsOf) -> list[str]:
    """Three answers: does the agent learn and does a repair, why not, and does it matter at length.

    Fewer where rows are missing.
    """
    leads = cell_leads(rows_of)
    at_length = " ".join(["**Does it matter at the paper's length?**", *in_brief_at_length(rows_of)])
    return [*_who_learns(rows_of), *([at_length] if leads else [])]


def in_brief_at_length(rows_of: RowsOf) -> list[str]:
    """In how many cells FedDRL is ahead of FedAvg in the best round and in the last ones; what is left."""
    leads = cell_leads(rows_of)
    if not leads:
        return []
    best, late = ([getattr(one, name) for one in leads] for name in ("best", "late"))
    held, held_late = (sum(above_zero(found)) for found in (best, late))
    return [
        f"Against FedAvg at the paper's {ROUNDS} rounds FedDRL's best round is {_cells_ahead(best)} "
        "(first table).",
        f"The mean of its last {LAST_ROUNDS} rounds is {_cells_ahead(late)}.",
        f"Corrected for the {counted(len(leads), 'cell')} (Holm), {held or 'none'} of the leads in the best "
        f"round and {held_late or 'none'} of those in the last rounds hold.",
        *_left(leads),
    ]


def briefly_at_length(rows_of: RowsOf) -> list[str]:
    """Say in a sentence in how many cells FedDRL is ahead of FedAvg; `in_brief_at_length` has the rest."""
    leads = cell_leads(rows_of)
    if not leads:
        return []
    found = [[getattr(one, name) for one in leads] for name in ("best", "late")]
    best, late = (_out_of(own) for own in found)
    held = " and ".join(str(sum(above_zero(own)) or "none") for own in found)
    return [
        f"FedDRL is ahead of FedAvg in {best} in the best round, in {late} in the last {LAST_ROUNDS} rounds.",
        f"Corrected for their number (Holm) {held} hold; the list at the top has the controls.",
    ]


def cells_at_length(rows_of: RowsOf) -> dict[str, str]:
    """Artifacts of the paper's length, each with a line that names the cell and FedDRL's leads there."""
    leads = {f"feddrl/{name}": _lead_of(rows_of, name) for name in AT_LENGTH}
    return {name: _line(lead) if lead else f"{name}: no runs of this length" for name, lead in leads.items()}


def _line(lead: CellLead) -> str:
    return (
        f"{lead.cell}: FedDRL less FedAvg {effect_words(lead.best)} points in the best round, "
        f"{effect_words(lead.late)} in the last {LAST_ROUNDS}"
    )


def _cells_ahead(found: list[Interval], above: str = "ahead", below: str = "behind") -> str:
    """`ahead in 4 of 10 cells and behind in 1`, by the sides of 0 of their intervals."""
    ahead, behind = (sum(sign * one.low > 0 < sign * one.high for one in found) for sign in (1, -1))
    rest = f" and {below} in {behind}" * bool(behind)
    return f"{above} in {ahead or 'none'} of {counted(len(found), 'cell')}{rest}"


def _left(leads: list[CellLead]) -> list[str]:
    """Say what training changes in the last rounds, and in how many cells it is ahead of controls."""
    trained, drawn = (
        [one.trained for one in leads if one.trained],
        [one.drawn for one in leads if one.drawn],
    )
    told = [
        f"Training {_cells_ahead(trained, 'raises the mean of the last rounds', 'lowers it')}; so corrected, "
        f"{_holding(trained)}."
    ] * bool(trained)
    told += [
        "With clients listed in an order drawn anew in every round FedDRL is ahead of FedAvg in these last "
        f"rounds in {_out_of(drawn)}."
    ] * bool(drawn)
    sides = ((True, "under CE, where they are FedAvg's"), (False, "in other divisions"))
    found = {
        where: [one.uniform for one in leads if one.uniform and one.equal is same] for same, where in sides
    }
    words = [f"in {_out_of(over)} {where}" for where, over in found.items() if over]
    return told + [f"It is ahead of uniform weights {', and '.join(words)}."] * bool(words)


def _holding(found: list[Interval]) -> str:
    """`2 of the gains and none of the losses hold`: with Holm's correction, of those there are."""
    sides = {
        "gains": (sum(one.low > 0 for one in found), sum(above_zero(found))),
        "losses": (sum(one.high < 0 for one in found), sum(above_zero(list(map(_negated, found))))),
    }
    told = [f"{held or 'none'} of the {name}" for name, (count, held) in sides.items() if count]
    return f"{' and '.join(told)} hold" if told else "none shows"


def _negated(found: Interval) -> Interval:
    return Interval(-found.mean, -found.high, -found.low, found.n)


def _out_of(found: list[Interval]) -> str:
    """`none of 4 cells` whose intervals lie above 0."""
    return f"{sum(one.low > 0 for one in found) or 'none'} of {counted(len(found), 'cell')}"


def leads_at_length(rows_of: RowsOf) -> pd.DataFrame:
    """FedDRL's accuracy less FedAvg's and less controls' in each cell of the paper's length, in points."""
    late, less = f"mean of the last {LAST_ROUNDS} rounds", f"last {LAST_ROUNDS} rounds: FedDRL less"
    return pd.DataFrame(
        {
            "cell": one.cell, "seeds": one.best.n, "FedDRL less FedAvg: best round": effect_words(one.best),
            f"FedDRL less FedAvg: {late}": effect_words(one.late),
            f"{less} uniform weights": "FedAvg's" if one.equal else _control(one, one.uniform),
            f"{less} its untrained policy": _control(one, one.trained),
            f"last {LAST_ROUNDS} rounds: in drawn order less FedAvg": _control(one, one.drawn),
        }
        for one in cell_leads(rows_of)
    )  # fmt: skip


def _control(lead: CellLead, found: Interval | None) -> str:
    """The effect, with ` (3 seeds)` if it has fewer than FedDRL; `–` of a control that was not run."""
    if found is None:
        return "–"
    return effect_words(found) + f" ({counted(found.n, 'seed')})" * (found.n < lead.best.n)


def short_runs(rows: pd.DataFrame) -> list[str]:
    """FedDRL's best accuracy against FedAvg by partition of table 3, and over all cells against controls.

    Of real images where there are any; none without rows.
    """
    if rows.empty:
        return []
    real = real_rows(rows)
    named = quantities.named(real if len(real) else rows)
    images, rounds = "real" if len(real) else "generated", named["rounds"].max()
    leads = [
        f"{effect_words(pooled_lead(part, 'fedavg'))} ({str(scheme).upper()})"
        for scheme, part in named.groupby("partition", sort=False)
        if {"feddrl", "fedavg"} <= set(part.variant.unique())
    ]
    cells = sum(1 for _ in quantities.cells(named, needs=("feddrl", "fedavg")))
    uniform, untrained = (
        effect_words(pooled_lead(named, name), "points") for name in ("uniform", "untrained")
    )
    return [
        f"In runs of {rounds} rounds or fewer on {images} images FedDRL's best accuracy less FedAvg's is "
        f"{listed(leads)} points.",
        f"Over all {cells} cells it is {uniform} from that of uniform weights, and {untrained} from "
        "that of its own policy before any training.",
    ]


def cell_leads(rows_of: RowsOf) -> list[CellLead]:
    """`CellLead` of every cell of the paper's length that was run."""
    found = (_lead_of(rows_of, name) for name in AT_LENGTH)
    return [lead for lead in found if lead]


def _lead_of(rows_of: RowsOf, name: str) -> CellLead | None:
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
    pairs = ((feddrl, "fedavg" if equal else "uniform"), (feddrl, "untrained"), (in_drawn_order, "fedavg"))
    controls = [contrasts.paired(late[a], late[b]) if {a, b} <= set(late) else None for a, b in pairs]
    uniform, trained, drawn = controls
    if not any(controls):
        return None
    return CellLead(
        quantities.PAPER_DATA[cell.dataset], cell.partition.upper(),
        contrasts.paired(quantities.best(named, feddrl), quantities.best(named, "fedavg")),
        contrasts.paired(late[feddrl], late.fedavg), uniform, trained, drawn, equal=equal,
        exact=cell.model == PAPERS_CNN, clients=int(cell.num_clients), authors=authors,
    )  # fmt: skip


def _who_learns(rows_of: RowsOf) -> list[str]:
    """The printed and the repaired agent's mean reward less uniform weights', and why the first is low."""
    named = quantities.named(rows_of("feddrl/repair_judged"))
    if named.empty or not {"feddrl", "repaired", "uniform"} <= set(named.variant.unique()):
        return []
    parts = {quantities.PAPER_DATA[str(name)]: part for name, part in named.groupby("dataset")}
    printed, again = (
        {name: reward_gain(part, own, "uniform") for name, part in parts.items()}
        for own in ("feddrl", "repaired")
    )
    told, repair = (
        listed([f"{effect_words(gain)} ({name})" for name, gain in found.items()])
        for found in (printed, again)
    )
    learns = (
        "**Does the agent learn?** In the small setting, on images of all of each data set "
        "(`repair_judged`), its mean reward is set against that of uniform weights. As printed"
        f"{_updates(named)} it is {told} nats from it, with seven settings changed"
        f"{_updates(named, 'repaired')} {repair}.{_with_ten(rows_of)}"
    )
    why = f"**Why not in the small setting?** {' '.join([BY_LEVEL, *_centring(rows_of)])}"
    return [learns] if all(gain.low > 0 for gain in printed.values()) else [learns, why]


def _updates(named: pd.DataFrame, variant: str = "feddrl") -> str:
    """` (1,776 updates)` of an agent in a run; empty without a run of it."""
    own = named[named.variant == variant]
    if own.empty:
        return ""
    method = FedDRL(**json.loads(own.method_options.iloc[0]))
    return f" ({updates(method, int(own['rounds'].iloc[0])):,} updates)"


def _with_ten(rows_of: RowsOf) -> str:
    """The printed agent's mean reward with ten clients at the paper's length; also in drawn order."""
    named = quantities.named(rows_of(WITH_TEN))
    if named.empty or not {"feddrl", "fedavg", "untrained"} <= set(named.variant.unique()):
        return ""
    pairs = {("feddrl", "fedavg"), ("feddrl", "untrained"), ("drawn", "fedavg")}
    gains = {
        pair: effect_words(reward_gain(named, *pair))
        for pair in pairs
        if {*pair} <= set(named.variant.unique())
    }
    told = (
        f" As printed, with ten clients at the paper's length{_updates(named)} it is "
        f"{gains['feddrl', 'fedavg']} nats from FedAvg's, whose weights are uniform there, and "
        f"{gains['feddrl', 'untrained']} from its untrained policy's."
    )
    drawn = gains.get(("drawn", "fedavg"))
    return f"{told} With clients listed in drawn order it is {drawn} from FedAvg's." if drawn else told


def _centring(rows_of: RowsOf) -> list[str]:
    """Sentence on whether the search has the level as the cause: centring alone, the changes without it."""
    named = quantities.named(rows_of("feddrl/repair_search"))
    tried = {"a centred reward alone": "centring", "the search's changes but that": "all_but_centring"}
    if named.empty or not {"uniform", *tried.values()} <= set(named.variant.unique()):
        return []
    gains = {words: reward_gain(named, name, "uniform") for words, name in tried.items()}
    told = listed([f"{words} {effect_words(gain, 'nats')}" for words, gain in gains.items()])
    return [f"In the federation it does not show as the cause: less uniform weights, {told} (section 3)."]
