"""FedDdrl: one VDN stops clients after a probing epoch, a second one sets the epochs of the others.

Y. J. Wong et al., "FedDdrl: Federated Double Deep Reinforcement Learning for Heterogeneous IoT
with Adaptive Early Client Termination and Local Epoch Adjustment", Sensors 23 (2023) 2494,
https://doi.org/10.3390/s23052494, Algorithm 2.

`pretrain` is the training of the agents, `episodes` episodes of T rounds; the run proper are evaluation
episodes, which act with epsilon = 0 and learn nothing (FEDDDRL-A23). With 0 episodes the agents stay
untrained, a control. Every episode starts from w_0. The agents learn in rounds 0, -1, ..., so that
evaluation round r is FedAvg's round r: same clients, same mini-batches. A process trains the agents once
for runs that only deploy them otherwise (`fedlib.methods.pretraining_cache`).

Readings (FEDDDRL-): a dropped client costs nothing (A1, A2), penalties normalised (A3), U(dA) =
(U(1) - U(0)) dA by (9), reward on images that the server holds out of the test set (A9), b of FedAvg's
traces, fixed for all episodes (A10), state by A11 to A14, a transition is stored when the next round's
state is known (A15), two clients kept (A25), epochs count the probing one (A26).
"""

import json
from collections.abc import Hashable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from fedlib.engine import Trained, train
from fedlib.engine.batches import on_device
from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Method,
    RoundReport,
    ServerState,
    Task,
    model_bytes,
    moved,
    next_cohort,
    require_server_images,
    server_measures,
)
from fedlib.federation.client_updates import (
    cohort_work,
    finish_round,
    initial_state,
    local_trainer,
    method_generators,
    method_streams,
    restarted,
    train_cohort,
)
from fedlib.methods.fedddrl.devices import LATENCY_UNITS, round_cost, round_latency
from fedlib.methods.fedddrl.environment import (
    STATE_SIZE,
    DeviceEnvironment,
    bias_of_traces,
    first_histories,
    probing_ranks,
)
from fedlib.methods.pretraining_cache import LruCache, before_round_1, cache_key
from fedlib.rl.replay import permute_rewards
from fedlib.rl.vdn import Team, Transitions, Vdn, keep_two
from fedlib.run import Run


def utility(accuracy: float) -> float:
    """`U(A) = 20 / (1 + exp(0.35 (1 - A))) - 10`, eq. (4), accuracy in [0, 1] (A8)."""
    return 20 / (1 + np.exp(0.35 * (1 - accuracy))) - 10


GAIN = utility(1.0) - utility(0.0)  # 1.732, the slope of eqs. (8), (9)


EPOCH_CHOICES = (3, 5, 7)  # total local epochs of VDN 2's actions (A26)
DEPLOYED = ("agent", "random", "fastest")
REWARD_ORDERS = ("own", "permuted")
_trained = LruCache()
SUMMARISED = ("reward_1", "reward_2", "uploads", "latency_seconds", "server_accuracy")  # of training


