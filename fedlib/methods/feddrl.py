"""FedDRL: a DDPG agent on the server chooses the impact factor of every client.

N. H. Nguyen et al., "FedDRL: Deep Reinforcement Learning-based Adaptive Aggregation for Non-IID
Data in Federated Learning", ICPP 2022, https://doi.org/10.1145/3545008.3545085, Algorithm 2.

* Clients report the losses of the global model before and of their own model after local
  training, on their training data, and their sample count: the state.
* The agent answers with K Gaussians; a softmax over one draw of each gives the factors.
* The reward of a round is known one round later, from the losses that the next cohort
  measures on the new global model (FEDDRL-A2, A3); the last round stores no experience.
* Algorithm 1 runs in a side thread while the next cohort trains (sec. 3.4.1), where a core is free for
  it. The decision waits for it, so the numbers are those of one thread.
* `mode="two_stage"`: m workers, each a whole federated run, collect experience first; the
  agent of the run proper is trained offline on their merged buffers (fedlib.methods.two_stage).

Where the paper is silent or cannot be meant as printed, the options below name the reading
taken, FEDDRL-A1 to A24; `rho=0.98` is the printed soft update (A16). Controls: `agent` here, and
FedAvg with `weights="uniform"`.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.agents import Agent, Ddpg, Mlp, Replay
from fedlib.agents.ddpg import PRIORITIES
from fedlib.agents.networks import one_thread
from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    finish_round,
    initial_state,
    method_rng,
    train_cohort,
)
from fedlib.local import Trained, evaluate_rows, evaluate_segments
from fedlib.local.batches import on_device
from fedlib.local.gpu import to_host
from fedlib.methods import impact, two_stage

Streams = Callable[[str], list[np.random.Generator]]  # a name -> one generator per replica

CHOICES = {
    "mode": ("two_stage", "online"),
    "agent": ("learning", "shuffled", "untrained"),
    "state": impact.STATES,
    "order": impact.ORDERS,
    "reward": impact.REWARDS,
    "noise_process": ("gaussian", "ornstein_uhlenbeck"),
    "priority": PRIORITIES,
    "sampling": ("proportional", "greedy"),
}
OU_DECAY = 0.1  # theta of the Ornstein-Uhlenbeck process (FEDDRL-A13)
REPORT_BYTES = 8  # l_b and l_a of a client on the wire, as float32


@dataclass(frozen=True)
class Mind:
    """The agents of R replicas between two rounds: what they learned, keep and wait for.

    agent: as the last decision was made with; what it learns from `replay` it learns beside the
    next round. state [R, 3K], action [R, 2K]: of the last round, whose reward is not known yet
    (None before round 1). noise [R, 2K]: the last exploration noise.
    """

    agent: Agent
    replay: Replay
    noise: Tensor
    state: Tensor | None = None
    action: Tensor | None = None

    def pack(self) -> dict[str, Any]:
        """Plain values for a checkpoint."""
        return {**vars(self), "agent": dict(vars(self.agent)), "replay": dict(vars(self.replay))}

    @classmethod
    def unpack(cls, packed: dict[str, Any]) -> "Mind":
        """The mind of a checkpoint; agents live on the CPU wherever the models train."""

        def home(values: dict[str, Any]) -> dict[str, Any]:
            return {n: v.cpu() if isinstance(v, Tensor) else v for n, v in values.items()}

        agent, replay = Agent(**home(packed["agent"])), Replay(**home(packed["replay"]))
        return cls(**{**home(packed), "agent": agent, "replay": replay})


@dataclass(frozen=True)
class FedDRL:
    """Algorithm 2. The defaults are table 1 and the readings of FEDDRL-A1 to A24."""

    mode: str = "two_stage"  # or "online": no pre-training (A23)
    agent: str = "learning"  # controls: "shuffled" state when it acts; "untrained", never updated
    beta: float = 0.1  # eq. (6) (A9)
    mu_scale: float = 1.0  # multiplies z before the softmax (A8)
    order: str = "noise_then_softmax"  # or "softmax_then_noise" (A10)
    state: str = "shares"  # or "raw" (A6)
    reward: str = "negated"  # or "printed": eq. (7) as it stands (A1)
    noise: float = 0.1  # standard deviation of the exploration noise (A13)
    noise_process: str = "gaussian"  # or "ornstein_uhlenbeck" (A13)
    priority: str = "td"  # or "paper": Q(s', a) at the stored action (A17)
    sampling: str = "proportional"  # or "greedy" (A18)
    batch_size: int = 4  # of Algorithm 1 (A19); D is sufficient once it holds as many (A20)
    updates: int | None = None  # b; None: floor(buffer length / batch_size) (A19)
    capacity: int = 100_000  # experience buffer (table 1)
    discount: float = 0.99  # gamma (table 1)
    rho: float = 0.02  # weight of the main network in a soft update (table 1, A16)
    policy_rate: float = 1e-4  # table 1
    critic_rate: float = 1e-3  # table 1
    policy_hidden_layers: int = 2  # 3: the other reading of "3 layers" (A14)
    hidden_size: int = 256  # table 1
    workers: int = 2  # m (sec. 4.1.3)
    worker_rounds: int | None = None  # None: T (A23)
    offline_passes: int = 50  # over the merged buffer (A23)
    offline_batch_size: int = 16  # (A23)

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            check_name(f"{name} of method 'feddrl'", getattr(self, name), allowed)
        for name, least in (("noise", 0), ("mu_scale", 0), ("offline_passes", 0)):
            self._check_least(name, least)
        for name in ("batch_size", "capacity", "policy_hidden_layers", "hidden_size", "workers"):
            self._check_least(name, 1)
        for name, least in (("updates", 1), ("worker_rounds", 2), ("offline_batch_size", 1)):
            if getattr(self, name) is not None:
                self._check_least(name, least)
        check(
            self.capacity >= self.batch_size,
            f"capacity={self.capacity} given for method 'feddrl'; allowed: at least "
            f"batch_size={self.batch_size}, else it never learns (A20)",
        )
        check(0 <= self.beta <= 1, f"beta={self.beta} given for method 'feddrl'; allowed: 0 to 1 (eq. (6))")
        self.ddpg(1)  # checks the rest

    def _check_least(self, name: str, least: int) -> None:
        given = getattr(self, name)
        check(given >= least, f"{name}={given} given for method 'feddrl'; allowed: {least} or more")

    def ddpg(self, slots: int) -> Ddpg:
        """Networks of table 1 for K slots: policy 3K-256-256-2K, critic 5K-256-256-1."""
        hidden = (self.hidden_size,)
        return Ddpg(
            Mlp((3 * slots, *hidden * self.policy_hidden_layers, 2 * slots)),
            Mlp((3 * slots, *hidden * 2, 1), action_size=2 * slots),
            partial(impact.gaussians, beta=self.beta),
            policy_rate=self.policy_rate,
            critic_rate=self.critic_rate,
            discount=self.discount,
            rho=self.rho,
            priority=self.priority,
            sampling=self.sampling,
        )

    def init(self, task: Task) -> ServerState:
        """Lines 1 and 2. Before round 1 of a two-stage run come the workers' rounds."""
        state = initial_state(task)
        if self.mode == "two_stage" and self.agent != "untrained":
            return two_stage.start(self, task, state)
        return replace(state, memory={"mind": self.new_mind(task).pack()})

    def new_mind(self, task: Task) -> Mind:
        """Fresh agents and empty buffers of a task's replicas."""
        return self.start(task.seeds, task.cohort_size)

    def start(self, run_seeds: list[int], slots: int) -> Mind:
        """Line 1: networks, targets and an empty D, one agent per seed."""
        count = len(run_seeds)
        agent = self.ddpg(slots).init([seeds.torch_generator(s, "method", "agent") for s in run_seeds])
        return Mind(agent, Replay.empty(count, 3 * slots, 2 * slots), torch.zeros(count, 2 * slots))

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, Diagnostics]:
        def streams(name: str, number: int = cohort.round) -> list[np.random.Generator]:
            return [method_rng(task, r, name, number) for r in range(len(task.runs))]

        mind = Mind.unpack(state.memory["mind"])
        learn = partial(self.learn, mind, streams("replay", cohort.round - 1))
        with ThreadPoolExecutor(1) as side_thread:  # lines 19 to 22 of the round before
            learning = side_thread.submit(learn) if core_is_free(task) else None
            before = losses_before(task, state, cohort)  # line 7
            trained = train_cohort(task, state, cohort)  # lines 8 to 10
            after = losses_after(task, trained, cohort)  # line 11
            before, after = to_host([before, after])  # together, once all is launched
            mind, critic_loss = learning.result() if learning else learn()
        sizes = torch.from_numpy(task.sizes(cohort.clients))
        mind, factors, columns = self.step(mind, before, after, sizes, streams)
        columns["critic_loss"] = [None] * len(factors) if critic_loss is None else critic_loss.tolist()
        weights = on_device(factors.numpy(), task.device)
        state, report = finish_round(task, state, cohort, trained, weights, mind=mind.pack())  # line 16
        sent = report.uplink_bytes + REPORT_BYTES * task.cohort_size
        failed = find_failures(cohort, before, after)
        return state, replace(report, uplink_bytes=sent, columns=columns, failed=failed)

    def warm_up(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        """One round of the workers (stage 1); after the last one the offline training (stage 2)."""
        return two_stage.advance(self, task, state)

    def learn(self, mind: Mind, streams: list[np.random.Generator]) -> tuple[Mind, Tensor | None]:
        """Lines 19 to 22, Algorithm 1 once D is sufficient; also the mean critic loss [R] of its updates.

        streams: one per replica. None instead of a loss: nothing was learned.
        """
        if self.agent == "untrained" or len(mind.replay) < self.batch_size:  # lines 19, 20
            return mind, None
        ddpg = self.ddpg(mind.noise.shape[1] // 2)
        agent, loss = ddpg.learn(
            mind.agent, mind.replay, streams, batch_size=self.batch_size, updates=self.updates
        )
        return replace(mind, agent=agent), loss

    @one_thread()
    def step(
        self, mind: Mind, before: Tensor, after: Tensor, sizes: Tensor, streams: Streams
    ) -> tuple[Mind, Tensor, dict[str, list[Any]]]:
        """Lines 13 to 18 for one round: the clients' reports [R, K] in, impact factors [R, K] out.

        Lines 17 and 18 are those of the round before. Also returns the columns of the row.
        """
        state = impact.observe(before, after, sizes, self.state)  # line 13
        earned = None
        if mind.state is not None:  # lines 17, 18
            earned = impact.reward(before, self.reward)
            replay = mind.replay.add(mind.state, mind.action, earned, state, capacity=self.capacity)
            mind = replace(mind, replay=replay)
        noise = self._next_noise(mind.noise, streams("explore"))
        action = self._select(mind, state, noise, streams)  # line 14
        draw = _normal(streams("impact"), state.shape[1] // 3)
        factors = impact.impact_factors(action, draw, order=self.order, mu_scale=self.mu_scale)  # line 15
        columns = _columns(earned, factors, len(mind.replay))
        return Mind(mind.agent, mind.replay, noise, state, action), factors, columns

    def _select(self, mind: Mind, state: Tensor, noise: Tensor, streams: Streams) -> Tensor:
        """(mu, sigma) = pi(s) + eps under constraint (6), [R, 2K]: this is what D stores (A12)."""
        slots = state.shape[1] // 3
        if self.agent == "shuffled":  # D keeps the true state, so that the agent learns as ever
            order = np.stack([stream.permutation(slots) for stream in streams("shuffle")])
            state = impact.shuffle_slots(state, torch.from_numpy(order))
        action = self.ddpg(slots).act(mind.agent.policy, state.unsqueeze(1)).squeeze(1)
        return impact.explore(action, noise, self.beta)

    def _next_noise(self, last: Tensor, streams: list[np.random.Generator]) -> Tensor:
        fresh = self.noise * _normal(streams, last.shape[1])
        return fresh if self.noise_process == "gaussian" else (1 - OU_DECAY) * last + fresh


def _normal(streams: list[np.random.Generator], count: int) -> Tensor:
    """[R, count] standard normal numbers, float32."""
    return torch.from_numpy(np.stack([stream.standard_normal(count, np.float32) for stream in streams]))


def core_is_free(task: Task) -> bool:
    """Whether a side thread has a core to itself while clients train."""
    return task.device.type != "cpu" or torch.get_num_threads() < (os.cpu_count() or 1)


def losses_before(task: Task, state: ServerState, cohort: Cohort) -> Tensor:
    """l_b [R, K]: mean cross-entropy of w^t on each client's training data (FEDDRL-A4), on the device."""
    segments = task.segments(cohort.clients)
    results = evaluate_segments(task.trainer, task.train, state.params, state.buffers, segments)
    return torch.stack([result.loss for result in results])


def losses_after(task: Task, trained: Trained, cohort: Cohort) -> Tensor:
    """l_a [R, K]: the same of each client's own model w_k^t."""
    indices = [task.clients[r][k] for r, k in zip(cohort.replica, cohort.client, strict=True)]
    local = trained.state
    result = evaluate_rows(task.trainer, task.train, local.params, local.buffers, indices)
    return result.loss.view(cohort.clients.shape)


def find_failures(cohort: Cohort, before: Tensor, after: Tensor) -> dict[int, str]:
    """Replica -> the first of its clients' losses that is not finite."""
    failed = {}
    for name, losses in (("l_a", after), ("l_b", before)):
        for r, slot in torch.nonzero(~losses.isfinite()).flip(0).tolist():
            client, value = cohort.clients[r, slot], float(losses[r, slot])
            failed[r] = f"failed: {name} of client {client} is {value} in round {cohort.round}"
    return failed


def _columns(earned: Tensor | None, factors: Tensor, length: int) -> dict[str, list[Any]]:
    """The row's own columns: the reward is the last round's; None where there is none yet."""
    count = len(factors)
    return {
        "reward": [None] * count if earned is None else earned.tolist(),
        "impact_min": factors.amin(dim=1).tolist(),
        "impact_max": factors.amax(dim=1).tolist(),
        "buffer_length": [length] * count,
    }
