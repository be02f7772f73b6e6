"""Answers about FedDRL's short runs, on table 3's real images and on CIFAR-10, for 01_feddrl's head."""

import pandas as pd

from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import effect_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import dataset_titles, listed
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.cell_leads import MOST_CLIENTS
from fedlib.papers.feddrl.short_run_numbers import CIFAR_FEDAVG, CIFAR_UNIFORM
from fedlib.papers.feddrl.tables import pooled_lead


def short_runs(rows: pd.DataFrame) -> list[str]:
    """FedDRL's best accuracy against FedAvg by partition of table 3, and over all cells against controls.

    Of real images where there are any; none without rows.
    """
    if rows.empty:
        return []
    real = real_rows(rows)
    named = quantities.named(real if len(real) else rows)
    rounds = named["rounds"].max()
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
        f"In runs of {rounds} rounds or fewer on {listed(dataset_titles(named))} FedDRL's best accuracy less "
        "FedAvg's is "
        f"{listed(leads)} points.",
        f"Over all {cells} cells it is {uniform} from that of uniform weights, and {untrained} from "
        "that of its own policy before any training.",
    ]


def on_cifar(rows_of: RowsOf) -> list[str]:
    """FedDRL on CIFAR-10 under PA with 100 clients, as short, less FedAvg and uniform weights; or none."""
    found = [number.value(rows_of) for number in (CIFAR_FEDAVG, CIFAR_UNIFORM)]
    if not all(found):
        return []
    fedavg, uniform = map(effect_words, found)
    return [
        f"On CIFAR-10 (JPEG copies), PA with {MOST_CLIENTS} clients, it is {fedavg} less FedAvg and "
        f"{uniform} less uniform weights."
    ]
