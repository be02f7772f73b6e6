"""The learned methods on a second data set, which decides no claim (HEAD-A18), in sentences."""

import pandas as pd
from scipy import stats

from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import counted, listed
from fedlib.data.titles import title_of
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.claims import LEARNED, best_baseline
from fedlib.papers.head_to_head.numbers import ON_SECOND_SET, ROWS, SECOND
from fedlib.papers.head_to_head.quantities import per_run
from fedlib.papers.head_to_head.standings import BEST, each_method, in_brief
from fedlib.plotting.style import method_style


def in_short(rows_of: RowsOf) -> list[str]:
    """Say where the learned methods stand on the second data set, without effects, and whose lead holds."""
    rows = rows_of(SECOND)
    if rows.empty:
        return []
    runs = per_run(rows)
    cells = counted(runs.cell.nunique(), "cell")
    where = f"On {_titles(runs)} over {cells} ({counted(runs.seed.nunique(), 'seed')})"
    told = in_brief(_numbers(runs), rows_of, where)
    return [f"{words.replace(BEST, _best(runs))} {tables.at_once_words(rows)}" for words in told]


def answer(rows_of: RowsOf) -> list[str]:
    """Whether the order of the comparison holds; a sentence for each learned method; none without rows."""
    rows = rows_of(SECOND)
    if rows.empty:
        return []
    runs = per_run(rows)
    told = [words.replace(BEST, _best(runs)) for words in each_method(_numbers(runs), rows_of, _where(runs))]
    beside = [tables.ahead_words(rows), tables.divergence_words(rows), tables.undiverged_words(rows)]
    return [*order_words(rows_of), *told, *filter(None, beside)]


def order_words(rows_of: RowsOf) -> list[str]:
    """Rank correlation of the mean levels with the comparison's in the same cells, where both were run."""
    second, first = per_run(rows_of(SECOND)), rows_of(ROWS)
    if first.empty:
        return []
    first = per_run(first)
    first = first[first.cell.isin(second.cell)]
    both = pd.DataFrame({"first": _levels(first), "second": _levels(second)}).dropna()
    if len(both) < 3:
        return []
    correlation = stats.spearmanr(both["first"], both["second"]).statistic
    tops = {title: method_style(both[column].idxmax()).label for title, column in
            ((_titles(first), "first"), (_titles(second), "second"))}  # fmt: skip
    highest = [f"{name} on {title}" for title, name in tops.items()]
    return [
        f"Does the order of the {len(both)} contestants hold? By mean level in "
        f"{listed(list(second.cell.unique()))} the rank correlation of {_titles(second)} with "
        f"{_titles(first)} is {correlation:.2f}".replace("-0.", "−0.")
        + f". Highest: {listed(highest)}."
    ]


def _levels(runs: pd.DataFrame) -> pd.Series:
    return runs.groupby("contestant")["level"].mean()


def _titles(runs: pd.DataFrame) -> str:
    return listed([title_of(name) for name in runs.dataset.unique()])


def _where(runs: pd.DataFrame) -> str:
    cells = listed(list(runs.cell.unique()))
    return f"On {_titles(runs)}, {cells} ({counted(runs.seed.nunique(), 'seed')}),"


def _numbers(runs: pd.DataFrame) -> dict[str, dict]:
    return {LEARNED[name]: own for name, own in ON_SECOND_SET.items() if name in set(runs.contestant)}


def _best(runs: pd.DataFrame) -> str:
    return f"{BEST}, {method_style(best_baseline(runs)).label}"
