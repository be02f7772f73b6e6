"""Standings of methods against rivals, in words from registered numbers."""

from collections.abc import Mapping

from fedlib.analysis.numbers import Number, RowsOf, stated
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.quantities import AHEAD, BEHIND, EQUAL, OPEN, TOO_FEW, standing_of

Numbers = Mapping[str, Mapping[str, Number]]  # of a method, by the rival's words
NOT_COMPARED = "not run"
BEST = "the best baseline"
PHRASES = {  # of a standing, before the rivals against which a method has it
    AHEAD: "ahead of", EQUAL: "equal within half a point to", OPEN: "undecided against", BEHIND: "behind",
    TOO_FEW: "run with too few seeds against", NOT_COMPARED: "without rows against",
}  # fmt: skip


def of_method(method: str, numbers: Mapping[str, Number], rows_of: RowsOf, where: str) -> str:
    """Say in one sentence where a method stands against each rival; numbers: by the rival's words."""
    found: dict[str, list[str]] = {}
    for rival, number in numbers.items():
        standing, effect = standing_against(number, rows_of)
        found.setdefault(standing, []).append(f"{rival} ({effect})")
    parts = [f"{words} {listed(found[standing])}" for standing, words in PHRASES.items() if standing in found]
    return f"{where} {method} is {'; '.join(parts)}."


def each_method(numbers: Numbers, rows_of: RowsOf, where: str) -> list[str]:
    """`of_method` of each."""
    return [of_method(method, own, rows_of, where) for method, own in numbers.items()]


def standing_against(number: Number, rows_of: RowsOf) -> tuple[str, str]:
    """Name a number's standing, one of `PHRASES`, and its effect in words."""
    found = number.value(rows_of)
    return (NOT_COMPARED, "no rows") if found is None else (standing_of(found), stated(number, rows_of))
