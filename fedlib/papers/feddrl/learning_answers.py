"""Answers of 01_feddrl's section 3 in sentences computed from rows: does the agent learn, and why not.

Each function takes `session.rows_of` or the like. It returns no sentence of rows that are not there.
"""

from collections.abc import Callable, Mapping

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import (
    Interval,
    barely_decided,
    by_side,
    by_sign,
    decided_words,
    effect_words,
    mean_interval,
    mean_words,
    number_words,
)
from fedlib.analysis.numbers import RowsOf
from fedlib.analysis.tables import dataset_titles, listed, span_words
from fedlib.papers.feddrl import learning, quantities
from fedlib.papers.feddrl.repair import FROZEN, SEARCHED, SINGLE
from fedlib.papers.feddrl.small_setting import SEARCH_SEEDS
from fedlib.plotting.style import method_style

Maker = Callable[[pd.DataFrame], list[str]]
TOLD = {"centring": "a centred reward brings", "all": "five of the repair's changes"}
CHANGES = [
    "The repaired agent has a centred reward, losses as they are in the state and one policy for all "
    "clients.",
    "Its discount, noise, policy rate and offline training differ too.",
]


def does_it_learn(rows_of: RowsOf) -> list[str]:
    """Answer for the printed agent, and by data set for the repaired one, whose numbers are at the top."""
    return _told(rows_of, {"small_setting": _printed_agent, "repair_judged": _repaired_briefly})


def why_not(rows_of: RowsOf) -> list[str]:
    """Answer what there is to gain, how much of it a reward shows, and what the discarded buffer is worth."""
    rows = rows_of("feddrl/small_setting")
    return [*_room(rows), *_signal(rows), *_kept_buffer(rows)] if len(rows) else []


def what_the_repair_changes(rows_of: RowsOf) -> list[str]:
    """A point on the agent alone, one on the search's variants, one on whether means tell groups apart."""
    makers: dict[str, Maker] = {
        "ddpg_bandit": _alone, "repair_search": _searched, "repair_means": _separation,
    }  # fmt: skip
    points = [" ".join(_told(rows_of, {name: make})) for name, make in makers.items()]
    return [point for point in points if point]


def repaired(rows: pd.DataFrame, changes: list[str] | None = None) -> list[str]:
    """Gains in reward over uniform weights by data set, of the repaired agent and on permuted rewards.

    changes: sentences before them; by default those that list the changes.
    """
    parts = dict(iter(quantities.named(rows).groupby("dataset")))
    told = [_repaired_on(quantities.PAPER_DATA[data], part) for data, part in parts.items()]
    return [*(CHANGES if changes is None else changes), *told]


def _repaired_briefly(rows: pd.DataFrame) -> list[str]:
    """Sentences on what the repair changes and where the repaired agent earns more than uniform weights."""
    gains = {
        quantities.PAPER_DATA[str(data)]: reward_gain(part, "repaired", "uniform")
        for data, part in quantities.named(rows).groupby("dataset")
    }
    sides = by_side(gains, above="it earns more", below="it earns less")
    told = "; ".join(f"{side} on {listed(names)}" for side, names in sides.items() if names)
    return [*CHANGES, f"Against uniform weights: {told} (`repair_judged`; numbers at the top)."]


def _repaired_on(data: str, part: pd.DataFrame) -> str:
    gain, permuted, decide = reward_gain(part, "repaired", "uniform"), "", []
    if "repaired_permuted" in set(part.variant.unique()):
        control = reward_gain(part, "repaired_permuted", "uniform")
        permuted = f", {effect_words(control)} where its rewards are dealt to other rounds (permuted)"
        decide = [reward_gain(part, "repaired", "repaired_permuted")]
    least = min([gain, *decide], key=lambda one: one.low)
    says = by_sign(least, above="it learns", below="it loses", undecided="open")
    share = ""
    if "small_groups" in set(part.variant.unique()):
        share = (
            f" Its gain is {mean_words(learning.share_of_rule(part))} % of that of the rule for small groups."
        )
    printed = ""
    if "feddrl" in set(part.variant.unique()):
        lower = reward_gain(part, "feddrl", "uniform")
        printed = f" The printed agent's reward is {effect_words(lower, 'nats')} against uniform weights."
    return (
        f"On images drawn from all of {data} (`repair_judged`, {gain.n} seeds) the repaired agent's mean "
        f"reward is {effect_words(gain, 'nats')} against uniform weights{permuted}: {says}.{share}{printed}"
    )


def reward_gain(named: pd.DataFrame, own: str, other: str) -> Interval:
    """Mean reward of a variant less that of another, paired by seed (nats)."""
    return contrasts.paired(quantities.rewards(named, own), quantities.rewards(named, other))


