"""Algorithm 1 against numbers worked out by hand and against TorchRL."""

import warnings

import numpy as np
import pytest
import torch

from fedlib.errors import UsageError
from fedlib.rl import Ddpg, Mlp, Replay
from tests.rl.test_networks import as_sequential


def identity(x):
    return x


def linear_agents(**options):
    """Scalar state and action, no hidden layer: pi(s) = 0.5 s, Q(s, a) = 1 s + 2 a + 3.

    Targets: pi'(s) = 0.25 s + 1, Q'(s, a) = 4 s - 1 a.
    """
    ddpg = Ddpg(Mlp((1, 1)), Mlp((1, 1), action_size=1), identity, discount=0.5, **options)
    agent = ddpg.init([torch.Generator()])
    agent.policy[:] = torch.tensor([0.5, 0.0])
    agent.critic[:] = torch.tensor([1.0, 2.0, 3.0])
    agent.target_policy[:] = torch.tensor([0.25, 1.0])
    agent.target_critic[:] = torch.tensor([4.0, -1.0, 0.0])
    return ddpg, agent


class Halves:
    """A stream whose two draws lie in the first and in the second half of [0, 1)."""

    def random(self, shape):
        return np.broadcast_to([0.25, 0.75], shape)


def two_experiences():
    """(s, a, r, s') = (1, 2, 10, 4) and (0, 1, -1, 8)."""
    return Replay(
        torch.tensor([[[1.0], [0.0]]]),
        torch.tensor([[[2.0], [1.0]]]),
        torch.tensor([[10.0, -1.0]]),
        torch.tensor([[[4.0], [8.0]]]),
    )


def test_targets_by_hand():
    """pi'(4) = 2, Q'(4, 2) = 14, y = 10 + 7 = 17; pi'(8) = 3, Q'(8, 3) = 29, y = -1 + 14.5 = 13.5."""
    ddpg, agent = linear_agents()
    goal = ddpg.targets(agent, two_experiences())
    assert goal.tolist() == [[17.0, 13.5]]


def test_priorities_by_hand():
    """|17 - 8|, |13.5 - 5| (FEDDRL-A17)."""
    ddpg, agent = linear_agents()
    assert ddpg.priorities(agent, two_experiences()).tolist() == [[9.0, 8.5]]


def test_one_update_by_hand():
    """One step on both experiences. Adam's first step is rate * sign(gradient).

    Q(1, 2) = 8, Q(0, 1) = 5, y = 17 and 13.5: loss = (81 + 72.25) / 2 = 76.625.
    Critic gradient in (w_s, w_a, b): errors Q - y = -9, -8.5, so all negative: every weight + 0.1.
    Policy: -mean Q = -mean(1.1 s + 2.1 (w s + c) + 3.1), gradient (-1.05, -2.1): weights + 0.01.
    Targets with rho = 0.5: halfway to the new main networks.
    """
    ddpg, agent = linear_agents(critic_rate=0.1, policy_rate=0.01, rho=0.5)
    after, loss = ddpg.learn(agent, two_experiences(), [Halves()], batch_size=2)
    assert loss.item() == pytest.approx(76.625)
    assert after.steps == 1
    torch.testing.assert_close(after.critic, torch.tensor([[1.1, 2.1, 3.1]]))
    torch.testing.assert_close(after.policy, torch.tensor([[0.51, 0.01]]))
    torch.testing.assert_close(after.target_critic, torch.tensor([[2.55, 0.55, 1.55]]))
    torch.testing.assert_close(after.target_policy, torch.tensor([[0.38, 0.505]]))
    assert agent.critic.tolist() == [[1.0, 2.0, 3.0]], "the agent before is left as it was"


def test_weight_decay_of_the_critic():
    """Gradient 0 (rewards equal Q, discount 0) leaves the decay alone: a step against the weights."""
    ddpg = Ddpg(
        Mlp((1, 1)), Mlp((1, 1), action_size=1), identity, discount=0.0, critic_decay=0.1, critic_rate=0.01
    )
    agent = ddpg.init([torch.Generator()])
    agent.critic[:] = torch.tensor([1.0, 2.0, -3.0])
    at = Replay(torch.ones(1, 1, 1), torch.ones(1, 1, 1), torch.zeros(1, 1), torch.ones(1, 1, 1))
    after, _ = ddpg.learn(agent, at, [np.random.default_rng(0)], batch_size=1)
    torch.testing.assert_close(after.critic, torch.tensor([[0.99, 1.99, -2.99]]))


def random_world(replicas=1, count=12, seed=0):
    g = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.rand(*shape, generator=g)  # noqa: E731
    replay = Replay(
        draw(replicas, count, 6), draw(replicas, count, 4), draw(replicas, count), draw(replicas, count, 6)
    )
    ddpg = Ddpg(
        Mlp((6, 16, 16, 4), last_bound=None),
        Mlp((6, 16, 16, 1), action_size=4, last_bound=None),
        torch.sigmoid,
        critic_rate=1e-2,
        policy_rate=1e-2,
    )
    return ddpg, replay


def streams(count=1):
    return [np.random.default_rng(r) for r in range(count)]


