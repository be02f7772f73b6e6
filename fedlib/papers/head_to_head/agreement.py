"""Agreement of our baselines with the public benchmarks, in sentences."""

import pandas as pd

from fedlib.analysis.decisions import INCONCLUSIVE, REFUTED, SUPPORTED
from fedlib.analysis.intervals import effect_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed, span_words
from fedlib.data.titles import title_of
from fedlib.papers.head_to_head import public
from fedlib.papers.head_to_head.numbers import BENCHMARKS, judged_cells
from fedlib.papers.head_to_head.quantities import benchmark_cells
from fedlib.plotting.style import method_style
from fedlib.words import counted

WIDE = 3.0  # points: a margin that is told


def in_brief(rows_of: RowsOf) -> list[str]:
    """Say in how many cells of the public benchmarks ours agree, in how many not, and within what."""
    rows = rows_of(BENCHMARKS[0])
    if rows.empty:
        return []
    judged = judged_cells(rows_of)
    if judged.empty:
        least, stand = f"{public.ROUNDS} rounds and two seeds", benchmark_cells(rows).rounds.max()
        return [f"The public benchmark needs {least}; ours stand at {stand} rounds."]
    counts = judged.verdict.value_counts().reindex([SUPPORTED, REFUTED, INCONCLUSIVE], fill_value=0)
    names = listed([public.TITLES[name] for name in judged.benchmark.unique()])
    benchmarks = f"the public benchmark{'s' * (judged.benchmark.nunique() > 1)} {names}"
    number = judged.method.nunique()
    return [
        f"{counted(number, 'baseline')} stand{'s' * (number < 2)} beside {benchmarks}, in "
        f"{counted(len(judged), 'comparison')}. In {counts[SUPPORTED]} ours agree{_within(judged)}; "
        f"in {counts[REFUTED] or 'none'} they differ; in {counts[INCONCLUSIVE] or 'none'} it is undecided."
    ]


def answer(rows_of: RowsOf) -> list[str]:
    """`in_brief`; then which cells differ, and what seeds or margins cannot tell."""
    brief = in_brief(rows_of)
    if not brief or (judged := judged_cells(rows_of)).empty:
        return brief
    told = (
        _differing(judged), _too_wide(judged), _widely(judged), _not_apart(judged), _added_later(judged)
    )  # fmt: skip
    return [*brief, *filter(None, told)]


def _differing(judged: pd.DataFrame) -> str:
    """Sentence that names the cells that differ, each with its difference; else empty."""
    differ = judged[judged.verdict == REFUTED]
    told = [
        f"{_named(differ.loc[[at]])} by {effect_words(line.difference, 'points')}"
        for at, line in zip(differ.index, differ.itertuples(), strict=True)
    ]
    return f"Ours differ: {'; '.join(told)}." * bool(told)


def _too_wide(judged: pd.DataFrame) -> str:
    """Sentence that names the undecided cells in which our interval is wider than the margin; else empty."""
    wide = [
        line.verdict == INCONCLUSIVE and line.difference.high - line.difference.low > 2 * line.margin
        for line in judged.itertuples()
    ]
    return f"Our interval is wider than the margin for {_named(judged[wide])}." * any(wide)


def _widely(judged: pd.DataFrame) -> str:
    """Sentence on agreement that says little, because the public runs differ as much; else empty."""
    wide = judged[(judged.verdict == SUPPORTED) & (judged.margin > WIDE)]
    return (
        f"For {_named(wide)} to agree says little{_within(wide)}: the margin is two public standard "
        "deviations."
    ) * (len(wide) > 0)


def _not_apart(judged: pd.DataFrame) -> str:
    """Sentence on the cells that agree and would with another method's public number too; else empty."""
    agree = judged[judged.verdict == SUPPORTED]
    alike = 0
    for line in agree.itertuples():
        same = judged[(judged.benchmark == line.benchmark) & (judged.dataset == line.dataset)]
        others = same[(same.cell == line.cell) & (same.method != line.method)].public
        shifts = line.public - others
        alike += any(
            (line.difference.low + shifts >= -line.margin) & (line.difference.high + shifts <= line.margin)
        )
    return (
        f"Of the {len(agree)} that agree {alike} would with another method's number of the same cell, too: "
        "agreement rules out gross errors, and not that one method stands for another."
    ) * bool(alike)


def _added_later(judged: pd.DataFrame) -> str:
    """Sentence on the cells with more seeds than others, which were added after a look; else empty."""
    more = judged[judged.seeds > judged.seeds.min()]
    return (
        f"{_named(more)} had seeds added when the first had been looked at (HEAD-A16); no interval is "
        "corrected for that."
    ) * (len(more) > 0)


def _within(judged: pd.DataFrame) -> str:
    """` (within 1 to 10 points)`: the margins of the cells that agree; empty without any."""
    agree = judged[judged.verdict == SUPPORTED]
    if agree.empty:
        return ""
    margins = span_words(agree.margin.round().astype(int))
    return f" (within {margins} point{'s' * (margins != '1')})"


def _named(cells: pd.DataFrame) -> str:
    """`FedAvg and FedNova in 3 labels a client of MNIST`: the methods of these lines in each cell."""
    return "; ".join(
        f"{listed([method_style(name).label for name in own.method])} in {public.CELL_WORDS[cell]} of "
        f"{title_of(dataset)}"
        for (dataset, cell), own in cells.groupby(["dataset", "cell"], sort=False)
    )
