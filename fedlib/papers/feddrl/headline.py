"""Findings about FedDRL in sentences, for the notebook's head, section 3 and end, and the report."""

from collections.abc import Callable, Mapping

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval, number_words
from fedlib.analysis.numbers import RowsOf
from fedlib.papers.feddrl import quantities as analysis
from fedlib.papers.feddrl.errata import accuracies
from fedlib.papers.feddrl.estimands import ROUNDS, factor_gap, factor_gap_in_slot
from fedlib.papers.feddrl.tables import pooled_lead


def headline(rows_of: RowsOf) -> list[str]:
    """Up to four sentences: FedDRL against FedAvg and controls, at the paper's length, and repaired."""
    rows = rows_of("feddrl/table3")
    if rows.empty:
        return ["No rows of table 3 are stored."]
    real = real_rows(rows)
    pooled, all_cells = _pooled(real if len(real) else rows), ""
    if 0 < len(real) < len(rows):
        more = effect_words(_pooled(rows)["fedavg"], "points")
        all_cells = f" ({_cells(rows)} cells with the generated stand-in: {more})"
    return [
        f"Over {_cells(real if len(real) else rows)} cells of table 3 (data set, partition, clients) "
        f"FedDRL's best accuracy is {effect_words(pooled['fedavg'], 'points')} against FedAvg{all_cells}, "
        f"{effect_words(pooled['uniform'], 'points')} against uniform weights and "
        f"{effect_words(pooled['untrained'], 'points')} against its own policy before any training.",
        *_told(rows_of, {**_LENGTH, "repair_judged": _repaired}),
    ]


def does_it_learn(rows_of: RowsOf) -> list[str]:
    """Up to three sentences: the printed agent, the agent alone on known rewards, the repaired agent."""
    return _told(
        rows_of, {"small_setting": _printed_agent, "ddpg_bandit": _alone, "repair_judged": _repaired}
    )


def conclusion(rows_of: RowsOf) -> list[str]:
    """Three answers: whose the lead over FedAvg is, whether the printed and the repaired agent learn."""
    makers = {"small_setting": _printed_agent, "repair_judged": _repaired}
    lead = " ".join(_told(rows_of, {"table3": _whose_lead, **_LENGTH}))
    return [*filter(None, [lead]), *_told(rows_of, makers)]


def at_the_papers_length(rows_of: RowsOf, artifact: str = "feddrl/paper_length") -> list[str]:
    """Up to eight sentences about a cell that has the paper's rounds, or one that it has none."""
    rows = rows_of(artifact)
    if rows.empty or rows["rounds"].max() < ROUNDS:
        return [f"Open: no runs of this length are shown; `run {artifact} --profile extended`."]
    named = analysis.named(rows)
    best = {name: analysis.best(named, name) for name in analysis.variant_order(named)}
    late, under_ce = analysis.late(named), analysis.equal_amounts(named)
    dataset, scheme = named[["dataset", "partition"]].iloc[0]
    printed = accuracies().loc[analysis.PAPER_DATA[dataset], analysis.PAPER_PARTITIONS[scheme], 100]
    baselines, uniform = {"fedavg": "FedAvg", "fedprox": "FedProx"}, {"uniform": "uniform weights"}
    not_fedavgs = {} if under_ce else uniform
    controls = {
        "untrained": "the policy that it starts from",
        "shuffled": "itself with shuffled input",
    }
    others = baselines | not_fedavgs | controls

    def less(values: Mapping[str, pd.Series], own: str, others: dict[str, str]) -> str:
        return ", ".join(
            f"{effect_words(contrasts.paired(values[own], values[name]), 'points')} against {words}"
            for name, words in others.items()
            if name in best
        )

    levels = ", ".join(
        f"{words} {best[name].mean():.1f} % (printed: {printed[words]:.1f})"
        for name, words in {"feddrl": "FedDRL", **baselines}.items()
        if name in best
    )
    found = [f"After {ROUNDS} rounds the best accuracies are {levels}."]
    if "feddrl" in best:
        found.append(f"FedDRL is {less(best, 'feddrl', others)}.")
        found.append(
            f"In the mean of the last 5 % of the rounds{', which R5 to R8 do not decide on,' * under_ce} it "
            f"is {less(late, 'feddrl', others)}."
        )
        raw, in_slot = (_gap(named, "feddrl", gap) for gap in (factor_gap, factor_gap_in_slot))
        found.append(
            f"It gives a client of a small group {raw} of a uniform factor more than one of the main group, "
            f"and {in_slot} among clients in the same slot: slots are sorted by client number (A5) and the "
            "small groups have the highest, so that preferring the last slots is enough for a difference."
        )
    if "drawn" in best:
        both = {"fedavg": "FedAvg"} | not_fedavgs | {"feddrl": "sorted slots"}
        found.append(
            "With slots in an order drawn anew in every round, so that slot and group are independent, its "
            f"best accuracy is {less(best, 'drawn', both)}, its mean of the last rounds "
            f"{less(late, 'drawn', both)}."
        )
        found.append(
            f"A client of a small group then has {_gap(named, 'drawn', factor_gap)} of a uniform factor more."
        )
    if "repaired" in best:
        both = uniform | {"feddrl": "the printed agent"}
        found.append(
            f"Repaired its best accuracy is {less(best, 'repaired', both)}, its mean of the last rounds "
            f"{less(late, 'repaired', both)}."
        )
    return found


