"""Findings about FedDRL in sentences, for the notebook's head, section 3 and end, and the report."""

from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.claims import real_rows
from fedlib.analysis.intervals import Interval, by_sign, effect_words, mean_interval, number_words
from fedlib.analysis.numbers import RowsOf
from fedlib.papers.feddrl import quantities
from fedlib.papers.feddrl.errata import accuracies
from fedlib.papers.feddrl.estimands import ROUNDS
from fedlib.papers.feddrl.length_runs import EARLY_ROUNDS, LENGTH_CELLS
from fedlib.papers.feddrl.tables import LAST_ROUNDS, pooled_lead

LEADS = {"above": "leads", "below": "trails", "undecided": "does not clearly lead"}


def headline(rows_of: RowsOf) -> list[str]:
    """Up to three sentences: FedDRL against FedAvg and controls, at the paper's length, and repaired."""
    rows = rows_of("feddrl/table3")
    if rows.empty:
        return ["No rows of table 3 are stored."]
    real = real_rows(rows)
    pooled, all_cells = _pooled(real if len(real) else rows), ""
    if 0 < len(real) < len(rows):
        more = effect_words(_pooled(rows)["fedavg"], "points")
        all_cells = f" ({_cells(rows)} cells with the generated stand-in: {more})"
    return [
        f"Over {_cells(real if len(real) else rows)} cells of table 3 (data set, partition, clients), in "
        f"runs of {rows['rounds'].max()} rounds or fewer, FedDRL's best accuracy is "
        f"{effect_words(pooled['fedavg'], 'points')} against FedAvg{all_cells}, "
        f"{effect_words(pooled['uniform'], 'points')} against uniform weights and "
        f"{effect_words(pooled['untrained'], 'points')} against its own policy before any training.",
        *_late_leads(rows_of),
        *_told(rows_of, {"repair_judged": partial(_repaired, changes="(section 3)")}),
    ]


def does_it_learn(rows_of: RowsOf) -> list[str]:
    """Up to three sentences: the printed agent, the agent alone on known rewards, the repaired agent."""
    return _told(
        rows_of, {"small_setting": _printed_agent, "ddpg_bandit": _alone, "repair_judged": _repaired}
    )


def conclusion(rows_of: RowsOf) -> list[str]:
    """Three answers: whose the lead over FedAvg is, whether the printed and the repaired agent learn."""
    makers = {"small_setting": _printed_agent, "repair_judged": _repaired}
    return [*_told(rows_of, {"table3": _whose_lead}), *_late_leads(rows_of), *_told(rows_of, makers)]


def at_the_papers_length(rows_of: RowsOf, artifact: str = "feddrl/paper_length") -> list[str]:
    """Answer whether FedDRL leads, learns, and learns what, in a cell of the paper's rounds; three or four.

    One sentence where runs are missing. Levels, controls and factors of the groups are in the tables below.
    """
    rows = rows_of(artifact)
    named = quantities.named(rows) if len(rows) else rows
    if rows.empty or rows["rounds"].max() < ROUNDS or not {"feddrl", "fedavg"} <= set(named.variant):
        return [f"Open: no runs of this length are shown; `run {artifact} --profile extended`."]
    late = quantities.late(named)
    told = [_lead_words(named, late)]
    if "uniform" in late and not quantities.equal_amounts(named):
        told.append(_uniform_words(named, late))
    if "untrained" in late:
        told.append(_training_words(named, late))
    if "drawn" in late:
        told.append(_list_words(late))
    if {"repaired", "repaired_untrained"} <= set(late):
        told.append(_training_words(named, late, "repaired", "repaired_untrained"))
    return told


def in_the_first_rounds(rows_of: RowsOf) -> list[str]:
    """Answer whether the repaired agent is ahead in the first rounds, of uniform weights and of itself."""
    rows = rows_of("feddrl/early_lead")
    if rows.empty or rows["rounds"].max() < EARLY_ROUNDS:
        return ["Open: no runs of the first rounds are shown; `run feddrl/early_lead --profile extended`."]
    named = quantities.named(rows)
    own, uniform, untrained = (
        quantities.over_rounds(named, name) for name in ("repaired", "uniform", "repaired_untrained")
    )
    lead, trained = contrasts.paired(own, uniform), contrasts.paired(own, untrained)
    learned = by_sign(
        trained, above="training raises it", below="training lowers it",
        undecided="that training changes it does not show",
    )  # fmt: skip
    return [
        f"The repaired agent's mean accuracy over the first {EARLY_ROUNDS} rounds under CN "
        f"{by_sign(lead, **LEADS)} that of uniform weights, {effect_words(lead, 'points')}, and {learned}, "
        f"{effect_words(trained, 'points')} against the policy that it starts from ({lead.n} seeds)."
    ]


