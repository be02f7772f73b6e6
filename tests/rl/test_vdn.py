"""VDN: Q_tot by hand, one agent against DQN in NumPy and in TorchRL, a matrix game with a known optimum."""

import numpy as np
import pytest
import torch
from tensordict import TensorDict
from torch import nn
from torchrl.modules import QValueActor
from torchrl.objectives import DQNLoss, HardUpdate, ValueEstimators

from fedlib import seeds
from fedlib.errors import UsageError
from fedlib.rl.dqn import DoubleDqn
from fedlib.rl.vdn import Transitions, Vdn, keep_two


def streams(replicas, *names):
    return [seeds.rng(r, *names) for r in range(replicas)]


def make_team(vdn, replicas):
    return vdn.init([seeds.torch_generator(r, "vdn") for r in range(replicas)])


def random_memory(replicas, count, agents, state_size, actions):
    rng = seeds.rng(0, "memory")
    memory = Transitions.empty(replicas, agents, state_size)
    for i in range(count):
        states = torch.from_numpy(rng.normal(size=(2, replicas, agents, state_size))).float()
        chosen = torch.from_numpy(rng.integers(actions, size=(replicas, agents)))
        rewards = torch.from_numpy(rng.normal(size=replicas)).float()
        memory = memory.add(states[0], chosen, rewards, states[1], done=i % 4 == 3, capacity=300)
    return memory


def test_the_papers_networks_have_the_papers_size():
    assert Vdn().net.parameters == 69_122
    assert Vdn(sizes=(10, 256, 256, 3)).net.parameters == 69_379


def test_total_and_target_by_hand():
    """One layer, Q(s, 0) = 2 s + 1, Q(s, 1) = -s; target Q'(s, 0) = s, Q'(s, 1) = 3.

    s = (1, -2), a = (0, 1): Q_tot = 3 + 2 = 5. s' = (4, 1): max Q' = 4 and 3, sum 7;
    y = 0.5 + 0.9 * 7 = 6.8, at the episode's end 0.5; losses (6.8 - 5)^2 = 3.24 and 4.5^2 = 20.25.
    """
    vdn = Vdn(sizes=(1, 2), gamma=0.9, batch_size=1)
    team = make_team(vdn, 1)
    network = torch.tensor([[2.0, -1.0, 1.0, 0.0]])  # weights, then biases
    team = type(team)(network, torch.tensor([[1.0, 0.0, 0.0, 3.0]]), team.moments)
    state, following = torch.tensor([[[1.0], [-2.0]]]), torch.tensor([[[4.0], [1.0]]])
    memory = Transitions.empty(1, 2, 1)
    for done in (False, True):
        memory = memory.add(
            state, torch.tensor([[0, 1]]), torch.tensor([0.5]), following, done=done, capacity=9
        )
    torch.testing.assert_close(vdn.total(network, memory.states, memory.actions), torch.tensor([[5.0, 5.0]]))
    goal = vdn.targets(team, memory)
    torch.testing.assert_close(goal, torch.tensor([[6.8, 0.5]]))
    torch.testing.assert_close(vdn.loss(network, memory, goal), torch.tensor([(3.24 + 20.25) / 2]))


def test_one_agent_is_dqn():
    """With K = 1, Q_tot is Q: one learning step equals DQN's, worked in NumPy.

    Network q = W2' relu(W1' s + b1) + b2; with d = 2 (q_a - y) / B at the chosen action:
    dW2 = h d', db2 = d, dh = W2 d where h > 0, dW1 = s dh', db1 = dh. The first step of Adam
    moves every parameter by lr * g / (|g| + 1e-8).
    """
    vdn = Vdn(sizes=(3, 8, 4), batch_size=16, rate=0.01)
    team, memory = make_team(vdn, 1), random_memory(1, 40, 1, 3, 4)
    after, loss = vdn.learn(team, memory, streams(1, "pick"))

    flat = team.network[0].double().numpy()
    w1, b1, w2, b2 = np.split(flat, np.cumsum([24, 8, 32]))
    w1, w2 = w1.reshape(3, 8), w2.reshape(8, 4)
    pick = seeds.rng(0, "pick").choice(40, 16, replace=False)
    s, s_next = (t[0, pick, 0].double().numpy() for t in (memory.states, memory.next_states))
    action, reward, done = (t[0, pick].numpy() for t in (memory.actions, memory.rewards, memory.done))
    hidden = np.maximum(s @ w1 + b1, 0)
    q = (hidden @ w2 + b2)[np.arange(16), action[:, 0]]
    best = (np.maximum(s_next @ w1 + b1, 0) @ w2 + b2).max(axis=1)  # the target is still the network
    y = reward + 0.99 * (1 - done) * best
    np.testing.assert_allclose(loss[0], np.mean((y - q) ** 2), rtol=1e-5)
    d = np.zeros((16, 4))
    d[np.arange(16), action[:, 0]] = 2 * (q - y) / 16
    dh = (d @ w2.T) * (hidden > 0)
    gradient = np.concatenate([(s.T @ dh).ravel(), dh.sum(0), (hidden.T @ d).ravel(), d.sum(0)])
    expected = flat - 0.01 * gradient / (np.abs(gradient) + 1e-8)
    clear = np.abs(gradient) > 1e-5
    assert clear.sum() > 50
    np.testing.assert_allclose(after.network[0].numpy()[clear], expected[clear], atol=2e-5)


