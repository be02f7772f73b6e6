"""Double deep Q-learning (double DQN) for R agents at once: FAVOR's agent.

H. van Hasselt, A. Guez, D. Silver, "Deep Reinforcement Learning with Double Q-learning", AAAI 2016,
https://arxiv.org/abs/1509.06461, eq. (4):

    y = r + gamma (1 - done) Q'(s', argmax_a Q(s', a))      Q': target network

Network, replay and update are those of a value-decomposition network with a team of one agent
(`fedlib.rl.vdn`): its Q_tot is then Q. States are [R, 1, S], actions [R, 1].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedlib.errors import check
from fedlib.rl.vdn import Team, Transitions, Vdn


@dataclass(frozen=True)
class DoubleDqn(Vdn):
    """Hyper-parameters as a VDN's; `epsilon_*` are unused where actions are drawn by `draw`."""

    @torch.no_grad()
    def targets(self, team: Team, batch: Transitions) -> Tensor:
        """[R, B]: the main network chooses the next action, the target network values it."""
        chosen = self.values(team.network, batch.next_states).argmax(dim=-1)
        following = self.total(team.target, batch.next_states, chosen)
        return batch.rewards + self.gamma * (1 - batch.done) * following

    @torch.no_grad()
    def draw(self, network: Tensor, states: Tensor, streams: Sequence[np.random.Generator]) -> Tensor:
        """[R, 1] one action each, with probabilities softmax(Q(s, .)); streams: one per replica.

        Every action is as likely where a value is not finite (`finite_values` tells).
        """
        values = self.values(network, states)[:, 0].double()
        known = values.isfinite().all(dim=-1, keepdim=True)
        chances = torch.where(known, values, 0.0).softmax(dim=-1).numpy()
        drawn = [rng.choice(len(row), p=row) for row, rng in zip(chances, streams, strict=True)]
        return torch.tensor(drawn).unsqueeze(1)

    @torch.no_grad()
    def finite_values(self, network: Tensor, states: Tensor) -> Tensor:
        """[R] whether every action's value is finite."""
        return self.values(network, states).flatten(1).isfinite().all(dim=-1)

    @torch.no_grad()
    def best(self, network: Tensor, states: Tensor, count: int) -> np.ndarray:
        """[R, count] the actions with the largest Q(s, .), ascending; of equal ones the lower first."""
        check(
            1 <= count <= self.sizes[-1], f"count={count} given; allowed: 1 to {self.sizes[-1]}, the actions"
        )
        order = self.values(network, states)[:, 0].argsort(dim=-1, descending=True, stable=True)
        return np.sort(order[:, :count].numpy(), axis=1)
