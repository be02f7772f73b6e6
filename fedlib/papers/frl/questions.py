"""The report's open questions, answered from stored rows: what is the state, the reward, the algorithm?"""

import json

import pandas as pd

from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval
from fedlib.analysis.memo import map_distinct
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.papers.frl import quantities
from fedlib.papers.frl.estimands import of_agent
from fedlib.words import counted

CASES = {"frl/table2": "IID", "frl/table3": "non-IID"}
RULES = {"learned_rate": "as many at random", "fastest": "the ten fastest workers"}
_SIDES = {
    "max_seconds": {"above": "longer", "below": "shorter", "undecided": "undecided"},
    "final": {"above": "higher", "below": "lower", "undecided": "undecided"},
}
QUANTITIES = {"max_seconds": "mean round up to the threshold (s)", "final": "final accuracy (points)"}


def state_and_reward(rows_of: RowsOf) -> pd.DataFrame:
    """Spread of the workers' accuracies, size of the reward, and how well updates tell clusters apart."""
    rows = rows_of("frl/fig16")
    rows = quantities.named(rows[rows["round"] > 0])
    found = []
    for workers, own in rows[rows["variant"] == "evaluatorfl"].groupby("num_clients"):
        first = own["episode_round"] == 1
        found += [
            ("state: standard deviation of the accuracies", f"{workers} workers", own["state_std"].mean()),
            ("reward: |R| in round 1 of an episode", f"{workers} workers", own[first]["reward"].abs().mean()),
            ("reward: |R| in its other rounds", f"{workers} workers", own[~first]["reward"].abs().mean()),
        ]
    index = rows_of("frl/fig24").groupby("method")["rand_index"].mean()
    found += [
        ("state, where labels are swapped: adjusted Rand index of updates", name, index[name])
        for name in ("pca", "spectral")
    ]
    return pd.DataFrame(found, columns=["question", "of", "measured"])


def reward_and_accuracy(rows_of: RowsOf) -> pd.DataFrame:
    """EvaluatorFL less as many workers at random, last five episodes (points): its Rhat, and the accuracy.

    Approach 1 rewards the workers that are drawn: at random it is the mean of the state. Approach 2 rewards
    the new global model: at random it is that of the control, which averages as many, chosen at random.
    """
    rows = rows_of("frl/sec5")
    rows = quantities.named(rows[rows["method"] == "evaluatorfl"])
    approach = map_distinct(rows["method_options"], lambda text: json.loads(text)["approach"])
    found = []
    for (which, workers), own in rows.groupby([approach.rename("approach"), "num_clients"]):
        agent, control = (own[own["variant"] == name] for name in ("evaluatorfl", "evaluatorfl_shuffled"))
        if which == 1:
            gap = _late(agent, "value") - _late(agent, "state_mean")
        else:
            gap = _late(agent, "value") - _late(control, "value")
        ahead = by_seed(agent, quantities.late_final) - by_seed(control, quantities.late_final)
        line: dict[str, object] = {"approach": which, "workers": workers}
        for name, values in (("reward gain", 100 * gap), ("accuracy gain", ahead)):
            line |= mean_interval(values.to_numpy()).columns(name)
        found.append(line | {"seeds": len(ahead)})
    return pd.DataFrame(found)


def _late(rows: pd.DataFrame, column: str) -> pd.Series:
    late = rows[rows["episode"] > rows["episode"].max() - quantities.END_EPISODES]
    return by_seed(late, lambda own: own[column].mean())


def maximises(rows_of: RowsOf) -> list[str]:
    """Do the agents earn more than one-line rules of the same cost, and does it help accuracy?"""
    table = reward_and_accuracy(rows_of)
    rewarded, tested = (_sides_of_cells(table, name) for name in ("reward gain", "accuracy gain"))
    told = [
        f"EvaluatorFL's rewarded accuracy less that of as many workers at random is {rewarded}, its test "
        f"accuracy {tested}, by their intervals. The second table has the cells, by approach and number of "
        "workers."
    ]
    for rule, words in RULES.items():
        gaps = less_rule(rows_of, rule)
        seconds, points = (
            _in_cases({case: by_sign(gaps[case, name], **sides) for case in CASES.values()})
            for name, sides in _SIDES.items()
        )
        told.append(
            f"Against {words} SchedulerFL's mean round up to the threshold is {seconds}, its final accuracy "
            f"{points}."
        )
    return [*told, *_own_objective(rows_of("frl/fig26"))]


