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
from fedlib.errors import check, check_name

BATCH_SECONDS = (0.5, 0.7, 1.0)  # means of v, standard deviation 0.02
BATCH_SECONDS_SPREAD = 0.02
LINKS = (((8.0, 2.0), (30.0, 5.0)), ((0.5, 0.2), (5.0, 1.0)))  # (upload, download) Mb/s, FRL-A15
MODEL_MEGABITS = 1_199_882 * 32 / 1e6  # P |u| = 38.396 Mb
DRAWS = ("once", "round")


@dataclass(frozen=True)
class Workers:
    """The FRL report's workers: seconds per batch, upload and download rate in Mb/s, [N] each."""

    batch_seconds: np.ndarray
    upload_mbps: np.ndarray
    download_mbps: np.ndarray


def draw_workers(
    seed: int, num_workers: int, *, round_index: int = 0, draws: str = "once", floor_mbps: float = 0.02
) -> Workers:
    """Workers by (seed, worker): one of three speeds, a fast or a slow link (FRL-A15), normal values.

    draws: "once": a worker's three values are fixed ("same values of speed of computation and
    bandwidths", sec. V); "round": drawn anew around the worker's own means in every round.
    floor_mbps: least bandwidth; 0.02 bounds a transfer at 32 minutes (FRL-A32).
    """
    check_name("draws of worker times", draws, DRAWS)
    check(floor_mbps > 0, f"least bandwidth {floor_mbps} Mb/s given; allowed: above 0")
    turn = round_index if draws == "round" else 0
    values = [_draw_worker(seed, worker, turn) for worker in range(num_workers)]
    speed, up, down = np.abs(np.array(values).reshape(num_workers, 3)).T
    return Workers(speed, np.maximum(up, floor_mbps), np.maximum(down, floor_mbps))


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


def worker_times(
    workers: Workers,
    sizes: Sequence[int] | np.ndarray,
    *,
    batch_size: int = 64,
    epochs: int = 3,
    data_factor: int = 5,
    megabits: float = MODEL_MEGABITS,
) -> np.ndarray:
    """[N, 3] seconds: `T^c = v (|D| / B_s) E`, `T^u = P |u| / B_u`, `T^d = P |u| / B_d` (F7).

    data_factor: MNIST counts five times in the timing experiment; an IID worker of 100 then has
    3,000 samples and 138 whole batches in 3 epochs (FRL-A16). A worker has at least one batch.
    Raises UsageError for a worker without data or without bandwidth.
    """
    sizes = np.asarray(sizes)
    for worker in np.flatnonzero(sizes <= 0)[:1]:
        check(False, f"worker {worker} has {sizes[worker]} samples; allowed: 1 or more")
    for name, rates in (("upload", workers.upload_mbps), ("download", workers.download_mbps)):
        for worker in np.flatnonzero(rates <= 0)[:1]:
            check(False, f"worker {worker} has {name} bandwidth {rates[worker]} Mb/s; allowed: above 0")
    batches = np.maximum(sizes * data_factor // batch_size, 1) * epochs
    transfers = megabits / workers.upload_mbps, megabits / workers.download_mbps
    return np.stack([workers.batch_seconds * batches, *transfers], axis=-1)
