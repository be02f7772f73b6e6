"""Tables of the grids beyond the paper's: agents apart from partitions, episodes, units of H and lambda."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from fedlib.analysis.intervals import Interval, by_sign, mean_interval
from fedlib.analysis.memo import map_distinct
from fedlib.analysis.tables import side_words, span_words, summarise_seeds
from fedlib.errors import check
from fedlib.papers.fedddrl import quantities, return_tables, runs
from fedlib.papers.fedddrl.further_runs import DEPLOYED
from fedlib.papers.fedddrl.returns import measured
from fedlib.words import counted

QUANTITIES = {"return": "return", "accuracy": "accuracy (points)", "latency %": "latency (% of FedAvg's)"}
UNITS = {"fedddrl": "largest value", "fedddrl: cohort": "cohort's sum"}
UNTRAINED = {  # words -> variant
    "untrained agents": "fedddrl: untrained",
    "agents trained on permuted rewards": "fedddrl: permuted",
}
CHOICES = {"random": "random", "fastest": "shortest probing"}
NOT_UNTRAINED = "FedDdrl's untrained agents were not run."
SAVED = {"latency %": "latency saved (%)", "uploads %": "uploads saved (%)"}


@dataclass(frozen=True)
class Choice:
    """Gain of the agents' choice of clients on a data set over a rule's choice of as many.

    gaps: `QUANTITIES` of each agent less those of its control, by (seed, agent). left_out: controls of
    other agents.
    """

    role: str
    rule: str
    gaps: pd.DataFrame
    left_out: int

    def gain(self, quantity: str) -> Interval:
        """Over partitions: agents of one partition share its data and are averaged first."""
        return mean_interval(self.gaps[quantity].groupby("seed").mean().to_numpy())

    @property
    def agents(self) -> str:
        """Number of agents and of their partitions, in words."""
        partitions = self.gaps.index.get_level_values("seed").nunique()
        return f"{counted(len(self.gaps), 'agent')} on {counted(partitions, 'partition')}"


def by_agent(rows: pd.DataFrame) -> pd.DataFrame:
    """`returns.measured` of every agent apart: with the columns agent, episodes and rewards of training."""
    options = map_distinct(rows.method_options, json.loads)
    rows = quantities.labelled(rows).assign(
        agent=options.map(lambda own: own.get("agent", 0)),
        episodes=options.map(lambda own: own.get("episodes", 0)),
    )
    learned = rows.variant.str.startswith(tuple(return_tables.AGENTS))
    check(bool(learned.any()), "no rows of an agent that was trained")
    frames = []
    for (agent, episodes), own in rows[learned].groupby(["agent", "episodes"]):
        found = measured(pd.concat([own, rows[~learned]]))
        found = found[found.variant.isin(set(own.variant))].join(_rewards(own), on=quantities.CELL)
        frames.append(found.assign(agent=agent, episodes=episodes))
    return pd.concat(frames, ignore_index=True)


def _rewards(rows: pd.DataFrame) -> pd.Series:
    """Mean reward of each training episode (JSON text of round 0) by `CELL`; missing where none is stored."""
    own = rows[rows["round"] == 0].set_index(quantities.CELL)
    return own.reindex(columns=["training_reward_1"]).training_reward_1.rename("rewards")


def apart(rows: pd.DataFrame) -> pd.DataFrame:
    """Standard deviations between agents of one partition and between partitions, by data set and quantity.

    Of partitions with equally many agents. `partitions` is the share of the partitions' means that is left
    once that of the agents behind them is taken out, as in an analysis of variance with random effects; 0
    where none is. Accuracies are less FedAvg's with Balanced-MixUp on the same partition.
    """
    found = by_agent(rows)
    own = found[found.variant == "fedddrl"].copy()
    fedavg = measured(rows[rows.method == "fedavg"])
    fedavg = fedavg[fedavg.variant == "fedavg_mixup"].set_index(["role", "seed"]).accuracy
    own["accuracy"] -= fedavg.reindex(pd.MultiIndex.from_frame(own[["role", "seed"]])).to_numpy()
    shown, lines = quantities.shown_roles(rows), []
    for role in (name for name in runs.ALPHAS if name in set(own.role)):
        of_role = own[own.role == role]
        agents = of_role.groupby("seed").agent.transform("count")
        whole = of_role[agents == agents.max()]
        for name, words in (("accuracy", "accuracy (points)"), ("kept", "clients kept")):
            by_partition = whole.groupby("seed")[name]
            within = by_partition.var().mean()
            between = max(0.0, by_partition.mean().var() - within / agents.max())
            lines.append(
                {
                    "role": shown[role],
                    "quantity": words,
                    "agents of one partition": within**0.5,
                    "partitions": between**0.5,
                    "agents": len(whole),
                }
            )
    return pd.DataFrame(lines)


def apart_sentence(rows: pd.DataFrame) -> str:
    """Sentences on the spread of agents of one partition and of partitions, of `apart`."""
    if rows.empty:
        return "No further agents on a partition are stored."
    table = apart(rows)
    told = [
        f"On {role} ({accuracy['agents']:.0f} agents) the standard deviation of accuracy is "
        f"{accuracy['agents of one partition']:.1f} points between agents of one partition and "
        f"{accuracy['partitions']:.1f} between partitions. That of the number of clients kept is "
        f"{kept['agents of one partition']:.1f} and {kept['partitions']:.1f}"
        f"{' (0: partitions vary no more than their agents do)' * bool(kept['partitions'] == 0)}."
        for role, own in table.groupby("role", sort=False)
        for accuracy, kept in [(own.iloc[0], own.iloc[1])]
    ]
    return " ".join(told)


def deployments(rows: pd.DataFrame) -> pd.DataFrame:
    """FedDdrl's choice less other choices of as many clients, by data set: mean over partitions.

    As many at random, or with the shortest probing epochs. Paired by agent, which keeps the
    same number of clients in the same state. Each run trains its agent anew; a control whose agent did not
    train to the same rewards has another agent and is left out.
    """
    lines = []
    for choice in _choices(rows):
        line: dict[str, object] = {"role": choice.role, "FedDdrl less": CHOICES[choice.rule]}
        for column, words in QUANTITIES.items():
            line |= choice.gain(column).columns(words)
        lines.append(line | {"agents": len(choice.gaps), "left out": choice.left_out})
    return pd.DataFrame(lines)


def choice_sentence(rows: pd.DataFrame) -> str:
    """Sentences on what the agents' choice of clients earns, their number left as it is, in return (15)."""
    choices = list(_choices(rows))
    if not choices:
        return "No agents whose choice is replaced are stored."
    found = "Each agent's choice of clients is replaced, their number is kept, and the return is compared."
    for rule, whom in (("random", "as many at random"), ("fastest", "the shortest probing epochs")):
        gains = {f"{c.role} ({c.agents})": c.gain("return") for c in choices if c.rule == rule}
        if gains:
            found += f" Against {whom} the agent's choice is {side_words(gains, 'ahead', 'behind')}."
    left_out = sum(choice.left_out for choice in choices)
    if not left_out:
        return found
    every = left_out + sum(len(choice.gaps) for choice in choices)
    return f"{found} {left_out} of {every} control runs are left out: they trained to other rewards."


