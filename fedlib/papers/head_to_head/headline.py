"""Findings in sentences, for the head of notebook and report."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from fedlib.analysis.decisions import NOT_TESTABLE
from fedlib.analysis.intervals import effect_words
from fedlib.analysis.numbers import Number, RowsOf, stated
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.claims import (
    BASELINES,
    FLAT,
    LEARNED,
    best_baseline,
    strongest_baseline,
)
from fedlib.papers.head_to_head.device_quantities import named
from fedlib.papers.head_to_head.device_quantities import per_run as per_device_run
from fedlib.papers.head_to_head.device_runs import ROUNDS
from fedlib.papers.head_to_head.numbers import (
    AGREE,
    BENCHMARK,
    DEVICES,
    IN_TIME,
    JUDGED,
    LESS,
    ROWS,
    STRONGEST,
)
from fedlib.papers.head_to_head.quantities import benchmark_cells, per_run
from fedlib.papers.head_to_head.runs import BENCHMARK_ROUNDS, BENCHMARK_WORDS, CONTESTANTS
from fedlib.plotting.style import method_style

Telling = Callable[[Mapping[str, Mapping[str, Number]], RowsOf, str], list[str]]
MARGIN = 0.5  # points: a smaller difference is no lead
AHEAD = "Ahead"
OTHERS = BEHIND, EQUAL, OPEN, TOO_FEW, NOT_COMPARED = (
    "Behind", "Equal within half a point", "Undecided", "Too few seeds", "Not run",
)  # fmt: skip


def headline(rows_of: RowsOf) -> list[str]:
    """Say who is ahead, in rounds and in simulated time, what the public benchmark says, what is open."""
    return [
        *who_is_ahead(rows_of, _in_brief), *benchmark_answer(rows_of),
        *who_is_ahead_in_time(rows_of, _in_brief), *open_questions(rows_of),
    ]  # fmt: skip


def comparison_answer(rows_of: RowsOf) -> list[str]:
    """`who_is_ahead`; then sentences on the best baseline and on runs that diverged."""
    rows = rows_of(ROWS)
    ahead = who_is_ahead(rows_of, _by_rival)
    if rows.empty:
        return ahead
    runs = per_run(rows)
    return [*ahead, *_strongest(rows_of, runs, _seen(runs)), *filter(None, [tables.divergence_words(rows)])]


def who_is_ahead(rows_of: RowsOf, told: Telling) -> list[str]:
    """Sentences on each rival: which learned methods are ahead of it after as many rounds; told: how."""
    rows = rows_of(ROWS)
    if rows.empty:
        return ["No rows of the comparison are stored."]
    runs = per_run(rows)
    settings = runs.groupby(["dataset", "cell"]).ngroups
    seeds = f"{runs.seed.nunique()} seed{'s' * (runs.seed.nunique() > 1)}"
    where = f"Over {settings} setting{'s' * (settings > 1)} ({seeds}), of {{}} learned method{{}}"
    return told({LEARNED[name]: LESS[name] for name in _seen(runs)}, rows_of, where)


def _seen(runs: pd.DataFrame) -> list[str]:
    return [name for name in LESS if name in set(runs.contestant)]


def _by_rival(numbers: Mapping[str, Mapping[str, Number]], rows_of: RowsOf, where: str) -> list[str]:
    """Sentences for each rival: which methods are ahead of it, behind, or neither, with the effects.

    numbers: method -> rival -> number. where: its beginning, with places for how many methods.
    """
    told, head = [], where.format(len(numbers), "s" * (len(numbers) > 1))
    for rival, standings in _standings(numbers, rows_of).items():
        alike = {
            standing: [f"{method} ({effect})" for method, effect in found.items()]
            for standing, found in standings.items()
        }
        ahead = alike.pop(AHEAD, [])
        are = "are" if len(ahead) > 1 else "is"
        leaders = f": {', '.join(ahead)}" if ahead else ""
        others = [f" {standing}: {', '.join(alike[standing])}." for standing in OTHERS if standing in alike]
        told.append(f"{head} {len(ahead) or 'none'} {are} ahead of {rival}{leaders}.{''.join(others)}")
    return told


def _in_brief(numbers: Mapping[str, Mapping[str, Number]], rows_of: RowsOf, where: str) -> list[str]:
    """`_by_rival` in one sentence: how many are ahead of each rival and behind it, and which, no effects."""

    def counted(found: Mapping[str, Mapping[str, str]], standing: str) -> str:
        methods = found.get(standing, {})
        if len(methods) in (0, len(numbers)):
            return f"{'all' if methods else 'none'} {standing.lower()}"
        return f"{len(methods)} {standing.lower()} ({', '.join(methods)})"

    told = [
        f"against {rival} {counted(found, AHEAD)}, {counted(found, BEHIND)}"
        for rival, found in _standings(numbers, rows_of).items()
    ]
    head = where.format(len(numbers), "s" * (len(numbers) > 1))
    return [f"{head}: {'; '.join(told)}."] * bool(told)


def _standings(
    numbers: Mapping[str, Mapping[str, Number]], rows_of: RowsOf
) -> dict[str, dict[str, dict[str, str]]]:
    """Rival -> standing -> methods that have it, with their effects."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for method, own in numbers.items():
        for rival, number in own.items():
            standing, effect = _standing(number, rows_of)
            found.setdefault(rival, {}).setdefault(standing, {})[method] = effect
    return found


