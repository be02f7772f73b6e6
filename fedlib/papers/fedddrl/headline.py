"""Findings about FedDdrl in sentences and a table, for the head of notebook and report."""

from collections.abc import Mapping, Sequence

import pandas as pd

from fedlib.analysis.intervals import by_sign, decided_words, effect_words
from fedlib.analysis.numbers import Number, RowsOf, seeds_of, stated
from fedlib.analysis.tables import listed
from fedlib.papers.fedddrl.numbers import (
    AT_FULL_SIZE,
    BY_COHORT,
    BY_DATA,
    FULL_BY_DATA,
    FULL_FASTEST_FIFTH,
    FULL_LESS,
    FULL_RANDOM_FIFTH,
    LESS_ACCURACY_C,
    LESS_EPOCHS,
    LESS_FASTEST_FIFTH,
    LESS_LATENCY_C,
    LESS_RANDOM_FIFTH,
    LESS_RULE,
    NOT_PERMUTED,
    PROMISED,
    RETURN_BY_DATA,
    ROWS,
    TRAINED,
    UNTRAINED_LESS_RANDOM,
)
from fedlib.papers.fedddrl.quantities import real_images
from fedlib.papers.fedddrl.return_tables import price_in_short, rank_answer
from fedlib.papers.fedddrl.runs import scale_of

RETURNS = "fedddrl/returns"

_SIDES = {"above": "more", "below": "less", "undecided": "undecided"}
_RULES = {"random_drop": "dropping clients at random", "drop_slowest": "keeping the fastest clients"}
_SHORT = {"random_drop": "random dropping", "drop_slowest": "keeping the fastest"}
_LESS = "FedDdrl less keeping"
_KEPT = {"random_drop": "as many at random", "drop_slowest": "as many, the fastest"}
_SMALL, _LARGE = (
    " or ".join(map(str, sorted(scale.images[role] for role in ("MNIST", "CIFAR-10"))))
    for scale in map(scale_of, ("reduced", "extended"))
)
_WHY = "Why not more accuracy?"


def headline(rows_of: RowsOf) -> list[str]:
    """Answer in short and why; the abstract's promises, with larger clients too; what training adds."""
    rows = rows_of(ROWS)
    if rows.empty:
        return ["No rows of the controls are stored."]
    _, data = real_images(rows)
    seconds, uploads, accuracy = (stated(number, rows_of) for number in PROMISED)
    saved, spared, changed = (stated(number, rows_of) for number in AT_FULL_SIZE)
    larger = (
        f" Clients have {_SMALL} images there. With as many as the paper's, {_LARGE}, it saves "
        f"{saved} of the latency and {spared} of the uploads{seeds_of(AT_FULL_SIZE[0], rows_of)}. Its "
        f"accuracy less FedAvg's is {changed}."
    ) * bool(saved and spared and changed)
    promised = [
        f"**What does it save?** FedDdrl saves {seconds} of the latency and {uploads} of the uploads of "
        f"FedAvg with Balanced-MixUp, on MNIST and CIFAR-10{seeds_of(PROMISED[0], rows_of)}. Its accuracy "
        f"less FedAvg's is {accuracy}. The abstract claims three tenths less of each, and a higher "
        f"accuracy.{_against_c(rows_of)}{larger}"
    ] * bool(seconds and uploads and accuracy)
    return [
        *_in_short(data, rows_of),
        *_why(rows_of),
        *promised,
        *_rules(data, rows_of),
        *_learned(rows_of),
    ]


def leads(rows_of: RowsOf) -> pd.DataFrame:
    """FedDdrl's return and accuracy (points) less those of rules of one line: a line a rule, as words.

    Means over real images; with clients of `reduced`, then of the paper's size. Empty without
    rows.
    """
    lines = {_KEPT[rule]: (*LESS_RULE[rule], *FULL_LESS[rule]) for rule in LESS_RULE}
    lines |= {
        "a fifth at random": (*LESS_RANDOM_FIFTH, *FULL_RANDOM_FIFTH),
        "a fifth, the fastest": (*LESS_FASTEST_FIFTH, *FULL_FASTEST_FIFTH),
        "all, the slowest with the fewest epochs": (*LESS_EPOCHS, None, None),
    }
    sizes = [f"{size} images a client" for size in (_SMALL, _LARGE)]
    measures = [f"{size}: {of}" for size in sizes for of in ("return", "accuracy (points)")]
    table = [
        {_LESS: kept, **dict(zip(measures, (_cell(one, rows_of) for one in numbers), strict=True))}
        for kept, numbers in lines.items()
    ]
    return pd.DataFrame([line for line in table if set(list(line.values())[1:]) != {"–"}])


def _cell(number: Number | None, rows_of: RowsOf) -> str:
    """`−1.8 [−3.6, −0.1] (barely)`; `–` without rows."""
    value = number.value(rows_of) if number else None
    return decided_words(value) if value else "–"


def _why(rows_of: RowsOf) -> list[str]:
    """Why the return that agents learn for is not accuracy; none without rows."""
    rows = rows_of(RETURNS)
    words, _ = rank_answer(rows)
    level = PROMISED[2].value(rows_of)
    if not words or level is None:
        return []
    question = by_sign(level, above="What does the return pay?", below=_WHY, undecided=_WHY)
    return [f"**{question}** {price_in_short(real_images(rows)[0])} {words}"]


