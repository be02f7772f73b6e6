"""Answers of 04_frl_report's sections 2, 3, 5 and 6 in sentences computed from rows.

Each function takes `session.rows_of` or the like. It returns one or two sentences, none without rows.
"""

import json
import math
from collections.abc import Iterator

import pandas as pd

from fedlib.analysis.contrasts import by_seed
from fedlib.analysis.intervals import by_sign, effect_words, mean_interval, mean_words, ratio_words
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed, span_words
from fedlib.papers.frl import estimands, quantities
from fedlib.papers.frl.runs import EMBEDDINGS
from fedlib.papers.frl.tables import evaluator_gaps
from fedlib.words import counted

_CASES = {
    "fig11": "with uneven volumes",
    "fig12": "with balanced non-IID labels",
    "fig13": "with unbalanced ones",
}
_CODE = "evaluatorfl_code"
_RATE = "evaluatorfl_rate"  # approach 1 with the rate of Adam of its code (A33)
_SELECTIONS = {1: "frl/fig16", 2: "frl/evaluatorfl_code"}  # approach: rows of the agent as read and as coded
_EARLY_CODE = "With the rate of Adam of an early version of the authors' code, ten times ours (A33)"


def what_do_labels_change(rows: pd.DataFrame) -> list[str]:
    """Answer figs. 10 to 13: mean accuracy over rounds 1 to 10 in each case less that on IID data."""
    if rows.empty:
        return []
    found = {words: estimands.mean_accuracy(case, "fig10")(rows).dropna() for case, words in _CASES.items()}
    told = [f"{mean_words(one, 'points')} {words}" for words, one in found.items() if len(one)]
    return (
        [f"FedAvg's mean accuracy over rounds 1 to 10, less that on IID data: {listed(told)}."]
        if told
        else []
    )


def does_it_settle(rows_of: RowsOf) -> list[str]:
    """Answer figs. 14, 15, 19 and 20: how many runs of each approach keep a selection to their end.

    A last sentence has approach 1 with the rate of its code, where these runs are stored.
    """
    told = does_either_settle(rows_of)
    if not told:
        return []
    changing = f"{100 * (1 - quantities.SETTLED):.0f} % of the workers a round up to the end"
    settled = f"Settled: it changes at most {changing}."
    return [*told, settled, *_held_words(rows_of("frl/fig16")), *_settles_at_the_codes_rate(rows_of)]


def _held_words(rows: pd.DataFrame) -> list[str]:
    """Sentence on the workers that approach 1 as coded chooses alike late, seed by seed; or none.

    Counts of few seeds are no sample for an interval.
    """
    own = quantities.named(rows) if len(rows) else rows
    own = own[own["variant"] == _CODE] if len(own) else own
    told = []
    for workers, part in own.groupby("num_clients") if len(own) else ():
        counts = by_seed(part, quantities.held_fixed).astype(int)
        told.append(f"{listed([str(count) for count in counts])} of {workers}")
    words = (
        f"As coded, approach 1 chooses {'; '.join(told)} workers alike in {100 * quantities.ALIKE:.0f} % of "
        f"the last {quantities.LAST} rounds, a number for each seed (C2)."
    )
    return [words] * bool(told)


def does_either_settle(rows_of: RowsOf) -> list[str]:
    """Answer in one sentence for each approach with rows how many runs, as read and as coded, settle."""
    found: dict[int, list[pd.Series]] = {}
    for approach, settled in _settled(rows_of):
        found.setdefault(approach, []).append(settled)
    return [
        f"{sum(one.notna().sum() for one in settled)} of {sum(map(len, settled))} runs of EvaluatorFL's "
        f"approach {approach}, as read and as coded, settle on a selection; the report says that it "
        f"{'does' if approach == 1 else 'does not'}."
        for approach, settled in found.items()
    ]


def does_the_rate_decide(rows_of: RowsOf) -> list[str]:
    """Answer how many runs of approach 1 settle, and how many with the rate of an early code."""
    told = does_either_settle(rows_of)[:1]
    if told and (runs := _runs_at_the_codes_rate(rows_of)):
        settled = sum(math.isfinite(quantities.settled_from(own)) for own in runs)
        told = [f"{told[0]} {_EARLY_CODE}, {settled} of {len(runs)} do."]
    return told


