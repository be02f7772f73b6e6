"""The return of FedDdrl's first agent: eq. (15) summed over an episode, of every method and rule.

    G = sum_t r^1_t = w1 U(A_T - A_0) - w2 sum_t B_t - w3 sum_t H_t + b (rounds with dA_t > 0)

with the printed weights (2.9, 0.1, 0.2), whatever weights an agent learned with, and with b of FedAvg's
trace (FEDDDRL-A10), so that all policies are measured by one ruler. The gains telescope: U is linear in
dA (eq. 9), so an episode is paid for its last accuracy alone.
"""

import json

import numpy as np
import pandas as pd

from fedlib.analysis.intervals import Interval, mean_interval
from fedlib.analysis.memo import once_per_frame
from fedlib.errors import check
from fedlib.methods.fedddrl.environment import BIAS_SHARE
from fedlib.methods.fedddrl.method import GAIN
from fedlib.papers.fedddrl import quantities, runs

W1, W2, W3 = (runs.WEIGHTS[name] for name in ("w1", "w2", "w3"))
TERMS = ("gain", "uploads", "latency", "bonus")


def reward_terms(rows: pd.DataFrame, unit: str = "largest") -> pd.DataFrame:
    """`traces` with the terms of (15): gain, uploads and latency (negative), bonus; `reward` is their sum."""
    found = quantities.traces(rows, unit)
    bias = _bias(found)
    own = bias.reindex(pd.MultiIndex.from_frame(found[["role", "seed"]])).to_numpy()
    check(not np.isnan(own).any(), "no rows of FedAvg with every data set and seed: b of (15) is not known")
    found = found.assign(
        gain=W1 * GAIN * found.dA,
        uploads=-W2 * found.B,
        latency=-W3 * found.H,
        bonus=np.where(found.dA > 0, own, 0.0),
    )
    return found.assign(reward=found[list(TERMS)].sum(axis=1))


def _bias(traces: pd.DataFrame) -> pd.Series:
    """b by role and seed: 0.3 of the mean penalty over an episode of FedAvg, B = 1 (A10)."""
    full = traces[traces.variant.isin(("fedavg", "fedavg_mixup")) & (traces.episode == 1) & (traces.B == 1)]
    return BIAS_SHARE * (W2 + W3 * full.groupby(["role", "seed"]).H.mean())


def returns(rows: pd.DataFrame, unit: str = "largest") -> pd.Series:
    """Return (15) of an episode, mean over evaluation episodes, by `CELL`; unit: of H (FEDDDRL-A3)."""
    return episode_terms(rows, unit).sum(axis=1).rename("return")


@once_per_frame
def episode_terms(rows: pd.DataFrame, unit: str = "largest") -> pd.DataFrame:
    """The four terms of the return, mean over evaluation episodes, by `CELL`."""
    sums = reward_terms(rows, unit).groupby([*quantities.CELL, "episode"])[list(TERMS)].sum()
    return sums.groupby(quantities.CELL).mean()


def measured(rows: pd.DataFrame, unit: str = "largest") -> pd.DataFrame:
    """Return, accuracy (%), latency and uploads (% of FedAvg's), clients kept; one line per `CELL`.

    unit: of H in the return (FEDDDRL-A3).
    """
    rows = quantities.labelled(rows)
    parts = {
        "return": returns(rows, unit),
        "accuracy": quantities.final_accuracy(rows),
        "latency %": quantities.normalised(rows, "latency_seconds"),
        "uploads %": quantities.normalised(rows, "uploads"),
        "kept": quantities.evaluations(rows).groupby(quantities.CELL).uploads.mean(),
    }
    return pd.DataFrame(parts).reset_index()


def less_rule(rows: pd.DataFrame, rule: str, quantity: str = "return") -> Interval | None:
    """FedDdrl's return, or another of `measured`, less a rule's, mean over the data sets, by seed.

    None if no seed has both.
    """
    found = measured(rows).set_index(quantities.CELL)[quantity].unstack("variant")
    if not {"fedddrl", rule} <= set(found):
        return None
    gaps = (found.fedddrl - found[rule]).dropna().groupby("seed").mean()
    return mean_interval(gaps.to_numpy()) if len(gaps) else None


def training_returns(rows: pd.DataFrame) -> pd.DataFrame:
    """Return of every training episode in the agent's own reward: role, variant, seed, episode, return.

    Round 0 of a run has the mean reward per round of each episode. FedDdrl's reward is (15), FedMarl's
    (12), in which nothing pays for a round with a gain.
    """
    rows = quantities.labelled(rows)
    reward = rows.get("training_reward_1", pd.Series(index=rows.index))
    own = rows[(rows["round"] == 0) & reward.notna()]
    if own.empty:
        return pd.DataFrame(columns=["role", "variant", "seed", "episode", "return"])
    frames = [
        pd.DataFrame({"return": one.episode_rounds * np.array(json.loads(one.training_reward_1))})
        .rename_axis("episode")
        .reset_index()
        .assign(role=one.role, variant=one.variant, seed=one.seed)
        for one in own.itertuples()
    ]
    return pd.concat(frames, ignore_index=True).assign(episode=lambda found: found.episode + 1)


def learning_gain(rows: pd.DataFrame, few: int = 5) -> pd.DataFrame:
    """Return of the last training episodes less that of the first ones, by role, variant and seed."""
    found = training_returns(rows)
    last = found.groupby(["role", "variant", "seed"]).episode.transform("max")
    keys = ["role", "variant", "seed"]
    late, early = (found[mask].groupby(keys)["return"].mean() for mask in
                   (found.episode > last - few, found.episode <= few))  # fmt: skip
    return (late - early).rename("gain").reset_index()
