"""FedDdrl's return (15) in tables and sentences: who earns it, and at what accuracy."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fedlib.analysis.intervals import by_sign, effect_words, mean_words
from fedlib.analysis.memo import kept_per_frame
from fedlib.analysis.tables import listed, summarise_seeds
from fedlib.methods.fedddrl.method import GAIN
from fedlib.papers.fedddrl import quantities, runs
from fedlib.papers.fedddrl.latencies import RULES, latencies
from fedlib.papers.fedddrl.returns import (
    W1,
    W2,
    episode_terms,
    learning_gain,
    less_rule,
    measured,
    returns,
    reward_terms,
)

AGENTS = {
    "fedmarl_a": "FedMarl (A)",
    "fedmarl_b": "FedMarl-opt (B)",
    "fedmarl": "FedMarl+ (C)",
    "fedddrl": "FedDdrl (D)",
}
POINT = W1 * GAIN / 100  # return of one point of final accuracy


def return_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return with its interval and mean accuracy (%): a line a policy, a group of columns a data set."""
    by, found = ["role", "variant"], measured(rows)
    cells = summarise_seeds(found, by, "return").set_index(by).drop(columns="n")
    cells = cells.rename(columns={"mean": "return", "low": "return low", "high": "return high"})
    accuracy = found.groupby(by).accuracy.mean().rename("accuracy (%)")
    return quantities.by_policy(cells.join(accuracy), rows)


def term_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Table of the return's four terms, mean over seeds, for FedAvg, rules and agents."""
    shown = ("fedavg_mixup", "random_drop_20%", "drop_slowest_20%", "fedmarl", "fedddrl")
    terms = episode_terms(rows).groupby(["role", "variant"]).mean()
    lines = [(role, name) for role in runs.ALPHAS for name in shown if (role, name) in terms.index]
    table = terms.loc[lines].assign(**{"return": lambda found: found.sum(axis=1)}).reset_index()
    names = quantities.shown_roles(rows)
    return table.assign(
        role=table.role.map(names), variant=table.variant.map(lambda name: runs.SETTINGS[name].label)
    ).rename(columns={"variant": "method"})


def agent_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Clients kept and return of the trained agents, and how their accuracy varies beside a rule's.

    clients kept, return: of the agent with the least and of that with the most; the figures show each agent.

    spread: standard deviation over seeds of the accuracy less FedAvg's with Balanced-MixUp on the same
    partition (points), so that the partition's share is gone; `rule spread` is that of random dropping,
    mean over the shares that were run.
    """
    found = measured(rows)
    accuracy = found.set_index(quantities.CELL).accuracy
    shown, lines = quantities.shown_roles(rows), []
    for role in runs.ALPHAS:
        fedavg = quantities.cell(accuracy, role, "fedavg_mixup")
        rules = [f"random_drop_{share:.0%}" for share in runs.SHARES]
        spreads = [(quantities.cell(accuracy, role, name) - fedavg).std() for name in rules]
        for variant, name in AGENTS.items():
            own = found[(found.role == role) & (found.variant == variant)]
            if len(own):
                least, most = own["return"].min(), own["return"].max()
                lines.append(
                    {
                        "role": shown[role],
                        "agent": name,
                        "clients kept": f"{own.kept.min():.1f} to {own.kept.max():.1f}",
                        "return": f"{least:+.2f} to {most:+.2f}".replace("-", "−"),
                        "spread": (own.set_index("seed").accuracy - fedavg).std(),
                        "rule spread": pd.Series(spreads).mean(),
                    }
                )
    return pd.DataFrame(lines)


@kept_per_frame
def rank_sentence(rows: pd.DataFrame) -> str:
    """Compare the orders by return and by accuracy, with Spearman's correlation per data set.

    Of the policies' means, most of which are rules that cannot learn, and of FedDdrl's agents, one a seed.
    """
    rows, shown = _policies(rows), quantities.shown_roles(rows)
    largest, by_sum = (_rank_words(_means(rows, unit), shown) for unit in ("largest", "cohort"))
    return (
        f"Over the means of {rows.variant.nunique()} policies with Balanced-MixUp the rank correlation of "
        f"return and accuracy is {largest}. {_fixed(rows)} of them cannot learn. With H by the cohort's sum "
        f"in place of its largest value it is {by_sum}. Among FedDdrl's agents, one a seed, it is "
        f"{_rank_words(_agents(rows), shown, chance=True)}."
    )


@kept_per_frame
def rank_answer(rows: pd.DataFrame) -> tuple[str, str]:
    """Answer whether more return goes with more accuracy, on real images: in words, and in correlations.

    Agents' correlations are undecided where p is 0.05 or more. Empty texts without rows.
    """
    if rows.empty:
        return "", ""
    rows = _policies(quantities.real_images(rows)[0])
    shown, count = quantities.shown_roles(rows), rows.variant.nunique()
    means, agents = _means(rows), _agents(rows)
    of_means, of_agents = _spearman(means), _spearman(agents)
    if not of_means or not of_agents:
        return "", ""
    signs = {one.statistic > 0 for one in of_means.values()}
    answer = {(True,): "Yes", (False,): "No"}.get(tuple(signs), "It depends")
    policies = {role: f"{'more' if one.statistic > 0 else 'less'} accuracy" for role, one in of_means.items()}
    learned = {
        role: "is undecided" if one.pvalue >= 0.05 else f"goes with {'more' if one.statistic > 0 else 'less'}"
        for role, one in of_agents.items()
    }
    words = (
        f"Over the means of {count} policies, {_fixed(rows)} of which cannot learn, more return goes with "
        f"{_on(policies, shown)}. Among FedDdrl's agents it {_on(learned, shown)} (section 7)."
    )
    correlations = (
        f"Does more return go with more accuracy? {answer}: over the means of {count} policies the rank "
        f"correlation is {_rank_words(means, shown)}. Among FedDdrl's agents it is "
        f"{_rank_words(agents, shown, chance=True)}."
    )
    return words, correlations


def _on(by_role: dict[str, str], shown: dict[str, str]) -> str:
    """`less accuracy on MNIST and CIFAR-10`, or `is undecided on MNIST and goes with less on CIFAR-10`."""
    roles = {word: [shown[role] for role in by_role if by_role[role] == word] for word in by_role.values()}
    return listed([f"{word} on {listed(names)}" for word, names in roles.items()])


def _policies(rows: pd.DataFrame) -> pd.DataFrame:
    """Labelled rows of all policies with Balanced-MixUp: the paper's and the controls."""
    rows = quantities.labelled(rows)
    return rows[rows.variant.isin([*runs.CONTROLS, *runs.FIG8])]