def _choices(rows: pd.DataFrame) -> Iterator[Choice]:
    """Each data set and rule of which at least one control has the agent that it replaces."""
    if rows.empty:
        return
    found, shown = by_agent(rows), quantities.shown_roles(rows)
    for role, rule in itertools.product(runs.ALPHAS, DEPLOYED):
        own, other = (
            found[(found.role == role) & (found.variant == name)].set_index(["seed", "agent"])
            for name in ("fedddrl", f"fedddrl: {rule}")
        )
        own, other = own.align(other, join="inner", axis="index")
        same = own.rewards.notna() & (own.rewards == other.rewards)
        gaps = (own[list(QUANTITIES)] - other[list(QUANTITIES)])[same]
        if len(gaps):
            yield Choice(shown[role], rule, gaps, int((~same).sum()))


def by_episodes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, clients kept and accuracy by the number of training episodes, beside two rules.

    Of the seeds that all of them have. Longer training also less the shortest, paired by seed.
    """
    found = by_agent(rows)
    rules = measured(rows[~rows.method.isin(("fedmarl", "fedddrl"))])
    learned = found.assign(policy=found.episodes.map("FedDdrl, {:.0f} episodes".format))
    words = {name: setting.label for name, setting in runs.CONTROLS.items()}
    rules = rules.assign(policy=rules.variant.map(words)).dropna(subset="policy")
    own = quantities.of_common_seeds(pd.concat([learned, rules], ignore_index=True), "policy")
    lines = []
    for role, of_role in quantities.in_papers_order(own).groupby("role", sort=False):
        cells = {str(name): one.set_index("seed") for name, one in of_role.groupby("policy", sort=False)}
        fewest, *_ = cells.values()
        for name, one in cells.items():
            line: dict[str, object] = {"role": role, "policy": name}
            line |= mean_interval(one["return"].to_numpy()).columns("return")
            line |= {"kept": one.kept.mean(), "accuracy": one.accuracy.mean()}
            if (one.episodes > fewest.episodes).any():
                for column in ("return", "accuracy"):
                    gain = mean_interval((one[column] - fewest[column]).to_numpy())
                    line |= gain.columns(f"less {fewest.episodes.iloc[0]:.0f} episodes: {QUANTITIES[column]}")
            lines.append(line | {"agents": len(one)})
    table = pd.DataFrame(lines)
    return table.assign(role=table.role.map(quantities.shown_roles(rows)))


def episodes_sentence(rows: pd.DataFrame) -> str:
    """Sentences on what longer training is worth, against the shortest, paired by partition seed.

    One sentence where no effect is decided, as `by_episodes` has them all.
    """
    found = by_agent(rows) if len(rows) else pd.DataFrame({"episodes": [], "role": []})
    shown = quantities.shown_roles(rows) if len(rows) else {}
    gains: dict[str, dict[str, Interval]] = {"return": {}, "accuracy": {}}
    for role in (name for name in runs.ALPHAS if name in shown):
        by_length = {n: own.set_index("seed") for n, own in found[found.role == role].groupby("episodes")}
        fewest, *longer = sorted(by_length)
        for episodes, name in itertools.product(longer, gains):
            gap = (by_length[episodes][name] - by_length[fewest][name]).dropna()
            place = f"{shown[role]} ({episodes:.0f} instead of {fewest:.0f})"
            gains[name][place] = mean_interval(gap.to_numpy())
    if not gains["return"]:
        return "No agents were trained for longer."
    every = [one for by_place in gains.values() for one in by_place.values()]
    agents = f"{span_words([one.n for one in every])} agents each"
    if all(by_sign(one, above="", below="", undecided="open") for one in every):
        fewest, *longer = sorted(found.episodes.unique())
        lengths = " or ".join(f"{episodes:.0f}" for episodes in longer)
        places = " or ".join(shown[role] for role in runs.ALPHAS if role in shown)
        return (
            f"That {lengths} episodes of training in place of {fewest:.0f} change return or accuracy on "
            f"{places} does not show ({agents})."
        )
    returns = side_words(gains["return"], "higher", "lower")
    points = side_words(gains["accuracy"], "higher", "lower", "points")
    return f"After more episodes of training ({agents}) the return is {returns}; the accuracy {points}."


def worth_of_training(rows: pd.DataFrame) -> pd.DataFrame:
    """FedDdrl less its untrained agents and less agents trained on permuted rewards, by data set.

    Of the seeds that all three have; `kept` is the number of clients that each keeps.
    """
    lines = []
    for role, words, own, control in _trained_and_not(rows):
        line: dict[str, object] = {"role": role, "FedDdrl less": words}
        for column, name in QUANTITIES.items():
            line |= mean_interval((own[column] - control[column]).to_numpy()).columns(name)
        line |= {"kept: FedDdrl": own.kept.mean(), "kept: control": control.kept.mean(), "seeds": len(own)}
        lines.append(line)
    return pd.DataFrame(lines)


def training_sentence(rows: pd.DataFrame) -> str:
    """Sentence on what training is worth to FedDdrl in return (15), against two controls."""
    gains: dict[str, dict[str, Interval]] = {}
    for role, words, own, control in _trained_and_not(rows):
        gap = (own["return"] - control["return"]).to_numpy()
        gains.setdefault(words, {})[role] = mean_interval(gap)
    told = [
        f"against {words} it is {side_words(by_role, 'ahead', 'behind')}" for words, by_role in gains.items()
    ]
    if not told:
        return NOT_UNTRAINED
    seeds = span_words([one.n for by_role in gains.values() for one in by_role.values()])
    return f"The return of trained agents less that of others: {'; '.join(told)} ({seeds} seeds)."


def _trained_and_not(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame, pd.DataFrame]]:
    """Data set, words of a control, and `measured` of FedDdrl and of the control by seed."""
    if rows.empty:
        return
    found, shown = measured(rows), quantities.shown_roles(rows)
    for words, role in itertools.product(UNTRAINED, runs.ALPHAS):
        own = found[(found.role == role) & found.variant.isin(("fedddrl", *UNTRAINED.values()))]
        by_seed = quantities.of_common_seeds(own).set_index(["variant", "seed"])
        if {"fedddrl", UNTRAINED[words]} <= set(by_seed.index.get_level_values("variant")):
            yield shown[role], words, by_seed.loc["fedddrl"], by_seed.loc[UNTRAINED[words]]


def by_unit(rows: pd.DataFrame) -> pd.DataFrame:
    """C16 by the unit of H that the agents learned with: savings, and accuracy less FedAvg's.

    Of the seeds with agents of both units.
    """
    found = measured(rows)
    shown, lines = quantities.shown_roles(rows), []
    for role in runs.ALPHAS:
        fedavg = found[(found.role == role) & (found.variant == "fedavg_mixup")].set_index("seed")
        learned = found[(found.role == role) & found.variant.isin(UNITS)]
        for variant, own in quantities.of_common_seeds(learned).set_index("seed").groupby("variant"):
            values = {words: 100 - own[column] for column, words in SAVED.items()}
            gain = own.accuracy - fedavg.accuracy  # NaN for a seed that only one of them has
            values |= {"accuracy less FedAvg's (points)": gain.dropna(), "kept": own.kept}
            line: dict[str, object] = {"role": shown[role], "H by": UNITS[str(variant)]}
            for name, one in values.items():
                line |= mean_interval(one.to_numpy()).columns(name) if len(one) else {}
            lines.append(line | {"seeds": len(own)})
    return pd.DataFrame(lines)


def unit_sentence(rows: pd.DataFrame) -> str:
    """Compare the latency saved (C16) by agents that learned with H in either unit, paired by seed."""
    if rows.empty:
        return "No agents with H by the cohort's sum are stored."
    found, shown = measured(rows), quantities.shown_roles(rows)
    share = found.set_index(quantities.CELL)["latency %"]
    gaps = {
        shown[role]: mean_interval(gap.to_numpy())
        for role in runs.ALPHAS
        if len(gap := -quantities.cell(share, role, "fedddrl: cohort").sub(
            quantities.cell(share, role, "fedddrl")).dropna())
    }  # fmt: skip
    seeds = counted(max(one.n for one in gaps.values()), "seed")
    return (
        "With H by the cohort's sum in place of its largest value the latency that FedDdrl saves, in % of "
        f"FedAvg's, is {side_words(gaps, 'higher', 'lower', 'points')} ({seeds})."
    )


def by_lambda(rows: pd.DataFrame) -> pd.DataFrame:
    """FedAvg's accuracy (%) without Balanced-MixUp, with one lambda for each batch, and for each pair.

    Data sets in the paper's order, the three together, each of the seeds that all three have.
    """
    unit = rows["mixup_lambda"].fillna("batch") if "mixup_lambda" in rows else "batch"
    named = quantities.labelled(rows).assign(unit=unit)
    frames = []
    for (variant, own_unit), part in named.groupby(["variant", "unit"]):
        words = "none" if variant == "fedavg" else f"one per {own_unit}"
        accuracy = quantities.final_accuracy(part).rename("accuracy").reset_index()
        frames.append(accuracy.assign(**{"lambda": words}))
    found = quantities.of_common_seeds(pd.concat(frames, ignore_index=True), "lambda")
    table = summarise_seeds(found, ["role", "lambda"], "accuracy").rename(columns={"mean": "accuracy (%)"})
    table = quantities.in_papers_order(table)
    shown = table.role.map(quantities.shown_roles(rows))
    return table.assign(role=shown).rename(columns={"n": "seeds"})
