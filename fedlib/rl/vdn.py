"""Value-decomposition network (VDN) of weight-shared agents, for R replicas at once.

P. Sunehag et al., "Value-Decomposition Networks For Cooperative Multi-Agent Learning", AAMAS
2018, https://arxiv.org/abs/1706.05296, as used by FedDdrl (Y. J. Wong et al., Sensors 23 (2023)
2494, https://doi.org/10.3390/s23052494, sec. 4.1, Algorithm 2; its n and N are our k and K) and by
FedMarl. A team has an agent for each of the K clients of a round.

    Q_tot(s, a) = sum_k Q(s_k, a_k)                      one Q for all agents, no slot id (A17)
    y = r + gamma (1 - done) sum_k max_a Q'(s'_k, a)     Q': target network
    loss = mean over the mini-batch of (y - Q_tot(s, a))^2

Readings (FEDDDRL-): transitions hold s_{t+1} and done (A15), the next cohort's clients sit in
the same slots (A16), targets are copied every 5 gradient steps (A18), epsilon falls linearly
over 600 rounds (A19), learning starts at 32 transitions (A20), the last 300 are kept (A21),
Adam on the squared error (A22), epsilon = 0 in evaluation (A23).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedlib.errors import check
from fedlib.processors import torch_threads
from fedlib.rl.networks import Mlp, adam_
from fedlib.rl.replay import appended
from fedlib.validation import check_fields


@dataclass(frozen=True)
class Transitions:
    """n joint transitions of each replica, oldest first; a mini-batch has the same form.

    states, next_states [R, n, K, S], actions [R, n, K] int64, rewards, done [R, n]. Never changed
    in place: a checkpoint may still refer to it. `vars(transitions)` is its plain form.
    """

    states: Tensor
    actions: Tensor
    rewards: Tensor
    next_states: Tensor
    done: Tensor

    @classmethod
    def empty(cls, replicas: int, agents: int, state_size: int) -> "Transitions":
        """A buffer without transitions."""
        states, per_step = torch.zeros(replicas, 0, agents, state_size), torch.zeros(replicas, 0)
        actions = torch.zeros(replicas, 0, agents, dtype=torch.int64)
        return cls(states, actions, per_step, states.clone(), per_step.clone())

    def __len__(self) -> int:
        return self.rewards.shape[1]

    def add(
        self,
        states: Tensor,
        actions: Tensor,
        rewards: Tensor,
        next_states: Tensor,
        *,
        done: bool | Tensor,
        capacity: int,
    ) -> "Transitions":
        """With one more per replica, [R, K, S], [R, K], [R], [R, K, S]; the oldest gives way (A21).

        done: of all replicas, or [R].
        """
        check(capacity >= 1, f"capacity={capacity} given for transitions; allowed: 1 or more")
        ended = torch.zeros_like(rewards) + done
        new = (states, actions, rewards, next_states, ended)
        return Transitions(*appended(vars(self).values(), new, last=capacity))

    def take(self, index: Tensor) -> "Transitions":
        """The transitions at index [R, B] of each replica."""
        replica = torch.arange(len(index)).unsqueeze(1)
        return Transitions(*(tensor[replica, index] for tensor in vars(self).values()))


@dataclass(frozen=True)
class Team:
    """State of R teams of agents: network and target [R, P], Adam's moments [2, R, P].

    steps: gradient steps so far. `vars(team)` is its plain form for a checkpoint.
    """

    network: Tensor
    target: Tensor
    moments: Tensor
    steps: int = 0


@dataclass(frozen=True)
class Vdn:
    """Network and hyper-parameters; the defaults are FedDdrl's table 3 (VDN 1; VDN 2: sizes ..., 3)."""

    sizes: tuple[int, ...] = (10, 256, 256, 2)  # units from an agent's state to its actions
    rate: float = 1e-3  # of Adam
    gamma: float = 0.99
    batch_size: int = 32
    capacity: int = 300
    target_every: int = 5  # gradient steps
    epsilon_start: float = 1.0
    epsilon_end: float = 0.1
    epsilon_rounds: int = 600  # 40 episodes of 15 rounds

    def __post_init__(self) -> None:
        check_fields(self)
        check(
            1 <= self.batch_size <= self.capacity,
            f"batch_size={self.batch_size} given for a VDN; allowed: 1 to capacity={self.capacity}",
        )
        check(self.rate > 0, f"rate={self.rate} given for a VDN; allowed: above 0")
        check(0 <= self.gamma <= 1, f"gamma={self.gamma} given for a VDN; allowed: 0 to 1")
        check(len(self.sizes) >= 2, f"sizes={self.sizes} given for a VDN; allowed: two or more, input first")
        for name in ("epsilon_start", "epsilon_end"):
            given = getattr(self, name)
            check(0 <= given <= 1, f"{name}={given} given for a VDN; allowed: 0 to 1")
        for name in ("target_every", "epsilon_rounds"):
            given = getattr(self, name)
            check(given >= 1, f"{name}={given} given for a VDN; allowed: 1 or more")

    @property
    def net(self) -> Mlp:
        """The network that all agents of a team share: ReLU between layers."""
        return Mlp(self.sizes, slope=0.0, last_bound=None)

    def init(self, generators: Sequence[torch.Generator]) -> Team:
        """Fresh teams, one for each generator; the target starts as a copy."""
        network = torch.stack([self.net.init(generator) for generator in generators])
        return Team(network, network.clone(), torch.zeros(2, *network.shape))

    def values(self, network: Tensor, states: Tensor) -> Tensor:
        """Q [R, ..., A] of every agent's actions in states [R, ..., S]."""
        outputs = self.net(network, states.reshape(len(states), -1, states.shape[-1]))
        return outputs.view(*states.shape[:-1], -1)

    def total(self, network: Tensor, states: Tensor, actions: Tensor) -> Tensor:
        """`Q_tot` [R, ...] of joint actions [R, ..., K] in joint states [R, ..., K, S]."""
        return self.values(network, states).gather(-1, actions.unsqueeze(-1)).squeeze(-1).sum(dim=-1)

    def epsilon(self, round_index: int) -> float:
        """Chance of a random action in training round 0, 1, ... (A19)."""
        done = min(round_index / self.epsilon_rounds, 1.0)
        return self.epsilon_start + done * (self.epsilon_end - self.epsilon_start)

    @torch.no_grad()
    def act(
        self, team: Team, states: Tensor, epsilon: float, streams: Sequence[np.random.Generator]
    ) -> Tensor:
        """Epsilon-greedy actions [R, K] in states [R, K, S], agent by agent; streams: one per replica."""
        greedy = self.values(team.network, states).argmax(dim=-1)
        agents = greedy.shape[1]
        draws = [(rng.random(agents), rng.integers(self.sizes[-1], size=agents)) for rng in streams]
        explores = torch.from_numpy(np.stack([chance < epsilon for chance, _ in draws]))
        anything = torch.from_numpy(np.stack([action for _, action in draws]))
        return torch.where(explores, anything, greedy)

    @torch.no_grad()
    def targets(self, team: Team, batch: Transitions) -> Tensor:
        """`y = r + gamma (1 - done) sum_k max_a Q'(s'_k, a)`, [R, B]."""
        best = self.values(team.target, batch.next_states).amax(dim=-1).sum(dim=-1)
        return batch.rewards + self.gamma * (1 - batch.done) * best

    def loss(self, network: Tensor, batch: Transitions, goal: Tensor) -> Tensor:
        """[R] mean squared error of Q_tot."""
        return (goal - self.total(network, batch.states, batch.actions)).square().mean(dim=-1)

    @torch_threads(1)
    def learn(
        self, team: Team, memory: Transitions, streams: Sequence[np.random.Generator]
    ) -> tuple[Team, Tensor]:
        """Take a gradient step on a mini-batch without repeats; loss [R]: nan while too little is stored."""
        if len(memory) < self.batch_size:
            return team, torch.full((len(team.network),), torch.nan)
        picks = [rng.choice(len(memory), self.batch_size, replace=False) for rng in streams]
        batch = memory.take(torch.from_numpy(np.stack(picks)))
        network = team.network.clone().requires_grad_()
        loss = self.loss(network, batch, self.targets(team, batch))
        (gradient,) = torch.autograd.grad(loss.sum(), network)
        network.requires_grad_(False)
        moments, steps = team.moments.clone(), team.steps + 1
        adam_(network, moments, gradient, rate=self.rate, step=steps)
        target = network.clone() if steps % self.target_every == 0 else team.target
        return Team(network, target, moments, steps), loss.detach()


def keep_two(actions: Tensor, values: Tensor) -> Tensor:
    """Keep decisions [R, K] with at least two clients kept, sec. 4.1: 1 < C <= K (FEDDDRL-A25).

    actions: [R, K], 1 keeps. values: [R, K, 2] Q of drop and keep. Where too few are kept, those
    with the largest Q(keep) - Q(drop) join them, the lower slot first where these are equal.
    Raises UsageError for a cohort of one.
    """
    agents = actions.shape[-1]
    check(agents >= 2, f"{agents} clients selected; allowed: 2 or more, since 2 must be kept")
    gain = torch.where(actions == 1, torch.inf, values[..., 1] - values[..., 0])
    order = gain.argsort(dim=-1, descending=True, stable=True)
    first = torch.zeros_like(actions).scatter(-1, order[..., :2], 1)
    return torch.maximum(actions, first)
