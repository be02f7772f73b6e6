"""Quantities that the report's figures show by eye: rounds until a selection settles, rounds to a threshold.

All functions take rows as `load_rows` gives them, with the column `variant` where they compare.
"""

import json

import numpy as np
import pandas as pd

from fedlib.analysis.memo import map_distinct, once_per_frame
from fedlib.analysis.variants import name_distinct, with_variant
from fedlib.papers.frl.runs import VARIANTS

SETTLED = 0.95  # share of workers with the same decision as in the round before
THRESHOLD = 0.95  # of the final accuracy of FedAvg with random 10 % (FRL-A19)
END_EPISODES = 5  # episodes or experiments at the beginning and the end that are compared
LAST, ALIKE = 50, 0.95  # rounds, and the share of them in which a worker held fixed is chosen alike


@once_per_frame
def named(rows: pd.DataFrame) -> pd.DataFrame:
    """With the column `variant`, and `case`: IID or non-IID data."""
    if "variant" in rows:
        return rows
    rows = with_variant(rows, VARIANTS)
    return rows.assign(case=name_distinct(rows, ["partition_options"], _case))


def _case(options: str) -> str:
    """IID or not, of a partition's options as JSON text."""
    return "non-IID" if "label_skew" in json.loads(options) else "IID"


def approach(rows: pd.DataFrame) -> pd.Series:
    """EvaluatorFL's approach in each row, 1 or 2; 0 where no agent selects."""
    of_text = map_distinct(rows["method_options"], lambda text: json.loads(text).get("approach", 0))
    return of_text.rename("approach")


def selections(rows: pd.DataFrame) -> np.ndarray:
    """[rounds, workers] True where a worker's model entered the average; rows of one run from round 1 on."""
    weights = rows.sort_values("round")["weights"].map(json.loads)
    return np.array(weights.tolist()) > 0


def agreement(rows: pd.DataFrame) -> pd.Series:
    """By episode: the share of workers decided as in the round before, mean over the episode's rounds."""
    own = rows[rows["round"] > 0].sort_values("round")
    chosen, episodes = selections(own), own["episode"].to_numpy()
    same = (chosen[1:] == chosen[:-1]).mean(axis=1)
    inside = episodes[1:] == episodes[:-1]
    return pd.Series(same[inside]).groupby(episodes[1:][inside].astype(int)).mean()


def settled_from(rows: pd.DataFrame) -> float:
    """The first episode from which on all keep their selection (`SETTLED`); NaN if there is none."""
    kept = agreement(rows) >= SETTLED
    late = kept[::-1].cummin()[::-1]
    return float(late.index[late][0]) if late.any() else float("nan")


def held_fixed(rows: pd.DataFrame) -> int:
    """Workers of one run that its agent takes, or leaves, in nearly all of the last rounds (`LAST`)."""
    share = selections(rows[rows["round"] > 0].sort_values("round"))[-LAST:].mean(axis=0)
    return int((np.maximum(share, 1 - share) >= ALIKE).sum())


def late_gain(rows: pd.DataFrame, column: str) -> float:
    """Points by which the last `END_EPISODES` episodes of one run lie above as many first ones."""
    means = rows[rows["round"] > 0].groupby("episode")[column].mean()
    few = min(END_EPISODES, len(means) // 2)
    return 100 * float(means.iloc[-few:].mean() - means.iloc[:few].mean()) if few else float("nan")


def late_final(rows: pd.DataFrame) -> float:
    """Accuracy after the last round of an episode, in percent, mean over the last `END_EPISODES` episodes."""
    ends = rows[rows["round"] > 0].groupby("episode")["test_accuracy"].last()
    return float(100 * ends.iloc[-END_EPISODES:].mean())


def share_selected(rows: pd.DataFrame) -> float:
    """Share of the workers selected in the last `END_EPISODES` episodes."""
    late = rows[rows["episode"] > rows["episode"].max() - END_EPISODES]
    return float((late["selected"] / late["num_clients"]).mean())


_RACE = [
    "round", "test_accuracy", "max_seconds", "selected", "participation_variance", "never_selected",
]  # fmt: skip


def rounds_to_threshold(rows: pd.DataFrame, threshold: float = THRESHOLD) -> pd.DataFrame:
    """Table by case, variant and seed: rounds to the threshold, and the maximum times until then.

    rows: of fig. 30, named. threshold: share of random selection's final accuracy. Columns level (percent),
    rounds (NaN: not reached), max_seconds (mean over these rounds, or all), total_seconds, final (percent),
    participation_variance at the end.
    """
    found = []
    columns = ["case", "variant", "seed", *_RACE]  # few columns: quicker
    for (case, seed), part in rows[columns].groupby(["case", "seed"], sort=False):
        runs = {name: _by_round(own) for name, own in part.groupby("variant", sort=False)}
        if "random" not in runs:
            continue
        level = threshold * runs["random"]["test_accuracy"][-1]
        found += [
            {"case": case, "variant": name, "seed": int(seed), "level": 100 * level, **_race(own, level)}
            for name, own in runs.items()
        ]
    return pd.DataFrame(found)


def _by_round(rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """The columns of one run, [rounds] each, rounds rising."""
    order = np.argsort(rows["round"].to_numpy(), kind="stable")
    return {name: rows[name].to_numpy()[order] for name in _RACE}


def _race(own: dict[str, np.ndarray], level: float) -> dict[str, float]:
    """Line of `rounds_to_threshold` for one run. own: from `_by_round`; level: accuracy to reach."""
    rounds = own["round"]
    reached = rounds[own["test_accuracy"] >= level]
    last = reached[0] if len(reached) else rounds[-1]
    times = pd.Series(own["max_seconds"][(rounds >= 1) & (rounds <= last)])
    return {
        "rounds": float(last) if len(reached) else float("nan"),
        "max_seconds": times.mean(),
        "total_seconds": times.sum(),
        "selected": pd.Series(own["selected"][rounds > 1]).mean(),
        "final": 100 * own["test_accuracy"][-1],
        "participation_variance": own["participation_variance"][-1],
        "never_selected": own["never_selected"][-1],
    }


def of_variant(table: pd.DataFrame, variant: str, column: str) -> pd.Series:
    """A column of `rounds_to_threshold` by seed, for one variant of one case."""
    return table[table["variant"] == variant].set_index("seed")[column].sort_index()
