"""Simulated devices: how long clients compute and transfer, what a round takes and costs.

Used by two papers. Nothing here reads the wall clock: times are functions of (seed, client)
and of the work, so latency results repeat exactly.

- FedDdrl: Y. J. Wong et al., "FedDdrl: Federated Double Deep Reinforcement Learning for
  Heterogeneous IoT with Adaptive Early Client Termination and Local Epoch Adjustment",
  Sensors 23 (2023) 2494, https://doi.org/10.3390/s23052494, sec. 3.1 and 5: `Devices`,
  `round_latency` (1), `round_cost` (2), histories of the state (11).
- FRL: B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, 2023, sec.
  III.iii.2 and V: `Workers`, `worker_times` (F7).

Departures and readings: the penalty is normalised (FEDDDRL-A3); a dropped client's probing
epoch counts only on request (A2); bandwidths are absolute values with a floor (FRL-A32).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fedlib import seeds
from fedlib.errors import check, check_name

COMPUTE_SECONDS = (0.25, 0.50, 0.75)  # FedDdrl: per sample, one of these for each client
UPLOAD_SECONDS = (1.00, 1.25, 1.75, 2.00)  # FedDdrl: per model

BATCH_SECONDS = (0.5, 0.7, 1.0)  # FRL: means of v, standard deviation 0.02
BATCH_SECONDS_SPREAD = 0.02
LINKS = (((8.0, 2.0), (30.0, 5.0)), ((0.5, 0.2), (5.0, 1.0)))  # FRL: (upload, download) Mb/s, FRL-A15
MODEL_MEGABITS = 1_199_882 * 32 / 1e6  # FRL: P |u| = 38.396 Mb

LATENCY_RULES = ("printed", "fedmarl")
DRAWS = ("once", "round")


@dataclass(frozen=True)
class Clock:
    """Simulated time in seconds since the start of a run; it moves only when told to."""

    seconds: float = 0.0

    def advance(self, seconds: float) -> "Clock":
        """The clock after `seconds` more; UsageError for a negative or infinite duration."""
        check(0 <= seconds < np.inf, f"the clock was moved by {seconds} s; allowed: 0 or more, finite")
        return Clock(self.seconds + float(seconds))


@dataclass(frozen=True)
class Devices:
    """FedDdrl's clients: seconds per sample and seconds per upload, [K] each (K clients in all)."""

    compute_seconds: np.ndarray
    upload_seconds: np.ndarray

    def probing_seconds(self, clients: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """`H^p`: one epoch on |D_n| samples; clients, sizes and result of one shape, e.g. [R, N]."""
        return self.training_seconds(clients, sizes, 1)

    def training_seconds(
        self, clients: np.ndarray, sizes: np.ndarray, epochs: np.ndarray | int, factor: float = 1.0
    ) -> np.ndarray:
        """`H^c`: all local epochs, the probing one included (FEDDDRL-A26).

        factor: how much dearer a method's sample is than FedAvg's (FedProx, FEDDDRL-A40).
        """
        return factor * self.compute_seconds[clients] * np.asarray(sizes) * np.asarray(epochs)


def draw_devices(seed: int, num_clients: int) -> Devices:
    """Each client's times, uniform over the paper's values: a function of (seed, client) alone."""
    streams = [seeds.rng(seed, "device", client) for client in range(num_clients)]
    drawn = np.array([(rng.choice(COMPUTE_SECONDS), rng.choice(UPLOAD_SECONDS)) for rng in streams])
    drawn = drawn.reshape(num_clients, 2)
    return Devices(drawn[:, 0], drawn[:, 1])


def round_latency(
    devices: Devices,
    clients: np.ndarray,
    sizes: np.ndarray,
    epochs: np.ndarray | int,
    kept: np.ndarray,
    *,
    rule: str = "printed",
    factor: float = 1.0,
) -> np.ndarray:
    """`H_t` in seconds, eq. (1); clients, sizes, kept (phi) are [..., N], the result is [...].

    "printed": `max_n (H^c_n + H^u_n) phi_n`, a dropped client costs nothing (FEDDDRL-A1, A2).
    "fedmarl": `max_n H^p_n + max over the kept of (H^c_n - H^p_n + H^u_n)`: the server waits for
    every probe before it decides, as in FedMarl. Without a kept client the maximum is 0.
    """
    check_name("latency rule", rule, LATENCY_RULES)
    kept = np.asarray(kept, dtype=bool)
    train = devices.training_seconds(clients, sizes, epochs, factor)
    finish = train + devices.upload_seconds[clients]
    if rule == "printed":
        return np.where(kept, finish, 0.0).max(axis=-1)
    probe = devices.training_seconds(clients, sizes, 1, factor)
    return probe.max(axis=-1) + np.where(kept, finish - probe, 0.0).max(axis=-1)


def round_cost(kept: np.ndarray, upload_cost: np.ndarray | float = 1.0) -> np.ndarray:
    """`B_t = sum_n B_n phi_n`, eq. (2), with B_n = 1 per upload; kept [..., N] -> [...]."""
    return (np.asarray(kept, dtype=float) * upload_cost).sum(axis=-1)


def latency_unit(largest_client: int, *, epochs: int = 5) -> float:
    """`H_max = 5 * 0.75 * max|D| + 2.0` seconds: rewards see H = H_t / H_max and B = B_t / N (FEDDDRL-A3)."""
    return epochs * max(COMPUTE_SECONDS) * largest_client + max(UPLOAD_SECONDS)


def empty_history(replicas: int, owners: int, window: int) -> np.ndarray:
    """[R, owners, window] values, oldest first; nan: not seen yet.

    owners: clients by default, so that a value stays with the client it belongs to; slots of
    the cohort for the option of FEDDDRL-A12.
    """
    check(window >= 1, f"history of {window} values given; allowed: 1 or more")
    return np.full((replicas, owners, window), np.nan)


def record(history: np.ndarray, owners: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The history after `values` [R, N] were seen at `owners` [R, N]; the argument stays as it is.

    What an agent reads is `record(...)` at the round's own owners through `recent`, so the last
    entry of a window is always the current value.
    """
    history = history.copy()
    rows = np.arange(len(owners))[:, None]
    history[rows, owners] = np.concatenate(
        [history[rows, owners][..., 1:], np.asarray(values)[..., None]], axis=-1
    )
    return history


def recent(history: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """[R, N, window] the last values of `owners`, oldest first, padded with the current one (FEDDDRL-A12)."""
    window = history[np.arange(len(owners))[:, None], owners]
    return np.where(np.isnan(window), window[..., -1:], window)


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
