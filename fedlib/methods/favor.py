"""FAVOR: double Q-learning over compressed model weights chooses the clients of a round.

H. Wang, Z. Kaplan, D. Niu, B. Li, "Optimizing Federated Learning on Non-IID Data with Reinforcement
Learning", INFOCOM 2020, https://doi.org/10.1109/INFOCOM41043.2020.9155494:

1. Every client trains one epoch from w_0. The principal components of these N models are kept, and
   compress all models from then on.
2. The state is (w, w^(1), .., w^(N)), compressed: the global model and each client's last known one.
3. The agent is trained in episodes with one client a round, drawn with softmax(Q(s, .)); its reward is
   Xi^(accuracy - Omega) - 1 on the server's images, Xi = 64, Omega the target accuracy.
4. In the run proper the K clients with the largest Q(s, .) take part, and nothing is learned.

What the paper leaves open: HEAD-A4 to A6 and A10. Training takes place in rounds 0, -1, ..., so that
round r of the run is FedAvg's round r apart from its clients. Controls: the option `agent`.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.engine import LocalState
from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Method,
    RoundReport,
    ServerState,
    Task,
    on_host,
    require_server_images,
    server_measures,
)
from fedlib.federation.aggregate import Tensors
from fedlib.federation.client_updates import (
    finish_round,
    initial_state,
    method_generators,
    method_streams,
    restarted,
    sample_shares,
    train_cohort,
)
from fedlib.rl.dqn import DoubleDqn
from fedlib.rl.replay import AGENTS, permute_rewards
from fedlib.rl.vdn import Team, Transitions
from fedlib.run import Run

TARGETS = {"mnist": 0.99, "fmnist": 0.85, "cifar10": 0.55}  # Omega (HEAD-A6)
XI = 64.0
NOT_FINITE = "the values of FAVOR's agent are not finite, since client models diverged; use smaller steps"


@dataclass(frozen=True)
class Favor(Method):
    """The options are the paper's and the readings HEAD-A4 to A6."""

    agent: str = "learning"  # controls: "untrained" is never trained; "permuted": by rewards in another order
    episodes: int = 10  # of training, each as long as the run's
    target: float | None = None  # Omega; None: by the data set, else 0.9 (HEAD-A6)
    components: int = 100  # of the compressed models, fewer than clients
    hidden_size: int = 512
    agent_rate: float = 1e-4  # of Adam
    discount: float = 0.95  # gamma
    batch_size: int = 16
    capacity: int = 300  # transitions

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("agent of method 'favor'", self.agent, AGENTS)
        for name, least in (("episodes", 0), ("components", 1), ("hidden_size", 1)):
            given = getattr(self, name)
            check(given >= least, f"{name}={given} given for method 'favor'; allowed: {least} or more")
        given = self.target
        check(
            given is None or 0 < given <= 1,
            f"target={given} given for method 'favor'; allowed: 0 to 1, or null",
        )
        check(self.agent_rate > 0, f"agent_rate={self.agent_rate} given; allowed: above 0")
        check(0 <= self.discount <= 1, f"discount={self.discount} given for method 'favor'; allowed: 0 to 1")
        self.dqn(2)  # checks the rest

    def dqn(self, clients: int) -> DoubleDqn:
        """Network (N + 1) C - 512 - N for N clients and C components."""
        inputs = (clients + 1) * self._kept(clients)
        return DoubleDqn(
            sizes=(inputs, self.hidden_size, clients),
            rate=self.agent_rate,
            gamma=self.discount,
            batch_size=self.batch_size,
            capacity=self.capacity,
        )

    def _kept(self, clients: int) -> int:
        """C: the differences of N models to their mean span N - 1 directions at most."""
        return min(self.components, clients - 1)

    def check(self, run: Run) -> None:
        require_server_images("favor", run)
        check(run.num_clients >= 2, f"num_clients={run.num_clients} given; allowed: 2 or more for 'favor'")

    def training_rounds(self, run: Run) -> int:
        """Rounds before round 1."""
        return 0 if self.agent == "untrained" else self._all_training(run)

    def _all_training(self, run: Run) -> int:
        return self.episodes * run.rounds_per_episode

    def init(self, task: Task) -> ServerState:
        """Step 1, and a fresh agent."""
        self.check(task.run)
        rounds, clients = self.training_rounds(task.run), task.run.num_clients
        state = replace(initial_state(task), round=-rounds)
        before = -self._all_training(task.run)  # the same round, thus the same basis, for every `agent`
        profiled = train_cohort(task, state, Cohort(before, task.everyone()), epochs=1)
        models = flatten(profiled.state.params, clients)
        found = [principal_components(own, self._kept(clients)) for own in models]
        basis = {"mean": torch.stack([m for m, _ in found]), "loadings": torch.stack([v for _, v in found])}
        first = torch.cat([compress(models, basis), compress(flatten(state.params, 1), basis)], dim=1)
        team = self.dqn(clients).init(method_generators(task, "agent"))
        replay = Transitions.empty(len(task.runs), 1, first[0].numel())
        agent = {"team": dict(vars(team)), "replay": dict(vars(replay))}
        restarts = torch.zeros(len(task.runs), dtype=torch.int64)
        memory = {"basis": basis, "first": first, "known": first, "agent": agent}
        memory |= {"rewards": [], "restarts": restarts}
        return replace(state, memory=self._network_only(memory) if rounds == 0 else memory)

    def _network_only(self, memory: dict[str, Any]) -> dict[str, Any]:
        """Part of the agent that the run proper needs: its network."""
        return {**memory, "agent": {"team": {"network": memory["agent"]["team"]["network"]}}}

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        """Local trainings before round 1; a JSON list: the mean reward of each episode; diverged models."""
        rewards = np.array(state.memory["rewards"], dtype=float)
        means = rewards.reshape(-1, task.run.rounds_per_episode, len(task.runs)).mean(axis=1).round(6)
        return {
            "local_trainings": [task.run.num_clients + len(rewards)] * len(task.runs),
            "training_reward": [json.dumps(own.tolist()) for own in means.T],
            "training_restarts": state.memory["restarts"].tolist(),
        }

    def pretrain(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        """Step 3: one round with one client, and one step of double Q-learning.

        A model that diverges ends its episode; training goes on from the initial one (HEAD-A10). A replica
        whose agent's values are not finite fails.
        """
        number = state.round + 1
        t = task.run.episode(number + self.training_rounds(task.run))[1]
        if t == 1:
            state = replace(restarted(task, state), memory={**state.memory, "known": state.memory["first"]})
        dqn, agent = self.dqn(task.run.num_clients), state.memory["agent"]
        team = Team(**on_host(agent["team"]))
        replay = Transitions(**on_host(agent["replay"]))
        before = observe(state)
        sane = dqn.finite_values(team.network, before)
        action = dqn.draw(team.network, before, method_streams(task, "act", number))
        after, report = self._play(task, state, Cohort(number, action.numpy()))
        _, accuracy = server_measures(task, after)
        omega = self.omega(task.run)
        earned = reward(accuracy, omega)
        lost = ~report.train_loss.isfinite().all(dim=1).cpu()
        done = (accuracy >= omega) | (t == task.run.rounds_per_episode) | lost
        replay = replay.add(
            before, action, earned.float(), observe(after), done=done.float(), capacity=self.capacity
        )
        team, _ = dqn.learn(
            team, self._experience(task, replay, number), method_streams(task, "replay", number)
        )
        agent = {"team": dict(vars(team)), "replay": dict(vars(replay))}
        rewards = [*state.memory["rewards"], earned.tolist()]
        memory = {**after.memory, "agent": agent, "rewards": rewards}
        after = self._begin_anew(task, replace(after, memory=memory), lost)
        if number == 0:
            start = restarted(task, after)
            last = {**after.memory, "known": memory["first"]}
            after = replace(start, memory=self._network_only(last))
        return after, {int(replica): NOT_FINITE for replica in (~sane).nonzero()}

    def _begin_anew(self, task: Task, state: ServerState, lost: Tensor) -> ServerState:
        """The initial models, and what is known of them, for the replicas `lost` [R]."""
        if not lost.any():
            return state
        start, memory = restarted(task, state), state.memory
        where = lost.to(task.device)
        params = {name: _pick(where, start.params[name], old) for name, old in state.params.items()}
        buffers = {name: _pick(where, start.buffers[name], old) for name, old in state.buffers.items()}
        memory = {
            **memory,
            "known": _pick(lost, memory["first"].cpu(), memory["known"].cpu()),
            "restarts": memory["restarts"].cpu() + lost,
        }
        return replace(state, params=params, buffers=buffers, memory=memory)

    def omega(self, run: Run) -> float:
        """The target accuracy (HEAD-A6)."""
        return TARGETS.get(run.dataset.split("-")[0], 0.9) if self.target is None else self.target

    def _experience(self, task: Task, replay: Transitions, number: int) -> Transitions:
        """Experience for learning: the replay, or under "permuted" with its rewards in another order."""
        if self.agent != "permuted":
            return replay
        streams = method_streams(task, "permute", number)
        return replace(replay, rewards=permute_rewards(replay.rewards, streams))

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models; the agent stays, `apply` resets what it observes."""
        return restarted(task, state)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        """Step 4."""
        if task.run.episode(cohort.round)[1] == 1:
            state = replace(state, memory={**state.memory, "known": state.memory["first"]})
        network = state.memory["agent"]["team"]["network"].cpu()
        chosen = self.dqn(task.run.num_clients).best(network, observe(state), task.cohort_size)
        return self._play(task, state, Cohort(cohort.round, chosen))

    def _play(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        """A round of FedAvg with these clients, whose compressed models enter the state."""
        trained = train_cohort(task, state, cohort)
        after, report = finish_round(task, state, cohort, trained, sample_shares(task, cohort))
        local: LocalState = trained.state
        basis, known = state.memory["basis"], state.memory["known"].cpu().clone()
        replica = torch.arange(len(known)).unsqueeze(1)
        known[replica, torch.from_numpy(cohort.clients)] = compress(
            flatten(local.params, cohort.clients.shape[1]), basis
        )
        known[:, -1:] = compress(flatten(after.params, 1), basis)
        return replace(after, memory={**after.memory, "known": known}), report


def _pick(where: Tensor, new: Tensor, old: Tensor) -> Tensor:
    """`new` [R, ...] in the replicas `where` [R], else `old`."""
    return torch.where(where.view(-1, *[1] * (old.dim() - 1)), new, old)


def reward(accuracy: Tensor, target: float) -> Tensor:
    """Xi^(accuracy - Omega) - 1 of accuracies [R] in [0, 1]: above -1, and 0 at the target."""
    return XI ** (accuracy - target) - 1


def flatten(params: Tensors, models: int) -> Tensor:
    """[R, models, P] on the CPU: parameters [R * models, ...], a vector a model. NaN and infinities are 0."""
    vectors = torch.cat([tensor.detach().flatten(1) for tensor in params.values()], dim=1).cpu()
    return vectors.nan_to_num(posinf=0.0, neginf=0.0).unflatten(0, (-1, models))


def principal_components(models: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Mean [P] and loadings [P, count] of models [N, P]: orthonormal directions of falling variance.

    Computed from the N x N products, in float64. The model that lies farthest out along a direction does
    so on its positive side. A direction without variance is 0.
    """
    check(1 <= count <= len(models), f"{count} components given; allowed: 1 to {len(models)}, the models")
    exact = models.double()
    centred = exact - exact.mean(dim=0)
    variances, vectors = torch.linalg.eigh(centred @ centred.T)
    variances, vectors = variances.flip(0)[:count], vectors.flip(1)[:, :count]
    farthest = vectors.gather(0, vectors.abs().argmax(dim=0, keepdim=True))
    there = variances > 1e-12 * variances[0].clamp(min=torch.finfo(torch.float64).tiny)
    scale = torch.where(there, farthest.sign() / variances.clamp(min=1e-300).sqrt(), 0.0)
    return exact.mean(dim=0).float(), (centred.T @ (vectors * scale)).float()


def compress(models: Tensor, basis: Tensors) -> Tensor:
    """[R, M, C] coordinates of models [R, M, P] along the loadings."""
    return torch.bmm(models - basis["mean"].cpu().unsqueeze(1), basis["loadings"].cpu())


def observe(state: ServerState) -> Tensor:
    """The agent's state [R, 1, (N + 1) C]: each client's compressed model, the global one last."""
    return state.memory["known"].cpu().flatten(1).unsqueeze(1)
