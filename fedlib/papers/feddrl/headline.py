"""Findings about FedDRL in sentences, for the notebook's head and end, and the report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, by_side, effect_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.estimands import ROUNDS
from fedlib.papers.feddrl.learning_answers import repaired, reward_gain
from fedlib.papers.feddrl.length_runs import LENGTH_CELLS
from fedlib.papers.feddrl.tables import LAST_ROUNDS, pooled_lead

WITHIN = {  # whose lead over FedAvg is what is left of FedDRL's
    "drawn": "with its clients listed in drawn order", "uniform": "against uniform weights",
    "untrained": "against its untrained policy",
}  # fmt: skip


@dataclass(frozen=True)
class _LateLead:
    """FedDRL's lead over FedAvg in the last rounds of a cell of the paper's length, and what is left of it.

    Left: with clients listed in drawn order; or over uniform weights where no order tells a group (PA);
    else over the untrained policy.
    """

    data: str
    scheme: str
    lead: Interval
    within: str  # key of `WITHIN`
    left: Interval


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three findings: FedDRL against FedAvg and controls, at the paper's length, and repaired."""
    rows = rows_of("feddrl/table3")
    if rows.empty:
        return ["No rows of table 3 are stored."]
    judged = rows_of("feddrl/repair_judged")
    leads = [" ".join(_late_lead_words(part)) for part in _by_data(_late_leads(rows_of))]
    again = [" ".join(repaired(judged, ["Section 3 repairs the agent."]))] if len(judged) else []
    return [" ".join(_best_rounds(rows)), *([" ".join(leads)] if leads else []), *again]


def conclusion(rows_of: RowsOf) -> list[str]:
    """Answers without numbers: does the agent learn, why not, what repairs it, and does it matter at length.

    The numbers stand in `headline` and in the notebook's sections.
    """
    first = next(_by_data(_late_leads(rows_of)), [])
    return [*_who_learns(rows_of("feddrl/repair_judged")), *(_who_leads(first) if first else [])]


def _who_leads(leads: list[_LateLead]) -> list[str]:
    """FedDRL's side of FedAvg in the last rounds by scheme, then the side of what is left."""
    told = [
        f"**Does it matter at the paper's length?** On {leads[0].data} FedDRL's mean accuracy of the last "
        f"{LAST_ROUNDS} of {ROUNDS} rounds is {_sides({one.scheme: one.lead for one in leads}, 'under')}, "
        "against FedAvg."
    ]
    for within, words in WITHIN.items():
        own = {one.scheme: one.left for one in leads if one.within == within}
        told += [f"It is {_sides(own, 'under')}, {words}."] if own else []
    return [" ".join(told)]


def _sides(found: Mapping[str, Interval], word: str) -> str:
    """`ahead under CE and PA, undecided under CN`: names by the side of 0 of their intervals."""
    sides = by_side(found, above="ahead", below="behind")
    return ", ".join(f"{side} {word} {listed(names)}" for side, names in sides.items() if names)


def _best_rounds(rows: pd.DataFrame) -> list[str]:
    """FedDRL's best accuracy over table 3's cells, of real images first, against FedAvg and controls."""
    real = real_rows(rows)
    part = real if len(real) else rows
    pooled = _pooled_leads(part)
    told = [
        f"FedDRL's best accuracy is {effect_words(pooled['fedavg'], 'points')} against FedAvg over "
        f"{_cells(part)} cells of table 3 with {'real' if len(real) else 'generated'} images, in runs of "
        f"{part['rounds'].max()} rounds or fewer.",
        f"Against uniform weights it is {effect_words(pooled['uniform'], 'points')}, against its own policy "
        f"before any training {effect_words(pooled['untrained'], 'points')}.",
    ]
    if 0 < len(real) < len(rows):
        more = effect_words(_pooled_leads(rows)["fedavg"], "points")
        told.append(f"With the generated stand-in ({_cells(rows)} cells) it is {more} against FedAvg.")
    return told


def _pooled_leads(rows: pd.DataFrame) -> dict[str, Interval]:
    """FedDRL less each control in best accuracy (points), pooled over the cells."""
    named = quantities.named(rows)
    return {control: pooled_lead(named, control) for control in ("fedavg", "uniform", "untrained")}


def _cells(rows: pd.DataFrame) -> int:
    return sum(1 for _ in quantities.cells(quantities.named(rows), needs=("feddrl", "fedavg")))


def _late_leads(rows_of: RowsOf) -> list[_LateLead]:
    found = (_late_lead(rows_of(f"feddrl/{name}")) for name in LENGTH_CELLS)
    return [lead for lead in found if lead]


def _late_lead(rows: pd.DataFrame) -> _LateLead | None:
    """The late lead of a cell; None for shorter runs and where no control was run."""
    if rows.empty or rows["rounds"].max() < ROUNDS:
        return None
    late, cell = quantities.late_levels(named := quantities.named(rows)), named.iloc[0]
    if not {"feddrl", "fedavg"} <= set(late):
        return None
    pairs = {"drawn": ("drawn", "fedavg"), "untrained": ("feddrl", "untrained")}
    if cell.partition == "pa":
        pairs = {"uniform": ("feddrl", "uniform"), **pairs}
    within = next((name for name, pair in pairs.items() if set(pair) <= set(late)), None)
    if within is None:
        return None
    own, other = pairs[within]
    return _LateLead(
        quantities.PAPER_DATA[cell.dataset], cell.partition.upper(),
        contrasts.paired(late.feddrl, late.fedavg), within, contrasts.paired(late[own], late[other]),
    )  # fmt: skip


def _by_data(leads: list[_LateLead]) -> Iterator[list[_LateLead]]:
    """The leads of each data set."""
    for data in dict.fromkeys(lead.data for lead in leads):
        yield [lead for lead in leads if lead.data == data]


def _late_lead_words(leads: list[_LateLead]) -> list[str]:
    """Late leads on one data set, and what is left of each, in a sentence each."""
    all_of_it = [f"{effect_words(one.lead)} ({one.scheme})" for one in leads]
    left = []
    for within, words in WITHIN.items():
        own = [f"{effect_words(one.left)} ({one.scheme})" for one in leads if one.within == within]
        left += [f"{listed(own)} {words}"] if own else []
    return [
        f"After {ROUNDS} rounds FedDRL's mean accuracy of the last {LAST_ROUNDS} less FedAvg's is, on "
        f"{leads[0].data}, {listed(all_of_it)} points.",
        f"It is {listed(left)}.",
    ]


def _who_learns(rows: pd.DataFrame) -> list[str]:
    """Side of 0 of the printed and of the repaired agent's mean reward less uniform weights'."""
    named = quantities.named(rows)
    if named.empty or not {"feddrl", "repaired", "uniform"} <= set(named.variant):
        return []
    parts = {quantities.PAPER_DATA[str(name)]: part for name, part in named.groupby("dataset")}
    printed, again = (
        {name: reward_gain(part, own, "uniform") for name, part in parts.items()}
        for own in ("feddrl", "repaired")
    )
    why = (
        "**Why not?** The level of the loss moves its reward more than its own action does, and a state of "
        "shares hides that level from the critic (section 3)."
    )
    return [
        "**Does the agent learn?** In the small setting the printed agent's mean reward is "
        f"{_sides(printed, 'on')}, against uniform weights.",
        *([] if all(gain.low > 0 for gain in printed.values()) else [why]),
        "**Does a repair?** With a centred reward, the losses themselves as state and five further changes "
        f"it is {_sides(again, 'on')}.",
    ]
