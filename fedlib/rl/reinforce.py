"""REINFORCE over a Bernoulli choice of workers, for R replicas at once: EvaluatorFL's agent.

B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, 2023, sec. III.ii,
Algorithm 1; R. J. Williams, "Simple statistical gradient-following algorithms for
connectionist reinforcement learning", Machine Learning 8 (1992) 229-256.

    p_i = softmax(select_i(S), discard_i(S))[0]                 two towers, one score per worker
    P(A | theta) = prod_i p_i^{a_i} (1 - p_i)^{1 - a_i}         F4
    grad J = mean over the moving batch of grad log P(A_t') sum_{t >= t'} gamma^{t - t'} R_t    F5, F6
    R = Rhat - delta,  delta <- delta + w (Rhat - delta)        F2

Readings, each with its option:

1. w = 0.9 as in the released code, where the report writes 1 - a_exp (FRL-A2): `new_weight`.
2. F5 runs over the moving batch; `returns="immediate"` takes R_t' alone, as the code (A3).
3. `likelihood="code"` draws the discard column on its own and counts both draws (A4).
4. A draw of k // 10 workers or fewer is drawn again (A5); `Draw.redraws` tells how often. The
   likelihood stays F4, as in the code: it is not conditioned on the redraw.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fedlib.errors import check, check_name
from fedlib.processors import torch_threads
from fedlib.rl.networks import Mlp, adam_
from fedlib.rl.replay import appended
from fedlib.validation import check_fields

RETURNS = ("to_go", "immediate")
LIKELIHOODS = ("bernoulli", "code")
MAX_REDRAWS = 1000


@dataclass(frozen=True)
class Draw:
    """selected [R, k] of 0 and 1; action [R, k, 2] what the likelihood is taken of; redraws [R].

    action: columns (select, discard). After MAX_REDRAWS the most probable k // 10 + 1 workers
    are taken, so that a collapsed policy cannot stall a run.
    """

    selected: Tensor
    action: Tensor
    redraws: list[int]


@dataclass(frozen=True)
class MovingBatch:
    """The last B_a triples, oldest first: states [R, n, k], actions [R, n, k, 2], rewards [R, n] (F6).

    `vars(batch)` is its plain form for a checkpoint; never changed in place.
    """

    states: Tensor
    actions: Tensor
    rewards: Tensor

    @classmethod
    def empty(cls, replicas: int, workers: int) -> "MovingBatch":
        """Empty memory of an episode."""
        states = torch.zeros(replicas, 0, workers)
        return cls(states, torch.zeros(replicas, 0, workers, 2), torch.zeros(replicas, 0))

    def __len__(self) -> int:
        return self.rewards.shape[1]

    def add(self, states: Tensor, actions: Tensor, rewards: Tensor, *, size: int) -> "MovingBatch":
        """With the triple of one more round, [R, k], [R, k, 2], [R]; beyond `size` the oldest leaves."""
        check(size >= 1, f"size={size} given for a moving batch; allowed: 1 or more")
        return MovingBatch(*appended(vars(self).values(), (states, actions, rewards), last=size))


@dataclass(frozen=True)
class Evaluator:
    """State of R agents: network [R, P], Adam's moments [2, R, P], steps so far."""

    network: Tensor
    moments: Tensor
    steps: int = 0


