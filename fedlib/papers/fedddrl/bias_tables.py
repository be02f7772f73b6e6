"""Reward (12) near the end of an episode, eqs. (13) and (14), and what the bias b changes (claim C14)."""

import pandas as pd

from fedlib.analysis.intervals import by_sign, effect_words, mean_interval, number_words
from fedlib.analysis.published import printed_value
from fedlib.papers.fedddrl import quantities
from fedlib.papers.fedddrl.estimands import LAST_ROUNDS, dropping_late, gain_below, kept_by_bias


def bias(rows: pd.DataFrame) -> pd.DataFrame:
    """Eqs. (13), (14): means of the gain and penalty terms over the last five rounds, and clients kept.

    With reward (12), whose claim has more seeds, once of all its seeds and once of those that both have.
    """
    terms = quantities.reward_terms(quantities.evaluations(rows))
    both = quantities.of_common_seeds(terms)
    names = {"fedmarl_b": "ours, (12), the same seeds", "fedmarl_bias": "ours, (15)"}
    plain = terms[terms.variant == "fedmarl_b"]
    terms = pd.concat([plain.assign(reward="ours, (12)"), both.assign(reward=both.variant.map(names))])
    late = terms[terms.t > terms.t.max() - LAST_ROUNDS]
    table = late.groupby("reward")[["gain", "penalty", "uploads", "bias"]].mean()
    earlier = terms[terms.t <= terms.t.max() - LAST_ROUNDS].groupby("reward").uploads.mean()
    table.insert(3, "uploads before", earlier)
    table["seeds"] = late.groupby("reward").seed.nunique()
    row = pd.DataFrame(_printed(), index=["published, (12)"])
    names = {"uploads": "clients kept: last rounds", "uploads before": "clients kept: before"}
    return pd.concat([row, table]).round(4).reset_index(names="reward").rename(columns=names)


def _printed() -> dict[str, float]:
    equations = {"gain": "eq13", "penalty": "eq14"}
    return {name: printed_value("fedddrl_text", artifact=equation) for name, equation in equations.items()}


def what_the_bias_repairs(rows: pd.DataFrame) -> list[str]:
    """Sentences on C14: gain beside penalty near the end, and clients kept there without and with b.

    The bias is paired by seed. None without rows, or where no two seeds have reward (12).
    """
    if rows.empty or gain_below(0.5)(rows).count() < 2:
        return []
    half, earlier = (mean_interval(f(rows).dropna().to_numpy()) for f in (gain_below(0.5), dropping_late))
    own, printed = bias(rows).set_index("reward").loc["ours, (12)"], _printed()
    side = by_sign(
        half, above="less than half of the penalty", below="more than half of the penalty",
        undecided="not decidedly less than half of the penalty",
    )  # fmt: skip
    says = by_sign(earlier, above="more", below="fewer", undecided="undecided")
    told = [
        f"With reward (12) the gain of the last {LAST_ROUNDS} rounds is {number_words(own.gain)} and the "
        f"penalty {number_words(own.penalty)} ({half.n} seeds; the paper prints {printed['gain']:g} and "
        f"{printed['penalty']:g}): the gain is {side}.",
        f"The agents keep {effect_words(earlier)} clients more before these rounds than in them: {says}.",
    ]
    gaps = kept_by_bias(rows).dropna()
    if len(gaps) < 2:
        return [*told, "Both rewards were trained with one common seed at most."]
    kept = mean_interval(gaps.to_numpy())
    says = by_sign(kept, above="it keeps more", below="it keeps fewer", undecided="undecided")
    changes = f"the bias changes the clients kept in the last {LAST_ROUNDS} rounds by {effect_words(kept)}"
    return [*told, f"On the {kept.n} common seeds {changes}: {says}."]
