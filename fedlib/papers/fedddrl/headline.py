"""Findings about FedDdrl in sentences, for the head of notebook and report."""

from collections.abc import Mapping, Sequence

from fedlib.analysis.intervals import barely_decided, by_sign
from fedlib.analysis.numbers import Number, RowsOf, seeds_of, stated
from fedlib.analysis.tables import listed
from fedlib.papers.fedddrl.numbers import (
    AT_FULL_SIZE,
    BY_DATA,
    FULL_BY_DATA,
    FULL_FASTEST_FIFTH,
    FULL_LESS,
    LESS_FASTEST_FIFTH,
    LESS_RANDOM_FIFTH,
    LESS_RULE,
    NOT_PERMUTED,
    PROMISED,
    RETURN_BY_DATA,
    ROWS,
    TRAINED,
)
from fedlib.papers.fedddrl.quantities import real_images
from fedlib.papers.fedddrl.return_tables import rank_answer

RETURNS = "fedddrl/returns"

_SIDES = {"above": "more", "below": "less", "undecided": "undecided"}
_RULES = {"random_drop": "dropping clients at random", "drop_slowest": "keeping the fastest clients"}
_SHORT = {"random_drop": "random dropping", "drop_slowest": "keeping the fastest"}


def headline(rows_of: RowsOf) -> list[str]:
    """The abstract's promises, with larger clients too; then return and accuracy less each rule's."""
    rows = rows_of(ROWS)
    if rows.empty:
        return ["No rows of the controls are stored."]
    _, data = real_images(rows)
    seconds, uploads, accuracy = (stated(number, rows_of) for number in PROMISED)
    promised = [
        f"FedDdrl saves {seconds} of the latency and {uploads} of the uploads of FedAvg with Balanced-MixUp, "
        f"on MNIST and CIFAR-10{seeds_of(PROMISED[0], rows_of)}. Its accuracy less FedAvg's is {accuracy}. "
        "The abstract claims three tenths less of each, and a higher accuracy."
    ] * bool(seconds and uploads and accuracy)
    saved, spared, changed = (stated(number, rows_of) for number in AT_FULL_SIZE)
    larger = [
        "Clients have 30 or 40 images there. With as many as the paper's, 500 to 600, it saves "
        f"{saved} of the latency and {spared} of the uploads{seeds_of(AT_FULL_SIZE[0], rows_of)}. Its "
        f"accuracy less FedAvg's is {changed}."
    ] * bool(promised and saved and spared and changed)
    against = [words for rule in LESS_RULE if (words := _against(rule, data, rows_of))]
    scale = "A point of final accuracy is worth a twentieth of return, by the printed weights."
    against = [f"{words} {scale}" if one == 0 else words for one, words in enumerate(against)]
    against += _of_the_papers_size(rows_of)
    return [
        *_in_short(data, rows_of),
        *promised,
        *larger,
        *against,
        *_less_fifths(rows_of),
        *_learned(rows_of),
        *_ranks(rows_of),
    ]


def _less_fifths(rows_of: RowsOf) -> list[str]:
    """FedDdrl against keeping a fifth of the clients, at random and the fastest; none without rows."""
    told: list[str] = []
    fifths = {"a fifth of the clients at random": LESS_RANDOM_FIFTH, "the fastest fifth": LESS_FASTEST_FIFTH}
    for kept, numbers in fifths.items():
        fifth, level = (stated(number, rows_of) for number in numbers)
        told += [f"FedDdrl less keeping {kept}, with more uploads: return {fifth}; accuracy {level}."] * bool(
            fifth and level
        )
    if told and (full := stated(FULL_FASTEST_FIFTH, rows_of)):
        seeds = seeds_of(FULL_FASTEST_FIFTH, rows_of)
        told[-1] += f" With clients of the paper's size: return {full}{seeds}."
    return told


def _learned(rows_of: RowsOf) -> list[str]:
    """Tell what training adds, and whether as small an effect as a lead over a rule could show; or none."""
    trained, permuted = (stated(number, rows_of) for number in (TRAINED, NOT_PERMUTED))
    if not (trained and permuted):
        return []
    told = (
        f"What training adds: FedDdrl's return less that of its untrained agents is {trained}, less that of "
        f"agents trained on permuted rewards {permuted}{seeds_of(TRAINED, rows_of)}. "
    )
    interval = TRAINED.value(rows_of)
    leads = [numbers[0].value(rows_of) for numbers in LESS_RULE.values()]
    half = (interval.high - interval.low) / 2
    wide = bool(leads) and all(lead is not None and abs(lead.mean) < half for lead in leads)
    if not wide:
        return [f"{told}A lead over a rule is no proof that it was learned (R1)."]
    return [
        f"{told}The first interval reaches further from its mean than FedDdrl's return lies from either "
        "rule's. So these seeds cannot show whether that difference was learned (R1)."
    ]


def _ranks(rows_of: RowsOf) -> list[str]:
    """Whether more return goes with more accuracy, in words; none without rows."""
    words, _ = rank_answer(rows_of(RETURNS))
    return [words] * bool(words)


def _in_short(data: str, rows_of: RowsOf) -> list[str]:
    """Whether return is above the rules', accuracy FedAvg's, and training of worth; none without rows.

    data: the sets over which the numbers are means. With clients of the paper's size too, where those were
    run.
    """
    small = _sides_of([numbers[0] for numbers in LESS_RULE.values()], PROMISED[2], rows_of)
    trained = TRAINED.value(rows_of)
    if not small or trained is None or LESS_FASTEST_FIFTH[0].value(rows_of) is None:
        return []
    adds = by_sign(
        trained, above="Training adds to the return", below="Training lowers the return",
        undecided="That training adds to the return does not show",
    )  # fmt: skip
    large = _sides_of([numbers[0] for numbers in FULL_LESS.values()], AT_FULL_SIZE[2], rows_of)
    larger = f" With 500 to 600, as in the paper, the return is {large}." * bool(large)
    fifth = by_sign(
        LESS_FASTEST_FIFTH[0].value(rows_of), above="less return", below="more return",
        undecided="a return that is undecided against it",
    )  # fmt: skip
    return [
        f"In short: with 30 or 40 images a client FedDdrl's return is {small}. Keeping the fastest fifth has "
        f"{fifth}. {adds}.{larger} All of these are means over {data}."
    ]