def _gap(named: pd.DataFrame, variant: str, gap: Callable[[pd.DataFrame, str], pd.Series]) -> str:
    """A difference of the groups' factors, with its interval over seeds, in words."""
    return effect_words(mean_interval(gap(named, variant).to_numpy()), "%")


def _told(rows_of: RowsOf, makers: dict[str, Callable[[pd.DataFrame], str]]) -> list[str]:
    """A sentence for each of FedDRL's artifacts that has rows to say something about."""
    found = {name: rows_of(f"feddrl/{name}") for name in makers}
    told = (make(found[name]) for name, make in makers.items() if len(found[name]))
    return [sentence for sentence in told if sentence]


def _one_cell(rows: pd.DataFrame) -> str:
    """A cell at the paper's length, against FedAvg and the untrained policy; empty for shorter runs."""
    named = analysis.named(rows)
    if rows["rounds"].max() < ROUNDS or not {"feddrl", "fedavg", "untrained"} <= set(named.variant):
        return ""
    own, scheme = analysis.best(named, "feddrl"), named["partition"].iloc[0]
    fedavg, untrained = (
        effect_words(contrasts.paired(own, analysis.best(named, name)), "points")
        for name in ("fedavg", "untrained")
    )
    return (
        f"In one cell under {scheme.upper()}, run for the paper's {ROUNDS} rounds, FedDRL's best accuracy is "
        f"{fedavg} against FedAvg and {untrained} against its untrained policy.{_order(named)}"
    )


_LENGTH = {"paper_length": _one_cell, "paper_length_cn": _one_cell}


def _order(named: pd.DataFrame) -> str:
    """Late leads over FedAvg with clients listed by number and in drawn order, in a sentence."""
    late = analysis.late(named)
    if "drawn" not in late:
        return ""
    by_number, drawn = (contrasts.paired(late[name], late.fedavg) for name in ("feddrl", "drawn"))
    left = by_sign(drawn, above="less is left", below="it turns round", undecided="none is left to see")
    says = by_sign(
        contrasts.paired(late.feddrl, late.drawn),
        above=f"where the clients' order is drawn anew in every round {left}",
        below="it is larger where the clients' order is drawn anew in every round",
        undecided="it is not clearly another where the clients' order is drawn anew in every round",
    )
    return (
        f" Its lead over FedAvg in the last rounds is {effect_words(by_number, 'points')}; {says}: "
        f"{effect_words(drawn, 'points')}."
    )


