"""Answers of 01_feddrl's section 4 about the paper's length, computed from rows; and what is not run there.

Each function takes `session.rows_of` or the like, where nothing else is said. Without rows it returns none,
or one that names the command.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.decisions import NOT_TESTABLE
from fedlib.analysis.intervals import (
    Interval,
    barely_decided,
    by_sign,
    effect_words,
    mean_interval,
    mean_words,
)
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import listed
from fedlib.experiments.durations import Timings, minutes
from fedlib.papers.feddrl import estimands, quantities
from fedlib.papers.feddrl.errata import accuracies, relative_gains
from fedlib.papers.feddrl.estimands import ROUNDS
from fedlib.papers.feddrl.length_runs import EARLY_ROUNDS, LENGTH_CELLS
from fedlib.papers.feddrl.runs import (
    COHORT,
    EXACT_CELL,
    EXACT_METHODS,
    PAPERS_CNN,
    base_run,
    with_methods,
)
from fedlib.papers.feddrl.tables import LAST_ROUNDS

LEADS = {"above": "leads", "below": "trails", "undecided": "does not clearly lead"}
CHANGES = {"above": "raises", "below": "lowers", "undecided": "does not clearly change"}
EXACT = f"feddrl/{EXACT_CELL}"
CNN_WORDS = "the paper's CNN"
SMALL_SETS = "feddrl/small_sets_at_length"
NEED_TEN_CLIENTS = ("FEDDRL-C5", "FEDDRL-C6", "FEDDRL-C9")  # at the paper's length
NEED_CIFAR = ("FEDDRL-C5", "FEDDRL-C9")  # of these, with CIFAR-100 too


def at_the_papers_length(rows_of: RowsOf, artifact: str = "feddrl/paper_length") -> list[str]:
    """Answer whether FedDRL leads, learns, and learns what, in a cell of the paper's rounds; three or four.

    One sentence where runs are missing. Levels, controls and factors of the groups are in the tables below.
    """
    rows = rows_of(artifact)
    named = quantities.named(rows)
    whole = not rows.empty and rows["rounds"].max() >= ROUNDS
    feddrl, drawn = quantities.of_feddrl(named) if whole else ("feddrl", "drawn")
    if not whole or not {feddrl, "fedavg"} <= set(named.variant.unique()):
        profile = "paper" if artifact == EXACT else "extended"
        return [f"Open: no runs of this length are shown; `run {artifact} --profile {profile}`."]
    late = quantities.late_levels(named)
    told = [_over_fedavg_words(named, late)]
    if "uniform" in late and not quantities.equal_amounts(named):
        told.append(_uniform_words(named, late))
    if "untrained" in late:
        told.append(_training_words(named, late, feddrl))
    if drawn in late:
        told.append(_list_words(late, feddrl, drawn))
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
        f"Over the first {EARLY_ROUNDS} rounds under CN the repaired agent's mean accuracy "
        f"{by_sign(lead, **LEADS)} that of uniform weights, {effect_words(lead, 'points')} ({lead.n} seeds).",
        f"Against the policy that it starts from it is {effect_words(trained, 'points')}: {learned}.",
    ]


def _next_to_zero(interval: Interval) -> str:
    """` 0 lies next to an end of this interval.` where it barely lies outside."""
    return " 0 lies next to an end of this interval." * barely_decided(interval)


def _over_fedavg_words(named: pd.DataFrame, late: pd.DataFrame) -> str:
    """FedDRL against FedAvg: the best round beside what is printed, and the last rounds."""
    dataset, scheme = named[["dataset", "partition"]].iloc[0]
    data, partition = quantities.PAPER_DATA[dataset], quantities.PAPER_PARTITIONS[scheme]
    printed = accuracies().loc[data, partition, named.num_clients.iloc[0]]
    own, _ = quantities.of_feddrl(named)
    best = contrasts.paired(quantities.best(named, own), quantities.best(named, "fedavg"))
    last = contrasts.paired(late[own], late.fedavg)
    setting = " "
    if named.model.iloc[0] == PAPERS_CNN:
        setting = f", with {CNN_WORDS}, {'online ' * (own != 'feddrl')}"
    elif named.num_clients.iloc[0] == COHORT:
        setting = ", with ten clients, all of whom take part, "
    elif quantities.on_authors_file(named):
        setting = ", by the authors' own file, which gives a client twice the images, "
    paper = f"{printed['FedDRL'] - printed['FedAvg']:+.2f}"
    return (
        f"On {data} under {scheme.upper()}{setting}FedDRL {by_sign(best, **LEADS)} "
        f"FedAvg in the best round, {effect_words(best, 'points')} (printed: {paper}; {ROUNDS} rounds, "
        f"{best.n} seeds).{_next_to_zero(best)} It {by_sign(last, **LEADS)} FedAvg in the mean of the last "
        f"{LAST_ROUNDS} rounds, {effect_words(last, 'points')}.{_next_to_zero(last)}"
    )


def _uniform_words(named: pd.DataFrame, late: pd.DataFrame) -> str:
    """FedDRL against uniform weights where these are not FedAvg's, in both accuracies."""
    best = contrasts.paired(quantities.best(named, "feddrl"), quantities.best(named, "uniform"))
    last = contrasts.paired(late.feddrl, late.uniform)
    in_best, in_last = by_sign(best, **LEADS), by_sign(last, **LEADS)
    again = "" if in_best == in_last else f"{in_last} them "
    barely = " In the last rounds 0 lies next to an end of the interval." * barely_decided(last)
    return f"It {in_best} uniform weights in the best round and {again}in these last rounds.{barely}"