def _rules(data: str, rows_of: RowsOf) -> list[str]:
    """Introduce `leads`: means of what, seeds, and how its columns compare; none without rows."""
    seeds = LESS_RULE["random_drop"][0].value(rows_of)
    full = FULL_LESS["random_drop"][0].value(rows_of)
    if seeds is None:
        return []
    large = f", {full.n} with {_LARGE} images a client" if full else ""
    return [
        f"**Against rules of one line.** The table below has FedDdrl's lead (means over {data}; "
        f"{seeds.n} seeds{large}; by data set in sections 8 and 10). A point of final accuracy is worth "
        f"a twentieth of return, by the printed weights.{_in_the_other_unit(rows_of)}"
    ]


def _in_the_other_unit(rows_of: RowsOf) -> str:
    """The first lead with H by the cohort's sum, and whether it hangs on the unit; empty without rows."""
    if (lead := BY_COHORT.value(rows_of)) is None:
        return ""
    says = by_sign(
        lead, above="it stands in that unit, too", below="it is a loss in that unit",
        undecided="it hangs on the unit",
    )  # fmt: skip
    return (
        f" With H by the cohort's sum (A3), for which these agents were not trained, the return's lead over "
        f"as many at random is {effect_words(lead)}: {says}."
    )


def _against_c(rows_of: RowsOf) -> str:
    """FedMarl's latency less FedDdrl's, and FedDdrl's accuracy less FedMarl's; empty without rows."""
    latency, accuracy = LESS_LATENCY_C.value(rows_of), LESS_ACCURACY_C.value(rows_of)
    if latency is None or accuracy is None:
        return ""
    sides = {"above": "more", "below": "less", "undecided": "undecided"}
    return (
        f" Of FedAvg's latency it saves {effect_words(latency, '%')} against FedMarl with Balanced-MixUp (C) "
        f"({by_sign(latency, **sides)}); its accuracy less FedMarl's is {effect_words(accuracy, 'points')} "
        f"({by_sign(accuracy, **sides)})."
    )


def _learned(rows_of: RowsOf) -> list[str]:
    """Tell what training adds, and whether as small an effect as a lead over a rule could show; or none."""
    trained, permuted = (stated(number, rows_of) for number in (TRAINED, NOT_PERMUTED))
    if not (trained and permuted):
        return []
    told = (
        f"**What does training add?** FedDdrl's return less that of its untrained agents is {trained}, less "
        f"that of agents trained on permuted rewards {permuted}{seeds_of(TRAINED, rows_of)}. "
    )
    interval = TRAINED.value(rows_of)
    leads = [numbers[0].value(rows_of) for numbers in LESS_RULE.values()]
    half = (interval.high - interval.low) / 2
    wide = bool(leads) and all(lead is not None and abs(lead.mean) < half for lead in leads)
    if not wide:
        return [f"{told}A lead over a rule is no proof that it was learned (R1).{_untrained_words(rows_of)}"]
    return [
        f"{told}The first interval reaches further from its mean than FedDdrl's return lies from either "
        "rule's. So these seeds cannot show whether that difference was learned (R1)."
        f"{_untrained_words(rows_of)}"
    ]


def _untrained_words(rows_of: RowsOf) -> str:
    """Whether untrained agents lead random dropping already; empty without rows."""
    if (lead := UNTRAINED_LESS_RANDOM.value(rows_of)) is None:
        return ""
    says = by_sign(
        lead, above="that lead needs no training", below="they trail it", undecided="no lead of theirs shows"
    )
    return (
        f" Untrained agents' return less that of as many clients at random is {effect_words(lead)} "
        f"({lead.n} seeds; compared when the rows were known): {says}. With larger clients none were run."
    )


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
    larger = f" With {_LARGE}, as in the paper, the return is {large}." * bool(large)
    fifth = by_sign(
        LESS_FASTEST_FIFTH[0].value(rows_of), above="less return", below="more return",
        undecided="a return that is undecided against it",
    )  # fmt: skip
    return [
        f"**In short.** With {_SMALL} images a client FedDdrl's return is {small}. Keeping the fastest "
        f"fifth has {fifth}. {adds}.{larger} All of these are means over {data}."
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
    fifths = {"a fifth at random": LESS_RANDOM_FIFTH, "the fastest fifth": LESS_FASTEST_FIFTH}
    for kept, (number, _) in fifths.items():
        if told and (fifth := _side_of(number, rows_of)):
            told.append(f"Against keeping {kept}: mean return {fifth}.")
    if told and (trained := _side_of(TRAINED, rows_of)):
        told.append(f"Against its untrained agents (R1): mean return {trained}.")
    full = [_at_full_size(rule, rows_of) for rule in FULL_LESS]
    told += full * bool(told and all(full))
    if told and all(full) and (fifth := _side_of(FULL_FASTEST_FIFTH[0], rows_of)):
        told.append(f"There, against keeping the fastest fifth: mean return {fifth}.")
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