def _told(rows_of: RowsOf, makers: Mapping[str, Maker]) -> list[str]:
    """Sentences of each of FedDRL's artifacts that has rows to say something about."""
    found = {name: rows_of(f"feddrl/{name}") for name in makers}
    return [told for name, make in makers.items() if len(found[name]) for told in make(found[name])]


def _printed_agent(rows: pd.DataFrame) -> list[str]:
    named = quantities.named(rows)
    gain = reward_gain(named, "feddrl", "untrained")
    says = by_sign(
        gain, above="it learns", below="training lowers it", undecided="that it learns does not show"
    )
    says += " (barely)" * barely_decided(gain)
    told = [
        f"The printed agent's mean reward is {effect_words(gain, 'nats')} against its untrained policy "
        f"(`small_setting`: {', '.join(dataset_titles(rows))}, {gain.n} seeds): {says}."
    ]
    uniform = reward_gain(named, "feddrl", "uniform")
    words = [f"{decided_words(uniform, 'nats')} against uniform weights"]
    if "permuted" in set(named.variant.unique()):
        permuted = reward_gain(named, "feddrl", "permuted")
        clear = by_sign(permuted, above="better", below="worse", undecided="no clear difference")
        words.append(f"{effect_words(permuted)} against itself on permuted rewards ({clear})")
    return [*told, f"It is {' and '.join(words)}."]


def _alone(rows: pd.DataFrame) -> list[str]:
    """mu of the small groups less that of the main group at the end, where the best answer is 1.

    Around the lowest rewards, where FedDRL's lie; the figure has the others.
    """
    low = rows.offset.min()
    last = rows[(rows.amplitude > 0) & (rows["round"] == rows["round"].max()) & (rows.offset == low)]
    gaps = last.assign(gap=last.mu_small - last.mu_main).groupby(["settings", "seed"], sort=False)
    ends = {key: mean_words(part) for key, part in gaps.gap.mean().groupby("settings", sort=False)}
    told = [
        "The agent alone was tried on rewards whose best answer is a difference of 1 between the groups' "
        f"means ({rows.seed.nunique()} agents, {last.updates.max()} updates).",
        f"Around {_level(low)} nats, where FedDRL's rewards lie, the printed settings end at "
        f"{ends['printed']}.",
    ]
    changed = [f"{TOLD[name]} {words}" for name, words in ends.items() if name in TOLD]
    return [*told, *([f"There {listed(changed)}."] if changed else []), *_level_alone(rows)]


def _level_alone(rows: pd.DataFrame) -> list[str]:
    """Mean mu of both groups at the end with printed settings, where no action changes the reward."""
    last = rows[(rows.amplitude == 0) & (rows.settings == "printed") & (rows["round"] == rows["round"].max())]
    ends = ((last.mu_small + last.mu_main) / 2).groupby(last.offset).mean()
    if len(ends) < 2:
        return []
    words = listed([f"{mu:.2f} around {_level(offset)}" for offset, mu in ends.items()])
    return [f"Where no action changes the reward, its level alone moves the means from 0.5 to {words} nats."]


def what_the_level_does(rows: pd.DataFrame) -> list[str]:
    """Say how far the level of `ddpg_bandit`'s lowest rewards moves the printed agent, and its actions.

    Then what its state hides; no sentence without rows.
    """
    if rows.empty:
        return []
    low, last = rows.offset.min(), rows["round"].max()
    ends = rows[(rows.settings == "printed") & (rows["round"] == last) & (rows.offset == low)]
    level, paid = ends[ends.amplitude == 0], ends[ends.amplitude > 0]
    moved = abs(float((level.mu_small + level.mu_main).mean()) / 2 - 0.5)
    apart = float((paid.mu_small - paid.mu_main).mean())
    return [
        f"On a bandit around {_level(low)} nats that level alone moves all means of the printed agent by "
        f"{moved:.2f}; what its actions earn moves the two groups' means {apart:.2f} apart.",
        "A state of shares hides the level from the critic (A6).",
    ]


def _level(offset: float) -> str:
    return number_words(offset, signed=True).replace("-", "−") if offset else "0"


def _room(rows: pd.DataFrame) -> list[str]:
    """Gain of the best rule within the agent's reach, and of a search on the same reward."""
    named = quantities.named(rows)
    known = [name for name in quantities.variant_order(named) if name in quantities.REACHABLE]
    rules = {name: reward_gain(named, name, "uniform").mean for name in known if name != "best_constant"}
    if not rules or "best_constant" not in known:
        return []
    rule = max(rules, key=lambda name: rules[name])
    gain, found = (reward_gain(named, name, "uniform") for name in (rule, "best_constant"))
    more = reward_gain(named, "best_constant", rule)
    says = by_sign(
        more, above="the search beats every rule", below="the search falls short of it",
        undecided="no clear difference",
    )  # fmt: skip
    return [
        f"There is room: within its reach the rule “{method_style(rule).label}” earns "
        f"{effect_words(gain, 'nats')} against uniform weights, the best constant weights "
        f"{effect_words(found)}.",
        f"That search less the best of {len(rules)} hand-written rules is {effect_words(more, 'nats')}: "
        f"{says}.",
    ]