def _settled(rows_of: RowsOf) -> Iterator[tuple[int, pd.Series]]:
    """Approach; by seed the episode from which a selection is kept, or NaN: for each size and reading."""
    for approach, artifact in _SELECTIONS.items():
        rows = rows_of(artifact)
        named = quantities.named(rows) if len(rows) else rows
        for workers in sorted(set(named["num_clients"])) if len(named) else ():
            for variant in ("evaluatorfl", _CODE):
                own = estimands.of_size(named, workers, variant)
                yield approach, by_seed(own, quantities.settled_from)


def _runs_at_the_codes_rate(rows_of: RowsOf) -> list[pd.DataFrame]:
    rows = rows_of(f"frl/{_RATE}")
    if rows.empty:
        return []
    named = quantities.named(rows)
    return [own for _, own in named[named["variant"] == _RATE].groupby(["num_clients", "seed"])]


def _settles_at_the_codes_rate(rows_of: RowsOf) -> list[str]:
    runs = _runs_at_the_codes_rate(rows_of)
    if not runs:
        return []
    settled = [(at, own) for own in runs if not math.isnan(at := quantities.settled_from(own))]
    told = f"{len(settled)} of {len(runs)} runs of approach 1 settle."
    if settled:
        first = [at for at, _ in settled]
        shares = [100 * quantities.share_selected(own) for _, own in settled]
        told += f" They settle from episode {min(first):.0f} to {max(first):.0f} on, "
        told += f"on {min(shares):.0f} to {max(shares):.0f} % of the workers."
    return [f"{_EARLY_CODE}, {told}", *_settled_beside_controls(rows_of)]


def _settled_beside_controls(rows_of: RowsOf) -> list[str]:
    """Final accuracy of approach 1 with the rate of its code less that of both controls, or none."""
    both = [rows_of("frl/sec5"), rows_of(f"frl/{_RATE}")]
    gaps = {} if any(rows.empty for rows in both) else evaluator_gaps(pd.concat(both), _RATE)
    if not gaps:
        return []
    says = by_sign(
        gaps["evaluatorfl_shuffled"], above="settling helps", below="settling harms",
        undecided="whether settling helps or harms is undecided",
    )  # fmt: skip
    random, fedavg = (effect_words(gaps[name], "points") for name in ("evaluatorfl_shuffled", "fedavg"))
    return [
        f"Their final accuracy is {random} from that of as many workers at random, {fedavg} from FedAvg's "
        f"({gaps['fedavg'].n} seeds): {says}."
    ]


def does_it_prefer_the_fast(rows_of: RowsOf) -> list[str]:
    """Answer figs. 26 to 29: SchedulerFL's probabilities and times up to the stop of its training (A17)."""
    rows = rows_of("frl/fig26")
    if rows.empty or rows[rows["method"] == estimands.READ]["seed"].nunique() < 2:
        return []
    ahead = mean_interval(estimands.fastest_ahead(rows).to_numpy())
    fall, net = (
        mean_interval(measured(rows).to_numpy())
        for measured in (estimands.maximum_time_falls, estimands.net_fall)
    )
    prefers = by_sign(
        ahead, above="It prefers them", below="It avoids them", undecided="That it prefers them does not show"
    )
    falls = by_sign(fall, above="falls", below="rises", undecided="does not clearly change")
    why = by_sign(
        net,
        above="It falls further than that of as many workers at random",
        below="It falls less than that of as many workers at random",
        undecided="That it falls further than that of as many workers at random does not show",
    )
    return [
        "SchedulerFL's probability of the fastest tenth of the workers less the mean of all is "
        f"{effect_words(ahead, 'points')}, at the stop of A17 ({ahead.n} seeds). {prefers}.",
        _on_whom_it_settles(rows),
        f"A round's maximum time {falls} from the first to the second half of its decisions before that "
        f"stop. {why} (C12; by how much: on the first screen).",
    ]


def _on_whom_it_settles(rows: pd.DataFrame) -> str:
    """Sentence on the workers that SchedulerFL takes more often than not at the stop, and their speed."""
    last = estimands.at_the_stop(rows)
    chances = last["chances"].map(json.loads)
    likely = chances.map(lambda own: sum(chance > 50 for chance in own))
    faster = mean_interval((100 * (last["chance_fast_half"] - last["chance_slow_half"])).to_numpy())
    says = by_sign(faster, above="they are faster ones", below="they are slower ones",
                   undecided="that they are faster ones does not show")  # fmt: skip
    return (
        f"It gives {span_words(likely)} of {len(chances.iloc[0])} workers a probability above a half there, "
        f"{likely.mean():.0f} in the mean. The fast half's mean probability less the slow half's is "
        f"{effect_words(faster, 'points')}: {says}."
    )


