"""The learned methods on other data sets (HEAD-A18, HEAD-A21) and on all images (HEAD-A23), in sentences."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head import leads, scale, tables
from fedlib.papers.head_to_head.claims import BASELINES, LEARNED, best_baseline, less_if_run
from fedlib.papers.head_to_head.numbers import (
    LESS_ELSEWHERE,
    OTHERS,
    ROWS,
    THIRD,
    controls_of,
    twin_of,
)
from fedlib.papers.head_to_head.quantities import labelled, per_run, set_titles
from fedlib.papers.head_to_head.runs import CELLS, CONTESTANTS
from fedlib.papers.head_to_head.standings import BEST, each_method
from fedlib.papers.head_to_head.tables import differences_of
from fedlib.plotting.style import method_style
from fedlib.words import counted


def answer(artifact: str, rows_of: RowsOf) -> list[str]:
    """Whether the order of the comparison holds; a sentence for each learned method; none without rows."""
    rows = rows_of(artifact)
    if rows.empty:
        return []
    runs = per_run(rows)
    told = each_method(_numbers(artifact, runs, rows_of), rows_of, _where(runs))
    told = [words.replace(BEST, _best(runs)) for words in told]
    asked = repeat_words(rows) * (artifact == THIRD)
    beside = (
        parting_words, leads.ahead_words, leads.divergence_words, leads.undiverged_words,
        scale.worst_tenth_words, scale.worst_tenth_leads, scale.curves_in_brief,
    )  # fmt: skip
    return [*order_words(artifact, rows_of), *filter(None, [asked, *told, *(tell(rows) for tell in beside)])]


def order_words(artifact: str, rows_of: RowsOf) -> list[str]:
    """Rank correlation of the mean levels with the comparison's in the same cells, where both were run."""
    other, first = per_run(rows_of(artifact)), rows_of(ROWS)
    if first.empty:
        return []
    first = per_run(first)
    first = first[first.cell.isin(other.cell)]
    both = _both(first, other)
    if len(both) < 3:
        return []
    last, where = both["first"].idxmin(), {"first": set_titles(first), "other": set_titles(other)}
    (whole, low), (rest, low_of_rest) = map(_correlation, (both, both.drop(last)))
    says = "In the main" if min(low, low_of_rest) > 0 else "Not shown"
    lost = ""
    if first.diverged.any() or other.diverged.any():
        undiverged, _ = _correlation(_both(first[~first.diverged], other[~other.diverged]))
        lost = f"; without diverged runs, which count as 0 %, it is {undiverged}"
    highest = [f"{method_style(both[one].idxmax()).label} on {title}" for one, title in where.items()]
    return [
        f"Does the order of the {len(both)} contestants on {where['first']} hold on {where['other']}, twins "
        f"left out? {says}: by mean level in {listed(list(other.cell.unique()))} their rank correlation is "
        f"{whole}; without {method_style(last).label}, last on {where['first']}, it is {rest}{lost} (by "
        "Fisher's z, as if contestants were drawn; to hold, the first two intervals have to lie above 0). "
        f"Highest of these in these cells: {listed(highest)}."
        f"{_turned(first, other, list(both.index))}"
    ]


