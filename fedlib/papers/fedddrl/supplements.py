"""Numbers shown beside FedDdrl's verdicts, deciding nothing: further agents, data sets alone, other readings.

Of the registered estimands, or of their like, on rows of further artifacts. All but the epochs of each data
set and the latency by FedMarl's rule were added on 2026-11-25, after the rows had been looked at.
"""

import json
from collections.abc import Callable
from functools import partial

import pandas as pd

from fedlib.analysis.claims import Part, Supplement
from fedlib.analysis.memo import map_distinct
from fedlib.analysis.supplements import supplement
from fedlib.papers.fedddrl import estimands, runs
from fedlib.papers.fedddrl.estimands import HARD, ROLES, against, by_cohort_size, contrasts, option
from fedlib.papers.fedddrl.quantities import smoothness, steadiness

Estimand = Callable[[pd.DataFrame], pd.DataFrame | pd.Series]
ADDED = "added on 2026-11-25, after the rows had been looked at"  # said in `Claim.how`
ALL_AGENTS = "three agents a partition"
BESIDE_FEDPROX = "fedavg", "fedavg_mixup", "fedmarl_a", "fedmarl_b", "fedmarl", "fedddrl"
SAVED_SECONDS = contrasts((("fedavg_mixup", "fedddrl"),), values=estimands.SECONDS)