def test_algorithm_1_is_torchrl_ddpg():
    """Three updates on the same mini-batches: TorchRL's DDPGLoss, its SoftUpdate and torch's Adam."""
    pytest.importorskip("torchrl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = _side_by_side(updates=3)
    for name, tensor in theirs.items():
        torch.testing.assert_close(getattr(ours, name)[0], tensor, rtol=1e-4, atol=1e-5, msg=name)


class _Joined(torch.nn.Module):
    """A critic that takes state and action as two inputs."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, state, action):
        return self.network(torch.cat([state, action], dim=-1))


def _side_by_side(updates):
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torchrl.modules import ValueOperator
    from torchrl.objectives import DDPGLoss, SoftUpdate, ValueEstimators

    ddpg, replay = random_world()
    agent = ddpg.init([torch.Generator().manual_seed(3)])
    picks = ddpg._sample(agent, replay, streams(), updates, 4)

    policy, critic = (
        as_sequential(ddpg.policy_network, agent.policy[0]),
        as_sequential(ddpg.critic_network, agent.critic[0]),
    )
    actor = TensorDictModule(
        torch.nn.Sequential(policy, torch.nn.Sigmoid()), in_keys=["observation"], out_keys=["action"]
    )
    value = ValueOperator(_Joined(critic), in_keys=["observation", "action"])
    loss = DDPGLoss(actor, value, loss_function="l2", delay_actor=True, delay_value=True)
    loss.make_value_estimator(ValueEstimators.TD0, gamma=ddpg.discount)
    soft = SoftUpdate(loss, tau=ddpg.rho)
    critic_step = torch.optim.Adam(loss.value_network_params.values(True, True), lr=ddpg.critic_rate)
    policy_step = torch.optim.Adam(loss.actor_network_params.values(True, True), lr=ddpg.policy_rate)
    for i in range(updates):
        batch = replay.take(picks[:, i])
        never = torch.zeros(4, 1, dtype=torch.bool)
        data = TensorDict(
            {
                "observation": batch.states[0],
                "action": batch.actions[0],
                "next": {
                    "observation": batch.next_states[0],
                    "reward": batch.rewards[0][:, None],
                    "done": never,
                    "terminated": never,
                },
            },
            batch_size=[4],
        )
        for part, optimizer in ((loss.loss_value, critic_step), (loss.loss_actor, policy_step)):
            optimizer.zero_grad()
            part(data.clone())[0].mean().backward()
            optimizer.step()
        soft.step()
    after, _ = ddpg.learn(agent, replay, streams(), batch_size=4, updates=updates)
    names = ("actor_network_params", "value_network_params")
    found = {}
    for name, short in zip(names, ("policy", "critic"), strict=True):
        found[short] = _flat(getattr(loss, name))
        found[f"target_{short}"] = _flat(getattr(loss, f"target_{name}"))
    return after, found


def _flat(params):
    """[P] in our order: by layer, weight transposed, then bias."""
    leaves = {
        ".".join(key) if isinstance(key, tuple) else key: v.detach() for key, v in params.items(True, True)
    }
    layers = sorted({key.rsplit(".", 1)[0] for key in leaves})
    parts = [(leaves[f"{layer}.weight"].t().flatten(), leaves[f"{layer}.bias"]) for layer in layers]
    return torch.cat([part for pair in parts for part in pair])


def test_replicas_learn_as_if_alone():
    ddpg, replay = random_world(replicas=3)
    generators = [torch.Generator().manual_seed(r) for r in range(3)]
    together, loss = ddpg.learn(ddpg.init(generators), replay, streams(3), batch_size=4)
    for r in range(3):
        alone = Replay(*(t[r : r + 1] for t in replay._fields))
        agent = ddpg.init([torch.Generator().manual_seed(r)])
        agent, own = ddpg.learn(agent, alone, [streams(3)[r]], batch_size=4)
        torch.testing.assert_close(together.policy[r], agent.policy[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(together.critic[r], agent.critic[0], rtol=1e-4, atol=1e-5)
        assert loss[r].item() == pytest.approx(own.item(), rel=1e-4)


def test_number_of_updates_is_one_pass_unless_said():
    ddpg, replay = random_world(count=11)
    agent = ddpg.init([torch.Generator()])
    assert ddpg.learn(agent, replay, streams(), batch_size=4)[0].steps == 2  # floor(11 / 4), FEDDRL-A19
    assert ddpg.learn(agent, replay, streams(), batch_size=4, updates=7)[0].steps == 7


def test_uniform_sampling_does_not_look_at_the_errors():
    ddpg, replay = random_world(count=50)
    ddpg = Ddpg(ddpg.policy_network, ddpg.critic_network, torch.sigmoid, sampling="uniform")
    picks = ddpg._sample(ddpg.init([torch.Generator()]), replay, [np.random.default_rng(0)], 2000, 4)
    counts = torch.bincount(picks.flatten(), minlength=50)
    assert (counts - 160).abs().max() < 5 * 160**0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": "sorted"}, "unknown sampling 'sorted'"),
        ({"discount": 1.5}, "discount=1.5 given; allowed: 0 to 1"),
        ({"rho": -0.1}, "rho=-0.1 given; allowed: 0 to 1"),
        ({"critic_rate": 0}, "critic_rate=0 given; allowed: above 0"),
        ({"critic_decay": -0.1}, "critic_decay=-0.1 given; allowed: 0 or more"),
    ],
)
def test_bad_settings_are_one_line(options, message):
    with pytest.raises(UsageError, match=message):
        Ddpg(Mlp((1, 1)), Mlp((1, 1), action_size=1), identity, **options)