def _lead_words(named: pd.DataFrame, late: pd.DataFrame) -> str:
    """FedDRL against FedAvg: the best round beside what is printed, and the last rounds."""
    dataset, scheme = named[["dataset", "partition"]].iloc[0]
    printed = accuracies().loc[quantities.PAPER_DATA[dataset], quantities.PAPER_PARTITIONS[scheme], 100]
    best = contrasts.paired(quantities.best(named, "feddrl"), quantities.best(named, "fedavg"))
    last = contrasts.paired(late.feddrl, late.fedavg)
    paper = number_words(printed["FedDRL"] - printed["FedAvg"], signed=True)
    return (
        f"On {quantities.PAPER_DATA[dataset]} under {scheme.upper()} FedDRL {by_sign(best, **LEADS)} FedAvg "
        f"in the best round, {effect_words(best, 'points')} (printed: {paper}), and "
        f"{by_sign(last, **LEADS)} it in the mean of the last {LAST_ROUNDS} rounds, "
        f"{effect_words(last, 'points')} ({ROUNDS} rounds, {best.n} seeds)."
    )


def _uniform_words(named: pd.DataFrame, late: pd.DataFrame) -> str:
    """FedDRL against uniform weights where these are not FedAvg's, in both accuracies."""
    best = contrasts.paired(quantities.best(named, "feddrl"), quantities.best(named, "uniform"))
    last = contrasts.paired(late.feddrl, late.uniform)
    return (
        f"It {by_sign(best, **LEADS)} uniform weights in the best round, {effect_words(best, 'points')}, and "
        f"{by_sign(last, **LEADS)} them in these last rounds, {effect_words(last, 'points')}."
    )


def _training_words(
    named: pd.DataFrame, late: pd.DataFrame, own: str = "feddrl", first: str = "untrained"
) -> str:
    """FedDRL, or the repaired agent, against the policy that it starts from, in both accuracies."""
    best = contrasts.paired(quantities.best(named, own), quantities.best(named, first))
    last = contrasts.paired(late[own], late[first])
    verb = {"above": "raises", "below": "lowers", "undecided": "does not clearly change"}
    return (
        f"Training{' the repaired agent' * (own == 'repaired')} {by_sign(last, **verb)} the mean of the last "
        f"{LAST_ROUNDS} rounds, {effect_words(last, 'points')} against the policy that it starts from, and "
        f"{by_sign(best, **verb)} the accuracy of the best round, {effect_words(best, 'points')}."
    )


def _list_words(late: pd.DataFrame) -> str:
    """Late lead that is left where the agent's input lists clients in an order drawn in every round."""
    left, lost = contrasts.paired(late.drawn, late.fedavg), contrasts.paired(late.feddrl, late.drawn)
    says = by_sign(
        lost,
        above="at least a part of what it learns is the order of that list",
        below="that order hides a part of what it can learn",
        undecided="that it learns the order of that list does not show",
    )
    return (
        "With its clients listed in an order drawn anew in every round, its lead in these last rounds is "
        f"{effect_words(left, 'points')}: {says}."
    )


def _told(rows_of: RowsOf, makers: Mapping[str, Callable[[pd.DataFrame], str]]) -> list[str]:
    """A sentence for each of FedDRL's artifacts that has rows to say something about."""
    found = {name: rows_of(f"feddrl/{name}") for name in makers}
    told = (make(found[name]) for name, make in makers.items() if len(found[name]))
    return [sentence for sentence in told if sentence]


