"""REINFORCE on a Dirichlet distribution over weights, for R replicas at once: Auto-FedRL's agent.

P. Guo et al., "Auto-FedRL: Federated Hyperparameter Optimization for Multi-institutional Medical Image
Segmentation", ECCV 2022, https://arxiv.org/abs/2203.06338. The update as we read it from the authors' code;
the paper's own equation was not checked (HEAD-A8):

    alpha <- alpha + rate sum over the last Z rounds of (r_t - mean r) grad log P(x_t | alpha_t)

    d log Dir(x; alpha) / d alpha_i = psi(sum alpha) - psi(alpha_i) + log x_i       psi: digamma
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedlib.errors import check
from fedlib.rl.networks import adam_
from fedlib.rl.replay import appended
from fedlib.validation import check_fields

BETAS = (0.7, 0.7)  # of Adam, in the authors' code
FLOOR = 0.1  # least concentration: it has to stay above 0 (HEAD-A9)


def draw_weights(concentration: Tensor, streams: Sequence[np.random.Generator]) -> Tensor:
    """[R, K] float64 draws of Dir(concentration [R, K]), none of them 0; streams: one per replica."""
    drawn = [rng.dirichlet(row) for row, rng in zip(concentration.numpy(), streams, strict=True)]
    weights = torch.from_numpy(np.stack(drawn)).clamp(min=torch.finfo(torch.float64).tiny)
    return weights / weights.sum(dim=1, keepdim=True)


def score(concentration: Tensor, weights: Tensor) -> Tensor:
    """[..., K] gradient of log Dir(weights; concentration) by the concentration."""
    total = concentration.sum(dim=-1, keepdim=True)
    return total.digamma() - concentration.digamma() + weights.log()


@dataclass(frozen=True)
class WeightAgent:
    """State of R agents: concentration [R, N] of N clients, Adam's moments [2, R, N], steps.

    scores [R, n, N], rewards [R, n]: of the last n <= Z rounds, oldest first; a client that took no
    part has score 0. `vars(agent)` is its plain form for a checkpoint.
    """

    concentration: Tensor
    moments: Tensor
    scores: Tensor
    rewards: Tensor
    steps: int = 0

    def remember(self, scores: Tensor, rewards: Tensor, *, window: int) -> "WeightAgent":
        """With one more round, [R, N] and [R]; beyond `window` the oldest leaves."""
        check(window >= 1, f"window={window} given for a search of weights; allowed: 1 or more")
        rounds = appended((self.scores, self.rewards), (scores, rewards), last=window)
        return WeightAgent(self.concentration, self.moments, *rounds, steps=self.steps)

    def __len__(self) -> int:
        return self.rewards.shape[1]


@dataclass(frozen=True)
class WeightSearch:
    """Hyper-parameters; the defaults are the authors' code's."""

    rate: float = 0.01  # of Adam
    start: float = 5.0  # concentration of every client before round 1
    window: int = 5  # Z, rounds

    def __post_init__(self) -> None:
        check_fields(self)
        check(self.rate > 0, f"rate={self.rate} given for a search of weights; allowed: above 0")
        check(self.window >= 2, f"window={self.window} given for a search of weights; allowed: 2 or more")
        check(
            self.start >= FLOOR,
            f"concentration={self.start} given for a search of weights; allowed: {FLOOR} or more",
        )

    def init(self, replicas: int, clients: int) -> WeightAgent:
        """Agents whose weights are equal on average."""
        flat = torch.full((replicas, clients), self.start, dtype=torch.float64)
        empty = torch.zeros(replicas, 0, clients, dtype=torch.float64)
        return WeightAgent(flat, torch.zeros(2, *flat.shape, dtype=flat.dtype), empty, empty[..., 0])

    def learn(self, agent: WeightAgent, rewards: Tensor) -> WeightAgent:
        """Take an ascent step; rewards [R, n]: those of the window; no change with fewer than two."""
        check(
            rewards.shape == agent.rewards.shape,
            f"rewards of shape {[*rewards.shape]} given for a search of weights; "
            f"allowed: {[*agent.rewards.shape]}, one per round remembered",
        )
        if len(agent) < 2:
            return agent
        advantage = rewards - rewards.mean(dim=1, keepdim=True)
        gradient = (advantage.unsqueeze(2) * agent.scores).sum(dim=1)
        concentration, moments, steps = agent.concentration.clone(), agent.moments.clone(), agent.steps + 1
        adam_(concentration, moments, -gradient, rate=self.rate, step=steps, betas=BETAS)
        return WeightAgent(concentration.clamp(min=FLOOR), moments, agent.scores, agent.rewards, steps)
