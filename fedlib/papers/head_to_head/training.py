"""Sentences on the training of the comparison's agents, computed from rows."""

from collections.abc import Mapping

import pandas as pd

from fedlib.analysis.tables import listed, span_words
from fedlib.papers.head_to_head.quantities import labelled

MOVED = 1.5  # factor by which a concentration has to change before we say that a policy moved


def training_words(rows: pd.DataFrame, name: str, label: str) -> str:
    """Say how far the agent of one contestant was trained; empty without its rows. label: its name."""
    own = labelled(rows)
    own = own[own.contestant == name]
    return f"{label}{_TOLD[name](own)}" if len(own) else ""


def _buffer(own: pd.DataFrame) -> str:
    last = own.drop_duplicates("run", keep="last").buffer_length.astype(int)
    return f"'s buffer ends with {span_words(last)} transitions of the run"


def _before_round_1(own: pd.DataFrame) -> str:
    made = span_words(own[own["round"] == 0].local_trainings.astype(int))
    return f"'s agent is trained by {made} local trainings before round 1, and learns nothing later"


def _concentrations(own: pd.DataFrame) -> str:
    first, last = own[own["round"] == 1], own.drop_duplicates("run", keep="last")
    start, low, high = (
        first.concentration_max.max(),
        last.concentration_min.min(),
        last.concentration_max.max(),
    )
    hardly = ": its policy hardly moved" if max(start / low, high / start) < MOVED else ""
    return f"'s concentrations, all {start:g} at the start, end between {low:.1f} and {high:.1f}{hardly}"


def all_training_words(rows: pd.DataFrame, labels: Mapping[str, str]) -> list[str]:
    """`training_words` of the contestants that learn, a sentence for those trained alike. labels: by name."""
    alike: dict[str, list[str]] = {}
    for name, label in labels.items():
        if words := training_words(rows, name, label):
            alike.setdefault(words.removeprefix(label), []).append(label)
    return [f"{listed(own)}{words}." for words, own in alike.items()]


_TOLD = {
    "feddrl": _buffer, "repaired": _buffer, "favor": _before_round_1, "auto_fedrl": _concentrations,
}  # fmt: skip