def is_it_quicker_than_random(rows_of: RowsOf) -> list[str]:
    """Answer tables 2 and 3: SchedulerFL's rounds to the threshold, their time, and its last accuracy."""
    told = []
    for case, artifact in (("IID", "frl/table2"), ("non-IID", "frl/table3")):
        rows = rows_of(artifact)
        if rows.empty or not {estimands.READ, "random"} <= set(quantities.named(rows)["variant"]):
            continue
        rounds, seconds, total = (
            mean_interval(estimands.log_ratio(column, faster=False)(rows).dropna().to_numpy())
            for column in ("rounds", "max_seconds", "total_seconds")
        )
        shorter = by_sign(
            total, above="longer", below="shorter", undecided="that it shortens training does not show"
        )
        final = mean_interval(estimands.final_ahead(rows).dropna().to_numpy())
        more = by_sign(rounds, above="more", below="fewer", undecided="no clear difference")
        longer = by_sign(seconds, above="longer", below="shorter", undecided="no clear difference")
        never = estimands.never_arrive(rows)
        entered = f"; {never} of its runs never reach it and count with all rounds" * bool(never)
        times = f"{'at least ' * bool(never)}{ratio_words(rounds)}"
        bound = (
            f" The length of the runs sets this number: {never} of {rounds.n} values are of a threshold that "
            "was never reached, and the interval is one of a bound. "
            f"{estimands.later_words(rows).capitalize()}."
        ) * bool(never)
        least = "at least " * bool(never)
        told.append(
            f"To the threshold of A19 SchedulerFL takes {least}{ratio_words(total)} times as long as random "
            f"selection on {case} data: {shorter}. It needs {times} times the rounds of random selection "
            f"({more}, {final.n} seeds{entered}).{bound} A round's maximum time, each up to its own arrival, "
            f"is {ratio_words(seconds)} times that of random selection ({longer}). It ends "
            f"{effect_words(final, 'points')} against random selection."
        )
    return told


def do_updates_separate(rows: pd.DataFrame) -> list[str]:
    """Answer figs. 24, 25, 31 to 34: the index of the clusters in two dimensions, for each embedding."""
    if rows.empty:
        return []
    means = rows.groupby("method", sort=False)["rand_index"].mean()
    told = listed([f"{mean:.2f} ({EMBEDDINGS[method][1]})" for method, mean in means.items()])
    seeds = counted(rows["seed"].nunique(), "seed")
    return [f"Two dimensions separate the four clusters with an index of {told}, means over {seeds}."]


def do_signs_decide(rows: pd.DataFrame) -> list[str]:
    """Answer C15's figure: where rewards of one sign drive the mean probability."""
    told = []
    for share, sign in ((1.0, "positive"), (0.0, "negative")):
        moved = estimands.one_sign(share)(rows).mean(axis=1) if len(rows) else pd.Series(dtype=float)
        if len(moved):
            told.append(
                f"Where all rewards are {sign} the mean probability moves {mean_words(moved, 'points')} "
                f"towards {share:.0f}, from about a half to {_last_chance(rows, share)} (C15)."
            )
    return told


def _last_chance(rows: pd.DataFrame, share: float) -> str:
    """The mean last probability of the runs with this share of rewards above 0."""
    return f"{rows.loc[rows['rewards_above_0'] == share, 'last_chance'].mean():.3f}"


def is_it_fair(rows: pd.DataFrame) -> list[str]:
    """Answer table 1's measure: variance of participation at the end, and workers who never took part."""
    told = []
    for case, own in quantities.named(rows).groupby("case", sort=False) if len(rows) else ():
        last = own[own["round"] == own["round"].max()].groupby("variant")
        means = last[["participation_variance", "never_selected"]].mean()
        if {estimands.READ, "random"} <= set(means.index):
            workers = own["num_clients"].iloc[0]
            (ours, theirs), (left, others) = (means.loc[[estimands.READ, "random"], c] for c in means)
            told.append(
                f"On {case} data the variance of participation ends at {ours:.1f} under SchedulerFL and "
                f"{theirs:.1f} under random selection; {left:.0f} and {others:.0f} of {workers} workers "
                "never took part."
            )
    return told