@dataclass(frozen=True)
class FedDdrl(Method):
    """Options are the paper's sec. 4 and 5; `FedMarl` is the special case without VDN 2."""

    w1: float = 2.9  # weight of the accuracy gain in the rewards (12), (16)
    w2: float = 0.1  # of the communication cost
    w3: float = 0.2  # of the latency
    bias: float | None = None  # b of (15), (16); None: of FedAvg's traces; the paper's example: 0.0837 (A10)
    episodes: int = 40  # of training
    agent: int = 0  # its number: other agents have other random numbers on the same partition
    deployed: str = "agent"  # controls, in the evaluations: as many as it keeps, "random" or the "fastest"
    latency_unit: str = "largest"  # what H_t is divided by; "cohort": the sum over the cohort (A3)
    reward_order: str = "own"  # "permuted", a control (HEAD-A17): they learn from rewards in another order

    adjust_epochs: ClassVar[bool] = True  # False: the run's local epochs for every client that is kept

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("w1", "w2", "w3"):
            value = getattr(self, name)
            check(value >= 0, f"{name}={value} given; allowed: 0 or more")
        check(
            self.bias is None or self.bias >= 0,
            f"bias={self.bias} given; allowed: 0 or more, or None for 0.3 of the mean penalty of FedAvg",
        )
        for name in ("episodes", "agent"):
            given = getattr(self, name)
            check(given >= 0, f"{name}={given} given; allowed: 0 or more")
        check_name("deployed", self.deployed, DEPLOYED)
        check_name("reward_order", self.reward_order, REWARD_ORDERS)
        check_name("latency_unit", self.latency_unit, LATENCY_UNITS)

    def vdns(self, episode_rounds: int = 15) -> list[Vdn]:
        """VDN 1 (drop, keep) and, with `adjust_epochs`, VDN 2 (one action for each choice), by T."""
        rounds = max(self.episodes * episode_rounds, 1)
        actions = [2, len(EPOCH_CHOICES)] if self.adjust_epochs else [2]
        return [Vdn(sizes=(STATE_SIZE, 256, 256, n), epsilon_rounds=rounds) for n in actions]

    def training_rounds(self, run: Run) -> int:
        """Rounds in which the agents learn, before round 1."""
        return self.episodes * run.rounds_per_episode

    def check(self, run: Run) -> None:
        size = run.clients_per_round
        check(size >= 2, f"cohort_size={size} given; allowed: 2 or more clients selected per round")
        check(
            run.local_steps is None,
            f"local_steps={run.local_steps} given; allowed: null, for {self.class_name} counts in epochs",
        )
        require_server_images(self.class_name, run)  # rewards are measured on them (FEDDDRL-A9)

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        start = initial_state(task)
        memory: dict[str, Any] = {**first_histories(task), "bias": self._bias(task)}
        known = _trained.get(self._cache_key(task)) if self.episodes else None
        if known is not None:
            return replace(start, memory={**memory, **known})
        agents: list[dict[str, Any]] = []
        for number, vdn in enumerate(self.vdns(task.run.rounds_per_episode), start=1):
            team = vdn.init(method_generators(task, "vdn", number, *self._names))
            replay = Transitions.empty(len(task.runs), task.cohort_size, STATE_SIZE)
            agents.append({"team": dict(vars(team)), "memory": dict(vars(replay)), "pending": []})
        memory |= {"agents": agents, "training": {}}
        return replace(start, round=-self.training_rounds(task.run), memory=memory)

    def pretrain(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        """Compute a round of a training episode, in which the agents explore and learn."""
        cohort = next_cohort(task, state.round + 1)
        after, report = self._play(task, state, cohort, learns=True)
        training = {
            name: [*state.memory["training"].get(name, []), report.columns[name]]
            for name in SUMMARISED
            if name in report.columns
        }
        after = replace(after, memory={**after.memory, "training": training})
        if task.run.episode(cohort.round + 1)[1] == 1:  # the episode is over
            after = restarted(task, after)
        if after.round == 0 and _is_finite(after.memory["agents"]):
            _trained.keep(
                self._cache_key(task), {name: after.memory[name] for name in ("agents", "training")}
            )
        return after, report.diverged(cohort.round)

    def _cache_key(self, task: Task) -> Hashable | None:
        """All that decides the agents before round 1: not how many episodes evaluate or deploy them."""
        run = before_round_1(task.run, task.run.rounds_per_episode)
        return cache_key(task, run.key, asdict(replace(self, deployed="agent")), method=self)

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        """JSON lists over the training episodes: means over the rounds of each."""
        columns = {}
        for name, rounds in state.memory["training"].items():
            values = np.array(rounds, dtype=float).reshape(-1, task.run.rounds_per_episode, len(task.runs))
            means = values.mean(axis=1).round(6)
            columns[f"training_{name}"] = [json.dumps(own.tolist()) for own in means.T]
        return columns

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models; the agents stay, `apply` resets what they observe."""
        return restarted(task, state)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        return self._play(task, state, cohort, learns=False)

    def _play(
        self, task: Task, state: ServerState, cohort: Cohort, *, learns: bool
    ) -> tuple[ServerState, RoundReport]:
        t, length = task.run.episode(cohort.round)[1], task.run.rounds_per_episode
        number = cohort.round + self.training_rounds(task.run)  # from the first round of training
        if t == 1:
            state = self._reset(task, state)  # lines 5, 6
        before = state.memory["accuracy"].cpu().numpy()
        world = DeviceEnvironment.of(task, cohort)
        probe = train_cohort(task, state, cohort, epochs=1)  # line 12: the probing epoch
        loss = probe.loss.view(cohort.clients.shape).cpu()
        states, histories = world.observe(state.memory, loss, t / length)

        agents = moved(state.memory["agents"], "cpu")  # also after a resume, they act and learn on the host
        if learns and t > 1:  # s_{t+1} of the last round's transition is known now
            agents = self._learn(task, agents, states, number, done=False)
        kept, epochs = self._act(task, agents, states, number, explores=learns)  # lines 15, 16

        trained = continue_training(task, cohort, probe, np.where(kept, epochs, 1))  # lines 18 to 23
        shares = kept * world.sizes / (kept * world.sizes).sum(axis=1, keepdims=True)
        weights = on_device(shares.astype(np.float32), task.device)
        after, report = finish_round(task, state, cohort, trained, weights)  # 24

        accuracy = server_measures(task, after)[1].numpy()  # A_t (A9), lines 25 to 28
        latency = round_latency(world.devices, world.numbers, world.sizes, epochs, kept)
        share = latency / world.latency_unit(self.latency_unit, task.run.local_epochs)
        bias = state.memory["bias"].cpu().numpy()
        rewards = self.rewards(accuracy - before, round_cost(kept) / kept.shape[1], share, bias)
        if learns:
            agents = self._remember(agents, states, kept, epochs, rewards)
            if t == length:
                agents = self._learn(task, agents, states, number, done=True)
        columns = {
            **world.columns(loss, kept, epochs),
            "latency_seconds": latency.tolist(),
            "latency_share": share.tolist(),
            "uplink_bytes": [model_bytes(state.params, state.buffers) * int(n) for n in kept.sum(axis=1)],
            "accuracy_gain": (accuracy - before).tolist(),
            "bias": bias.tolist(),
            "server_accuracy": accuracy.tolist(),
            **{f"reward_{n}": reward.tolist() for n, reward in enumerate(rewards, start=1)},
        }
        memory = {**after.memory, **histories, "agents": agents, "accuracy": torch.from_numpy(accuracy)}
        return replace(after, memory=memory), replace(report, train_loss=loss, columns=columns)

    def _reset(self, task: Task, state: ServerState) -> ServerState:
        """Observation at the start of an episode: the accuracy of w_0, no client yet."""
        _, accuracy = server_measures(task, state)
        return replace(state, memory={**state.memory, **first_histories(task), "accuracy": accuracy})

    def _bias(self, task: Task) -> Tensor:
        """[R] b, fixed for all episodes."""
        if self.bias is None:
            return torch.from_numpy(bias_of_traces(task, self.w2, self.w3, self.latency_unit))
        return torch.full((len(task.runs),), self.bias, dtype=torch.float64)

    def rewards(
        self, gain: np.ndarray, cost: np.ndarray, latency: np.ndarray, bias: np.ndarray | float
    ) -> list[Tensor]:
        """`r^1` (15) and `r^2` (16), [R] each, of dA_t and the normalised B_t and H_t; b = 0 gives (12)."""
        bonus = np.where(gain > 0, bias, 0.0)
        second = self.w1 * GAIN * gain - self.w3 * latency + bonus
        both = [second - self.w2 * cost, second]
        return [torch.from_numpy(reward).float() for reward in both][: 1 + self.adjust_epochs]

    def _act(
        self, task: Task, agents: list[dict[str, Any]], states: Tensor, round_index: int, *, explores: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Keep decisions, bool [R, K], and total local epochs [R, K]."""
        actions = []
        for number, (vdn, agent) in enumerate(
            zip(self.vdns(task.run.rounds_per_episode), agents, strict=True), start=1
        ):
            names = ("act", number, round_index, *self._names)
            streams = method_streams(task, *names)
            epsilon = vdn.epsilon(round_index - 1) if explores else 0.0
            actions.append(vdn.act(Team(**agent["team"]), states, epsilon, streams))
        values = self.vdns()[0].values(agents[0]["team"]["network"], states)
        kept = keep_two(actions[0], values).bool().numpy()
        if not explores and self.deployed != "agent":
            kept = self._deploy(task, kept, states, round_index)
        if not self.adjust_epochs:
            return kept, np.full(kept.shape, task.run.local_epochs)
        return kept, np.asarray(EPOCH_CHOICES)[actions[1].numpy()]

    def _deploy(self, task: Task, kept: np.ndarray, states: Tensor, round_index: int) -> np.ndarray:
        """[R, K] as many clients as the agent keeps: at random, or those with the shortest probing epochs."""
        if self.deployed == "fastest":
            return probing_ranks(states) < kept.sum(axis=1, keepdims=True)
        streams = method_streams(task, "deploy", round_index)
        return np.stack([rng.permutation(row) for row, rng in zip(kept, streams, strict=True)])

    @property
    def _names(self) -> tuple[int | str, ...]:
        """Further names of the agent's random streams."""
        return ("agent", self.agent) if self.agent else ()

    def _remember(
        self,
        agents: list[dict[str, Any]],
        states: Tensor,
        kept: np.ndarray,
        epochs: np.ndarray,
        rewards: list[Tensor],
    ) -> list[dict[str, Any]]:
        """Lines 26 to 28: hold (s_t, a_t, r_t) of each VDN until s_{t+1} is known."""
        actions = [kept.astype(np.int64)]
        if self.adjust_epochs:
            actions.append(np.abs(epochs[..., None] - np.asarray(EPOCH_CHOICES)).argmin(axis=-1))
        parts = zip(agents, actions, rewards, strict=True)
        return [{**agent, "pending": [states, torch.from_numpy(a), r]} for agent, a, r in parts]

    def _learn(
        self, task: Task, agents: list[dict[str, Any]], states: Tensor, round_index: int, *, done: bool
    ) -> list[dict[str, Any]]:
        """Line 29: complete the pending transitions with the next states, one step of each VDN."""
        learned = []
        for number, (vdn, agent) in enumerate(
            zip(self.vdns(task.run.rounds_per_episode), agents, strict=True), start=1
        ):
            names = ("replay", number, round_index, int(done), *self._names)
            streams = method_streams(task, *names)
            before, actions, rewards = agent["pending"]
            memory = Transitions(**agent["memory"]).add(
                before, actions, rewards, states, done=done, capacity=vdn.capacity
            )
            experience = self._experience(task, memory, names)
            team, _ = vdn.learn(Team(**agent["team"]), experience, streams)
            learned.append({"team": dict(vars(team)), "memory": dict(vars(memory)), "pending": []})
        return learned

    def _experience(self, task: Task, memory: Transitions, names: tuple[int | str, ...]) -> Transitions:
        """Experience for learning: the memory, or under "permuted" with its rewards in another order."""
        if self.reward_order == "own":
            return memory
        streams = method_streams(task, "permute", *names)
        return replace(memory, rewards=permute_rewards(memory.rewards, streams))


def continue_training(task: Task, cohort: Cohort, probe: Trained, epochs: np.ndarray) -> Trained:
    """The probe's models after `epochs` [R, K] in total; a client with 1 is done and keeps every bit."""
    work = cohort_work(task, cohort, epochs=epochs.ravel(), first_epoch=1, steps_limit=None)
    return train(local_trainer(task), task.train, probe.state, work)


def _is_finite(agents: Any) -> bool:
    """Whether all numbers of agents are, those of their memories too: no loss that was lost is in them."""
    if isinstance(agents, Tensor):
        return bool(agents.isfinite().all())
    parts = agents.values() if isinstance(agents, dict) else agents if isinstance(agents, list) else ()
    return all(_is_finite(part) for part in parts)