def how_far_workers_differ(rows_of: RowsOf) -> list[str]:
    """Say by how much the workers' accuracies differ, by their number; none without rows."""
    rows = rows_of("frl/fig16")
    rows = quantities.named(rows[rows["round"] > 0]) if len(rows) else rows
    own = rows[rows["variant"] == "evaluatorfl"] if len(rows) else rows
    told = []
    for workers, part in own.groupby("num_clients") if len(own) else ():
        spread = mean_interval(100 * part.groupby("seed")["state_std"].mean().to_numpy())
        words = f"{spread.mean:.1f} [{spread.low:.1f}, {spread.high:.1f}]"
        told.append(f"{words} points among {workers} ({counted(spread.n, 'seed')})")
    return [f"The standard deviation of the workers' accuracies is {listed(told)}."] if told else []


def maximum_rises(rows: pd.DataFrame) -> pd.Series:
    """M_t, minus an experiment's sum of rewards so far (FRL-A11): second half less first, before the stop.

    It is what SchedulerFL is paid to lower, without a unit; halves are of the decisions of a training.
    """
    own = of_agent(rows, before_stop=True).sort_values("round")
    own = own.assign(maximum=-own.groupby(["seed", "experiment"])["reward"].cumsum())

    def rise(part: pd.DataFrame) -> float:
        values, middle = part["maximum"], len(part) // 2
        return values.iloc[middle:].mean() - values.iloc[:middle].mean()

    return by_seed(own, rise)


def _own_objective(rows: pd.DataFrame) -> list[str]:
    """Say whether the maximum that SchedulerFL is paid to lower falls in training; none without rows."""
    if rows.empty or (rise := maximum_rises(rows).dropna()).empty:
        return []
    found = mean_interval(rise.to_numpy())
    says = by_sign(found, above="it rises", below="it falls", undecided="that it falls does not show")
    return [
        "The weighted maximum that SchedulerFL is paid to lower is in the second half of its decisions "
        f"{effect_words(found)} from that in the first ({found.n} seeds, before the stop; looked at when the "
        f"other rows were known): {says}."
    ]


def _sides_of_cells(table: pd.DataFrame, name: str) -> str:
    """`undecided in all 4 cells`, or `higher in 1, lower in 2 and undecided in 1 of 4 cells`."""
    above, below = (table[f"{name} low"] > 0).sum(), (table[f"{name} high"] < 0).sum()
    counts = {"higher": above, "lower": below, "undecided": len(table) - above - below}
    told = [f"{side} in {count}" for side, count in counts.items() if count]
    if len(told) == 1:
        return f"{told[0].split(' in ')[0]} in all {len(table)} cells"
    return f"{listed(told)} of {len(table)} cells"


def _in_cases(sides: dict[str, str]) -> str:
    """`longer in both cases`, or `longer (IID) and undecided (non-IID)`."""
    if len(set(sides.values())) == 1:
        return f"{next(iter(sides.values()))} in both cases"
    return " and ".join(f"{side} ({case})" for case, side in sides.items())


def agent_less_rules(rows_of: RowsOf) -> pd.DataFrame:
    """The trained scheduler less each rule, by case: mean and 95 % interval over seeds, in words."""
    by_rule = {f"less {words}": less_rule(rows_of, rule) for rule, words in RULES.items()}
    keys = [(case, name) for case in CASES.values() for name in QUANTITIES]
    columns = {words: [effect_words(gaps[key]) for key in keys] for words, gaps in by_rule.items()}
    cases, names = zip(*keys, strict=True)
    return pd.DataFrame({"case": cases, "SchedulerFL's": [QUANTITIES[name] for name in names], **columns})


def less_rule(
    rows_of: RowsOf, rule: str, threshold: float = quantities.THRESHOLD
) -> dict[tuple[str, str], Interval]:
    """(case, quantity) -> the trained scheduler less a rule of fig. 30, over seeds, up to the threshold."""
    found = {}
    for artifact, case in CASES.items():
        table = quantities.rounds_to_threshold(quantities.named(rows_of(artifact)), threshold)
        for quantity in QUANTITIES:
            agent, other = (quantities.of_variant(table, name, quantity) for name in ("schedulerfl", rule))
            found[case, quantity] = mean_interval((agent - other).dropna().to_numpy())
    return found