def _late_leads(rows_of: RowsOf) -> list[str]:
    """The late leads of all cells of the paper's length, and what is left of them, in one sentence."""
    found: dict[str, list[str]] = {}
    for name in LENGTH_CELLS:
        rows = rows_of(f"feddrl/{name}")
        if len(rows) and (words := _late_lead(rows)):
            found.setdefault(quantities.PAPER_DATA[rows["dataset"].iloc[0]], []).append(words)
    told = "; ".join(f"on {data} {', '.join(words)}" for data, words in found.items())
    return [
        f"After the paper's {ROUNDS} rounds FedDRL's mean accuracy of the last {LAST_ROUNDS} rounds is, "
        f"against FedAvg's, {told}."
    ] * bool(found)


def _late_lead(rows: pd.DataFrame) -> str:
    """The late lead in a cell of the paper's length, and what is left of it; empty for shorter runs.

    Left: with clients listed in drawn order; or over uniform weights where no order tells a group (PA);
    else over the untrained policy.
    """
    named = quantities.named(rows)
    if rows["rounds"].max() < ROUNDS or not {"feddrl", "fedavg"} <= set(named.variant):
        return ""
    late, scheme = quantities.late(named), named["partition"].iloc[0].upper()
    if "drawn" in late:
        left = f"with clients listed in drawn order {effect_words(contrasts.paired(late.drawn, late.fedavg))}"
    elif scheme == "PA" and "uniform" in late:
        left = f"against uniform weights {effect_words(contrasts.paired(late.feddrl, late.uniform))}"
    elif "untrained" in late:
        left = f"against its untrained policy {effect_words(contrasts.paired(late.feddrl, late.untrained))}"
    else:
        return ""
    lead = effect_words(contrasts.paired(late.feddrl, late.fedavg), "points")
    return f"{lead} under {scheme} ({left})"


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
    named = quantities.named(rows)
    return {control: pooled_lead(named, control) for control in ("fedavg", "uniform", "untrained")}


def _cells(rows: pd.DataFrame) -> int:
    return sum(1 for _ in quantities.cells(quantities.named(rows), needs=("feddrl", "fedavg")))


def _printed_agent(rows: pd.DataFrame) -> str:
    named = quantities.named(rows)
    reward = {name: quantities.rewards(named, name) for name in ("feddrl", "untrained", "uniform")}
    gain = contrasts.paired(reward["feddrl"], reward["untrained"])
    says = by_sign(
        gain, above="it learns", below="training lowers it", undecided="that it learns does not show"
    )
    uniform = contrasts.paired(reward["feddrl"], reward["uniform"])
    return (
        f"The printed agent's mean reward is {effect_words(gain, 'nats')} against its untrained policy and "
        f"{effect_words(uniform, 'nats')} against uniform weights (embedded images, {gain.n} seeds): {says}."
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
    words = [f"{told[name]} {effect_words(found[name])}" for name in found]
    return (
        f"Alone on a reward around {number_words(offset, signed=True)} whose best answer is a difference of "
        f"1 between the groups' means, agents end at: {', '.join(words)} ({rows.seed.nunique()} agents, "
        f"{last.updates.max()} updates)."
    )


_CHANGES = (
    "(reward centred, losses as they are in the state, one policy for all clients; discount, noise, policy "
    "rate and length of the offline training changed)"
)


def _repaired(rows: pd.DataFrame, changes: str = _CHANGES) -> str:
    """Gains in reward over uniform weights by data set, of the repaired agent and on permuted rewards."""
    parts = dict(iter(quantities.named(rows).groupby("dataset")))
    told = [_repaired_on(quantities.PAPER_DATA[data], part) for data, part in parts.items()]
    return f"Repaired {changes} the agent's gain in reward over uniform weights is {'; '.join(told)}."


def _repaired_on(data: str, part: pd.DataFrame) -> str:
    known, uniform = set(part.variant), quantities.rewards(part, "uniform")
    gain = contrasts.paired(quantities.rewards(part, "repaired"), uniform)
    words = f"{effect_words(gain, 'nats')} on {data} ({gain.n} seeds"
    if "repaired_permuted" in known:
        permuted = contrasts.paired(quantities.rewards(part, "repaired_permuted"), uniform)
        words += f"; {effect_words(permuted)} where its rewards are permuted"
    says = by_sign(gain, above="it learns", below="it loses", undecided="open")
    return f"{words}): {says}"
