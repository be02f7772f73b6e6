"""Constant impact factors found by search on FedDRL's own reward: an upper reference for its agent.

Not in the paper. An agent that beats n_k weights may only have found a better constant vector. This
control searches one directly, with the cross-entropy method (R. Y. Rubinstein, "The Cross-Entropy
Method for Combinatorial and Continuous Optimization", Methodology and Computing in Applied
Probability 1, 1999): candidates z ~ N(m, s^2) per client, clipped to [0, 1] as the agent's means are
(FEDDRL-A8), alpha = softmax(z), each judged by the return of eq. (2) over a whole federated run with
the reward of eq. (7) negated (FEDDRL-A1); m and s move to the mean and spread of the best ones.

The search sees what FedDRL's workers see: another seed, the same partition, never the test data. Clients
with the same set of labels share one z, so that the search is small.
All candidates of a generation train as replicas from the same weights with the same batches, so they
differ in alpha alone. The first generation holds uniform weights and group tilts, from all weight on the
main group to all weight on the small ones: the winner is at least as good as these on the search's
seed. Full participation only (K = N).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.engine.batches import on_device
from fedlib.errors import check
from fedlib.federation import (
    Cohort,
    Method,
    RoundReport,
    ServerState,
    Task,
    on_host,
    require_all_clients,
    sample_cohort,
)
from fedlib.federation.client_updates import (
    finish_round,
    initial_state,
    method_streams,
    restarted,
    train_cohort,
)
from fedlib.methods.feddrl import mdp
from fedlib.methods.feddrl.online_round import losses_before
from fedlib.run import Run


@dataclass(frozen=True)
class BestConstant(Method):
    """`w^{t+1} = sum_k alpha_k w_k^t` with one alpha for all rounds."""

    candidates: int = 32  # runs per generation
    generations: int = 8
    elite: int = 8  # candidates that m and s are taken from
    spread: float = 0.5  # s of the first generation, whose m is the middle of [0, 1]
    search_rounds: int | None = None  # of each candidate; None: T
    discount: float = 0.99  # gamma of eq. (2)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("candidates", 2), ("generations", 1), ("elite", 2), ("search_rounds", 2)):
            given = getattr(self, name)
            valid = given is None or given >= least
            check(valid, f"{name}={given} given for method 'best_constant'; allowed: {least} or more")
        check(
            self.elite <= self.candidates,
            f"elite={self.elite} given for method 'best_constant'; allowed: at most "
            f"candidates={self.candidates}",
        )
        check(self.spread > 0, f"spread={self.spread} given for method 'best_constant'; allowed: above 0")
        check(
            0 <= self.discount <= 1,
            f"discount={self.discount} given for method 'best_constant'; allowed: 0 to 1",
        )

    def length(self, task: Task) -> int:
        """Rounds of one candidate."""
        return task.run.rounds_per_episode if self.search_rounds is None else self.search_rounds

    def check(self, run: Run) -> None:
        require_all_clients(run, "since one vector needs the same clients in every round")

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        clients = task.run.num_clients
        shape = (len(task.runs), clients)
        memory = {
            "mean": torch.full(shape, 0.5), "spread": torch.full(shape, self.spread),
            "best": torch.zeros(shape), "best_return": torch.full(shape[:1], -torch.inf),
            "ties": ties(task),
        }  # fmt: skip
        return replace(initial_state(task), round=-self.generations * self.length(task), memory=memory)

    def pretrain(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        """Compute a round of all candidates; after their last, draw the next generation from the best."""
        done = self.generations * self.length(task) + state.round
        generation, t = divmod(done, self.length(task))
        team, memory = search_task(task, self.candidates), on_host(state.memory)
        if t == 0:
            fresh = initial_state(team)
            memory |= {"z": self._draw(task, memory, generation), "params": fresh.params}
            memory |= {"buffers": fresh.buffers, "returns": torch.zeros(len(task.runs), self.candidates)}
        memory = self._round(team, memory, t)
        if t == self.length(task) - 1:
            memory = self._select(memory)
        return replace(state, round=state.round + 1, memory=memory), {}

    def _draw(self, task: Task, memory: dict[str, Any], generation: int) -> Tensor:
        """z [R, candidates, N] of a generation in [0, 1]; ties hold, and the first one opens with tilts."""
        streams = method_streams(task, "search", generation)
        count = (self.candidates, task.run.num_clients)
        noise = torch.from_numpy(np.stack([s.standard_normal(count, np.float32) for s in streams]))
        z = (memory["mean"].unsqueeze(1) + memory["spread"].unsqueeze(1) * noise).clamp(0, 1)
        z = z.gather(2, memory["ties"].unsqueeze(1).expand_as(z))
        if generation == 0:
            opening = group_tilts(in_main_group(task), 1 + self.candidates // 2)
            z[:, : opening.shape[1]] = opening
        return z

    def _round(self, team: Task, memory: dict[str, Any], t: int) -> dict[str, Any]:
        """Round t + 1 of all candidates; from round 2 on the losses at its start pay for the last one."""
        server = ServerState(t, memory["params"], memory["buffers"])
        cohort = sample_cohort(team.seeds, t + 1, team.run.num_clients, team.cohort_size)
        returns = memory["returns"]
        if t > 0:
            earned = mdp.reward(losses_before(team, server, cohort).cpu()).view_as(returns)
            returns = returns + self.discount ** (t - 1) * earned
        factors = torch.softmax(memory["z"], dim=-1).flatten(0, 1)
        trained = train_cohort(team, server, cohort)
        server, _ = finish_round(team, server, cohort, trained, on_device(factors.numpy(), team.device))
        return {**memory, "params": server.params, "buffers": server.buffers, "returns": returns}

    def _select(self, memory: dict[str, Any]) -> dict[str, Any]:
        """Move m and s to the elite, and keep the best candidate of all generations so far."""
        z, returns = memory["z"], memory["returns"].nan_to_num(nan=-torch.inf, neginf=-torch.inf)
        mean, spread = improve(z, returns, self.elite)
        top, at = returns.max(dim=1)
        better = top > memory["best_return"]
        winner = z[torch.arange(len(z)), at]
        kept = {"ties": memory["ties"], "mean": mean, "spread": spread}
        kept["best"] = torch.where(better.unsqueeze(1), winner, memory["best"])
        kept["best_return"] = torch.where(better, top, memory["best_return"])
        return kept

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[float]]:
        """Result of the search, for the row of round 0."""
        return {"search_return": state.memory["best_return"].tolist()}

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models; the weights that were found stay."""
        return restarted(task, state)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        trained = train_cohort(task, state, cohort)
        best = state.memory["best"].cpu()  # on the device after a resume, whose softmax may round differently
        factors = torch.softmax(best, dim=-1)
        return finish_round(task, state, cohort, trained, on_device(factors.numpy(), task.device))