def _both(first: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Mean level of each contestant that has both, columns `first` and `other`, twins left out."""
    both = pd.DataFrame({"first": _levels(first), "other": _levels(other)}).dropna()
    return both[[not CONTESTANTS[name].twin_of for name in both.index]]


def _turned(first: pd.DataFrame, other: pd.DataFrame, names: Collection[str]) -> str:
    """Sentence on who is ahead of FedAvg in the first runs and behind it in the others, or the reverse."""
    sides = [_sides(runs) for runs in (first, other)]
    told = [
        f"{method_style(name).label}, {one} FedAvg on {set_titles(first)}, is {two} it on {set_titles(other)}"
        for name in names
        if {one := sides[0].get(name, ""), two := sides[1].get(name, "")} == {"ahead of", "behind"}
    ]
    return f" {'; '.join(told)}." * bool(told)


def _sides(runs: pd.DataFrame) -> dict[str, str]:
    """Contestant -> `ahead of` or `behind` FedAvg in the mean of the cells; empty where it is open."""
    found = differences_of(runs)
    return {
        line.contestant: "ahead of" if line.low > 0 else "behind" if line.high < 0 else ""
        for line in found.itertuples()
    }


def _correlation(both: pd.DataFrame) -> tuple[str, float]:
    """Rank correlation of two columns with its interval, `0.77 [0.21, 0.95]`, and the lower bound."""
    found = stats.spearmanr(both["first"], both["other"]).statistic
    low, high = _fisher(found, len(both))
    return f"{found:.2f} [{low:.2f}, {high:.2f}]".replace("-", "−"), low


def _fisher(correlation: float, number: int) -> tuple[float, float]:
    """Bounds of a correlation's 95 % interval by Fisher's z; -1 and 1 of fewer than four pairs."""
    if number < 4:
        return -1.0, 1.0
    z, half = np.arctanh(np.clip(correlation, -0.999, 0.999)), stats.norm.ppf(0.975) / np.sqrt(number - 3)
    return float(np.tanh(z - half)), float(np.tanh(z + half))


def leads_on_all(rows_of: RowsOf) -> list[str]:
    """Say who leads FedAvg on which data sets (Holm), baselines and learned methods."""
    held, ran, alone = {}, {}, {}
    for artifact in (ROWS, *OTHERS):
        if not (rows := rows_of(artifact)).empty:
            title, names = set_titles(per_run(rows)), list(tables.differences(rows).contestant)
            held[title], ran[title] = leads.holding_at_once(rows, names), names
            alone[title] = leads.holding_at_once(rows, leads.families(names)["baselines alone"])
    if not held:
        return []
    where = {
        name: [title for title, names in held.items() if name in names] for name in (*BASELINES, *LEARNED)
    }
    told = [_lead_words(name, where[name], ran) for name in BASELINES if where[name]]
    learned = [_lead_words(name, where[name], ran) for name in LEARNED if where[name]]
    return [
        f"Corrected for all comparisons on a data set (Holm), {_who_leads(told, 'no baseline')}. Of what "
        f"learns {_who_leads(learned, 'none')}.{_of_baselines_alone(alone, held)}"
    ]


def _who_leads(told: Sequence[str], nobody: str) -> str:
    return f"these lead FedAvg: {'; '.join(told)}" if told else f"{nobody} leads FedAvg"


def _lead_words(name: str, where: Sequence[str], ran: Mapping[str, Collection[str]]) -> str:
    """`FedYogi on MNIST`, or on all data sets; ran: title -> who ran there."""
    absent = [title for title, names in ran.items() if name not in names]
    without = f" (not run on {listed(absent)})" if absent else ""
    return f"{LEARNED.get(name, method_style(name).label)} on {listed(where)}{without}"


def _of_baselines_alone(alone: Mapping[str, Collection[str]], held: Mapping[str, Collection[str]]) -> str:
    """Sentence on leads on every data set (title -> holding) that hold only where baselines alone count."""
    more = set.intersection(*map(set, alone.values())) - set.intersection(*map(set, held.values()))
    names = listed(sorted(method_style(name).label for name in more))
    return (
        f" Corrected for the baselines alone, a family chosen when the rows were known, {names} "
        f"lead{'s' * (len(more) < 2)} on all {len(held)} sets."
    ) * bool(more)


def repeat_words(rows: pd.DataFrame) -> str:
    """Answer C25: whether the lead that FedDRL has with cluster skew on CIFAR-10 repeats here."""
    cell, name = next(iter(CELLS)), "feddrl"
    own = rows[labelled(rows).cell == cell]
    gaps = {words: less_if_run(own, name, rival).dropna() for words, rival in _rivals(name)}
    if any(gap.empty for gap in gaps.values()):
        return ""
    found = {words: mean_interval(gap.to_numpy().ravel()) for words, gap in gaps.items()}
    sides = set(map(_sign, found.values()))
    says = "Yes" if sides == {"above"} else "No" if "below" in sides else "Not shown"
    told = listed([f"{effect_words(one)} less {words}" for words, one in found.items()])
    where = set_titles(per_run(own))
    return (
        f"Does the lead of {LEARNED[name]} with {cell} on CIFAR-10 repeat on {where} (C25)? {says}: {told}, "
        "in points."
    )


def parting_words(rows: pd.DataFrame, *, leads: bool = True) -> str:
    """The effects of cells that show a difference where the mean over all shows none, or the reverse.

    leads: say whether a lead in one of them holds.
    """
    told = []
    for name, title in LEARNED.items():
        for words, rival in _rivals(name):
            gaps = less_if_run(rows, name, rival).dropna()
            if len(gaps.columns) > 1 and len(gaps):
                cells = {cell.split(", ")[-1]: mean_interval(gaps[cell].to_numpy()) for cell in gaps}
                whole = _sign(mean_interval(gaps.mean(axis=1).to_numpy()))
                shown = {cell: own for cell, own in cells.items() if _sign(own) not in ("", whole)}
                if shown:
                    each = listed([f"{effect_words(own)} ({cell})" for cell, own in shown.items()])
                    told.append(f"{title} less {words} is {each}")
    words = (
        f"A mean over the cells can hide what one of them shows: {'; '.join(told)}, in points, uncorrected."
    )
    return " ".join([words, *single_cell_leads(rows) * leads]) if told else ""


def sides_by_cell(rows: pd.DataFrame) -> list[tuple[str, str]]:
    """Learned method and `above`, `below` or nothing, by its interval less FedAvg in each cell."""
    gaps = {title: less_if_run(rows, name, "fedavg").dropna() for name, title in LEARNED.items()}
    return [
        (title, _sign(mean_interval(gap[cell].to_numpy())))
        for title, gap in gaps.items() if len(gap) for cell in gap
    ]  # fmt: skip


def single_cell_leads(rows: pd.DataFrame, *, controls: bool = True) -> list[str]:
    """For each learned method's lead over FedAvg in one cell: whether it holds, and needs what is learned.

    controls: say the second.
    """
    told = []
    for name, title in LEARNED.items():
        for cell, own in rows.groupby(labelled(rows).cell, sort=False):
            gap = less_if_run(own, name, "fedavg").dropna()
            if gap.empty or _sign(mean_interval(gap.to_numpy().ravel())) != "above":
                continue
            names = list(tables.differences(own).contestant)
            holds = "holds" if name in leads.holding_at_once(own, names) else "does not hold"
            told.append(
                f"With {cell} on {set_titles(per_run(own))} {title} is ahead of FedAvg, by "
                f"{effect_words(mean_interval(gap.to_numpy().ravel()))} points. Corrected for "
                f"{counted(len(names), 'comparison')} there (Holm) this {holds}."
                f"{_less_controls(own, name) * controls}"
            )
    return told


def _less_controls(rows: pd.DataFrame, name: str) -> str:
    """Sentence on a learned method less each of its controls in these rows; empty without any."""
    gaps = {words: less_if_run(rows, name, rival).dropna() for words, rival in controls_of(name)}
    effects = [
        f"{effect_words(mean_interval(gap.to_numpy().ravel()))} less {words}"
        for words, gap in gaps.items() if len(gap)
    ]  # fmt: skip
    return f" There it is {listed(effects)}." * bool(effects)


def _rivals(name: str) -> tuple[tuple[str, str], ...]:
    return ("FedAvg", "fedavg"), ("its untrained policy", twin_of(name))


def _sign(effect: Interval) -> str:
    return by_sign(effect, above="above", below="below", undecided="")


def _levels(runs: pd.DataFrame) -> pd.Series:
    return runs.groupby("contestant")["level"].mean()


def _where(runs: pd.DataFrame) -> str:
    cells = listed(list(runs.cell.unique()))
    return f"On {set_titles(runs)}, {cells} ({counted(runs.seed.nunique(), 'seed')}),"


def _numbers(artifact: str, runs: pd.DataFrame, rows_of: RowsOf) -> dict[str, dict]:
    """Learned method -> its numbers by the rival's words, of the rivals that ran here."""
    seen = [name for name in LESS_ELSEWHERE[artifact] if name in set(runs.contestant)]
    numbers = {name: LESS_ELSEWHERE[artifact][name].items() for name in seen}
    return {
        LEARNED[name]: {words: number for words, number in own if number.value(rows_of) is not None}
        for name, own in numbers.items()
    }


def _best(runs: pd.DataFrame) -> str:
    return f"{BEST}, {method_style(best_baseline(runs)).label}"
