"""The written-out update against autograd's, whose losses are the two lines of the paper."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from fedlib.rl import Ddpg, Mlp, Replay
from fedlib.rl.ddpg import VECTOR_WIDTH, Agent, Learner
from fedlib.rl.networks import adam_, soft_update_


def autograd_update(ddpg, agent, batch):
    """Lines 5 to 9 as they read: losses, their gradients by autograd, Adam, soft updates."""
    step = agent.steps + 1
    goal = ddpg.targets(agent, batch)
    critic, policy = (flat.clone().requires_grad_() for flat in (agent.critic, agent.policy))
    loss = (ddpg.value(critic, batch.states, batch.actions) - goal).square().mean(dim=1)
    (gradient,) = torch.autograd.grad(loss.sum(), critic)
    gradient = gradient + ddpg.critic_decay * agent.critic
    adam_(agent.critic, agent.critic_moments, gradient, rate=ddpg.critic_rate, step=step)
    regret = -ddpg.value(agent.critic, batch.states, ddpg.act(policy, batch.states)).mean(dim=1)
    (gradient,) = torch.autograd.grad(regret.sum(), policy)
    adam_(agent.policy, agent.policy_moments, gradient, rate=ddpg.policy_rate, step=step)
    soft_update_(agent.target_critic, agent.critic, ddpg.rho)
    soft_update_(agent.target_policy, agent.policy, ddpg.rho)
    object.__setattr__(agent, "steps", step)
    return loss.detach()


def head(outputs):
    """One that mixes its inputs, as FedDRL's does."""
    u, v = outputs.chunk(2, dim=-1)
    return torch.cat([u.sigmoid(), 0.1 * u.sigmoid() * v.sigmoid()], dim=-1)


CRITICS = {
    "feddrl": Mlp((6, 32, 32, 1), action_size=4),
    "frl": Mlp((6, 32, 32, 16, 1), slope=0.0, action_size=4, action_layer=2, last_bound=None),
    "last layer": Mlp((6, 32, 1), action_size=4, action_layer=1, last_bound=None),
}


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("size", [4, 5])
@pytest.mark.parametrize("critic", CRITICS)
def test_updates_are_those_of_autograd(critic, size, replicas):
    ddpg = Ddpg(
        Mlp((6, 32, 32, 4), last_bound=None), CRITICS[critic], head, policy_rate=1e-2, critic_rate=1e-2,
        critic_decay=0.1 if critic == "frl" else 0.0, rho=0.3,
    )  # fmt: skip
    ours = ddpg.init([torch.Generator().manual_seed(r) for r in range(replicas)])
    theirs, learner = deepcopy(ours), Learner(ddpg, ours)
    g = torch.Generator().manual_seed(7)
    for _ in range(5):
        shapes = ((size, 6), (size, 4), (size,), (size, 6))
        batch = Replay(*(torch.rand(replicas, *shape, generator=g) for shape in shapes))
        loss, expected = learner.update(batch), autograd_update(ddpg, theirs, batch)
        torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-8)
    assert learner.agent.steps == theirs.steps == 5
    for name, tensor in vars(learner.agent).items():
        if isinstance(tensor, torch.Tensor):
            # Adam's first steps turn a gradient's rounding into up to 7e-7; 0.001 of rho makes 1e-4
            torch.testing.assert_close(tensor, getattr(theirs, name), rtol=1e-4, atol=5e-6, msg=name)


def test_an_agents_digits_are_the_same_in_any_stack():
    """Also where its parameters, 103 and 85, are no multiple of a vector register's."""
    ddpg = Ddpg(Mlp((6, 9, 4)), Mlp((6, 7, 1), action_size=4), head)
    assert [one.parameters % VECTOR_WIDTH for one in (ddpg.policy_network, ddpg.critic_network)] == [7, 5]
    several = ddpg.init([torch.Generator().manual_seed(r) for r in range(5)])
    g = torch.Generator().manual_seed(7)
    replay = Replay(*(torch.rand(5, 40, *s, generator=g) for s in ((6,), (4,), (), (6,))))

    def learned(count):
        streams = [np.random.default_rng(r) for r in range(count)]
        own = Agent(**{name: one[..., :count, :] for name, one in vars(several).items() if name != "steps"})
        some = Replay(*(one[:count] for one in vars(replay).values()))
        return ddpg.learn(own, some, streams, batch_size=4)[0]

    both, stacked = learned(2), learned(5)
    assert both.steps == stacked.steps == 10
    for name in ("policy", "critic", "target_policy", "target_critic", "policy_moments", "critic_moments"):
        assert torch.equal(getattr(both, name), getattr(stacked, name)[..., :2, :]), name
    assert not torch.equal(several.policy, stacked.policy)


def test_learning_takes_no_gradients_through_what_is_stored():
    ddpg = Ddpg(Mlp((6, 8, 4)), CRITICS["feddrl"], head)
    agent = ddpg.init([torch.Generator()])
    replay = Replay(*(torch.rand(1, 8, *s) for s in ((6,), (4,), (), (6,))))
    after, loss = ddpg.learn(agent, replay, [np.random.default_rng(0)], batch_size=4)
    assert not any(t.requires_grad for t in (*vars(after).values(), loss) if isinstance(t, torch.Tensor))