def devices_answer(rows_of: RowsOf) -> list[str]:
    """`who_is_ahead_in_time`; then a sentence on runs that failed."""
    told = who_is_ahead_in_time(rows_of, _by_rival)
    if not told:
        return []
    runs = per_device_run(named(rows_of(DEVICES)))
    failed = runs[runs.diverged].contestant.value_counts(sort=False)
    words = "; ".join(f"{name} {count}" for name, count in failed.items())
    lost = f"Failed runs, diverged or in a round for which nobody was selected, count as zero: {words}."
    return [*told, *[lost] * bool(words)]


def who_is_ahead_in_time(rows_of: RowsOf, told: Telling) -> list[str]:
    """Name the methods that are ahead of each rival after equal simulated time; told: how."""
    rows = rows_of(DEVICES)
    if rows.empty or rows["rounds"].max() < ROUNDS["reduced"]:
        return []
    runs = per_device_run(named(rows))
    seeds = f"{runs.seed.nunique()} seed{'s' * (runs.seed.nunique() > 1)}"
    where = f"After equal simulated time ({seeds}), of {{}} method{{}} that learn whom to wait for"
    return told(IN_TIME, rows_of, where)


def _strongest(rows_of: RowsOf, runs: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Which is the best baseline, and the learned methods against the one that the test data put first."""
    if not (there := set(BASELINES) & set(runs.contestant)):
        return []
    gaps = [f"{LEARNED[name]} {_standing(STRONGEST[name], rows_of)[1]}" for name in names]
    best, strongest = (method_style(choose(runs)).label for choose in (best_baseline, strongest_baseline))
    chosen = f"The best baseline, {best}, is chosen among {len(there)} on held-back images"
    if best == strongest:
        return [f"{chosen}; it also has the highest mean accuracy on test data."]
    return [
        f"{chosen}. Less the one that ends highest, {strongest} (picked with test data: no claim is decided "
        f"against it): {', '.join(gaps)}."
    ] * bool(gaps)


def _standing(number: Number, rows_of: RowsOf) -> tuple[str, str]:
    """`AHEAD`, or one of `OTHERS`; and the effect in words."""
    found = number.value(rows_of)
    if found is None:
        return NOT_COMPARED, "no rows"
    effect = stated(number, rows_of)
    if found.n < 2 or np.isnan(found.low):
        return TOO_FEW, effect
    if found.low > 0:
        return AHEAD, effect
    if found.high < 0:
        return BEHIND, effect
    return EQUAL if max(-found.low, found.high) < MARGIN else OPEN, effect


def scale_words(rows_of: RowsOf) -> str:
    """Say how far the rows of the comparison reach, and who has none in them, in a sentence or two."""
    rows = rows_of(ROWS)
    if rows.empty:
        return "No rows of the comparison are stored."
    runs, length = per_run(rows), int(rows["round"].max())
    counts = {
        "data set": runs.dataset.nunique(), "division": runs.cell.nunique(), "seed": runs.seed.nunique(),
        "round": length,
    }  # fmt: skip
    told = ", ".join(f"{count} {name}{'s' * (count > 1)}" for name, count in counts.items())
    absent = [method_style(name).label for name in CONTESTANTS if name not in set(runs.contestant)]
    without = f" No rows at this length: {'; '.join(absent)}." if absent else ""
    _, curves = FLAT.check(rows)
    return f"The comparison has {told}; {curves}.{without}"


def open_questions(rows_of: RowsOf) -> list[str]:
    """The questions of the notebook that only a smoke run, or none, has rows for; in one sentence."""
    questions = {BENCHMARK: "are our baselines right?", DEVICES: "who gets there first in simulated time?"}
    still = [words for name, words in questions.items() if set(_profiles(rows_of(name))) <= {"smoke"}]
    return [f"Still open, for want of runs longer than smoke: {' '.join(still)}"] if still else []


def _profiles(rows: pd.DataFrame) -> list[str]:
    return [] if rows.empty else list(rows["profile"].unique())


def benchmark_answer(rows_of: RowsOf) -> list[str]:
    """Cells of the public benchmark with which ours agree, and the difference in each, in a sentence."""
    rows = rows_of(BENCHMARK)
    if rows.empty:
        return []
    found = benchmark_cells(rows)
    judged = found[found.verdict != NOT_TESTABLE]
    if judged.empty:
        least = f"{BENCHMARK_ROUNDS} rounds and two seeds"
        return [f"The public benchmark needs {least}; ours stand at {found.rounds.max()} rounds."]
    cells = [
        f"{method_style(line.method).label}, {line.dataset}, {BENCHMARK_WORDS[line.cell]} "
        f"({effect_words(line.difference, 'points')}: {tables.AGREEMENT[line.verdict]})"
        for line in judged.itertuples()
    ]
    counts = f"{stated(AGREE, rows_of)} of {stated(JUDGED, rows_of)}"
    return [f"Ours agree with the public benchmark in {counts} cells run whole: {'; '.join(cells)}."]
