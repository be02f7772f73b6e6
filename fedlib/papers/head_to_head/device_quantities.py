"""Accuracy in simulated time, rows to numbers: time to a target, and accuracy at equal time.

Simulated time of a round is `latency_seconds`: of the kept clients' training and upload the slowest, so that
a dropped client costs nothing (eq. (1) of FedDdrl as printed, FEDDDRL-A2). `waiting_for_probes` has FedMarl's
rule instead. A diverged run counts as 0 %.
"""

import json

import numpy as np
import pandas as pd

from fedlib.analysis.contrasts import LAST, last_rounds
from fedlib.analysis.memo import kept_per_frame
from fedlib.papers.head_to_head import device_runs
from fedlib.papers.head_to_head.device_runs import CONTESTANTS
from fedlib.papers.head_to_head.quantities import SHARE, worst_tenth


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of rounds 1 to T with columns `contestant` and `hours`, simulated time so far."""
    profile = str(rows.profile.iloc[0])
    names = {run.group_key: name for name, run in zip(CONTESTANTS, device_runs.runs(profile), strict=True)}
    own = rows[rows["round"] > 0].sort_values(["run", "round"], kind="stable")
    seconds = own.latency_seconds.fillna(0.0)  # of a round that failed before it began
    return own.assign(contestant=own.group.map(names), hours=seconds.groupby(own.run).cumsum() / 3600)


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


def per_run(own: pd.DataFrame) -> pd.DataFrame:
    """Table of runs: contestant, seed, level, best round and worst tenth (%), diverged, cost of the target.

    The cost: `hours` and `rounds` until 95 % of FedAvg's level with the same seed; NaN: never.
    """
    needed = ["contestant", "seed", "round", "hours", "test_accuracy", "client_test_accuracies", "status"]
    parts = [part for _, part in own[["run", *needed]].groupby("run")]
    found = pd.DataFrame(
        {
            "contestant": [part.contestant.iloc[0] for part in parts],
            "seed": [part.seed.iloc[0] for part in parts],
            "level": [_level(part) for part in parts],
            "best": [100 * part.test_accuracy.max() for part in parts],
            "worst_tenth": [_worst_tenth(part) for part in parts],
            "diverged": [_diverged(part) for part in parts],
        }
    )
    targets = SHARE * found[found.contestant == "FedAvg"].set_index("seed").level
    pairs = zip(parts, found.seed.map(targets), strict=True)
    first = [_first(part, target) for part, target in pairs]
    return found.assign(hours=[one.hours for one in first], rounds=[one["round"] for one in first])


def _level(part: pd.DataFrame) -> float:
    """Level (%) of one run."""
    return 0.0 if _diverged(part) else 100 * last_rounds(part).test_accuracy.mean()


def _worst_tenth(part: pd.DataFrame) -> float:
    """Accuracy (%) of the tenth of the clients that are served worst at the end; NaN if none is measured."""
    text = part.client_test_accuracies.iloc[-1]
    return 0.0 if _diverged(part) else 100 * worst_tenth(text) if isinstance(text, str) else np.nan


def _first(part: pd.DataFrame, level: float) -> pd.Series:
    """Simulated hours and rounds until one run first has this accuracy (%); NaN if it never has."""
    reached = part.loc[100 * part.test_accuracy >= level, ["hours", "round"]] if level > 0 else part[:0]
    return reached.iloc[0] if len(reached) else pd.Series({"hours": np.nan, "round": np.nan})


@kept_per_frame
def _timed(rows: pd.DataFrame) -> dict[tuple[str, int], pd.DataFrame]:
    """The run of each contestant and seed, with those columns that accuracy in simulated time needs."""
    own = named(rows)[["run", "contestant", "seed", "hours", "test_accuracy", "status"]]
    return {(part.contestant.iloc[0], seed): part for (_, seed), part in own.groupby(["run", "seed"])}


def less_at_equal_time(rows: pd.DataFrame, ours: str, theirs: str, *, failed: bool = True) -> pd.Series:
    """Accuracy of one contestant less another's after equal simulated time, points, by seed.

    The time is that of the run that is over first, leaving out diverged ones; a run's accuracy there is its
    mean over the last tenth of that time, or the last one before it if no round ends within this tenth.
    failed: whether seeds of which a run failed count.
    """
    runs = _timed(rows)
    seeds = sorted(seed for name, seed in runs if name == ours and (theirs, seed) in runs)
    if not failed:
        seeds = [seed for seed in seeds if not any(_diverged(runs[name, seed]) for name in (ours, theirs))]
    pairs = [(runs[ours, seed], runs[theirs, seed]) for seed in seeds]
    ends = [min(map(_hours, pair)) for pair in pairs]
    found = [_accuracy_at(a, end) - _accuracy_at(b, end) for (a, b), end in zip(pairs, ends, strict=True)]
    return pd.Series(found, index=pd.Index(seeds, name="seed"), dtype=float)


def _hours(part: pd.DataFrame) -> float:
    """Simulated hours of a whole run; of a diverged one without end."""
    return np.inf if _diverged(part) else part.hours.iloc[-1]


def _diverged(part: pd.DataFrame) -> bool:
    return part.status.iloc[-1] != "ok"


def _accuracy_at(part: pd.DataFrame, hours: float) -> float:
    """Accuracy (%) of one run over the last tenth of so much simulated time."""
    if _diverged(part):
        return 0.0
    ends, accuracies = part.hours.to_numpy(), part.test_accuracy.to_numpy()
    until = ends <= hours
    late = until & (ends > (1 - LAST) * hours)
    reached = accuracies[late] if late.any() else accuracies[until][-1:]
    return float(100 * pd.Series(reached).mean())


def updates(rows: pd.DataFrame) -> int:
    """Fewest rounds in which a trained agent of FedDdrl or FedMarl learned before round 1."""
    learned = rows[rows.method.isin(device_runs.LEARN_BEFORE)].drop_duplicates("run")
    made = [json.loads(text)["episodes"] for text in learned.method_options] * learned.rounds
    made = made[made > 0]
    return int(made.min()) if len(made) else 0