@dataclass(frozen=True)
class Reinforce:
    """Network and hyper-parameters; the defaults are the report's (sizes and rates from its code)."""

    workers: int  # k
    hidden: tuple[int, ...] = (128, 128, 128, 128)
    rate: float = 1e-3  # of Adam
    gamma: float = 0.99
    batch_rounds: int = 3  # B_a
    returns: str = "to_go"
    likelihood: str = "bernoulli"
    min_selected: int | None = None  # None: k // 10 + 1

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("returns of REINFORCE", self.returns, RETURNS)
        check_name("likelihood of REINFORCE", self.likelihood, LIKELIHOODS)
        check(self.rate > 0, f"rate={self.rate} given for REINFORCE; allowed: above 0")
        check(0 <= self.gamma <= 1, f"gamma={self.gamma} given for REINFORCE; allowed: 0 to 1")
        check(self.batch_rounds >= 1, f"batch_rounds={self.batch_rounds} given; allowed: 1 or more")
        check(self.workers >= 1, f"workers={self.workers} given for REINFORCE; allowed: 1 or more")
        check(
            1 <= self.least <= self.workers,
            f"min_selected={self.min_selected} given; allowed: 1 to {self.workers} workers",
        )

    @property
    def least(self) -> int:
        """The fewest workers that a round aggregates (A5)."""
        return self.workers // 10 + 1 if self.min_selected is None else self.min_selected

    @property
    def tower(self) -> Mlp:
        """Network k-128-128-128-128-k, ReLU between layers; an agent has two."""
        return Mlp((self.workers, *self.hidden, self.workers), slope=0.0, last_bound=None)

    def init(self, generators: Sequence[torch.Generator]) -> Evaluator:
        """Fresh agents, one for each generator."""
        network = torch.stack([torch.cat([self.tower.init(g), self.tower.init(g)]) for g in generators])
        return Evaluator(network, torch.zeros(2, *network.shape))

    def log_probabilities(self, network: Tensor, states: Tensor) -> Tensor:
        """[R, n, k, 2] log of (select, discard) for states [R, n, k]; each row's probabilities sum to 1."""
        select, discard = network.chunk(2, dim=1)
        scores = torch.stack([self.tower(select, states), self.tower(discard, states)], dim=-1)
        return F.log_softmax(scores, dim=-1)

    def log_likelihood(self, network: Tensor, states: Tensor, actions: Tensor) -> Tensor:
        """[R, n] `log P(A | theta)`, F4; states [R, n, k], actions [R, n, k, 2]."""
        # a log p + b log (1 - p): b = 1 - a in F4, and a draw of its own in the code (A4)
        return (actions * self.log_probabilities(network, states)).sum(dim=(-2, -1))

    @torch.no_grad()
    def draw(self, agent: Evaluator, states: Tensor, streams: Sequence[np.random.Generator]) -> Draw:
        """Bernoulli selection in states [R, k]; streams: one per replica."""
        chances = self.log_probabilities(agent.network, states.unsqueeze(1))[:, 0].exp().double().numpy()
        drawn = [self._draw_one(chance, rng) for chance, rng in zip(chances, streams, strict=True)]
        action = torch.from_numpy(np.stack([one for one, _ in drawn])).float()
        return Draw(action[..., 0], action, [redraws for _, redraws in drawn])

    def _draw_one(self, chances: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """The action [k, 2] of one replica with chances [k, 2], and how often it was drawn again."""
        for redraws in range(MAX_REDRAWS):
            select, discard = (rng.random(chances.shape) < chances).T
            if self.likelihood == "bernoulli":
                discard = ~select
            if select.sum() >= self.least:
                return np.stack([select, discard], axis=1), redraws
        select = np.zeros(self.workers, dtype=bool)
        select[np.argsort(-chances[:, 0], kind="stable")[: self.least]] = True
        return np.stack([select, ~select], axis=1), MAX_REDRAWS

    def weights(self, rewards: Tensor) -> Tensor:
        """[R, n] what multiplies each gradient: the reward-to-go of rewards [R, n], F5."""
        if self.returns == "immediate":
            return rewards
        to_go = rewards.clone()
        for t in range(rewards.shape[1] - 2, -1, -1):
            to_go[:, t] += self.gamma * to_go[:, t + 1]
        return to_go

    def objective(self, network: Tensor, batch: MovingBatch) -> Tensor:
        """[R] mean over the moving batch of log P(A_t) times its weight; its gradient is grad J."""
        logs = self.log_likelihood(network, batch.states, batch.actions)
        return (logs * self.weights(batch.rewards)).mean(dim=1)

    @torch_threads(1)
    def learn(self, agent: Evaluator, batch: MovingBatch) -> Evaluator:
        """Take an ascent step once the moving batch is full (Algorithm 1, lines 21 to 25)."""
        if len(batch) < self.batch_rounds:
            return agent
        network = agent.network.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(-self.objective(network, batch).sum(), network)
        network.requires_grad_(False)
        moments, steps = agent.moments.clone(), agent.steps + 1
        adam_(network, moments, gradient, rate=self.rate, step=steps)
        return Evaluator(network, moments, steps)


def subtract_moving_average(
    value: Tensor, delta: Tensor, *, new_weight: float = 0.9
) -> tuple[Tensor, Tensor]:
    """`R = Rhat - delta` and the next delta, [R] each; delta is 0 at an episode's start (F2, FRL-A2)."""
    check(0 <= new_weight <= 1, f"new_weight={new_weight} given; allowed: 0 to 1")
    return value - delta, delta + new_weight * (value - delta)
