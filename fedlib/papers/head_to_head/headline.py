"""Findings in sentences, for the head of notebook and report."""

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from fedlib.analysis.intervals import effect_words, mean_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head import (
    agreement,
    clients,
    device_time,
    device_training,
    leads,
    on_all_sets,
    other_sets,
    scale,
)
from fedlib.papers.head_to_head.claims import (
    BASELINES,
    LEARNED,
    best_baseline,
    less,
    permuted_words,
    strongest_baseline,
)
from fedlib.papers.head_to_head.device_corrections import corrected, corrected_on_training, holding
from fedlib.papers.head_to_head.device_lengths import length_words
from fedlib.papers.head_to_head.device_quantities import named
from fedlib.papers.head_to_head.device_quantities import per_run as per_device_run
from fedlib.papers.head_to_head.device_runs import ROUNDS, uninformed, untrained
from fedlib.papers.head_to_head.numbers import (
    BENCHMARKS,
    DEVICES,
    FULL,
    IN_TIME,
    LESS,
    ROWS,
    STRONGEST,
)
from fedlib.papers.head_to_head.quantities import AHEAD, equal_sizes, per_run, set_titles, standing_of
from fedlib.papers.head_to_head.standings import BEST, Numbers, each_method, standing_against
from fedlib.papers.head_to_head.training import all_training_words
from fedlib.plotting.style import method_style
from fedlib.words import counted

Telling = Callable[[Numbers, RowsOf, str], list[str]]
LEARNS_ASKED, BASELINES_ASKED = "Does an agent on the server beat FedAvg?", "Which baseline does?"


def headline(rows_of: RowsOf) -> list[str]:
    """Answer in short who is ahead, in rounds and in time; benchmark, scale, what is open.

    The numbers of the first are in `on_all_sets.less_fedavg`.
    """
    asked = {
        LEARNS_ASKED: [on_all_sets.stand_words(rows_of)],
        BASELINES_ASKED: other_sets.leads_on_all(rows_of),
        "Is what learns ahead in a single cell?": [on_all_sets.cells_words(rows_of)],
        "Who is ahead in simulated time?": devices_in_brief(rows_of),
        "Are our baselines right?": agreement.in_brief(rows_of),
        "On what scale?": scale_in_brief(rows_of),
        "And on all images?": full_size_in_brief(rows_of),
    }
    return [*_answered(asked), *open_questions(rows_of)]


def _answered(asked: Mapping[str, Sequence[str]]) -> list[str]:
    """Questions in bold, each with its sentences; left out without any."""
    told = {question: " ".join(filter(None, sentences)) for question, sentences in asked.items()}
    return [f"**{question}** {words}" for question, words in told.items() if words]


def scale_in_brief(rows_of: RowsOf) -> list[str]:
    """On how few images the comparison stands, and how many of its curves still rise."""
    rows = rows_of(ROWS)
    return [] if rows.empty else [f"{scale.images_in_brief(rows)} {scale.curves_in_brief(rows)}"]


def full_size_in_brief(rows_of: RowsOf) -> list[str]:
    """On all images: local steps a round, curves that still rise, who is ahead of FedAvg."""
    rows = rows_of(FULL)
    if rows.empty:
        return []
    runs = per_run(rows)
    where = f"With {listed(list(runs.cell.unique()))} on {set_titles(runs)}{scale.total_words(rows)}"
    return [f"{where}: {scale.steps_words(rows)}. {scale.curves_in_brief(rows)}", leads.ahead_words(rows)]


def conclusion(rows_of: RowsOf) -> list[str]:
    """Answers: does what learns beat FedAvg, what does, who leads in time, and what this rests on."""
    rows = rows_of(ROWS)
    if rows.empty:
        return [on_all_sets.stand_words(rows_of)]
    trained = " ".join(all_training_words(rows, LEARNED))
    asked = {
        LEARNS_ASKED: [on_all_sets.stand_words(rows_of)],
        BASELINES_ASKED: other_sets.leads_on_all(rows_of),
        "And in simulated time?": devices_in_brief(rows_of),
        "What does this rest on?": [*scale_in_brief(rows_of), trained],
    }
    return _answered(asked)


def comparison_answer(rows_of: RowsOf) -> list[str]:
    """Sentences on who is ahead, on each learned method, on the best baseline and on diverged runs."""
    rows = rows_of(ROWS)
    if rows.empty:
        return ["No rows of the comparison are stored."]
    runs = per_run(rows)
    names = _seen(runs)
    told = each_method({LEARNED[name]: LESS[name] for name in names}, rows_of, _where(runs))
    told = [words.replace(BEST, f"{BEST}, {_best(runs)}") for words in told] if _baselines(runs) else told
    others = [leads.divergence_words(rows), leads.undiverged_words(rows)]
    permuted, parting = permuted_words(rows).replace("-", "−"), other_sets.parting_words(rows, leads=False)
    twin = _twin_words(rows, names)
    beside = [parting, permuted and f"{permuted}.", twin, *_strongest(rows_of, runs, names), *others]
    return [leads.ahead_words(rows), *told, *filter(None, beside)]


def _twin_words(rows: pd.DataFrame, names: Sequence[str]) -> str:
    """Learned methods less FedNova in the cells where it is FedAvg but for rounding; empty without them."""
    rows = equal_sizes(rows)
    if rows.empty or "fednova" not in set(per_run(rows).contestant):
        return ""
    gaps = {LEARNED[name]: less(rows, name, "fednova").dropna().mean(axis=1) for name in names}
    told = [f"{name} {mean_words(gap, '')}" for name, gap in gaps.items() if len(gap) > 1]
    return (
        "Where clients hold equally many images, FedNova is FedAvg but for rounding: a second course of the "
        f"same training. Less FedNova, in points: {', '.join(told)}."
    ) * bool(told)