def test_one_agent_is_dqn_of_torchrl():
    """Twelve steps of TorchRL's DQN with Adam, its target copied every five, on the same mini-batches."""
    vdn = Vdn(sizes=(3, 8, 4), batch_size=16, rate=0.01)
    team, memory = make_team(vdn, 1), random_memory(1, 40, 1, 3, 4)
    network = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
    load(network, team.network[0])
    actor = QValueActor(network, in_keys=["observation"], action_space="categorical")
    dqn = DQNLoss(actor, action_space="categorical", loss_function="l2", delay_value=True)
    dqn.make_value_estimator(ValueEstimators.TD0, gamma=0.99)
    copy_target = HardUpdate(dqn, value_network_update_interval=0)  # at every call
    optimizer = torch.optim.Adam(dqn.parameters(), lr=0.01)
    ours, theirs, start = streams(1, "pick"), seeds.rng(0, "pick"), team.network
    for step in range(1, 13):
        team, loss = vdn.learn(team, memory, ours)
        batch = transitions(memory, theirs.choice(40, 16, replace=False))
        expected = dqn(batch)["loss"]
        torch.testing.assert_close(loss[0], expected.detach(), rtol=1e-4, atol=1e-6)
        optimizer.zero_grad()
        expected.backward()
        optimizer.step()
        if step % 5 == 0:
            copy_target.step()
    learned = torch.cat([dqn.value_network_params[key].flatten() for key in order(dqn)]).detach()
    torch.testing.assert_close(learned, rows_first(team.network[0]), rtol=1e-3, atol=1e-4)
    assert (team.network - start).abs().max() > 0.05


def rows_first(flat):
    """Our flat network with weights as nn.Linear has them, [out, in]."""
    w1, b1, w2, b2 = flat.split([24, 8, 32, 4])
    return torch.cat([w1.view(3, 8).T.flatten(), b1, w2.view(8, 4).T.flatten(), b2])


def load(network, flat):
    with torch.no_grad():
        nn.utils.vector_to_parameters(rows_first(flat), network.parameters())


def order(dqn):
    """Keys of TorchRL's parameters: first layer's weight and bias, then the second's."""
    keys = [k for k in dqn.value_network_params.keys(True, True) if k[-1] in ("weight", "bias")]
    return sorted(keys, key=lambda key: (key[:-1], key[-1] == "bias"))


