"""Findings in sentences, for the head of notebook and report."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from fedlib.analysis.decisions import INCONCLUSIVE, REFUTED, SUPPORTED
from fedlib.analysis.intervals import effect_words, mean_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed, span_words
from fedlib.data.titles import title_of
from fedlib.papers.head_to_head import device_time, leads, on_all_sets, other_sets, public, scale, tables
from fedlib.papers.head_to_head.claims import (
    BASELINES,
    LEARNED,
    best_baseline,
    less,
    permuted_words,
    strongest_baseline,
)
from fedlib.papers.head_to_head.device_corrections import corrected, corrected_on_training, holding
from fedlib.papers.head_to_head.device_quantities import named
from fedlib.papers.head_to_head.device_quantities import per_run as per_device_run
from fedlib.papers.head_to_head.device_runs import ROUNDS, uninformed, untrained
from fedlib.papers.head_to_head.numbers import (
    BENCHMARKS,
    DEVICES,
    IN_TIME,
    LESS,
    ROWS,
    STRONGEST,
    judged_cells,
)
from fedlib.papers.head_to_head.quantities import benchmark_cells, equal_sizes, per_run
from fedlib.papers.head_to_head.standings import BEST, Numbers, each_method, standing_against
from fedlib.papers.head_to_head.training import all_training_words
from fedlib.plotting.style import method_style
from fedlib.words import counted

Telling = Callable[[Numbers, RowsOf, str], list[str]]
LEARNS_ASKED, BASELINES_ASKED = "Does what learns on the server beat FedAvg?", "Which baseline does?"
WIDE = 3.0  # points: a margin of the benchmark that is told


def headline(rows_of: RowsOf) -> list[str]:
    """Answer in short who is ahead, in rounds and in time; benchmark, scale, what is open.

    The numbers of the first are in `on_all_sets.less_fedavg`.
    """
    asked = {
        LEARNS_ASKED: [on_all_sets.stand_words(rows_of)],
        BASELINES_ASKED: other_sets.leads_on_all(rows_of),
        "Is what learns ahead in a single cell?": [on_all_sets.cells_words(rows_of)],
        "Who is ahead in simulated time?": devices_in_brief(rows_of),
        "Are our baselines right?": benchmark_in_brief(rows_of),
        "On what scale?": scale_in_brief(rows_of),
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


def conclusion(rows_of: RowsOf) -> list[str]:
    """Three answers: does what learns beat FedAvg, what does, and what the comparison leaves open."""
    rows = rows_of(ROWS)
    if rows.empty:
        return [on_all_sets.stand_words(rows_of)]
    trained = " ".join(all_training_words(rows, LEARNED))
    asked = {
        LEARNS_ASKED: [on_all_sets.stand_words(rows_of)],
        BASELINES_ASKED: other_sets.leads_on_all(rows_of),
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
    permuted = permuted_words(rows).replace("-", "−")
    twin = _twin_words(rows, names)
    beside = [permuted and f"{permuted}.", twin, *_strongest(rows_of, runs, names), *others]
    return [leads.ahead_words(rows), *told, *filter(None, beside)]


def _twin_words(rows: pd.DataFrame, names: Sequence[str]) -> str:
    """Learned methods less FedNova in the cells where it is FedAvg but for rounding; empty without them."""
    rows = equal_sizes(rows)
    if rows.empty or "fednova" not in set(per_run(rows).contestant):
        return ""
    gaps = {LEARNED[name]: less(rows, name, "fednova").dropna().mean(axis=1) for name in names}
    told = [f"{name} {mean_words(gap, '')}" for name, gap in gaps.items() if len(gap) > 1]
    return (
        "FedAvg is one course of training, and rounding alone makes another: where clients hold equally "
        f"many images, FedNova is FedAvg but for the last digits. Less FedNova, in points: "
        f"{', '.join(told)}."
    ) * bool(told)


def comparison_evidence(rows_of: RowsOf) -> list[str]:
    """Points on what the answer rests on: images, curves, the agents' training and the machines."""
    rows = rows_of(ROWS)
    if rows.empty:
        return []
    trained = " ".join(all_training_words(rows, LEARNED))
    told = [
        scale.images_words(rows), scale.curves_words(rows), trained, scale.machines_words(rows),
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
        corrected_on_training(rows),
        lost if words else "",
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
    told = [f"{name} {effect_words(value)}" for name, value in values.items() if value]
    return [f"{where} accuracy less FedAvg's is, in points: {', '.join(told)}."] * bool(told)


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


def benchmark_in_brief(rows_of: RowsOf) -> list[str]:
    """Say in how many cells of the public benchmarks ours agree, in how many not, and within what."""
    rows = rows_of(BENCHMARKS[0])
    if rows.empty:
        return []
    judged = judged_cells(rows_of)
    if judged.empty:
        least, stand = f"{public.ROUNDS} rounds and two seeds", benchmark_cells(rows).rounds.max()
        return [f"The public benchmark needs {least}; ours stand at {stand} rounds."]
    counts = judged.verdict.value_counts().reindex([SUPPORTED, REFUTED, INCONCLUSIVE], fill_value=0)
    margins = span_words(judged[judged.verdict == SUPPORTED].margin.round().astype(int))
    within = f" (within {margins} point{'s' * (margins != '1')})" * bool(counts[SUPPORTED])
    return [
        f"In {counts[SUPPORTED]} of {len(judged)} cells ours agree with {_benchmarks_words(judged)}{within}; "
        f"in {counts[REFUTED] or 'none'} they differ; in {counts[INCONCLUSIVE] or 'none'} it is undecided."
    ]


def benchmark_answer(rows_of: RowsOf) -> list[str]:
    """`benchmark_in_brief` with the difference in each cell and what seeds cannot tell, in one paragraph."""
    brief = benchmark_in_brief(rows_of)
    if not brief or (judged := judged_cells(rows_of)).empty:
        return brief
    told = [*brief, _too_wide(judged), _added_later(judged)]
    for (benchmark, dataset, cell), lines in judged.groupby(["benchmark", "dataset", "cell"], sort=False):
        parts = [
            f"{tables.AGREEMENT[verdict]}: {', '.join(_difference_words(one) for one in alike.itertuples())}"
            for verdict, alike in lines.groupby("verdict", sort=False)
        ]
        of = f" ({public.TITLES[benchmark]})" * (judged.benchmark.nunique() > 1)
        told.append(f"On {title_of(dataset)} in {public.CELL_WORDS[cell]}{of}, {'; '.join(parts)}.")
    return [" ".join(filter(None, told))]


def _difference_words(line: Any) -> str:
    """`FedAvg (−0.4 [−0.9, +0.2] points)`: a line of `benchmark_cells`, with the margin if that is wide."""
    told = ", ".join(filter(None, [effect_words(line.difference, "points"), _wide_margin(line)]))
    return f"{method_style(line.method).label} ({told})"


def _wide_margin(line: Any) -> str:
    """Words on the margin of a cell whose public runs differ so much that agreement says little."""
    words = f"within {line.margin:.0f} points, two public standard deviations"
    return words if line.verdict == SUPPORTED and line.margin > WIDE else ""


def _too_wide(judged: pd.DataFrame) -> str:
    """Sentence that names the undecided cells in which our interval is wider than the margin; else empty."""
    wide = [
        line.verdict == INCONCLUSIVE and line.difference.high - line.difference.low > 2 * line.margin
        for line in judged.itertuples()
    ]
    return f"Our interval is wider than the margin for {_named(judged[wide])}." * any(wide)


def _added_later(judged: pd.DataFrame) -> str:
    """Sentence on the cells with more seeds than others, which were added after a look; else empty."""
    more = judged[judged.seeds > judged.seeds.min()]
    return (
        f"{_named(more)} had seeds added when the first had been looked at (HEAD-A16); no interval is "
        "corrected for that."
    ) * (len(more) > 0)


def _benchmarks_words(judged: pd.DataFrame) -> str:
    names = [public.TITLES[name] for name in judged.benchmark.unique()]
    return f"the public benchmark{'s' * (len(names) > 1)} {listed(names)}"


def _named(cells: pd.DataFrame) -> str:
    """`FedAvg and FedNova in 3 labels a client`: the methods of these lines in each cell."""
    return "; ".join(
        f"{listed([method_style(name).label for name in own.method])} in {public.CELL_WORDS[cell]}"
        for cell, own in cells.groupby("cell", sort=False)
    )
