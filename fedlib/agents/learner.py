"""Lines 5 to 9 of FedDRL's Algorithm 1 for R agents, in place on their tensors."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fedlib.agents.layers import Layers
from fedlib.agents.networks import Mlp, adam_, soft_update_
from fedlib.agents.replay import Replay

if TYPE_CHECKING:
    from fedlib.agents.ddpg import Agent, Ddpg


class _Network:
    """A main network that is trained, with its target: parameters [R, P], gradient and scratch memory."""

    def __init__(self, network: Mlp, flat: Tensor, target: Tensor, moments: Tensor) -> None:
        self.flat, self.moments, self.target_flat = flat, moments, target
        self.gradient, self.scratch = torch.empty_like(flat), torch.empty_like(flat)
        self.main, self.target = Layers(network, flat), Layers(network, target)
        self.gradients = Layers(network, self.gradient)

    def descend(self, rate: float, step: int, decay: float = 0.0) -> None:
        """One step of Adam on `gradient`, with an L2 term."""
        if decay:
            self.gradient.add_(self.flat, alpha=decay)
        adam_(self.flat, self.moments, self.gradient, rate=rate, step=step, scratch=self.scratch)

    def follow(self, rho: float) -> None:
        """The target's soft update."""
        soft_update_(self.target_flat, self.flat, rho)


class Learner:
    """Updates of `agent`, whose tensors change; steps: made so far."""

    def __init__(self, ddpg: "Ddpg", agent: "Agent") -> None:
        self.ddpg, self.steps = ddpg, agent.steps
        self.policy = _Network(ddpg.policy_network, agent.policy, agent.target_policy, agent.policy_moments)
        self.critic = _Network(ddpg.critic_network, agent.critic, agent.target_critic, agent.critic_moments)

    @torch.no_grad()
    def update(self, batch: Replay) -> Tensor:
        """One update on a mini-batch of B experiences; the critic loss [R] before it."""
        self.steps += 1
        loss = self._train_critic(batch)  # lines 5, 6
        self._train_policy(batch)  # line 7
        self.critic.follow(self.ddpg.rho)  # line 8
        self.policy.follow(self.ddpg.rho)
        return loss

    def _train_critic(self, batch: Replay) -> Tensor:
        """A step down (1/B) sum (Q(s, a) - y)^2, whose gradient by Q is 2 (Q - y) / B."""
        goal = self.ddpg.goals(self.policy.target, self.critic.target, batch).unsqueeze(2)  # line 5
        value, trace = self.critic.main.forward(batch.states, batch.actions)
        error = value - goal
        self.critic.main.parameter_gradients(trace, 2 * error * (1 / len(batch)), self.critic.gradients)
        self.critic.descend(self.ddpg.critic_rate, self.steps, self.ddpg.critic_decay)
        return error.square().mean(dim=(1, 2))

    def _train_policy(self, batch: Replay) -> None:
        """A step down -(1/B) sum Q(s, pi(s)): through the critic to the action, from there to pi."""
        outputs, trace = self.policy.main.forward(batch.states)
        with torch.enable_grad():
            action = self.ddpg.head(outputs.requires_grad_())
        value, through = self.critic.main.forward(batch.states, action.detach())
        by_action = self.critic.main.action_gradient(through, torch.full_like(value, -1 / len(batch)))
        (by_outputs,) = torch.autograd.grad(action, outputs, by_action)
        self.policy.main.parameter_gradients(trace, by_outputs, self.policy.gradients)
        self.policy.descend(self.ddpg.policy_rate, self.steps)
