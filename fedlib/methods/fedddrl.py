"""FedDdrl: one VDN stops clients after a probing epoch, a second one sets the epochs of the others.

Y. J. Wong et al., "FedDdrl: Federated Double Deep Reinforcement Learning for Heterogeneous IoT
with Adaptive Early Client Termination and Local Epoch Adjustment", Sensors 23 (2023) 2494,
https://doi.org/10.3390/s23052494, Algorithm 2.

A run holds the training episodes one after the other and evaluation episodes at the end; every
episode starts from w_0, and an evaluation acts with epsilon = 0 and learns nothing (FEDDDRL-A23).
Hence resume is the round loop's own. Cohorts and local training are drawn by the number of the
round counted from the first evaluation: evaluation round r is FedAvg's round r (same clients, same
mini-batches), and the agents learn in rounds 0, -1, ..., which no evaluation meets.

Readings (FEDDDRL-): penalties normalised (A3), U(dA) = (U(1) - U(0)) dA by (9), reward on images
that the server holds out of the test set (A9), b of FedAvg's traces, fixed for all episodes (A10),
state by A11 to A14, a transition is stored when the next round's state is known (A15), two clients
kept (A25).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.agents.vdn import Team, Transitions, Vdn, keep_at_least
from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    finish_round,
    initial_state,
    method_rng,
    model_bytes,
    train_cohort,
)
from fedlib.local import Trained, make_work, stream_keys
from fedlib.local.batches import on_device
from fedlib.methods.surroundings import (
    HISTORIES,
    REWARD_DATA,
    STATE_SIZE,
    Surroundings,
    bias_of_traces,
    check_episodes,
    check_setting,
    first_histories,
    reward_accuracy,
    server_columns,
    with_mixup,
)
from fedlib.run import Run
from fedlib.system import LATENCY_RULES, latency_unit, round_cost, round_latency


def utility(accuracy: float) -> float:
    """`U(A) = 20 / (1 + exp(0.35 (1 - A))) - 10`, eq. (4), accuracy in [0, 1] (A8)."""
    return 20 / (1 + np.exp(0.35 * (1 - accuracy))) - 10


GAIN = utility(1.0) - utility(0.0)  # 1.732, the slope of eqs. (8), (9)


@dataclass(frozen=True)
class FedDdrl:
    """Options are the paper's sec. 4 and 5; `FedMarl` is the special case without VDN 2."""

    w1: float = 2.9  # weight of the accuracy gain in the rewards (12), (16)
    w2: float = 0.1  # of the communication cost
    w3: float = 0.2  # of the latency
    bias: float | None = None  # b of (15), (16); None: of FedAvg's traces; the paper's example: 0.0837 (A10)
    adjust_epochs: bool = True  # False: the run's local epochs for every client that is kept
    epoch_choices: Sequence[int] = (3, 5, 7)  # the probing epoch included (A26)
    mixup_alpha: float | None = None  # of Balanced-MixUp; None: none
    mixup_kind: str = "strict"
    episodes: int = 40  # of training
    episode_rounds: int = 15  # T
    reward_data: str = "server"  # images held out of the test set; or "test": those that are reported (A9)
    latency_rule: str = "printed"  # or "fedmarl" (A2)
    history: str = "client"  # whose last values an agent sees; or "slot" (A12)

    def __post_init__(self) -> None:
        for name in ("w1", "w2", "w3"):
            value = getattr(self, name)
            check(value is not None and value >= 0, f"{name}={value} given; allowed: 0 or more")
        check(
            self.bias is None or self.bias >= 0,
            f"bias={self.bias} given; allowed: 0 or more, or None for 0.3 of the mean penalty of FedAvg",
        )
        choices = self.epoch_choices
        check(
            isinstance(choices, list | tuple)
            and len(set(choices)) == len(choices) > 0
            and all(isinstance(epochs, int) and epochs >= 1 for epochs in choices),
            f"epochs {choices!r} given to choose from; allowed: a list of whole numbers, 1 or more each, "
            "none twice",
        )
        check(self.episodes >= 0, f"episodes={self.episodes} given; allowed: 0 or more")
        check_setting(self.mixup_alpha, self.mixup_kind, self.episode_rounds)
        check_name("reward data", self.reward_data, REWARD_DATA)
        check_name("latency rule", self.latency_rule, LATENCY_RULES)
        check_name("history", self.history, HISTORIES)

    @property
    def vdns(self) -> list[Vdn]:
        """VDN 1 (drop, keep) and, with `adjust_epochs`, VDN 2 (one action for each choice)."""
        rounds = max(self.episodes * self.episode_rounds, 1)
        actions = [2, len(self.epoch_choices)] if self.adjust_epochs else [2]
        return [Vdn(sizes=(STATE_SIZE, 256, 256, n), epsilon_rounds=rounds) for n in actions]

    def check_run(self, run: Run) -> None:
        size = run.cohort_size or run.num_clients
        check(size >= 2, f"cohort_size={size} given; allowed: 2 or more clients selected per round")
        check_episodes(run.rounds, self.episode_rounds, self.episodes)
        check(
            self.reward_data == "test" or run.dataset_options.get("server_share") is not None,
            "reward_data='server' given, but the server has no images of its own; allowed: the data-set "
            "option server_share (dataset.server_share=0.1), or reward_data='test' (FEDDDRL-A9)",
        )

    def init(self, task: Task) -> ServerState:
        self.check_run(task.run)
        agents = []
        for number, vdn in enumerate(self.vdns, start=1):
            team = vdn.init([seeds.torch_generator(s, "vdn", number) for s in task.seeds])
            memory = Transitions.empty(len(task.runs), task.cohort_size, STATE_SIZE)
            agents.append({"team": dict(vars(team)), "memory": dict(vars(memory)), "pending": []})
        memory = {**first_histories(task, self.history), "bias": self._bias(task), "agents": agents}
        return replace(initial_state(task), memory=memory)

    def draw_number(self, round_index: int) -> int:
        """1 for the first round of the first evaluation, 0 and below while the agents learn."""
        return round_index - self.episodes * self.episode_rounds

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        return server_columns(task, state) if self.reward_data == "server" else {}

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, Diagnostics]:
        task = with_mixup(task, self.mixup_alpha, self.mixup_kind)
        number = state.round + 1  # of the run, from the first training episode
        episode, t = divmod(number - 1, self.episode_rounds)
        learns, last = episode < self.episodes, t == self.episode_rounds - 1
        if t == 0:
            state = self._reset(task, state)  # lines 5, 6
        before = state.memory["accuracy"].cpu().numpy()
        world = Surroundings.of(task, cohort)
        probe = train_cohort(task, state, cohort, epochs=1)  # line 12: the probing epoch
        loss = probe.loss.view(cohort.clients.shape).cpu()
        progress = (t + 1) / self.episode_rounds
        states, histories = world.observe(state.memory, loss, progress, history=self.history)

        agents = _on_cpu(state.memory["agents"])
        if learns and t > 0:  # s_{t+1} of the last round's transition is known now
            agents = self._learn(task, agents, states, number, done=False)
        kept, epochs = self._act(task, agents, states, number, explores=learns)  # lines 15, 16

        trained = continue_training(task, cohort, probe, np.where(kept, epochs, 1))  # lines 18 to 23
        shares = kept * world.sizes / (kept * world.sizes).sum(axis=1, keepdims=True)
        weights = on_device(shares.astype(np.float32), task.device)
        after, report = finish_round(task, state, cohort, trained, weights)  # 24

        accuracy = reward_accuracy(task, after, self.reward_data)  # lines 25 to 28
        latency = round_latency(world.devices, world.rows, world.sizes, epochs, kept, rule=self.latency_rule)
        share = latency / latency_unit(world.largest_client)
        bias = state.memory["bias"].cpu().numpy()
        rewards = self.rewards(accuracy - before, round_cost(kept) / kept.shape[1], share, bias)
        if learns:
            agents = self._remember(agents, states, kept, epochs, rewards)
            if last:
                agents = self._learn(task, agents, states, number, done=True)
        columns = {
            "episode": [episode + 1] * len(kept),
            **world.columns(loss, kept, epochs),
            "latency_seconds": latency.tolist(),
            "latency_share": share.tolist(),
            "uplink_bytes": [model_bytes(state.params, state.buffers) * int(n) for n in kept.sum(axis=1)],
            "accuracy_gain": (accuracy - before).tolist(),
            "bias": bias.tolist(),
            **({"server_accuracy": accuracy.tolist()} if self.reward_data == "server" else {}),
            **{f"reward_{n}": reward.tolist() for n, reward in enumerate(rewards, start=1)},
        }
        memory = {**after.memory, **histories, "agents": agents, "accuracy": torch.from_numpy(accuracy)}
        return replace(after, memory=memory), replace(report, train_loss=loss, columns=columns)

    def _reset(self, task: Task, state: ServerState) -> ServerState:
        """The FL environment at the start of an episode: w_0, its accuracy, no client seen yet."""
        start = initial_state(task)
        accuracy = torch.from_numpy(reward_accuracy(task, start, self.reward_data))
        memory = {**state.memory, **first_histories(task, self.history), "accuracy": accuracy}
        return replace(state, params=start.params, buffers=start.buffers, memory=memory)

    def _bias(self, task: Task) -> Tensor:
        """[R] b, fixed for all episodes."""
        if self.bias is None:
            return torch.from_numpy(bias_of_traces(task, self.w2, self.w3, self.episode_rounds))
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
        """Keep decisions, bool [R, N], and total local epochs [R, N]."""
        actions = []
        for number, (vdn, agent) in enumerate(zip(self.vdns, agents, strict=True), start=1):
            streams = [method_rng(task, r, "act", number, round_index) for r in range(len(states))]
            epsilon = vdn.epsilon(round_index - 1) if explores else 0.0
            actions.append(vdn.act(Team(**agent["team"]), states, epsilon, streams))
        values = self.vdns[0].values(agents[0]["team"]["network"], states)
        kept = keep_at_least(actions[0], values).bool().numpy()
        if not self.adjust_epochs:
            return kept, np.full(kept.shape, task.run.local_epochs)
        return kept, np.asarray(self.epoch_choices)[actions[1].numpy()]

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
            actions.append(np.abs(epochs[..., None] - np.asarray(self.epoch_choices)).argmin(axis=-1))
        parts = zip(agents, actions, rewards, strict=True)
        return [{**agent, "pending": [states, torch.from_numpy(a), r]} for agent, a, r in parts]

    def _learn(
        self, task: Task, agents: list[dict[str, Any]], states: Tensor, round_index: int, *, done: bool
    ) -> list[dict[str, Any]]:
        """Line 29: complete the pending transitions with the next states, one step of each VDN."""
        learned = []
        for number, (vdn, agent) in enumerate(zip(self.vdns, agents, strict=True), start=1):
            streams = [
                method_rng(task, r, "replay", number, round_index, int(done)) for r in range(len(states))
            ]
            memory = Transitions(**agent["memory"]).add(
                *agent["pending"], states, done=done, capacity=vdn.capacity
            )
            team, _ = vdn.learn(Team(**agent["team"]), memory, streams)
            learned.append({"team": dict(vars(team)), "memory": dict(vars(memory)), "pending": []})
        return learned


def continue_training(task: Task, cohort: Cohort, probe: Trained, epochs: np.ndarray) -> Trained:
    """The probe's models after `epochs` [R, N] in total; a client with 1 is done and keeps every bit."""
    work = make_work(
        [task.clients[r][k] for r, k in zip(cohort.replica, cohort.client, strict=True)],
        replica=cohort.replica,
        client=cohort.client,
        key=stream_keys([task.seeds[r] for r in cohort.replica], cohort.round, cohort.client),
        epochs=epochs.ravel(),
        first_epoch=1,
        learning_rate=task.run.local_learning_rate,
        order=task.run.sample_order,
        device=task.device,
    )
    return task.trainer.train(task.train, probe.state, work)


def _on_cpu(value: Any) -> Any:
    """The agents act and learn on the host, also after a resume has put their tensors on the device."""
    if isinstance(value, Tensor):
        return value.cpu()
    if isinstance(value, dict):
        return {name: _on_cpu(part) for name, part in value.items()}
    return [_on_cpu(part) for part in value] if isinstance(value, list) else value
