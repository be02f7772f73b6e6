"""Tables of the ablations: what each change costs, and what the weights are worth beside the step.

Intervals are 95 % t intervals over trials, paired by trial.
"""

from collections.abc import Sequence

import pandas as pd

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import Interval, by_sign, effect_words
from fedlib.analysis.tables import listed
from fedlib.analysis.variants import with_variant
from fedlib.papers.feddisk.runs import ABLATIONS
from fedlib.papers.feddisk.tables import ACCURACY

HALF = 0.5  # points: the smallest gain of interest


def ablations_shown(rows: pd.DataFrame) -> pd.DataFrame:
    """`ablation_table` with units in the headers."""
    names = {
        "accuracy": "accuracy (%)", "fedavg": "FedAvg's of as many steps (%)",
        "mean": "less FedAvg's (points)",
    }  # fmt: skip
    return ablation_table(rows).rename(columns=names)


def worth_shown(rows: pd.DataFrame) -> pd.DataFrame:
    """`weights_worth` with its unit in the header."""
    return weights_worth(rows).rename(columns={"mean": "difference (points)"})


def worth_at_length_shown(rows: pd.DataFrame) -> pd.DataFrame:
    """`weights_worth_at_length` with its unit in the header."""
    return weights_worth_at_length(rows).rename(columns={"mean": "difference (points)"})


def ablation_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Every variant's accuracy after the last round (%), and its difference to FedAvg's in points.

    A variant of two mini-batches a round is held against FedAvg of as many (FEDDISK-A13).
    """
    named = with_variant(rows, ABLATIONS)
    last = {name: contrasts.final(own, ACCURACY) for name, own in named.groupby("variant")}
    found = []
    for name in ("feddisk", *ABLATIONS):
        reference = "fedavg_2_steps" if name.endswith("_2_steps") else "fedavg"
        if name != reference and {name, reference} <= set(last):
            interval = contrasts.paired(last[name], last[reference])
            numbers = last[name].mean(), last[reference].mean()
            found.append((name, *numbers, interval.mean, interval.low, interval.high, interval.n))
    columns = ["variant", "accuracy", "fedavg", "mean", "low", "high", "n"]
    return pd.DataFrame(found, columns=columns)


def weights_worth(rows: pd.DataFrame) -> pd.DataFrame:
    """Effect of the weights beside that of the step, in points of accuracy after the last round, by trial.

    In each pair the weights of a client have the same mean: FedDisk less the same weights on other samples,
    and raw odds less the client's mean of them, which are also less unequal.
    """
    return _worth(rows, (("feddisk", "feddisk_shuffled"), ("feddisk_raw", "feddisk_mean")))


def weights_worth_at_length(rows: pd.DataFrame) -> pd.DataFrame:
    """The first of these pairs, both with two mini-batches a round."""
    found = _worth(rows, (("feddisk_2_steps", "feddisk_shuffled"),))
    return found.replace({"variant": {"feddisk_2_steps": "feddisk"}})


def beyond_the_step(ablations: pd.DataFrame, at_length: pd.DataFrame) -> list[str]:
    """Answer whether the weights do more than change the step: in short runs and at the paper's length."""
    short, long = weights_worth(ablations), weights_worth_at_length(at_length)
    told = []
    for where, table in (("in the short runs", short), ("at the paper's length", long)):
        for _, line in table[table.variant == "feddisk"].iterrows():
            found = Interval.from_columns(line, "mean", bounds="")
            side = by_sign(found, above="more", below="less", undecided="no clear difference")
            told.append(f"{effect_words(found, 'points')} {where} ({side})")
    if not told:
        return []
    return [
        f"FedDisk's accuracy less that with the same weights on other samples: {listed(told)}.",
        *_of_raw_odds(short),
    ]


def _of_raw_odds(worth: pd.DataFrame) -> list[str]:
    """The second pair of `weights_worth` in words, where it was run."""
    told = []
    for _, line in worth[worth.variant == "feddisk_raw"].iterrows():
        found = Interval.from_columns(line, "mean", bounds="")
        side = by_sign(
            found, above="they help beyond it", below="they do worse than it",
            undecided="this decides nothing" if found.high >= HALF else "a gain of half a point is excluded",
        )  # fmt: skip
        told.append(
            "As raw odds the weights shorten every step. With each client's mean in their place it is as "
            f"short; against that they are worth {effect_words(found, 'points')}: {side}."
        )
    return told


def _worth(rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    named = with_variant(rows, ABLATIONS).groupby("variant") if len(rows) else ()
    last = {name: contrasts.final(own, ACCURACY) for name, own in named}
    found = []
    for name, reference in pairs:
        if {name, reference} <= set(last):
            interval = contrasts.paired(last[name], last[reference])
            found.append((name, reference, interval.mean, interval.low, interval.high, interval.n))
    return pd.DataFrame(found, columns=["variant", "less", "mean", "low", "high", "n"])
