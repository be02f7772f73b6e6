"""Accuracy in simulated time, rows to numbers: time to a target, and accuracy at equal time.

Simulated time of a round is `latency_seconds`: of the kept clients' training and upload the slowest, so that
a dropped client costs nothing (eq. (1) of FedDdrl as printed, FEDDDRL-A2). `waiting_for_probes` has FedMarl's
rule instead. A diverged run counts as 0 %.
"""

import json
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedlib.analysis.contrasts import LAST, last_rounds
from fedlib.analysis.memo import kept_per_frame
from fedlib.papers.head_to_head import device_runs
from fedlib.papers.head_to_head.device_runs import CONTESTANTS
from fedlib.papers.head_to_head.quantities import SHARE, worst_tenth


@kept_per_frame
def named(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of rounds 1 to T with columns `contestant` and `hours`, simulated time so far."""
    own = rows[rows["round"] > 0].sort_values(["run", "round"], kind="stable")
    seconds = own.latency_seconds.fillna(0.0)  # of a round that failed before it began
    return own.assign(contestant=contestants_of(own), hours=seconds.groupby(own.run).cumsum() / 3600)


def contestants_of(rows: pd.DataFrame) -> pd.Series:
    """The contestant of each row."""
    planned = device_runs.runs(str(rows.profile.iloc[0]))
    return rows.group.map({run.group_key: name for name, run in zip(CONTESTANTS, planned, strict=True)})


@kept_per_frame
def waiting_for_probes(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with latencies by FedMarl's rule: the server waits for every probing epoch before it decides.

    `max_n H^p_n + max over the kept of (H^c_n - H^p_n + H^u_n)`, where a client trains some epochs of H^p_n
    each. Methods without probes stay as they are.
    """
    probed = rows.kept.notna() & rows.probing_seconds.notna()
    columns = ["kept", "epochs", "probing_seconds", "upload_seconds"]
    seconds = [_after_probes(*map(json.loads, row)) for row in rows.loc[probed, columns].to_numpy()]
    return rows.assign(
        latency_seconds=rows.latency_seconds.mask(probed, pd.Series(seconds, rows.index[probed]))
    )


def _after_probes(kept: list, epochs: list, probing: list, upload: list) -> float:
    probe = np.array(probing)
    rest = (np.array(epochs) - 1) * probe + np.array(upload)
    return float(probe.max() + np.where(np.array(kept) == 1, rest, 0.0).max())


@kept_per_frame
def per_run(own: pd.DataFrame) -> pd.DataFrame:
    """Table of runs: contestant, seed, level, best round and worst tenth (%), diverged, cost of the target.

    The cost: `hours` and `rounds` until 95 % of FedAvg's level with the same seed; NaN: never. own: `named`
    rows.
    """
    final = own.drop_duplicates("run", keep="last").set_index("run").sort_index()
    diverged = final.status != "ok"
    worst = [
        100 * worst_tenth(text) if isinstance(text, str) else np.nan for text in final.client_test_accuracies
    ]
    level = 100 * last_rounds(own).groupby("run").test_accuracy.mean()
    runs = final[["contestant", "seed"]].assign(
        level=level.mask(diverged, 0.0),
        best=100 * own.groupby("run").test_accuracy.max(),
        worst_tenth=pd.Series(worst, final.index, dtype=float).mask(diverged, 0.0),
        diverged=diverged,
    )
    targets = SHARE * runs[runs.contestant == "FedAvg"].set_index("seed").level
    target = own.run.map(runs.seed.map(targets))
    reached = own[(target > 0) & (100 * own.test_accuracy >= target)].drop_duplicates("run").set_index("run")
    first = reached[["hours", "round"]].reindex(runs.index)
    return runs.assign(hours=first.hours, rounds=first["round"].astype(float)).reset_index(drop=True)


class _Course(NamedTuple):
    """A run in simulated time."""

    hours: np.ndarray  # at the end of each round, [T]
    accuracies: np.ndarray  # [T]
    diverged: bool

    @property
    def end(self) -> float:
        """Simulated hours of the whole run; of a diverged one without end."""
        return np.inf if self.diverged else self.hours[-1]

    def accuracy_at(self, hours: float) -> float:
        """Accuracy (%) over the last tenth of so much simulated time."""
        if self.diverged:
            return 0.0
        until = self.hours <= hours
        late = until & (self.hours > (1 - LAST) * hours)
        reached = self.accuracies[late] if late.any() else self.accuracies[until][-1:]
        return float(100 * pd.Series(reached).mean())


@kept_per_frame
def _courses(rows: pd.DataFrame) -> dict[tuple[str, int], _Course]:
    """The run of each contestant and seed."""
    needed = ["run", "contestant", "seed", "hours", "test_accuracy", "status"]
    return {
        (part.contestant.iloc[0], part.seed.iloc[0]): _Course(
            part.hours.to_numpy(), part.test_accuracy.to_numpy(), part.status.iloc[-1] != "ok"
        )
        for _, part in named(rows)[needed].groupby("run")
    }


def less_at_equal_time(rows: pd.DataFrame, ours: str, theirs: str, *, failed: bool = True) -> pd.Series:
    """Accuracy of one contestant less another's after equal simulated time, points, by seed.

    The time is that of the run that is over first, leaving out diverged ones; a run's accuracy there is its
    mean over the last tenth of that time, or the last one before it if no round ends within this tenth.
    failed: whether seeds of which a run failed count.
    """
    runs = _courses(rows)
    seeds = sorted(seed for name, seed in runs if name == ours and (theirs, seed) in runs)
    pairs = {seed: (runs[ours, seed], runs[theirs, seed]) for seed in seeds}
    found = {
        seed: a.accuracy_at(min(a.end, b.end)) - b.accuracy_at(min(a.end, b.end))
        for seed, (a, b) in pairs.items()
        if failed or not (a.diverged or b.diverged)
    }
    return pd.Series(found, index=pd.Index(found, name="seed", dtype="int64"), dtype=float)


def updates(rows: pd.DataFrame) -> int:
    """Fewest rounds in which a trained agent of FedDdrl or FedMarl learned before round 1."""
    learned = rows[rows.method.isin(device_runs.LEARN_BEFORE)].drop_duplicates("run")
    made = [json.loads(text)["episodes"] for text in learned.method_options] * learned.rounds
    made = made[made > 0]
    return int(made.min()) if len(made) else 0
