"""The learned methods on a second data set, which decides no claim (HEAD-A18), in sentences."""

import pandas as pd
from scipy import stats

from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import counted, listed
from fedlib.data.titles import title_of
from fedlib.papers.head_to_head import tables
from fedlib.papers.head_to_head.claims import LEARNED, best_baseline, less_if_run
from fedlib.papers.head_to_head.numbers import ON_SECOND_SET, ROWS, SECOND, twin_of
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
    beside = (parting_words, tables.ahead_words, tables.divergence_words, tables.undiverged_words)
    return [*order_words(rows_of), *told, *filter(None, (tell(rows) for tell in beside))]


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


def parting_words(rows: pd.DataFrame) -> str:
    """The cells' own effects where a mean over them shows no difference and one of them does."""
    told = []
    for name, title in LEARNED.items():
        for words, rival in (("FedAvg", "fedavg"), ("its untrained policy", twin_of(name))):
            gaps = less_if_run(rows, name, rival).dropna()
            if len(gaps.columns) > 1 and len(gaps):
                cells = {cell.split(", ")[-1]: mean_interval(gaps[cell].to_numpy()) for cell in gaps}
                if not _sign(mean_interval(gaps.mean(axis=1).to_numpy())) and any(map(_sign, cells.values())):
                    each = listed([f"{effect_words(own)} ({cell})" for cell, own in cells.items()])
                    told.append(f"{title} less {words} is {each}")
    words = f"A mean over the cells can hide what one of them shows: {'; '.join(told)}, in points."
    return words if told else ""


def _sign(effect: Interval) -> str:
    return by_sign(effect, above="above", below="below", undecided="")


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