def comparison_evidence(rows_of: RowsOf) -> list[str]:
    """Points on what the answer rests on: images, curves, the agents' training and the machines."""
    rows = rows_of(ROWS)
    if rows.empty:
        return []
    trained = " ".join(all_training_words(rows, LEARNED))
    told = [
        scale.images_words(rows), scale.curves_words(rows), trained, clients.reach_words(rows),
        scale.machines_words(rows),
        scale.absent_words(rows),
    ]  # fmt: skip
    return [words for words in told if words]


def _where(runs: pd.DataFrame) -> str:
    cells = runs.groupby(["dataset", "cell"]).ngroups
    return f"Over {counted(cells, 'cell')} ({counted(runs.seed.nunique(), 'seed')})"


def _seen(runs: pd.DataFrame) -> list[str]:
    return [name for name in LESS if name in set(runs.contestant)]


def _baselines(runs: pd.DataFrame) -> set[str]:
    return set(BASELINES) & set(runs.contestant)


def _best(runs: pd.DataFrame) -> str:
    return method_style(best_baseline(runs)).label


def devices_answer(rows_of: RowsOf) -> list[str]:
    """`who_is_ahead_in_time`; then sentences on its rivals, leads at once (Holm) and runs that failed."""
    told = who_is_ahead_in_time(rows_of, each_method, IN_TIME)
    if not told:
        return []
    rows = rows_of(DEVICES)
    runs = per_device_run(named(rows))
    failed = runs[runs.diverged].contestant.value_counts(sort=False)
    words = "; ".join(f"{name} {count}" for name, count in failed.items())
    lost = f"Failed runs, diverged or in a round for which nobody was selected, count as zero: {words}."
    beside = [
        device_time.best_baseline_words(rows), device_time.rival_words(rows), corrected(rows),
        corrected_on_training(rows), device_training.weak_control_words(rows),
        lost if words else "", device_training.without_failures_words(rows),
        device_training.cost_words(rows), *length_words(rows_of),
    ]  # fmt: skip
    return [*told, *filter(None, beside)]


def devices_in_brief(rows_of: RowsOf) -> list[str]:
    """Accuracy less FedAvg's after equal time, leads that hold for all at once (Holm), and who is sooner."""
    told = who_is_ahead_in_time(rows_of, _less_fedavg_in_time, IN_TIME)
    if not told:
        return []
    rows = rows_of(DEVICES)
    rivals = {
        "over random choice": holding(rows), "over the untrained policy": holding(rows, untrained),
        "over the policy taught on rewards of other decisions": holding(rows, uninformed),
    }  # fmt: skip
    by_words: dict[str, list[str]] = {}
    for rival, words in rivals.items():
        by_words.setdefault(words, []).append(rival)
    held = [f"{words} {' or '.join(own)}" for words, own in by_words.items() if words]
    at_once = f"Corrected for all methods at once (Holm), {'; '.join(held)}." * bool(held)
    return [*told, at_once, device_time.sooner_in_brief(rows)]


def _less_fedavg_in_time(numbers: Numbers, rows_of: RowsOf, where: str) -> list[str]:
    values = {name: own["FedAvg"].value(rows_of) for name, own in numbers.items()}
    runs = per_device_run(named(rows_of(DEVICES)))
    lost = runs.groupby("contestant").diverged.sum()
    told = [
        f"{name} {effect_words(value)}{_as_zero(int(lost.get(name, 0)))}"
        for name, value in values.items()
        if value
    ]
    ahead = [name for name, value in values.items() if value and standing_of(value) == AHEAD]
    who = f"{listed(ahead)} {'are' if len(ahead) > 1 else 'is'}" if ahead else "none is"
    return [f"{where} {who} ahead of FedAvg. Less FedAvg's accuracy, in points: {', '.join(told)}."] * bool(
        told
    )


def _as_zero(failed: int) -> str:
    return f" ({counted(failed, 'failed run')} as 0)" * bool(failed)


def who_is_ahead_in_time(rows_of: RowsOf, told: Telling, numbers: Numbers) -> list[str]:
    """Say where the methods stand after equal simulated time; told: how."""
    rows = rows_of(DEVICES)
    if rows.empty or rows["rounds"].max() < ROUNDS["reduced"]:
        return []
    runs = per_device_run(named(rows))
    seeds = counted(runs.seed.nunique(), "seed")
    return told(numbers, rows_of, f"After equal simulated time ({seeds})")


def _strongest(rows_of: RowsOf, runs: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Which is the best baseline, and the learned methods against the one that the test data put first."""
    if not (there := _baselines(runs)):
        return []
    gaps = [f"{LEARNED[name]} {standing_against(STRONGEST[name], rows_of)[1]}" for name in names]
    best, strongest = (method_style(choose(runs)).label for choose in (best_baseline, strongest_baseline))
    chosen = f"The best baseline, {best}, is chosen among {len(there)} on held-back images"
    if best == strongest:
        return [f"{chosen}; it also has the highest mean accuracy on test data."]
    return [
        f"{chosen}. Less the one that ends highest, {strongest} (picked with test data: no claim is decided "
        f"against it): {', '.join(gaps)}."
    ] * bool(gaps)


def open_questions(rows_of: RowsOf) -> list[str]:
    """The questions of the notebook that only a smoke run, or none, has rows for; in one sentence."""
    questions = {
        BENCHMARKS[0]: "are our baselines right?",
        DEVICES: "who gets there first in simulated time?",
    }
    still = [words for name, words in questions.items() if set(rows_of(name).get("profile", ())) <= {"smoke"}]
    return [f"Still open, for want of runs longer than smoke: {' '.join(still)}"] if still else []
