"""SchedulerFL: who takes part in the next round, by an agent that was trained on times alone.

B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, 26 February 2023,
sec. III.iii and IV.iv. `init` trains the agent (`fedlib.methods.frl.scheduler_agent`, seconds), a round
then is Algorithm 2's without learning: the agent sees the last known times, each worker is
drawn with its probability, FedAvg averages those who took part, the clock is simulated.

`policy` names the agent and its controls, all in the same world and on the same clock:

| policy | who takes part |
|---|---|
| agent | the trained agent's Bernoulli draws; round 1 at random |
| untrained | the same of the agent before its training |
| random | `share` of the workers, drawn anew each round: the report's baseline |
| shuffled | as many as the agent draws, at random: random at the learned rate |
| fastest | the same `share` every round, those with the least expected time |
| all | everybody |

The time of a round is the largest sum of a participant's three times (FRL-A20). A round in which
nobody is selected ends the run as failed (A18).
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.engine.batches import on_device
from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, model_bytes, require_all_clients
from fedlib.federation.client_updates import (
    finish_round,
    initial_state,
    method_rng,
    method_streams,
    restarted,
    train_cohort,
)
from fedlib.methods.frl.scheduler_agent import Scheduler, World, act, train_scheduler, untrained_agent
from fedlib.run import Run

POLICIES = ("agent", "untrained", "random", "shuffled", "fastest", "all")
FIRST_TURN = 1_000_000  # the times of the run proper are drawn apart from those of the agent's training


@dataclass(frozen=True)
class SchedulerFL(Scheduler, Method):
    """FedAvg over the workers that a policy selects; the other options train the agent."""

    policy: str = "agent"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("policy of SchedulerFL", self.policy, POLICIES)

    @property
    def learns(self) -> bool:
        return self.policy in ("agent", "shuffled")

    def check(self, run: Run) -> None:
        require_all_clients(run, "for the scheduler draws the cohort")
        check(
            run.client_eval != "cohort",
            "client_eval='cohort' given for method 'schedulerfl'; allowed: none, all (it selects another "
            "number of workers in every run and round)",
        )
        check(
            not run.device_costs or self.devices == "fedddrl",
            f"device_costs=true and devices={json.dumps(self.devices)} given for method 'schedulerfl'; "
            'allowed: devices="fedddrl", for the report\'s workers have times of their own',
        )
        epochs = self.time_epochs
        check(
            not run.device_costs or epochs == run.local_epochs,
            f"device_costs=true and time_epochs={epochs} given for method 'schedulerfl'; allowed: "
            f"time_epochs={run.local_epochs}, the local_epochs that other methods' times are of",
        )
        given = self.stop_below
        check(
            not self.learns or given is None or given < run.num_clients,
            f"stop_below={given} given for {run.num_clients} workers; allowed: fewer than there are, or null "
            "for never, else the agent is not trained",
        )

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        workers, state = task.run.num_clients, initial_state(task)
        shape = (len(task.runs), workers)
        memory: dict[str, Any] = {
            "known": torch.zeros(*shape, 3, dtype=torch.float64),
            "counts": torch.zeros(shape, dtype=torch.int64),
        }
        if self.learns:
            trained = [train_scheduler(self, self.world(task, r)) for r in range(len(task.runs))]
            memory["actor"] = torch.cat([one.actor for one in trained])
            memory["training_rounds"] = [len(one.rounds) for one in trained]
        elif self.policy == "untrained":
            agents = [untrained_agent(self, self.world(task, r)) for r in range(len(task.runs))]
            memory["actor"] = torch.cat([one.policy for one in agents])
        return replace(state, memory=memory)

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        """Number of rounds for which the agent was trained."""
        return {"training_rounds": state.memory["training_rounds"]} if self.learns else {}

    def world(self, task: Task, replica: int) -> World:
        """The workers of a replica, with as much data as they hold."""
        run, sizes = task.runs[replica], np.array([len(own) for own in task.clients[replica]])
        return World(run.seed, sizes, self, run.cell)

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models (FRL-A34) and no times known; the agent stays."""
        fresh = {name: torch.zeros_like(state.memory[name]) for name in ("known", "counts")}
        return replace(restarted(task, state), memory={**state.memory, **fresh})

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        known = state.memory["known"].cpu().numpy()
        picks = [self._select(task, state, r, known[r], cohort.round) for r in range(len(task.runs))]
        selected, expected = (np.array(part) for part in zip(*picks, strict=True))
        nobody = np.flatnonzero(~selected.any(axis=1))
        selected[nobody, 0] = True  # so that the other replicas' round goes on
        seconds = np.stack(
            [self.world(task, r).times(FIRST_TURN + cohort.round) for r in range(len(task.runs))]
        )
        shares = task.sizes(task.everyone()) * selected
        shares = (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)
        state, report = self._average(task, state, cohort.round, selected, shares)  # lines 23 to 26, 29
        counts = state.memory["counts"].cpu() + torch.from_numpy(selected)
        known = torch.from_numpy(self._learn_times(task, known, seconds, selected, cohort.round))
        columns = {  # `clients` and `weights` without the idle workers of the report
            "clients": [json.dumps(np.flatnonzero(own).tolist()) for own in selected],
            "weights": [json.dumps([float(f"{share:.6g}") for share in own[own > 0]]) for own in shares],
            "selected": selected.sum(axis=1).tolist(),
            "expected_selected": expected.tolist(),
            "max_seconds": np.where(selected, seconds.sum(axis=-1), 0.0).max(axis=1).tolist(),
            "participation_variance": participation_variance(counts.numpy()).tolist(),
            "never_selected": (counts == 0).sum(dim=1).tolist(),
            "uplink_bytes": [model_bytes(state.params, state.buffers) * int(n) for n in selected.sum(axis=1)],
            "downlink_bytes": [
                model_bytes(state.params, state.buffers) * int(n) for n in selected.sum(axis=1)
            ],
        }
        if self.devices == "fedddrl":  # the names that other methods' costs have on these devices
            columns |= {"latency_seconds": columns["max_seconds"], "uploads": columns["selected"]}
        failed = {int(r): f"failed: no worker selected in round {cohort.round} (FRL-A18)" for r in nobody}
        memory = {**state.memory, "known": known, "counts": counts}
        return replace(state, memory=memory), replace(report, columns=columns, failed=failed)

    def _select(
        self, task: Task, state: ServerState, replica: int, known: np.ndarray, round_index: int
    ) -> tuple[np.ndarray, float]:
        """Select the participants [k]; return them and the policy's expected number."""
        workers = task.run.num_clients
        rng = method_rng(task, replica, "select", round_index)
        first = self.first_round(workers, rng)
        if self.policy == "all":
            return np.ones(workers, dtype=bool), workers
        if self.policy == "fastest":
            rank = np.argsort(np.argsort(self.world(task, replica).expected_seconds(), kind="stable"))
            return rank < first.sum(), int(first.sum())
        if self.policy == "random" or task.run.episode(round_index)[1] == 1:
            return first, int(first.sum())
        actor = state.memory["actor"][replica : replica + 1].cpu()
        chances = act(self, actor, self.normalise(known))
        selected = self.choose(chances, rng)
        if self.policy == "shuffled":
            selected = selected[rng.permutation(workers)]
        return selected, float(chances.sum())

    def _average(
        self, task: Task, state: ServerState, round_index: int, selected: np.ndarray, shares: np.ndarray
    ) -> tuple[ServerState, RoundReport]:
        """FedAvg with shares [R, k], 0 for the others; replicas with fewer have idle workers besides."""
        width = int(selected.sum(axis=1).max())
        clients = np.argsort(~selected, axis=1, kind="stable")[:, :width]
        works = np.take_along_axis(selected, clients, axis=1)
        cohort = Cohort(round_index, clients)
        trained = train_cohort(task, state, cohort, epochs=(works * task.run.local_epochs).ravel())
        weights = on_device(np.take_along_axis(shares, clients, axis=1), task.device)
        state, report = finish_round(task, state, cohort, trained, weights)
        loss = report.train_loss.cpu().masked_fill(~torch.from_numpy(works), 0).sum(dim=1, keepdim=True)
        loss = loss / torch.from_numpy(works).sum(dim=1, keepdim=True)
        return state, replace(report, train_loss=loss)

    def _learn_times(
        self, task: Task, known: np.ndarray, seconds: np.ndarray, selected: np.ndarray, round_index: int
    ) -> np.ndarray:
        """Lines 17, 18 in the first round of an episode, line 28 after it: the last known times [R, k, 3]."""
        if task.run.episode(round_index)[1] > 1:
            return np.where(selected[..., None], seconds, known)
        later = [round_index] if round_index > 1 else []
        rows = zip(seconds, selected, method_streams(task, "first times", *later), strict=True)
        return np.stack([self.first_times_of(times, took, rng) for times, took, rng in rows])


def participation_variance(counts: np.ndarray | Tensor) -> np.ndarray:
    """Sample variance of how often each worker took part, counts [..., k] (the report's table 1)."""
    counts = np.asarray(counts, dtype=float)
    check(counts.shape[-1] >= 2, f"{counts.shape[-1]} worker given; a variance needs 2 or more")
    return counts.var(axis=-1, ddof=1)
