"""Findings about FedDdrl in sentences, for the head of notebook and report."""

from fedlib.analysis.intervals import by_sign
from fedlib.analysis.numbers import RowsOf, seeds_of, stated
from fedlib.papers.fedddrl.numbers import (
    AT_FULL_SIZE,
    BY_DATA,
    FIFTH_ACCURACY,
    FULL_LESS,
    LESS_RANDOM_FIFTH,
    LESS_RULE,
    PROMISED,
    ROWS,
    TRAINED,
)
from fedlib.papers.fedddrl.quantities import real_images

_SIDES = {"above": "more", "below": "less", "undecided": "undecided"}
_RULES = {"random_drop": "dropping clients at random", "drop_slowest": "dropping the slowest clients"}


def headline(rows_of: RowsOf) -> list[str]:
    """The abstract's promises, with larger clients too; then return and accuracy less each rule's."""
    rows = rows_of(ROWS)
    if rows.empty:
        return ["No rows of the controls are stored."]
    _, data = real_images(rows)
    seconds, uploads, accuracy = (stated(number, rows_of) for number in PROMISED)
    promised = [
        f"FedDdrl saves {seconds} of the latency and {uploads} of the uploads of FedAvg with Balanced-MixUp, "
        f"on MNIST and CIFAR-10{seeds_of(PROMISED[0], rows_of)}. Its accuracy is {accuracy} against it. The "
        "abstract claims three tenths less of each, and a higher accuracy."
    ] * bool(seconds and uploads and accuracy)
    saved, spared, changed = (stated(number, rows_of) for number in AT_FULL_SIZE)
    larger = [
        "Clients have 30 or 40 images there. With as many as the paper's, 500 to 600, it saves "
        f"{saved} and {spared}, and its accuracy is {changed}{seeds_of(AT_FULL_SIZE[0], rows_of)}."
    ] * bool(promised and saved and spared and changed)
    against = [words for rule in LESS_RULE if (words := _against(rule, data, rows_of))]
    scale = "A point of final accuracy is worth a twentieth of return, by the printed weights."
    against = [f"{words} {scale}" if one == 0 else words for one, words in enumerate(against)]
    against += _of_the_papers_size(rows_of)
    trained, fifth, level = (stated(one, rows_of) for one in (TRAINED, LESS_RANDOM_FIFTH, FIFTH_ACCURACY))
    kept = [
        f"Against keeping a fifth of the clients at random FedDdrl's return is {fifth}. Its accuracy is "
        f"{level} against that, with more uploads."
    ] * bool(fifth and level)
    learned = [
        f"What training adds: FedDdrl's return is {trained} against its untrained agents"
        f"{seeds_of(TRAINED, rows_of)}. So a lead over a rule is no proof that it was learned (R1)."
    ] * bool(trained)
    return [*promised, *larger, *against, *kept, *learned]


def _of_the_papers_size(rows_of: RowsOf) -> list[str]:
    """FedDdrl against the rules where clients have as many images as the paper's; none without rows."""
    told = []
    for rule, numbers in FULL_LESS.items():
        gain, gap = (stated(number, rows_of) for number in numbers)
        told += [f"return is {gain} and its accuracy {gap} against {_RULES[rule]}"] * bool(gain and gap)
    seeds = seeds_of(FULL_LESS["random_drop"][0], rows_of)
    return [f"With clients of the paper's size its {'. Its '.join(told)}{seeds}."] * bool(told)


def conclusion(rows_of: RowsOf) -> list[str]:
    """Answer of the notebook's questions: more return than rules of the same cost, and accuracy for it?"""
    told = []
    for rule, (gain, _) in LESS_RULE.items():
        found = {name: number.value(rows_of) for name, number in {"": gain, **BY_DATA[rule]}.items()}
        sides = {name: by_sign(one, **_SIDES) for name, one in found.items() if one is not None}
        if len(sides) == len(found):
            accuracy = ", ".join(f"{side} on {name}" for name, side in sides.items() if name)
            told.append(
                f"Against {_RULES[rule]} at as many uploads: return {sides['']}; accuracy {accuracy}."
            )
    full = {rule: [number.value(rows_of) for number in numbers] for rule, numbers in FULL_LESS.items()}
    if told and all(None not in found for found in full.values()):
        sides = [
            f"against {_RULES[rule]} return {by_sign(gain, **_SIDES)}, accuracy {by_sign(gap, **_SIDES)}"
            for rule, (gain, gap) in full.items()
        ]
        told.append(f"With clients of the paper's size: {'; '.join(sides)}.")
    if told and (fifth := LESS_RANDOM_FIFTH.value(rows_of)) is not None:
        told.append(f"Against keeping a fifth at random: return {by_sign(fifth, **_SIDES)}.")
    if told and (trained := TRAINED.value(rows_of)) is not None:
        told.append(f"Against its untrained agents (R1): return {by_sign(trained, **_SIDES)}.")
    return ["Do the agents earn more return, and does it help accuracy?", *told] * bool(told)


def _against(rule: str, data: str, rows_of: RowsOf) -> str:
    """FedDdrl against a rule at as many uploads, and its accuracy on each data set; empty without rows."""
    gain, gap = (stated(number, rows_of) for number in LESS_RULE[rule])
    alone = {role: stated(number, rows_of) for role, number in BY_DATA[rule].items()}
    split = ", ".join(f"{role} {words}" for role, words in alone.items() if words)
    return (
        f"FedDdrl's return is {gain} against {_RULES[rule]} at as many uploads, on {data}"
        f"{seeds_of(LESS_RULE[rule][0], rows_of)}. Its accuracy is "
        f"{gap} against that ({split})."
    ) * bool(gain and gap)
