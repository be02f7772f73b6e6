"""What the methods of FedDdrl's comparison share: episodes, simulated devices, Balanced-MixUp.

Y. J. Wong et al., Sensors 23 (2023) 2494, https://doi.org/10.3390/s23052494, sec. 3.1, 4.1, 5. An
episode is T rounds of FL from w_0. All methods of the comparison see the same devices under the
same seed, so their latencies and uploads can be set against each other.
"""

import functools
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Diagnostics, ServerState, Task, initial_state, sample_cohort
from fedlib.local import Objective, evaluate_segments
from fedlib.local.mixup import KINDS, BalancedMixUp, check_alpha
from fedlib.system import (
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
LOSS, PROBING = 0, WINDOW  # where a state has L and the present H^p
HISTORIES = ("client", "slot")
REWARD_DATA = ("server", "test")
BIAS_SHARE = 0.3  # b = 0.3 E[w2 B + w3 H], sec. 4.1.1


def restarted(task: Task, state: ServerState, cohort: Cohort, episode_rounds: int | None) -> ServerState:
    """The state, with the initial models where an episode begins; `None`: the run is one episode."""
    if episode_rounds is None or (cohort.round - 1) % episode_rounds:
        return state
    start = initial_state(task)
    return replace(state, params=start.params, buffers=start.buffers)


def with_mixup(task: Task, alpha: float | None, kind: str = "strict") -> Task:
    """The task whose clients train with Balanced-MixUp (A30 to A33); `alpha=None` changes nothing."""
    if alpha is None:
        return task

    def mixing() -> Task:
        classes = task.dataset.num_classes
        mixup = BalancedMixUp.of(task.clients, task.train.labels, classes, alpha=alpha, kind=kind)
        return replace(task, trainer=replace(task.trainer, objective=Objective(inputs=mixup)))

    return task.once(("mixup", alpha, kind), mixing)


def reward_accuracy(task: Task, state: ServerState, data: str = "server") -> np.ndarray:
    """[R] A_t of the rewards: the global models' accuracy on the server's images or the test set (A9)."""
    samples = task.server if data == "server" else task.test
    whole = [[np.arange(len(samples.labels))]] * len(task.runs)
    found = evaluate_segments(task.trainer, samples, state.params, state.buffers, whole)
    return torch.stack([one.accuracy[0] for one in found]).cpu().double().numpy()


def server_columns(task: Task, state: ServerState) -> dict[str, list[float]]:
    """The column `server_accuracy`, where the server has images of its own."""
    return {} if task.server is None else {"server_accuracy": reward_accuracy(task, state).tolist()}


def with_costs(
    task: Task,
    state: ServerState,
    cohort: Cohort,
    report: Diagnostics,
    episode_rounds: int | None,
    factor: float = 1.0,
) -> Diagnostics:
    """The report of a round in which everybody trains E epochs and uploads, with A_t, B_t and H_t.

    state: after the round. factor: how much dearer a method's sample is than FedAvg's (A40).
    `episode_rounds=None`: the report as it was.
    """
    if episode_rounds is None:
        return report
    world, everyone = Surroundings.of(task, cohort), np.ones(cohort.clients.shape, dtype=bool)
    latency = round_latency(
        world.devices, world.rows, world.sizes, task.run.local_epochs, everyone, factor=factor
    )
    columns = {
        "episode": [(cohort.round - 1) // episode_rounds + 1] * len(everyone),
        "uploads": round_cost(everyone).tolist(),
        "latency_seconds": latency.tolist(),
        "latency_share": (latency / latency_unit(world.largest_client)).tolist(),
        **server_columns(task, state),
    }
    return replace(report, columns={**report.columns, **columns})


def bias_of_traces(task: Task, w2: float, w3: float, episode_rounds: int) -> np.ndarray:
    """[R] `b = 0.3 E[w2 B + w3 H]` of FedAvg's trace over one episode (A10).

    FedAvg keeps everyone for E epochs, so B = 1, and H follows from the devices of rounds 1 to T:
    no training is needed.
    """
    run, shares = task.run, []
    for t in range(1, episode_rounds + 1):
        cohort = sample_cohort(task.seeds, t, run.num_clients, task.cohort_size)
        world, everyone = Surroundings.of(task, cohort), np.ones(cohort.clients.shape, dtype=bool)
        latency = round_latency(world.devices, world.rows, world.sizes, run.local_epochs, everyone)
        shares.append(latency / latency_unit(world.largest_client))
    return BIAS_SHARE * (w2 + w3 * np.mean(shares, axis=0))


def first_histories(task: Task, kind: str) -> dict[str, Tensor]:
    """Empty histories of H^p and H^u, of every client or of every slot of the cohort (A12)."""
    check_name("history", kind, HISTORIES)
    owners = task.run.num_clients if kind == "client" else task.cohort_size
    empty = torch.from_numpy(empty_history(len(task.runs), owners, WINDOW))
    return {"probing": empty, "upload": empty.clone()}


@dataclass(frozen=True)
class Surroundings:
    """The simulated devices behind a cohort, all arrays [R, N]; rows number the devices."""

    devices: Devices
    rows: np.ndarray
    sizes: np.ndarray
    clients: np.ndarray
    largest: np.ndarray  # [R, 1] D_max
    probing_seconds: np.ndarray

    @classmethod
    def of(cls, task: Task, cohort: Cohort) -> "Surroundings":
        """Replica r's client k is device r * K + k: drawn by (seed, client)."""
        devices = _all_devices(tuple(task.seeds), task.run.num_clients)
        rows = cohort.clients + np.arange(len(task.seeds))[:, None] * task.run.num_clients
        sizes = task.sizes(cohort.clients)
        largest = np.array([[max(len(own) for own in lists)] for lists in task.clients])
        return cls(devices, rows, sizes, cohort.clients, largest, devices.probing_seconds(rows, sizes))

    @property
    def largest_client(self) -> np.ndarray:
        return self.largest[:, 0]

    def observe(
        self, memory: dict[str, Any], loss: Tensor, progress: float, *, history: str = "client"
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """States [R, N, 10] by eq. (11), scaled as in A13, and the histories with this round's values.

        history: whose last values an agent sees: those of the client in its slot, or the slot's (A12).
        """
        slots = np.broadcast_to(np.arange(self.clients.shape[1]), self.clients.shape)
        owners = self.clients if history == "client" else slots
        seconds = {"probing": self.probing_seconds, "upload": self.devices.upload_seconds[self.rows]}
        histories = {n: record(memory[n].cpu().numpy(), owners, seconds[n]) for n in seconds}
        probing, upload = (recent(histories[n], owners) for n in seconds)
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
            "upload_seconds": [json.dumps(row.tolist()) for row in self.devices.upload_seconds[self.rows]],
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


def check_episodes(rounds: int, episode_rounds: int | None, training: int = 0) -> None:
    """UsageError unless the rounds of a run are whole episodes, one of evaluation at the least.

    training: episodes in which agents learn first. `episode_rounds=None`: the run is one episode.
    """
    if episode_rounds is None:
        return
    least = (training + 1) * episode_rounds
    first = f" ({training} episodes of training, then 1 of evaluation)" if training else ""
    check(
        rounds % episode_rounds == 0 and rounds >= least,
        f"rounds={rounds} given for episodes of episode_rounds={episode_rounds}; allowed: multiples of "
        f"{episode_rounds} from {least} on{first}",
    )


def check_setting(mixup_alpha: float | None, mixup_kind: str, episode_rounds: int | None) -> None:
    """UsageError for a Balanced-MixUp that does not exist or an episode without rounds."""
    if mixup_alpha is not None:
        check_alpha(mixup_alpha)
    check_name("kind of Balanced-MixUp", mixup_kind, KINDS)
    given = episode_rounds is None or episode_rounds >= 1
    check(given, f"episode_rounds={episode_rounds} given; allowed: 1 or more")