def _training_words(
    named: pd.DataFrame, late: pd.DataFrame, own: str = "feddrl", first: str = "untrained"
) -> str:
    """FedDRL, or the repaired agent, against the policy that it starts from, in both accuracies."""
    best = contrasts.paired(quantities.best(named, own), quantities.best(named, first))
    last = contrasts.paired(late[own], late[first])
    of_last, of_best = by_sign(last, **CHANGES), by_sign(best, **CHANGES)
    again = "" if of_last == of_best else f"{of_best} "
    barely = " In the last rounds 0 lies next to an end of the interval." * barely_decided(last)
    return (
        f"Training{' the repaired agent' * (own == 'repaired')} {of_last} the mean of these last rounds and "
        f"{again}the best round, against the policy that it starts from.{barely}"
    )


def _list_words(late: pd.DataFrame, own: str, drawn: str) -> str:
    """Late lead that is left where the agent's input lists clients in an order drawn in every round."""
    left, lost = contrasts.paired(late[drawn], late.fedavg), contrasts.paired(late[own], late[drawn])
    leads = contrasts.paired(late[own], late.fedavg).low > 0
    says = by_sign(
        lost,
        above="At least a part of the lead needs a fixed order, or one drawn anew is harder to learn from"
        if leads
        else "A fixed order serves it better",
        below="That order hides a part of what it can learn",
        undecided=f"That the {'lead' if leads else 'accuracy'} needs a fixed order does not show",
    )
    return (
        "With its clients listed in an order drawn anew in every round, its mean of these last rounds is "
        f"{effect_words(left, 'points')} from FedAvg's; with a fixed order it is "
        f"{effect_words(lost, 'points')} above that.{_next_to_zero(lost)} {says}."
    )


def how_far_from_the_published(rows_of: RowsOf) -> list[str]:
    """FedAvg's best accuracy at the paper's length less the published one, a sentence for each data set."""
    found: dict[str, list[str]] = {}
    for name in (*LENGTH_CELLS, EXACT_CELL):
        rows = rows_of(f"feddrl/{name}")
        named = quantities.named(rows)
        if rows.empty or rows["rounds"].max() < ROUNDS or "fedavg" not in set(named.variant.unique()):
            continue
        dataset, scheme = named[["dataset", "partition"]].iloc[0]
        data, partition = quantities.PAPER_DATA[dataset], quantities.PAPER_PARTITIONS[scheme]
        clients = int(named.num_clients.iloc[0])
        gap = quantities.best(named, "fedavg") - accuracies().loc[data, partition, clients].FedAvg
        where = f" with {CNN_WORDS}" * (named.model.iloc[0] == PAPERS_CNN) + f" with {clients} clients" * (
            clients < 100
        )
        found.setdefault(data, []).append(f"{mean_words(gap)} ({partition}{where})")
    told = [
        f"After {ROUNDS} rounds FedAvg's best accuracy on {data} is {listed(words)} points from the "
        "published one."
        for data, words in found.items()
    ]
    return [*told, *_exact_from_the_published(rows_of(EXACT))]