def _signal(rows: pd.DataFrame) -> list[str]:
    """Share of the reward's variance that the untrained agent's tilt explains, raw and detrended."""
    found = learning.signal(rows).set_index("reward")
    if set(found.index) != {"raw", "detrended"}:
        return []
    raw, detrended = (found.loc[name] for name in ("raw", "detrended"))
    return [
        f"The tilt to small groups explains {number_words(100 * raw.R2)} % of the raw reward's variance "
        f"and {number_words(100 * detrended.R2)} % of the detrended one's."
    ]


def _kept_buffer(rows: pd.DataFrame) -> list[str]:
    """Effect of going on with the workers' experience, which stage 2 discards (FEDDRL-A23)."""
    named = quantities.named(rows)
    if "keep" not in set(named.variant.unique()):
        return []
    more = reward_gain(named, "keep", "feddrl")
    says = by_sign(more, above="it helps", below="it hurts", undecided="that it matters does not show")
    return [
        f"Going on with the workers' experience, which is discarded, changes the mean reward by "
        f"{effect_words(more, 'nats')}: {says}."
    ]


def _searched(rows: pd.DataFrame) -> list[str]:
    """Count the variants that ran and those that earn more than uniform weights; place the frozen one."""
    ours, named = {FROZEN: "repaired", "printed": "feddrl"}, quantities.named(rows)
    seeds = named.groupby("variant").seed.nunique()
    found = {name: ours.get(name, name) for name in SEARCHED if ours.get(name, name) in seeds}
    gains = {name: reward_gain(named, variant, "uniform") for name, variant in found.items()}
    alone = [name for name in gains if name in SINGLE]
    combined = [name for name in gains if name not in SINGLE and name != "printed"]
    searched = f"{span_words(seeds[list(found.values())].tolist())} of {len(SEARCH_SEEDS)} seeds"
    return [
        f"The search ran {len(found)} of {len(SEARCHED)} variants on {searched}.",
        *(_earning(f"{len(some)} {words}", {name: gains[name] for name in some})
          for some, words in ((alone, "single changes"), (combined, "combinations")) if some),
        *_place_of_frozen(named, {name: found[name] for name in combined}, gains),
    ]  # fmt: skip


def _earning(of: str, gains: dict[str, Interval]) -> str:
    """Count those whose gain in reward is clear, and name them if they are few."""
    ahead = [f"`{name}`" for name, gain in gains.items() if gain.low > 0]
    names = f": {listed(ahead)}" if 0 < len(ahead) <= 3 else ""
    verb = "earn" if len(ahead) > 1 else "earns"
    return f"{len(ahead) or 'None'} of {of} {verb} clearly more than uniform weights{names}."


def _place_of_frozen(named: pd.DataFrame, variants: dict[str, str], gains: dict[str, Interval]) -> list[str]:
    """Compare the frozen variant with the combination of the highest mean reward."""
    if FROZEN not in variants or len(variants) < 2:
        return []
    best = max(variants, key=lambda name: gains[name].mean)
    if best == FROZEN:
        return ["No combination has a higher mean reward than the frozen one."]
    less = effect_words(reward_gain(named, variants[FROZEN], variants[best]), "nats")
    return [f"The frozen one's mean reward less the highest, that of `{best}`, is {less}."]


def _separation(rows: pd.DataFrame) -> list[str]:
    """Mean mu of small groups less the main group's in the last rounds, by agent and data set."""
    named, told = quantities.named(rows), []
    for variant, words in (("repaired", "the repaired agent"), ("feddrl", "the printed one")):
        gaps = {data: learning.mean_gaps(part, variant) for data, part in named.groupby("dataset")}
        found = {
            quantities.PAPER_DATA[str(data)]: mean_interval(gap.to_numpy())
            for data, gap in gaps.items()
            if len(gap)
        }
        if not found:
            continue
        effects = listed([f"{effect_words(gap)} ({data})" for data, gap in found.items()])
        if all(gap.low > 0 for gap in found.values()):
            says = "it separates them"
        else:
            says = "that it separates them does not show"
        told.append(f"Of {words} it is {effects}: {says}.")
    rounds = round(learning.LAST_TENTH * named["rounds"].max())
    first = f"In the last {rounds} rounds the mean mu of small groups is compared with the main group's."
    return [first, *told] if told else []