def of_all_agents(estimand: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """An estimand on rows of `fedddrl/agents`: mean over the agents of each partition, by seed.

    Of the seeds that have every agent.
    """

    def own(rows: pd.DataFrame) -> pd.DataFrame:
        learns = rows.method == "fedddrl"
        chosen, others = rows[learns & (option(rows, "deployed") == 0)], rows[~learns]
        agent = option(chosen, "agent")
        agents = agent.groupby(chosen.seed).transform("nunique")
        whole = agents == agents.max()
        parts = [estimand(pd.concat([one, others])) for _, one in chosen[whole].groupby(agent[whole])]
        return pd.concat(parts).groupby(level=0).mean() if parts else pd.DataFrame()

    return own


def of_fedddrl(estimand: Estimand) -> Estimand:
    """An estimand on the rows of FedDdrl alone."""
    return lambda rows: estimand(rows[rows.method == "fedddrl"])


def on(estimand: Callable[[pd.DataFrame], pd.DataFrame], role: str) -> Estimand:
    """Column of one data set of an estimand, with all seeds that it has."""
    return lambda rows: estimand(rows).get(role, pd.Series(dtype=float)).dropna()


def dropping_late_on(role: str) -> Estimand:
    """`estimands.dropping_late` of FedMarl's agents on a data set."""

    def estimand(rows: pd.DataFrame) -> pd.Series:
        own = rows[(rows.method == "fedmarl") & (rows.dataset.map(runs.ROLE_OF) == role)]
        return estimands.dropping_late(own) if len(own) else pd.Series(dtype=float)

    return estimand


def by_unit(rows: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Rows of `fedddrl/latency-unit` with agents that learn with H of this unit (A3), as plain FedDdrl.

    Of the seeds that have agents of the cohort's sum.
    """
    learns, units = rows.method == "fedddrl", option(rows, "latency_unit").replace(0, "largest")
    both = rows.seed.isin(rows.seed[learns & (units == "cohort")])
    rows = rows[both & (~learns | (units == unit))]
    return rows.assign(method_options=map_distinct(rows.method_options, _without_unit))


def _without_unit(text: str) -> str:
    return json.dumps({name: value for name, value in json.loads(text).items() if name != "latency_unit"})


def with_local(rows: pd.DataFrame, local: runs.Local) -> pd.DataFrame:
    """Rows whose clients take these steps of SGD."""
    options = rows.local_optimizer_options
    momentum = map_distinct(options, lambda text: json.loads(text).get("momentum", 0.0))
    same = (rows.local_learning_rate == local.rate) & (rows.batch_size == local.batch_size)
    return rows[same & (momentum == local.momentum)]


def by_the_sum(part: Part) -> Supplement:
    """A part with agents that learn with H by the cohort's sum."""
    return _with_unit("cohort", "agents that learn with H by the cohort's sum (A3)", part)


def by_both_units(part: Part) -> tuple[Supplement, ...]:
    """A part with H by the cohort's sum, and by its largest value on the same seeds."""
    return by_the_sum(part), _with_unit("largest", "H by its largest value, same seeds", part)


def _with_unit(unit: str, words: str, part: Part) -> Supplement:
    choose = partial(by_unit, unit=unit)
    return supplement("fedddrl/latency-unit", part, where=f"with {words}", chosen=choose)


def at_full_size(*parts: Part) -> Supplement:
    """Parts with clients of 500 to 600 images and larger networks: of C, D, FedAvg+ and rules."""
    return supplement("fedddrl/full-size", *parts, where="with clients of the paper's size")


def _mixup_with(words: str, local: runs.Local) -> Supplement:
    """Gain of Balanced-MixUp on CIFAR-10, ten clients a round, with one local SGD."""
    gain = Part("FedAvg+ - FedAvg on CIFAR-10, C = 10", contrasts(against("fedavg_mixup", "fedavg"), HARD))
    return supplement("fedddrl/sgd-search", gain, where=words, chosen=partial(with_local, local=local))


FEDAVG_ALONE = supplement(  # of C1
    "fedddrl/agents",
    Part(
        f"FedDdrl - FedAvg+, {ALL_AGENTS}", of_all_agents(contrasts(against("fedddrl", "fedavg_mixup"), HARD))
    ),
)
FEDPROX_OVER_OTHERS = supplement(  # of C2
    "fedddrl/table4",
    Part("FedProx - FedAvg", contrasts(against("fedprox", "fedavg"), ("MNIST",))),
    Part("FedProx - mean of the others", contrasts(against("fedprox", *BESIDE_FEDPROX), ("MNIST",))),
)


def _later(what: str, estimand: Estimand) -> Part:
    words = f"clients kept, rounds 3 to 15 - rounds 1 and 2, {what}"
    return Part(words, estimand, unit="clients", margin=0.5)  # 5 % of a cohort of ten


_OF_ALL = of_all_agents(of_fedddrl(estimands.later_than_first))
KEPT_LATER = (  # of C7
    supplement("fedddrl/fig10", *(_later(role, on(estimands.later_than_first, role)) for role in ROLES)),
    supplement(
        "fedddrl/agents",
        _later(ALL_AGENTS, _OF_ALL),
        *(_later(f"{ALL_AGENTS}, {role}", on(_OF_ALL, role)) for role in ROLES),
    ),
)
PROBING_SECONDS = by_both_units(  # of C8
    Part(
        "probing latency, dropped / kept (100 log)",
        of_fedddrl(estimands.dropped_over_kept("probing_seconds")), unit="%",
    )
)  # fmt: skip
EPOCHS = (  # of C9
    supplement(
        "fedddrl/fig12",
        *(
            Part(f"epochs of fast - of slow kept clients, {role}", on(estimands.epochs_of_fast, role),
                 unit="epochs", margin=0.25)
            for role in ROLES
        ),
    ),
    by_the_sum(
        Part("epochs of fast - of slow kept clients", of_fedddrl(estimands.epochs_of_fast), unit="epochs",
             margin=0.25)
    ),
)  # fmt: skip
MIXUP_BY_STEP = (  # of C10
    _mixup_with("at `reduced`, where the step is 0.1", runs.SCALES["reduced"].local),
    _mixup_with("with step 0.3", runs.Local(0.3, 0.0, 10)),
    _mixup_with("with step 0.01 and momentum 0.9", runs.Local(0.01, 0.9, 10)),
)
STEADINESS = supplement(  # of C11
    "fedddrl/table5",
    Part(
        "spread of the last ten rounds, 5 clients a round - 10", by_cohort_size(partial(steadiness, last=10))
    ),
    Part(
        "spread of all 15 rounds, 5 clients a round - 10",
        by_cohort_size(partial(steadiness, last=estimands.ROUNDS)),
    ),
    Part("mean change per round, 5 clients a round - 10", by_cohort_size(smoothness)),
)
REWARD_12 = (  # of C14
    supplement(
        "fedddrl/table4",
        Part("clients kept with (12) on CIFAR-10, earlier - last 5 rounds",
             dropping_late_on("CIFAR-10"), unit="clients", margin=0.5),
    ),
    supplement(
        "fedddrl/eq13-14",
        Part("a third of the penalty - gain, last 5 rounds", estimands.gain_below(1 / 3), unit="reward",
             printed=estimands.printed_gain_below(1 / 3)),
    ),
)  # fmt: skip
B_LESS_A = "FedMarl-opt (B) - FedMarl (A)"
EACH_ALONE = supplement(  # of C3 and C15
    "fedddrl/table4",
    *(
        Part(f"{B_LESS_A}, {role}", contrasts(against("fedmarl_b", "fedmarl_a"), (role,)))
        for role in ROLES[:2]
    ),
)
BIAS_ALONE = Part("FedMarl+ with b - FedMarl+ (C)", contrasts(against("fedmarl_mixup_bias", "fedmarl")))
SECOND_AGENT = Part("FedDdrl - FedMarl+ with b", contrasts(against("fedddrl", "fedmarl_mixup_bias")))
FROM_C_TO_D = supplement("fedddrl/bias-alone", BIAS_ALONE, SECOND_AGENT)  # of C3
FIRST_THREE = supplement(  # of C15
    "fedddrl/table4",
    Part(B_LESS_A, contrasts(against("fedmarl_b", "fedmarl_a"))),
    where="with the first three seeds",
    chosen=lambda rows: rows[rows.seed < 3],
)
SAVED_WAITING = Part(  # the server waits for every probing epoch, as FedMarl counts (A2)
    "latency saved against FedAvg+ as FedMarl counts it",
    contrasts((("fedavg_mixup", "fedddrl"),), values=estimands.share_by_fedmarls_rule), unit="%",
)  # fmt: skip
SAVINGS = (  # of C16
    supplement("fedddrl/table4", SAVED_WAITING),
    *by_both_units(Part("latency saved against FedAvg+", SAVED_SECONDS, unit="%")),
)  # fmt: skip