def improve(z: Tensor, returns: Tensor, elite: int) -> tuple[Tensor, Tensor]:
    """Mean and spread [R, N] of the `elite` best of z [R, candidates, N] by their returns [R, candidates]."""
    best = returns.topk(elite, dim=1).indices
    chosen = z.gather(1, best.unsqueeze(2).expand(-1, -1, z.shape[2]))
    return chosen.mean(dim=1), chosen.std(dim=1)


def group_tilts(main: Tensor, count: int) -> Tensor:
    """z [R, count, N]: uniform, then tilts in equal steps from the small groups to the main one.

    main: [R, N] whether a client belongs to the main group. A tilt of -1 is z = 1 for the main group and 0
    for all others, of +1 its mirror.
    """
    tilts = torch.cat([torch.zeros(1), torch.linspace(1, -1, count - 1)])
    return 0.5 + 0.5 * tilts.view(1, -1, 1) * torch.where(main, -1.0, 1.0).unsqueeze(1)


def in_main_group(task: Task) -> Tensor:
    """[R, N] bool: whether a client is one of the largest group of clients that hold the same labels."""
    tied = ties(task)
    members = (tied.unsqueeze(2) == tied.unsqueeze(1)).sum(dim=2)
    largest = members.argmax(dim=1, keepdim=True)
    return tied == tied.gather(1, largest)


def ties(task: Task) -> Tensor:
    """[R, N] int64: for each client the first one that holds the same set of labels."""
    labels = task.train.labels.cpu().numpy()
    found = []
    for lists in task.clients:
        sets = [frozenset(labels[index].tolist()) for index in lists]
        found.append([sets.index(held) for held in sets])
    return torch.tensor(found)


def search_task(task: Task, candidates: int) -> Task:
    """R * candidates replicas; those of one run share seed and partition, so only alpha tells them apart."""
    return task.once(("search", candidates), lambda: _search_task(task, candidates))


def _search_task(task: Task, candidates: int) -> Task:
    runs = [
        replace(run, seed=seeds.derive(run.seed, "search")) for run in task.runs for _ in range(candidates)
    ]
    return replace(
        task, runs=tuple(runs), clients=[lists for lists in task.clients for _ in range(candidates)]
    )