def _exact_from_the_published(rows: pd.DataFrame) -> list[str]:
    """The paper's three methods in its exact setting less what it prints, by best and by late accuracy."""
    named = quantities.named(rows)
    if rows.empty or rows["rounds"].max() < ROUNDS or not set(EXACT_METHODS) <= set(named.variant.unique()):
        return []
    late, printed = quantities.late_levels(named), accuracies().loc["Fashion-MNIST", "CE", 100]
    by_best, by_late = (
        listed([mean_words(level(name) - printed[title]) for name, title in EXACT_METHODS.items()])
        for level in (lambda name: quantities.best(named, name), lambda name: late[name])
    )
    return [
        f"With {CNN_WORDS} the best rounds of {listed(list(EXACT_METHODS.values()))} (online) are {by_best} "
        f"points from the published ones. The paper prints no late means; ours of the last {LAST_ROUNDS} "
        f"rounds are {by_late} points from its published best."
    ]


def does_the_gain_grow_with_clients(rows_of: RowsOf) -> list[str]:
    """Answer sec. 4.2.1 at the paper's length: FedDRL's gain over the better baseline by N, in one cell."""
    rows = of_length(rows_of("feddrl/clients_at_length"))
    growth = estimands.growth(rows).dropna() if len(rows) else pd.DataFrame()
    if growth.empty:
        return []
    gains = estimands.gains_by_clients(quantities.named(rows))
    change, (data, scheme) = mean_interval(growth.mean(axis=1).to_numpy()), growth.columns[0].split("/")
    says = by_sign(change, above="larger", below="smaller", undecided="neither clearly larger nor smaller")
    printed = [f"{relative_gains().best[data, scheme, n]:+.2f}" for n in (100, COHORT)]
    return [
        f"FedDRL's gain over the better baseline on {data} under {scheme} is {says} with 100 clients, "
        f"{mean_words(gains[100])} % of its accuracy, than with ten, {mean_words(gains[COHORT])} % (printed: "
        f"{' and '.join(printed)}). The one less the other is {effect_words(change, '%')}."
    ]


def which_hours_are_missing(verdicts: Iterable[Mapping[str, object]]) -> list[str]:
    """Say which claims want ten clients at the paper's length, and how long a seed of them would take.

    verdicts: `session.verdicts()`. Times: the committed ones of the one cell that was run.
    """
    untestable = {one["claim"] for one in verdicts if one["verdict"] == NOT_TESTABLE}
    missing, cifar = (
        [name.removeprefix("FEDDRL-") for name in names if name in untestable]
        for names in (NEED_TEN_CLIENTS, NEED_CIFAR)
    )
    if not missing:
        return []
    told = [
        f"{_needing(missing)} ten clients over the paper's {ROUNDS} rounds in more cells than "
        "Fashion-MNIST's under CE."
    ]
    cell, timings = base_run("extended", "table3", "fmnist", "ce", 10), Timings()
    fedavg, feddrl = (timings.of_runs(with_methods(cell, (name,))).seconds for name in ("fedavg", "feddrl"))
    if fedavg:
        told.append(
            f"There a seed took about {minutes(fedavg)} of one thread with FedAvg, {minutes(feddrl)} with "
            "FedDRL."
        )
    fewer = ["For C6 all of MNIST's cells with 100 clients would do (`feddrl/small_sets_at_length`)."]
    too = [f"{_needing(cifar)} CIFAR-100 too."]
    return [*told, *too * bool(cifar), *fewer * ("C6" in missing)]


def _needing(claims: list[str]) -> str:
    return f"{listed(claims)} need{'s' * (len(claims) == 1)}"


def of_length(rows: pd.DataFrame) -> pd.DataFrame:
    """These rows if they are of the paper's length, else none of them."""
    return rows if len(rows) and rows["rounds"].max() >= ROUNDS else rows.iloc[:0]