def _whose_lead(rows: pd.DataFrame) -> str:
    real = real_rows(rows)
    rows = real if len(real) else rows
    pooled = _pooled(rows)
    says = by_sign(
        pooled["uniform"],
        above="the agent adds to it",
        below="the agent takes from it",
        undecided="that the agent has a part in it does not show",
    )
    return (
        f"Over {_cells(rows)} cells of table 3 FedDRL is {effect_words(pooled['fedavg'], 'points')} against "
        f"FedAvg and {effect_words(pooled['uniform'], 'points')} against uniform weights: {says}."
    )


def _pooled(rows: pd.DataFrame) -> dict[str, Interval]:
    """FedDRL less each control in best accuracy (points), pooled over the cells."""
    named = analysis.named(rows)
    return {control: pooled_lead(named, control) for control in ("fedavg", "uniform", "untrained")}


def _cells(rows: pd.DataFrame) -> int:
    return sum(1 for _ in analysis.cells(analysis.named(rows), needs=("feddrl", "fedavg")))


def _printed_agent(rows: pd.DataFrame) -> str:
    named = analysis.named(rows)
    reward = {name: analysis.rewards(named, name) for name in ("feddrl", "untrained", "uniform")}
    gain = contrasts.paired(reward["feddrl"], reward["untrained"])
    says = by_sign(
        gain, above="it learns", below="training lowers it", undecided="that it learns does not show"
    )
    uniform = contrasts.paired(reward["feddrl"], reward["uniform"])
    return (
        f"The printed agent's mean reward is {effect_words(gain, 'nats')} against its untrained policy and "
        f"{effect_words(uniform, 'nats')} against uniform weights (small setting, {gain.n} seeds): {says}."
    )


def _alone(rows: pd.DataFrame) -> str:
    """mu of the small groups less that of the main group at the end, where the best answer is 1.

    At the offset that all agents were tried on, near the small setting's rewards.
    """
    offset = rows.offset.min()
    last = rows[(rows.amplitude > 0) & (rows["round"] == rows["round"].max()) & (rows.offset == offset)]
    gaps = last.assign(gap=last.mu_small - last.mu_main).groupby(["settings", "seed"], sort=False).gap.mean()
    found = {name: mean_interval(part.to_numpy()) for name, part in gaps.groupby("settings", sort=False)}
    told = {
        "printed": "the printed agent", "centring": "with a centred reward",
        "all": "with five of the repair's changes",
    }  # fmt: skip
    words = [f"{told[name]} {effect_words(found[name], '').strip()}" for name in found]
    return (
        f"Alone on a reward around {number_words(offset, signed=True)} whose best answer is a difference of "
        f"1 between the groups' means, agents end at: {', '.join(words)} ({rows.seed.nunique()} agents, "
        f"{last.updates.max()} updates)."
    )


def _repaired(rows: pd.DataFrame) -> str:
    """Gains in reward over uniform weights by data set, of the repaired agent and on permuted rewards."""
    parts = dict(iter(analysis.named(rows).groupby("dataset")))
    told = [_repaired_on(analysis.PAPER_DATA[data], part) for data, part in parts.items()]
    return (
        "Repaired (reward centred, losses as they are in the state, one policy for all clients; discount, "
        "noise, policy rate and length of the offline training changed) the agent's gain in reward "
        f"over uniform weights is {'; '.join(told)}."
    )


def _repaired_on(data: str, part: pd.DataFrame) -> str:
    known, uniform = set(part.variant), analysis.rewards(part, "uniform")
    gain = contrasts.paired(analysis.rewards(part, "repaired"), uniform)
    words = f"{effect_words(gain, 'nats')} on {data} ({gain.n} seeds"
    if "repaired_permuted" in known:
        permuted = contrasts.paired(analysis.rewards(part, "repaired_permuted"), uniform)
        words += f"; {effect_words(permuted, '').strip()} where its rewards are permuted"
    says = by_sign(gain, above="it learns", below="it loses", undecided="open")
    return f"{words}): {says}"
