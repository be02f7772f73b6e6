"""Answers of 02_feddisk's section on losses, in sentences computed from rows."""

import pandas as pd

from fedlib.analysis.intervals import by_sign, mean_interval, mean_words, ratio_words
from fedlib.analysis.tables import span_words
from fedlib.data.titles import title_of
from fedlib.papers.feddisk.measurements import PAPER_NAMES
from fedlib.papers.feddisk.quantities import (
    TENS,
    before_first_rise,
    local_loss_saved_by_information,
    local_loss_saved_to_fedavg,
    loss_saved_to_fedavg,
    lowest_loss,
    printed_made_rounds,
    rounds_below_hundred,
)
from fedlib.papers.feddisk.runs import CASES, METHODS, case_of


def whose_loss_is_lower(rows: pd.DataFrame, beside_shuffled: pd.DataFrame) -> list[str]:
    """Sentences on C6: the competitor of the lowest loss, and FedAvg's ratio to FedDisk's by both losses.

    rows: with all five methods; beside_shuffled: of FedDisk and its weights on other samples. None without.
    """
    if rows.empty or not set(METHODS) <= set(rows.method):
        return []
    own_norms = " It is that of the global weights with each client's own BatchNorm, of no one model (A24)."
    rival = lowest_loss(rows)
    told = [
        f"Of the competitors {PAPER_NAMES[rival]} has the lowest.{own_norms * (rival == 'fedbn')} FedAvg's "
        f"is {_ratio(loss_saved_to_fedavg(rows))} times FedDisk's."
    ]
    trained = (
        "By the loss of local training, FedDisk's with its weights (A31), FedAvg's is "
        f"{_ratio(local_loss_saved_to_fedavg(rows))} times FedDisk's"
    )
    shuffled = local_loss_saved_by_information(beside_shuffled) if len(beside_shuffled) else pd.Series()
    if len(shuffled):
        lower = by_sign(
            mean_interval(shuffled.to_numpy()), above="they are lower on its own than on others",
            below="they are higher on its own than on others", undecided="no difference shows",
        )  # fmt: skip
        trained += f", and that of the same weights on other samples {_ratio(shuffled)} times: {lower}"
    return [*told, f"{trained}."]


def _ratio(saved: pd.Series) -> str:
    return ratio_words(mean_interval(saved.to_numpy()))


def rounds_of_the_made(rows: pd.DataFrame) -> list[str]:
    """Sentences on C7: rounds to the global MADE's lowest loss, and to the one before the first rise."""
    told = []
    for name, own in rows.groupby("dataset", sort=False) if len(rows) else ():
        lowest = (TENS - rounds_below_hundred(own)).astype(int)
        printed = printed_made_rounds()[CASES[case_of(str(name))]]
        words = (
            f"On {title_of(str(name))} the global MADE's loss is lowest after {span_words(lowest)} rounds "
            f"(paper: {TENS - printed:g})."
        )
        if len(first := before_first_rise(own)):
            side = by_sign(
                mean_interval(first.to_numpy()), above="it is tens of rounds",
                below="it is more than tens of rounds", undecided="whether it is tens of rounds is undecided",
            )  # fmt: skip
            words += (
                f" The round before its first rise lies {mean_words(first)} rounds below {TENS}: so counted, "
                f"{side}."
            )
        told.append(words)
    return told
