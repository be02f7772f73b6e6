"""Simulated devices of FedDdrl: how long clients compute and transfer, what a round takes and costs.

Y. J. Wong et al., "FedDdrl: Federated Double Deep Reinforcement Learning for Heterogeneous IoT with
Adaptive Early Client Termination and Local Epoch Adjustment", Sensors 23 (2023) 2494,
https://doi.org/10.3390/s23052494, sec. 3.1 and 5: `Devices`, `round_latency` (1), `round_cost` (2),
histories of the state (11). Nothing here reads the wall clock: times are functions of (seed, client)
and of the work, so latency results repeat exactly.

Letters are the suite's: K clients, k among them, take part in a round, of N in all. The paper has them the
other way round: its n, N and K are our k, K and N.

Departures and readings: the penalty is normalised (FEDDDRL-A3); a dropped client costs nothing (A1, A2);
FedProx's samples cost as much time as FedAvg's (A40).
"""

from dataclasses import dataclass

import numpy as np

from fedlib import seeds
from fedlib.errors import check, check_name

COMPUTE_SECONDS = (0.25, 0.50, 0.75)  # per sample, one of these for each client
UPLOAD_SECONDS = (1.00, 1.25, 1.75, 2.00)  # per model
LATENCY_RULES = ("printed", "fedmarl")
LATENCY_UNITS = ("largest", "cohort")


@dataclass(frozen=True)
class Devices:
    """FedDdrl's clients: seconds per sample and seconds per upload, [N] each (N clients in all)."""

    compute_seconds: np.ndarray
    upload_seconds: np.ndarray

    def probing_seconds(self, clients: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """`H^p`: one epoch on |D_k| samples; clients, sizes and result of one shape, e.g. [R, K]."""
        return self.training_seconds(clients, sizes, 1)

    def training_seconds(
        self, clients: np.ndarray, sizes: np.ndarray, epochs: np.ndarray | int
    ) -> np.ndarray:
        """`H^c`: all local epochs, the probing one included (FEDDDRL-A26)."""
        return self.compute_seconds[clients] * np.asarray(sizes) * np.asarray(epochs)


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
) -> np.ndarray:
    """`H_t` in seconds, eq. (1); clients, sizes, kept (phi) are [..., K], the result is [...].

    "printed": `max_k (H^c_k + H^u_k) phi_k`, a dropped client costs nothing (FEDDDRL-A1, A2).
    "fedmarl": `max_k H^p_k + max over the kept of (H^c_k - H^p_k + H^u_k)`: the server waits for
    every probe before it decides, as in FedMarl. Without a kept client the maximum is 0.
    """
    check_name("latency rule", rule, LATENCY_RULES)
    kept = np.asarray(kept, dtype=bool)
    finish = devices.training_seconds(clients, sizes, epochs) + devices.upload_seconds[clients]
    if rule == "printed":
        return np.where(kept, finish, 0.0).max(axis=-1)
    probe = devices.probing_seconds(clients, sizes)
    return probe.max(axis=-1) + np.where(kept, finish - probe, 0.0).max(axis=-1)


def round_cost(kept: np.ndarray) -> np.ndarray:
    """`B_t = sum_k B_k phi_k`, eq. (2), with B_k = 1 per upload; kept [..., K] -> [...]."""
    return np.asarray(kept, dtype=float).sum(axis=-1)


def latency_unit(largest_client: int | np.ndarray) -> np.ndarray:
    """`H_max = 5 * 0.75 * max|D| + 2.0` seconds: rewards see H = H_t / H_max and B = B_t / K (FEDDDRL-A3)."""
    return 5 * max(COMPUTE_SECONDS) * np.asarray(largest_client) + max(UPLOAD_SECONDS)


def largest_client(unit: float) -> int:
    """max|D| of which `unit` seconds are the `latency_unit`."""
    return round((unit - max(UPLOAD_SECONDS)) / (5 * max(COMPUTE_SECONDS)))


def empty_history(replicas: int, owners: int, window: int) -> np.ndarray:
    """[R, owners, window] values, oldest first; nan: not seen yet. An owner is a client (FEDDDRL-A12)."""
    check(window >= 1, f"history of {window} values given; allowed: 1 or more")
    return np.full((replicas, owners, window), np.nan)


def record(history: np.ndarray, owners: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The history after `values` [R, K] were seen at `owners` [R, K]; the argument stays as it is.

    What an agent reads is `record(...)` at the round's own owners through `recent`, so the last
    entry of a window is always the current value.
    """
    history = history.copy()
    replica = np.arange(len(owners))[:, None]
    history[replica, owners] = np.concatenate(
        [history[replica, owners][..., 1:], np.asarray(values)[..., None]], axis=-1
    )
    return history


def recent(history: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """[R, K, window] the last values of `owners`, oldest first, padded with the current one (FEDDDRL-A12)."""
    window = history[np.arange(len(owners))[:, None], owners]
    return np.where(np.isnan(window), window[..., -1:], window)
