"""Simulated workers of the FRL report: seconds of computation and transfer by (seed, worker).

B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, 2023, sec. III.iii.2 and V:
`Workers`, `worker_times` (F7). Nothing here reads the wall clock. Bandwidths are absolute values with a
floor (FRL-A32).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fedlib import seeds
from fedlib.errors import check

BATCH_SECONDS = (0.5, 0.7, 1.0)  # means of v, standard deviation 0.02
BATCH_SECONDS_SPREAD = 0.02
LINKS = (((8.0, 2.0), (30.0, 5.0)), ((0.5, 0.2), (5.0, 1.0)))  # (upload, download) Mb/s, FRL-A15
LEAST_MBPS = 0.02  # bounds a transfer at 32 minutes (FRL-A32)
MODEL_MEGABITS = 1_199_882 * 32 / 1e6  # P |u| = 38.396 Mb
TIMED_BATCH, DATA_FACTOR = 64, 5  # B_s in T^c, and how often MNIST counts there (FRL-A16)


@dataclass(frozen=True)
class Workers:
    """The FRL report's workers: seconds per batch, upload and download rate in Mb/s, [N] each."""

    batch_seconds: np.ndarray
    upload_mbps: np.ndarray
    download_mbps: np.ndarray


def draw_workers(seed: int, num_workers: int, turn: int) -> Workers:
    """Workers by (seed, worker): one of three speeds, a fast or a slow link (FRL-A15), normal values.

    The three values are drawn anew around the worker's own means in every round `turn`.
    """
    values = [_draw_worker(seed, worker, turn) for worker in range(num_workers)]
    speed, up, down = np.abs(np.array(values).reshape(num_workers, 3)).T
    return Workers(speed, np.maximum(up, LEAST_MBPS), np.maximum(down, LEAST_MBPS))


def mean_workers(seed: int, num_workers: int) -> Workers:
    """The means that `draw_workers` draws around, by which the report sorts its workers (fig. 27)."""
    kinds = [_worker_kind(seed, worker) for worker in range(num_workers)]
    values = [(speed, upload[0], download[0]) for speed, upload, download in kinds]
    return Workers(*np.array(values).reshape(num_workers, 3).T)


@lru_cache(maxsize=100_000)
def _worker_kind(seed: int, worker: int) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """Mean seconds per batch, and (mean, standard deviation) of upload and download rate."""
    kind = seeds.rng(seed, "worker", worker)
    mean = float(kind.choice(BATCH_SECONDS))
    return mean, *LINKS[kind.integers(len(LINKS))]


def _draw_worker(seed: int, worker: int, turn: int) -> tuple[float, float, float]:
    mean, upload, download = _worker_kind(seed, worker)
    rng = seeds.rng(seed, "worker", worker, "times", turn)
    return rng.normal(mean, BATCH_SECONDS_SPREAD), rng.normal(*upload), rng.normal(*download)


def worker_times(workers: Workers, sizes: Sequence[int] | np.ndarray, *, epochs: int = 3) -> np.ndarray:
    """[N, 3] seconds: `T^c = v (|D| / B_s) E`, `T^u = P |u| / B_u`, `T^d = P |u| / B_d` (F7).

    MNIST counts five times in the timing experiment; an IID worker of 100 then has 3,000 samples and 138
    whole batches in 3 epochs (FRL-A16). A worker has at least one batch.
    Raises UsageError for a worker without data or without bandwidth.
    """
    sizes = np.asarray(sizes)
    for worker in np.flatnonzero(sizes <= 0)[:1]:
        check(False, f"worker {worker} has {sizes[worker]} samples; allowed: 1 or more")
    for name, rates in (("upload", workers.upload_mbps), ("download", workers.download_mbps)):
        for worker in np.flatnonzero(rates <= 0)[:1]:
            check(False, f"worker {worker} has {name} bandwidth {rates[worker]} Mb/s; allowed: above 0")
    batches = np.maximum(sizes * DATA_FACTOR // TIMED_BATCH, 1) * epochs
    transfers = MODEL_MEGABITS / workers.upload_mbps, MODEL_MEGABITS / workers.download_mbps
    return np.stack([workers.batch_seconds * batches, *transfers], axis=-1)
