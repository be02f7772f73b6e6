"""Deep deterministic policy gradient (DDPG) with TD-error priorities, for R agents at once.

T. P. Lillicrap et al., "Continuous control with deep reinforcement learning", ICLR 2016,
https://arxiv.org/abs/1509.02971, Algorithm 1; and Algorithm 1 of

N. H. Nguyen et al., "FedDRL: Deep Reinforcement Learning-based Adaptive Aggregation for Non-IID
Data in Federated Learning", ICPP 2022, https://doi.org/10.1145/3545008.3545085.

Departures from FedDRL's text:

1. The priority is the TD error of the target networks' policy; as printed the next state is evaluated
   at the stored action (FEDDRL-A17).
2. rho weighs the main network in a soft update (FEDDRL-A16); the printed form is rho = 0.98.
3. Sorting is no sampling rule: draws are proportional to the priorities (FEDDRL-A18). Those of
   `sampling="uniform"` are DDPG's own rule and the FRL report's. Both are with replacement (FRL-A35).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.adam import adam

from fedlib.errors import check, check_name
from fedlib.processors import torch_threads
from fedlib.rl.networks import BETA_1, BETA_2, EPSILON, Layers, Mlp, soft_update_
from fedlib.rl.replay import Replay, sample_proportional
from fedlib.validation import check_fields

SAMPLINGS = ("proportional", "uniform")
VECTOR_WIDTH = 16  # float32 numbers of the widest vector register


@dataclass(frozen=True)
class Agent:
    """State of R agents: networks [R, P], their targets, Adam's moments [2, R, P]. Never changed in place.

    steps: updates made so far. `vars(agent)` is its plain form for a checkpoint.
    """

    policy: Tensor
    critic: Tensor
    target_policy: Tensor
    target_critic: Tensor
    policy_moments: Tensor
    critic_moments: Tensor
    steps: int = 0


@dataclass(frozen=True)
class Ddpg:
    """Networks and hyper-parameters of an agent; the defaults are FedDRL's table 1.

    head: what makes an action [R, B, A] of the policy network's outputs. critic_decay: L2 term
    of the critic's Adam (the FRL report: 0.1).
    """

    policy_network: Mlp
    critic_network: Mlp
    head: Callable[[Tensor], Tensor]
    policy_rate: float = 1e-4
    critic_rate: float = 1e-3
    critic_decay: float = 0.0
    discount: float = 0.99  # gamma
    rho: float = 0.02
    sampling: str = "proportional"

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("sampling", self.sampling, SAMPLINGS)
        for name in ("discount", "rho"):
            value = getattr(self, name)
            check(0 <= value <= 1, f"{name}={value} given; allowed: 0 to 1")
        for name in ("policy_rate", "critic_rate"):
            value = getattr(self, name)
            check(value > 0, f"{name}={value} given; allowed: above 0")
        check(self.critic_decay >= 0, f"critic_decay={self.critic_decay} given; allowed: 0 or more")

    def init(self, generators: Sequence[torch.Generator]) -> Agent:
        """Fresh agents, one per generator; the targets start as copies (Algorithm 2, line 1)."""
        drawn = [(self.policy_network.init(g), self.critic_network.init(g)) for g in generators]
        policy, critic = (torch.stack(networks) for networks in zip(*drawn, strict=True))
        zeros = [torch.zeros(2, *network.shape) for network in (policy, critic)]
        return Agent(policy, critic, policy.clone(), critic.clone(), *zeros)

    def act(self, policy: Tensor, states: Tensor) -> Tensor:
        """pi(s): actions [R, B, A] of policies [R, P] in states [R, B, S]."""
        return self.head(self.policy_network(policy, states))

    def value(self, critic: Tensor, states: Tensor, actions: Tensor) -> Tensor:
        """Q(s, a) [R, B]."""
        return self.critic_network(critic, states, actions).squeeze(2)

    @torch.no_grad()
    def targets(self, agent: Agent, batch: Replay) -> Tensor:
        """y = r + gamma Q'(s', pi'(s')) [R, B]; never terminal (FEDDRL-A22)."""
        policy = Layers(self.policy_network, agent.target_policy)
        return self.goals(policy, Layers(self.critic_network, agent.target_critic), batch)

    def goals(self, policy: Layers, critic: Layers, batch: Replay) -> Tensor:
        """`targets` of target networks that are laid out already."""
        following = self.head(policy.forward(batch.next_states)[0])
        value = critic.forward(batch.next_states, following)[0].squeeze(2)
        return batch.rewards + self.discount * value

    @torch.no_grad()
    def priorities(self, agent: Agent, replay: Replay) -> Tensor:
        """|delta| [R, n] of every experience (line 1; FEDDRL-A17)."""
        value = self.value(agent.critic, replay.states, replay.actions)
        return (self.targets(agent, replay) - value).abs()

    @torch_threads(1)
    def learn(
        self,
        agent: Agent,
        replay: Replay,
        streams: Sequence[np.random.Generator],
        *,
        batch_size: int,
        updates: int | None = None,
    ) -> tuple[Agent, Tensor]:
        """Algorithm 1: priorities of all of D, then `updates` steps on mini-batches drawn by them.

        streams: one per replica. updates: b, None for one pass, floor(n / batch_size)
        (FEDDRL-A19). Returns the agents after it and their mean critic loss [R].
        """
        updates = len(replay) // batch_size if updates is None else updates
        picks = self._sample(agent, replay, streams, updates, batch_size)  # lines 1, 2
        learner, total = Learner(self, agent), torch.zeros(len(agent.policy))
        for i in range(updates):
            total += learner.update(replay.take(picks[:, i]))  # lines 4 to 9
        return learner.agent, total / max(updates, 1)

    def _sample(
        self,
        agent: Agent,
        replay: Replay,
        streams: Sequence[np.random.Generator],
        updates: int,
        batch_size: int,
    ) -> Tensor:
        """[R, updates, batch_size] which experiences each update sees."""
        equal = self.sampling == "uniform"
        priorities = torch.ones_like(replay.rewards) if equal else self.priorities(agent, replay)
        uniforms = np.stack([stream.random((updates, batch_size)) for stream in streams])
        return sample_proportional(priorities, torch.from_numpy(uniforms))


class _Network:
    """A main network that is trained, with its target and Adam's moments, on padded copies [R, P + padding].

    Adam is torch's fused kernel, on one thread up to four times as fast as `networks.adam_`, whose last
    digits the other agents' results have (benchmarks/NOTES.md, notes 40 and 43). It takes `VECTOR_WIDTH`
    numbers at once and rounds those that are left over otherwise; with rows of a multiple of it none is, and
    an agent's digits are the same in any stack.
    """

    def __init__(self, network: Mlp, flat: Tensor, target: Tensor, moments: Tensor) -> None:
        self.network = network
        self.flat, self.target_flat, self.moments = map(_padded, (flat, target, moments))
        self.gradient = torch.zeros_like(self.flat)
        self.main, self.target = Layers(network, self.flat), Layers(network, self.target_flat)
        self.gradients = Layers(network, self.gradient)

    def descend(self, rate: float, step: int, decay: float = 0.0) -> None:
        """Take a step of Adam on `gradient`, with an L2 term."""
        (first, second), before = self.moments, torch.tensor(float(step - 1))
        adam(
            [self.flat], [self.gradient], [first], [second], [], [before], fused=True, amsgrad=False,
            beta1=BETA_1, beta2=BETA_2, lr=rate, weight_decay=decay, eps=EPSILON, maximize=False,
        )  # fmt: skip

    def follow(self, rho: float) -> None:
        """The target's soft update."""
        soft_update_(self.target_flat, self.flat, rho)

    def unpadded(self) -> tuple[Tensor, Tensor, Tensor]:
        """Copies of the network [R, P], its target and Adam's moments [2, R, P]."""
        size = self.network.parameters
        flat, target, moments = (x[..., :size].clone() for x in (self.flat, self.target_flat, self.moments))
        return flat, target, moments


def _padded(flat: Tensor) -> Tensor:
    """A copy whose rows end in zeros, up to a multiple of `VECTOR_WIDTH`."""
    return F.pad(flat, (0, -flat.shape[-1] % VECTOR_WIDTH)).contiguous()


class Learner:
    """Lines 5 to 9 of Algorithm 1 for R agents; steps: made so far."""

    def __init__(self, ddpg: Ddpg, agent: Agent) -> None:
        self.ddpg, self.steps = ddpg, agent.steps
        self.policy = _Network(ddpg.policy_network, agent.policy, agent.target_policy, agent.policy_moments)
        self.critic = _Network(ddpg.critic_network, agent.critic, agent.target_critic, agent.critic_moments)

    @property
    def agent(self) -> Agent:
        """The agents as they are now, on memory of their own."""
        policy, target_policy, policy_moments = self.policy.unpadded()
        critic, target_critic, critic_moments = self.critic.unpadded()
        return Agent(policy, critic, target_policy, target_critic, policy_moments, critic_moments, self.steps)

    @torch.no_grad()
    def update(self, batch: Replay) -> Tensor:
        """Update on a mini-batch of B experiences; return the critic loss [R] before it."""
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
