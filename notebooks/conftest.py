"""Under nbval, compare the numbers of committed outputs within a tolerance instead of texts as they stand.

A cell tagged `nbval-check-output` passes if its words are the same and each number lies within 2 % of the
committed one, or within 0.02 of its last digit's place: thread counts and library builds move the last
digits of trained runs. Pictures are compared by `python -m fedlib figures --check`.
"""

import re

from nbval.plugin import IPyNbCell

RELATIVE, ABSOLUTE = 0.02, 0.02
NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
TAGS = re.compile(r"<style.*?</style>|<[^>]+>", re.DOTALL)


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    """What stands in an output besides markup: its words, and its numbers in order."""
    plain = TAGS.sub(" ", text)
    numbers = [float(found.replace("−", "-").replace(",", "")) for found in NUMBER.findall(plain)]
    return NUMBER.sub(" ", plain).split(), numbers


def shown_text(output: dict) -> str:
    """Text of one output: what was printed, or the HTML, Markdown or plain form of what was displayed."""
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return ""
    found = output.get("text") or data.get("text/html") or data.get("text/markdown") or data.get("text/plain")
    return "".join(found or "")


def difference(fresh: str, committed: str) -> str:
    """The first thing that differs by more than the tolerance; empty if nothing does."""
    (words, numbers), (old_words, old_numbers) = words_and_numbers(fresh), words_and_numbers(committed)
    for now, then in zip(words, old_words, strict=False):
        if now != then:
            return f"{now!r} instead of {then!r}"
    if len(words) != len(old_words) or len(numbers) != len(old_numbers):
        return f"{len(words)} words, {len(numbers)} numbers; committed {len(old_words)}, {len(old_numbers)}"
    for now, then in zip(numbers, old_numbers, strict=True):
        if abs(now - then) > max(ABSOLUTE, RELATIVE * abs(then)):
            return f"{now:g} instead of {then:g} (tolerance {RELATIVE:.0%} or {ABSOLUTE})"
    return ""


def compare_outputs(self, test, ref, skip_compare=None) -> bool:
    """nbval's comparison of one cell, with the tolerance above."""
    fresh, committed = ("".join(map(shown_text, outputs)) for outputs in (test, ref))
    found = difference(fresh, committed)
    self.comparison_traceback = [f"committed output differs: {found}"] if found else []
    return not found


IPyNbCell.compare_outputs = compare_outputs