def transitions(memory, pick):
    """Transitions of one agent as TorchRL takes them."""
    done = memory.done[0, pick].bool()[:, None]
    following = {"observation": memory.next_states[0, pick, 0], "reward": memory.rewards[0, pick][:, None]}
    return TensorDict(
        {"observation": memory.states[0, pick, 0], "action": memory.actions[0, pick, 0],
         "next": {**following, "done": done, "terminated": done}},
        [len(pick)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("game", "additive"),
    [
        ([[5.0, 2.0, 8.0], [1.0, -2.0, 4.0], [3.0, 0.0, 6.0]], True),  # (4, 0, 2) + (1, -2, 4)
        ([[0.0, 1.0, 2.0], [1.0, 3.0, 4.0], [2.0, 4.0, 9.0]], False),
    ],
)
def test_a_cooperative_matrix_game_is_solved(game, additive):
    """Two agents see only who they are; the optimum is (0, 2), worth 8, and (2, 2), worth 9.

    An additive pay-off is a Q_tot that VDN can hold: it is met in all nine entries.
    """
    game, replicas = np.array(game), 2
    vdn = Vdn(sizes=(2, 32, 3), rate=0.01, epsilon_end=1.0)
    team, memory = make_team(vdn, replicas), Transitions.empty(replicas, 2, 2)
    states = torch.eye(2).expand(replicas, 2, 2)
    for i in range(400):
        actions = vdn.act(team, states, vdn.epsilon(i), streams(replicas, "act", i))
        pay = torch.tensor(game[tuple(actions.T.numpy())]).float()
        memory = memory.add(states, actions, pay, states, done=True, capacity=vdn.capacity)
        team, _ = vdn.learn(team, memory, streams(replicas, "pick", i))
    best = vdn.act(team, states, 0.0, streams(replicas, "act"))
    optimum = np.unravel_index(game.argmax(), game.shape)
    assert best.tolist() == [[int(a) for a in optimum]] * replicas
    if additive:
        joint = torch.cartesian_prod(torch.arange(3), torch.arange(3)).expand(replicas, 9, 2)
        totals = vdn.total(team.network, states.unsqueeze(1).expand(replicas, 9, 2, 2), joint)
        torch.testing.assert_close(
            totals, torch.tensor(game).float().flatten().expand(2, 9), atol=0.3, rtol=0
        )


def test_targets_follow_every_fifth_step_and_learning_waits_for_a_mini_batch():
    vdn = Vdn(sizes=(3, 8, 4))
    team = make_team(vdn, 2)
    same, loss = vdn.learn(team, random_memory(2, 31, 2, 3, 4), streams(2, 0))
    assert same is team
    assert loss.isnan().all()
    memory, start = random_memory(2, 32, 2, 3, 4), team.target
    for step in range(1, 6):
        before, team = team, vdn.learn(team, memory, streams(2, step))[0]
        assert not torch.equal(before.network, team.network)
        assert torch.equal(team.target, team.network if step == 5 else start)


def test_replicas_learn_as_if_alone_and_old_states_stay():
    vdn = Vdn(sizes=(3, 8, 4))
    both, memory = make_team(vdn, 2), random_memory(2, 40, 2, 3, 4)
    kept = both.network.clone()
    together, _ = vdn.learn(both, memory, streams(2, "x"))
    second = type(both)(both.network[1:], both.target[1:], both.moments[:, 1:])
    alone, _ = vdn.learn(second, Transitions(*(t[1:] for t in vars(memory).values())), [seeds.rng(1, "x")])
    torch.testing.assert_close(alone.network[0], together.network[1])
    assert torch.equal(both.network, kept)


def test_memory_keeps_the_last_300():
    memory = random_memory(1, 303, 1, 1, 2)
    assert len(memory) == 300
    assert torch.equal(memory.done[0, :4], torch.tensor([1.0, 0, 0, 0]))  # 3 of the 303 are gone


def test_epsilon_schedule_by_hand():
    vdn = Vdn()
    assert [vdn.epsilon(r) for r in (0, 300, 600, 900)] == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_exploration_is_uniform_and_greed_is_the_best_value():
    vdn, states = Vdn(sizes=(3, 8, 4)), torch.randn(1, 4000, 3, generator=torch.Generator().manual_seed(0))
    team = make_team(vdn, 1)
    greedy = vdn.act(team, states, 0.0, streams(1, "a"))
    assert torch.equal(greedy, vdn.values(team.network, states).argmax(-1))
    half = vdn.act(team, states, 0.5, streams(1, "a"))
    assert (half == greedy).float().mean() == pytest.approx(0.5 + 0.5 / 4, abs=0.025)


def test_dropping_everyone_keeps_the_two_with_the_largest_advantage():
    """Q(1) - Q(0) = (-3, -1, -2, -1.5): slots 1 and 3; slot 0 kept by chance: 0 and 1 (FEDDDRL-A25)."""
    values = torch.tensor([[3.0, 0.0], [0.0, -1.0], [2.0, 0.0], [1.0, -0.5]]).expand(4, 4, 2)
    actions = torch.tensor([[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]])
    kept = keep_two(actions, values)
    assert kept.tolist() == [[0, 1, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]


def test_bad_input_is_one_line():
    with pytest.raises(UsageError, match="1 clients selected; allowed: 2 or more"):
        keep_two(torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, 1, 2))
    with pytest.raises(UsageError, match=r"batch_size=400 given for a VDN; allowed: 1 to capacity=300"):
        Vdn(batch_size=400)
    with pytest.raises(UsageError, match=r"gamma=1\.5 given for a VDN"):
        Vdn(gamma=1.5)
    with pytest.raises(UsageError, match="rate=0 given for a VDN; allowed: above 0"):
        Vdn(rate=0)
    with pytest.raises(UsageError, match=r"epsilon_start=5\.0 given for a VDN; allowed: 0 to 1"):
        Vdn(epsilon_start=5.0)
    with pytest.raises(UsageError, match=r"sizes=\(\) given for a VDN; allowed: two or more"):
        Vdn(sizes=())
    dqn = DoubleDqn(sizes=(2, 3), batch_size=1)
    network = dqn.init([torch.Generator().manual_seed(0)]).network
    assert dqn.best(network, torch.zeros(1, 1, 2), 3).tolist() == [[0, 1, 2]]
    for count in (0, 4, -1):
        with pytest.raises(UsageError, match=f"count={count} given; allowed: 1 to 3, the actions"):
            dqn.best(network, torch.zeros(1, 1, 2), count)
    for name in ("target_every", "epsilon_rounds"):
        with pytest.raises(UsageError, match=f"{name}=0 given for a VDN; allowed: 1 or more"):
            Vdn(**{name: 0})
    memory, states = Transitions.empty(1, 2, 3), torch.zeros(1, 2, 3)
    actions = torch.zeros(1, 2, dtype=torch.int64)
    with pytest.raises(UsageError, match="capacity=0 given for transitions; allowed: 1 or more"):
        memory.add(states, actions, torch.zeros(1), states, done=False, capacity=0)