def _sides_of(gains: Sequence[Number], accuracy: Number, rows_of: RowsOf) -> str:
    """The return's side of each rule's, then the accuracy's of FedAvg's; empty without rows.

    gains: less the rules of `LESS_RULE`, in its order.
    """
    found, level = [number.value(rows_of) for number in gains], accuracy.value(rows_of)
    if level is None or None in found:
        return ""
    sides = {"above": "above", "below": "below", "undecided": "undecided against"}
    against = listed(
        [f"{by_sign(gain, **sides)} {_SHORT[rule]}" for rule, gain in zip(LESS_RULE, found, strict=True)]
    )
    words = by_sign(level, above="above that of", below="below that of", undecided="undecided against")
    return f"{against}, at as many uploads. Its accuracy is {words} FedAvg with Balanced-MixUp"


def _of_the_papers_size(rows_of: RowsOf) -> list[str]:
    """FedDdrl against the rules where clients have as many images as the paper's; none without rows."""
    told = []
    for rule, numbers in FULL_LESS.items():
        gain, gap = (stated(number, rows_of) for number in numbers)
        split = _split(FULL_BY_DATA[rule], rows_of)
        told += [f"less {_RULES[rule]}, return {gain}{split} and accuracy {gap}"] * bool(gain and gap)
    seeds = seeds_of(FULL_LESS["random_drop"][0], rows_of)
    return [f"With clients of the paper's size FedDdrl {'; '.join(told)}{seeds}."] * bool(told)


def conclusion(rows_of: RowsOf) -> list[str]:
    """Answer the notebook's questions: more return than rules of the same cost, and accuracy for it?"""
    told = []
    for rule, (gain, _) in LESS_RULE.items():
        mean, alone = _side_of(gain, rows_of), _sides_by_data(RETURN_BY_DATA[rule], rows_of)
        level = {name: _side_of(number, rows_of) for name, number in BY_DATA[rule].items()}
        if mean and alone and all(level.values()):
            accuracy = ", ".join(f"{side} on {name}" for name, side in level.items())
            told.append(
                f"Against {_RULES[rule]} at as many uploads: mean return {mean} ({alone}); accuracy "
                f"{accuracy}."
            )
    full = [_at_full_size(rule, rows_of) for rule in FULL_LESS]
    told += full * bool(told and all(full))
    fifths = {"a fifth at random": LESS_RANDOM_FIFTH, "the fastest fifth": LESS_FASTEST_FIFTH}
    for kept, (number, _) in fifths.items():
        if told and (fifth := _side_of(number, rows_of)):
            told.append(f"Against keeping {kept}: mean return {fifth}.")
    if told and (trained := _side_of(TRAINED, rows_of)):
        told.append(f"Against its untrained agents (R1): mean return {trained}.")
    if not told:
        return []
    _, ranks = rank_answer(rows_of(RETURNS))
    return ["Do the agents earn more return than rules?", *told, *[ranks] * bool(ranks)]


def _at_full_size(rule: str, rows_of: RowsOf) -> str:
    """Side of return and accuracy against a rule with clients of the paper's size; empty without rows."""
    gain, gap = (_side_of(number, rows_of) for number in FULL_LESS[rule])
    alone = _sides_by_data(FULL_BY_DATA[rule], rows_of)
    return (
        f"With clients of the paper's size, against {_RULES[rule]}: mean return {gain} ({alone}), mean "
        f"accuracy {gap}."
    ) * bool(gain and gap and alone)


def _sides_by_data(by_data: Mapping[str, Number], rows_of: RowsOf) -> str:
    """`MNIST undecided, CIFAR-10 more`; empty without rows of one of them."""
    sides = {name: _side_of(number, rows_of) for name, number in by_data.items()}
    return ", ".join(f"{name} {side}" for name, side in sides.items()) * all(sides.values())


def _side_of(number: Number, rows_of: RowsOf) -> str:
    """`more`, `less` or `undecided`, by a number's interval; empty without rows."""
    value = number.value(rows_of)
    return by_sign(value, **_SIDES) if value else ""


def _against(rule: str, data: str, rows_of: RowsOf) -> str:
    """FedDdrl against a rule at as many uploads, and its accuracy on each data set; empty without rows."""
    gain, gap = (stated(number, rows_of) for number in LESS_RULE[rule])
    level = LESS_RULE[rule][1].value(rows_of)
    barely = level and barely_decided(level)
    return (
        f"FedDdrl less {_RULES[rule]} at as many uploads, on {data}{seeds_of(LESS_RULE[rule][0], rows_of)}: "
        f"return {gain}{_split(RETURN_BY_DATA[rule], rows_of)}; accuracy {gap}"
        f"{', barely apart from 0' * bool(barely)}{_split(BY_DATA[rule], rows_of)}."
    ) * bool(gain and gap)


def _split(by_data: Mapping[str, Number], rows_of: RowsOf) -> str:
    """` (MNIST +0.22 [...], CIFAR-10 ...)`: the numbers of the data sets that were run."""
    alone = {role: stated(number, rows_of) for role, number in by_data.items()}
    return f" ({', '.join(f'{role} {words}' for role, words in alone.items() if words)})"
