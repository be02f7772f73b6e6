"""The environment of FedDdrl's agents: simulated devices behind a cohort, the state (11), the bonus b.

Y. J. Wong et al., Sensors 23 (2023) 2494, https://doi.org/10.3390/s23052494, sec. 3.1, 4.1, 5.
All methods of the comparison see the same devices under the same seed, so their latencies and uploads
can be set against each other.
"""

import functools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.federation import Cohort, Task, sample_cohort
from fedlib.methods.fedddrl.devices import (
    Devices,
    draw_devices,
    empty_history,
    latency_unit,
    recent,
    record,
    round_cost,
    round_latency,
)

WINDOW = 3  # values of each history in the state (FEDDDRL-A11)
STATE_SIZE = 2 * WINDOW + 4
PROBING = WINDOW  # where a state has the present H^p
BIAS_SHARE = 0.3  # b = 0.3 E[w2 B + w3 H], sec. 4.1.1


def full_costs(task: Task, cohort: Cohort, unit: str = "largest") -> dict[str, list[float]]:
    """Columns of a round in which everybody trains E epochs and uploads; H in a unit of A3."""
    world, everyone = DeviceEnvironment.of(task, cohort), np.ones(cohort.clients.shape, dtype=bool)
    latency = round_latency(world.devices, world.numbers, world.sizes, task.run.local_epochs, everyone)
    return {
        "uploads": round_cost(everyone).tolist(),
        "latency_seconds": latency.tolist(),
        "latency_share": (latency / world.latency_unit(unit, task.run.local_epochs)).tolist(),
    }


def probing_ranks(states: Tensor) -> np.ndarray:
    """[R, K] ranks by probing latency, 0 is the fastest; equal ones by slot."""
    return states[..., PROBING].argsort(dim=-1, stable=True).argsort(dim=-1).numpy()


def bias_of_traces(task: Task, w2: float, w3: float, unit: str = "largest") -> np.ndarray:
    """[R] `b = 0.3 E[w2 B + w3 H]` of FedAvg's trace over one episode (A10), H in a unit of A3.

    FedAvg keeps everyone for E epochs, so B = 1, and H follows from the devices of rounds 1 to T:
    no training is needed.
    """
    run = task.run
    cohorts = [
        sample_cohort(task.seeds, t, run.num_clients, task.cohort_size)
        for t in range(1, run.rounds_per_episode + 1)
    ]
    shares = [full_costs(task, cohort, unit)["latency_share"] for cohort in cohorts]
    return BIAS_SHARE * (w2 + w3 * np.mean(shares, axis=0))


def first_histories(task: Task) -> dict[str, Tensor]:
    """Empty histories of H^p and H^u of every client: a value stays with the client it belongs to (A12)."""
    empty = torch.from_numpy(empty_history(len(task.runs), task.run.num_clients, WINDOW))
    return {"probing": empty, "upload": empty.clone()}


@dataclass(frozen=True)
class DeviceEnvironment:
    """The simulated devices behind a cohort, all arrays [R, K]; numbers: of the devices."""

    devices: Devices
    numbers: np.ndarray
    sizes: np.ndarray
    clients: np.ndarray
    largest: np.ndarray  # [R, 1] D_max
    probing_seconds: np.ndarray

    @classmethod
    def of(cls, task: Task, cohort: Cohort) -> "DeviceEnvironment":
        """Replica r's client k is device r * N + k: drawn by (seed, client)."""
        devices = _all_devices(tuple(task.seeds), task.run.num_clients)
        numbers = cohort.clients + np.arange(len(task.seeds))[:, None] * task.run.num_clients
        sizes = task.sizes(cohort.clients)
        largest = np.array([[max(len(own) for own in lists)] for lists in task.clients])
        return cls(devices, numbers, sizes, cohort.clients, largest, devices.probing_seconds(numbers, sizes))

    def latency_unit(self, unit: str, epochs: int) -> np.ndarray:
        """[R] seconds that H_t is divided by (A3): H_max of five epochs, or the cohort's sum for E epochs."""
        if unit == "largest":
            return latency_unit(self.largest[:, 0])
        training = self.devices.training_seconds(self.numbers, self.sizes, epochs)
        return (training + self.devices.upload_seconds[self.numbers]).sum(axis=-1)

    def observe(
        self, memory: dict[str, Any], loss: Tensor, progress: float
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """States [R, K, 10] by eq. (11), scaled as in A13, and the histories with this round's values."""
        seconds = {"probing": self.probing_seconds, "upload": self.devices.upload_seconds[self.numbers]}
        histories = {n: record(memory[n].cpu().numpy(), self.clients, seconds[n]) for n in seconds}
        probing, upload = (recent(histories[n], self.clients) for n in seconds)
        ones = np.ones(self.clients.shape)
        parts = [
            loss.clamp(max=10).double().numpy()[..., None],  # L
            probing / (0.75 * self.largest[..., None]),  # H^p
            upload / 2,  # H^u
            np.stack([ones, self.sizes / self.largest, progress * ones], axis=-1),  # B, |D|, t / T
        ]
        states = torch.from_numpy(np.concatenate(parts, axis=-1)).float()
        return states, {name: torch.from_numpy(values) for name, values in histories.items()}

    def columns(self, loss: Tensor, kept: np.ndarray, epochs: np.ndarray) -> dict[str, list[Any]]:
        """The decisions and what they saw, for figures 9 to 13; lists over slots as JSON text."""
        return {
            "kept": [json.dumps(row.astype(int).tolist()) for row in kept],
            "epochs": [json.dumps(row.tolist()) for row in np.where(kept, epochs, 1)],
            "probing_loss": [json.dumps([float(f"{x:.6g}") for x in row]) for row in loss.tolist()],
            "probing_seconds": [json.dumps(row.tolist()) for row in self.probing_seconds],
            "upload_seconds": [json.dumps(row.tolist()) for row in self.devices.upload_seconds[self.numbers]],
            "uploads": round_cost(kept).tolist(),
        }


@functools.lru_cache(maxsize=8)
def _all_devices(run_seeds: tuple[int, ...], num_clients: int) -> Devices:
    """The devices of all replicas, one after the other; drawn once, since every round asks for them."""
    drawn = [draw_devices(seed, num_clients) for seed in run_seeds]
    arrays = [np.concatenate([getattr(d, n) for d in drawn]) for n in ("compute_seconds", "upload_seconds")]
    for array in arrays:
        array.flags.writeable = False
    return Devices(*arrays)
