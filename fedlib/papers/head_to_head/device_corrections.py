"""Leads at equal simulated time with Holm's correction for all methods at once, rows to words."""

from collections.abc import Callable

import pandas as pd

from fedlib.analysis.decisions import cells_below
from fedlib.analysis.intervals import mean_words
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head import device_runs
from fedlib.papers.head_to_head.device_quantities import less_at_equal_time, waiting_for_probes
from fedlib.papers.head_to_head.device_runs import TIMED


def corrected(rows: pd.DataFrame) -> str:
    """Say which leads over as many clients at random hold when all methods are compared at once (Holm)."""
    told = holding(rows)
    if not told:
        return ""
    longer = waiting_for_probes(rows)
    waiting = holding(longer)
    same = "the same holds" if waiting == told else waiting
    fedmarl = less_at_equal_time(longer, "FedMarl", "FedAvg")
    gap = f" By it FedMarl's accuracy less FedAvg's is {mean_words(fedmarl, 'points')}, uncorrected."
    return (
        f"Corrected for {len(TIMED)} comparisons (Holm), {told} over as many clients at random. If the "
        f"server waits for the probing epoch of dropped clients, as FedMarl's does, {same}: a rule that was "
        f"added when the rows were known (FEDDDRL-A2).{gap * bool(len(fedmarl))}"
    )


def corrected_on_training(rows: pd.DataFrame) -> str:
    """Say which leads over a method's twins hold when all methods are compared at once (Holm)."""
    untrained, uninformed = (holding(rows, who) for who in (device_runs.untrained, device_runs.uninformed))
    return (
        f"Corrected for {len(TIMED)} methods (Holm), {untrained} over the untrained policy. "
        f"{uninformed[:1].upper()}{uninformed[1:]} over the policy that was taught on rewards of other "
        "decisions."
    ) * bool(untrained and uninformed)


def holding(rows: pd.DataFrame, rival: Callable[[str], str] = device_runs.at_random) -> str:
    """`FedDdrl leads`, or that no lead shows; empty with fewer than two seeds that all have.

    rival: of a method the contestant that it leads or not.
    """
    found = pd.DataFrame({name: less_at_equal_time(rows, name, rival(name)) for name in TIMED}).dropna()
    if len(found) < 2:
        return ""
    holds = found.columns[cells_below(-found.to_numpy(), 0.0)]
    return f"{listed(list(holds))} {'lead' if len(holds) > 1 else 'leads'}" if len(holds) else "no lead shows"