def _fixed(rows: pd.DataFrame) -> int:
    """Number of labelled policies that are no agents."""
    return len(set(rows.variant) - set(AGENTS))


def _means(rows: pd.DataFrame, unit: str = "largest") -> pd.DataFrame:
    """Return, H in a unit of A3, and accuracy: mean over seeds by role and policy."""
    return _both(rows, unit).groupby(["role", "variant"]).mean()


def _agents(rows: pd.DataFrame) -> pd.DataFrame:
    """Return and accuracy of FedDdrl's agents by role and seed."""
    found = _both(rows, "largest").reset_index()
    return found[found.variant == "fedddrl"].set_index(["role", "seed"])[["return", "accuracy"]]


def _both(rows: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return (15), H in a unit of A3, and accuracy by `CELL`."""
    return pd.DataFrame({"return": returns(rows, unit), "accuracy": quantities.final_accuracy(rows)})


def _rank_words(values: pd.DataFrame, shown: dict[str, str], *, chance: bool = False) -> str:
    """`−0.84 on MNIST, ...` of return and accuracy, by role first; chance: with number and p value."""
    parts = []
    for role, found in _spearman(values).items():
        given = f" ({len(values.loc[role])} agents, p = {found.pvalue:.2g})" * chance
        parts.append(f"{found.statistic:+.2f}".replace("-", "−") + f" on {shown[role]}{given}")
    return listed(parts)


def _spearman(values: pd.DataFrame) -> dict[str, Any]:
    """Rank correlation of return and accuracy with its p value, of each role with three lines or more."""
    roles = [role for role in runs.ALPHAS if role in values.index and len(values.loc[role]) > 2]
    return {role: stats.spearmanr(values.loc[role]["return"], values.loc[role].accuracy) for role in roles}


def saved_by_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """C16's latency by both rules (FEDDDRL-A2): percent of FedAvg+'s that FedDdrl saves."""
    own = quantities.evaluations(rows)
    own = own[own.variant.isin(("fedavg_mixup", "fedddrl"))]
    own = own.assign(**{rule: values for rule, values in latencies(own).items() if rule in RULES})
    frames = []
    for rule, words in RULES.items():
        share = quantities.normalised(own, rule).rename("share").reset_index()
        saved = share[share.variant == "fedddrl"].assign(saved=lambda one: 100 - one.share)
        frames.append(summarise_seeds(saved, "role", "saved").assign(rule=words))
    table = pd.concat(frames).rename(columns={"mean": "latency saved (%)", "n": "seeds"})
    names = quantities.shown_roles(rows)
    table = quantities.in_papers_order(table)
    columns = ["role", "rule", "latency saved (%)", "low", "high", "seeds"]
    return table.assign(role=table.role.map(names))[columns]


def price_in_short(rows: pd.DataFrame) -> str:
    """Points of final accuracy that pay for the uploads of one client in all rounds."""
    rounds, price = _price_of_client(rows)
    return (
        f"A client kept in all {rounds} rounds costs, in uploads alone, the return that {price / POINT:.2g} "
        "points of final accuracy earn."
    )


def _price_of_client(rows: pd.DataFrame) -> tuple[int, float]:
    """Rounds of an episode, and the return that the uploads of one client cost in all of them."""
    rounds = int(rows.episode_rounds.max())
    return rounds, W2 / int(rows.cohort_size.max()) * rounds


def price_sentence(rows: pd.DataFrame) -> str:
    """Why the accuracy does not pay: what a client costs in points of final accuracy, on real images."""
    rows, data = quantities.real_images(rows)
    rounds, client = _price_of_client(rows)
    by_role = episode_terms(rows).groupby(["role", "variant"]).mean()  # seeds differ between data sets
    terms = by_role.groupby("variant").mean()
    everyone, fewest = (terms.loc[name] for name in ("fedavg_mixup", "drop_slowest_20%"))
    saved = (fewest[["uploads", "latency"]] - everyone[["uploads", "latency"]]).sum()
    lost = everyone.gain - fewest.gain
    return (
        f"One client kept in all {rounds} rounds costs {client:.2f} of return in uploads alone, as much as "
        f"{client / POINT:.1f} points of final accuracy. Keeping the fastest fifth saves {saved:.2f} of "
        f"uploads and latency and gives up {lost:.2f} of accuracy gain (mean over {data})."
    )


def telescoping_sentence(rows: pd.DataFrame) -> str:
    """Compare rewards of rounds with a gain and with a loss, in FedDdrl's evaluations on real images."""
    rows, data = quantities.real_images(rows)
    own = reward_terms(rows)
    own = own[own.variant == "fedddrl"]
    keys = [*quantities.CELL, "episode"]
    ups = own.assign(up=own.dA.clip(lower=0), down=own.dA.clip(upper=0)).groupby(keys)[["up", "down"]].sum()
    rounds, bonus = (own.dA > 0).groupby([own[k] for k in keys]).sum().mean(), own.groupby(keys).bonus.sum()
    return (
        f"Over an episode on {data} the rises of FedDdrl's accuracy add up to {100 * ups.up.mean():.0f} "
        f"points, its falls to {-100 * ups.down.mean():.0f}. A round's reward counts each of these, the "
        f"return their sum. The bonus is paid in the {rounds:.1f} rounds with a gain, {bonus.mean():.2f} in "
        "all; a round with a loss costs none."
    )


def spread_sentence(rows: pd.DataFrame) -> str:
    """Spread of the trained agents over seeds beside that of a rule, on real images."""
    rows, data = quantities.real_images(rows)
    found = measured(rows)
    own = found[found.variant.isin(AGENTS)]
    table = agent_table(rows)
    agents, rules = (np.sqrt((table[name] ** 2).mean()) for name in ("spread", "rule spread"))
    return (
        f"On {data} agents keep {own.kept.min():.1f} to {own.kept.max():.1f} of "
        f"{rows.cohort_size.max():.0f} clients. The standard deviation over seeds of their accuracy less "
        f"FedAvg's on the same partition is {agents:.1f} points. For random dropping at a fixed rate it is "
        f"{rules:.1f}. Each seed has a partition and agents of its own."
    )


def learning_sentence(rows: pd.DataFrame) -> str:
    """Rise of FedDdrl's return over training, beside the return of the rules, on real images."""
    rows, data = quantities.real_images(rows)
    gain = learning_gain(rows)
    gain = gain[gain.variant == "fedddrl"].groupby("seed").gain.mean()
    rise = mean_words(gain)
    less = less_rule(rows, "random_drop_20%")
    paired = ""
    if less:
        says = by_sign(less, above="ahead", below="behind", undecided="which is ahead is not decided")
        paired = f" In the evaluations it is {effect_words(less)} against keeping 20 % at random: {says}."
    return (
        f"FedDdrl's return rises by {rise} from the first to the last five training episodes ({data}). Its "
        f"exploration falls from 1 to 0.1 meanwhile, which alone may raise it.{paired}"
    )


def idle_sentence(rows: pd.DataFrame) -> str:
    """Share of VDN 2's actions that change nothing, on real images."""
    rows, _ = quantities.real_images(rows)
    own = quantities.evaluations(rows)
    own = own[own.variant == "fedddrl"]
    idle = 100 * (1 - (own.uploads / own.cohort_size).mean())
    return (
        f"VDN 2 also sets the epochs of clients that VDN 1 drops, and learns from them: {idle:.0f} % of its "
        "actions in the evaluations changed nothing."
    )
