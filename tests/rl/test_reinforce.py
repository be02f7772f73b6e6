"""REINFORCE: the policy gradient by hand and by autograd, likelihood, moving batch, a bandit."""

from itertools import product

import pytest
import torch

from fedlib import seeds
from fedlib.errors import UsageError
from fedlib.rl.reinforce import MAX_REDRAWS, MovingBatch, Reinforce, subtract_moving_average


def make_agent(rule, replicas=1):
    return rule.init([seeds.torch_generator(r, "reinforce") for r in range(replicas)])


def streams(replicas, *names):
    return [seeds.rng(r, *names) for r in range(replicas)]


def actions_of(selected):
    selected = torch.as_tensor(selected, dtype=torch.float32)
    return torch.stack([selected, 1 - selected], dim=-1)


@pytest.mark.parametrize(("workers", "parameters"), [(20, 109_608), (100, 150_728)])
def test_the_reports_networks_have_the_reports_size(workers, parameters):
    assert make_agent(Reinforce(workers)).network.shape == (1, parameters)


def test_gradient_of_two_workers_by_hand():
    """Towers without hidden layers and with zero weights: p = 1/2 for both workers.

    The select tower's output is z_j = sum_i S_i W_ij + b_j and log p_j = z_j - log(e^z_j + 1), so
    d log P / d z = a - p, for the discard tower p - a. One round with S = (1, 3), a = (1, 0) and
    R = 2: d / db = 2 (1/2, -1/2) = (1, -1) and d / dW_ij = S_i d/db_j = ((1, -1), (3, -3)).
    """
    rule = Reinforce(2, hidden=(), batch_rounds=1)
    network = torch.zeros(1, 2 * (4 + 2), requires_grad=True)
    batch = MovingBatch(torch.tensor([[[1.0, 3.0]]]), actions_of([[[1, 0]]]), torch.tensor([[2.0]]))
    (gradient,) = torch.autograd.grad(rule.objective(network, batch).sum(), network)
    select = torch.tensor([1.0, -1.0, 3.0, -3.0, 1.0, -1.0])
    torch.testing.assert_close(gradient[0], torch.cat([select, -select]))
    agent = rule.learn(type(make_agent(rule))(network.detach(), torch.zeros(2, 1, 12)), batch)
    torch.testing.assert_close(agent.network, 1e-3 * gradient.sign(), rtol=1e-5, atol=1e-8)  # ascent


def test_gradient_is_that_of_the_printed_likelihood():
    """F4 written as printed, with an nn.Module network, and F5's double sum."""
    rule = Reinforce(3, hidden=(5,))
    agent = make_agent(rule)
    generator = torch.Generator().manual_seed(1)
    states, rewards = torch.rand(1, 3, 3, generator=generator), torch.tensor([[1.0, -2.0, 0.5]])
    selected = torch.tensor([[[1.0, 0, 1], [0, 0, 1], [1, 1, 0]]])
    batch = MovingBatch(states, actions_of(selected), rewards)
    network = agent.network.clone().requires_grad_()
    (ours,) = torch.autograd.grad(rule.objective(network, batch).sum(), network)

    modules = [
        torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)) for _ in "12"
    ]
    for module, flat in zip(modules, agent.network[0].chunk(2), strict=True):
        w1, b1, w2, b2 = flat.split([15, 5, 15, 3])
        values = {"0.weight": w1.view(3, 5).T, "0.bias": b1, "2.weight": w2.view(5, 3).T, "2.bias": b2}
        module.load_state_dict(values)
    p = torch.softmax(torch.stack([module(states[0]) for module in modules], dim=-1), dim=-1)[..., 0]
    likelihood = (p ** selected[0] * (1 - p) ** (1 - selected[0])).prod(dim=1)
    total = sum(
        likelihood[first].log() * sum(0.99 ** (t - first) * rewards[0, t] for t in range(first, 3))
        for first in range(3)
    )
    (total / 3).backward()
    theirs = [
        part
        for module in modules
        for part in (
            module[0].weight.grad.T,
            module[0].bias.grad,
            module[2].weight.grad.T,
            module[2].bias.grad,
        )
    ]
    torch.testing.assert_close(ours[0], torch.cat([part.flatten() for part in theirs]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_likelihood_sums_to_one_over_all_actions(workers):
    rule = Reinforce(workers)
    every = actions_of(list(product([0, 1], repeat=workers))).unsqueeze(0)
    states = torch.rand(1, 1, workers).expand(1, every.shape[1], workers)
    total = rule.log_likelihood(make_agent(rule).network, states, every).exp().sum()
    torch.testing.assert_close(total, torch.tensor(1.0))


def test_the_code_draws_both_columns_and_counts_what_they_chose():
    """p = 1/2 everywhere: every chosen entry is a factor of 1/2."""
    rule = Reinforce(2, hidden=(), likelihood="code")
    every = torch.tensor(list(product([0.0, 1.0], repeat=4))).view(1, 16, 2, 2)
    logs = rule.log_likelihood(torch.zeros(1, 12), torch.ones(1, 16, 2), every)
    torch.testing.assert_close(logs.exp(), 0.5 ** every.sum(dim=(-2, -1)))
    drawn = [rule.draw(make_agent(rule), torch.ones(1, 2), streams(1, i)).action[0] for i in range(40)]
    columns = torch.stack(drawn)
    assert (columns[..., 0] == columns[..., 1]).any()  # independent draws may both say yes


def test_reward_to_go_and_moving_average_by_hand():
    """gamma = 0.5, R = (1, 2, 4): (1 + 1 + 1, 2 + 2, 4). Rhat = 0.5, 0.7: R = 0.5, then 0.7 - 0.45."""
    rewards = torch.tensor([[1.0, 2.0, 4.0]])
    assert Reinforce(2, gamma=0.5).weights(rewards).tolist() == [[3.0, 4.0, 4.0]]
    assert Reinforce(2, gamma=0.5, returns="immediate").weights(rewards).tolist() == [[1.0, 2.0, 4.0]]
    first, delta = subtract_moving_average(torch.tensor([0.5]), torch.zeros(1))
    second, after = subtract_moving_average(torch.tensor([0.7]), delta)
    assert [float(x) for x in (first, delta, second, after)] == pytest.approx([0.5, 0.45, 0.25, 0.675])
    _, slow = subtract_moving_average(torch.tensor([0.5]), torch.zeros(1), new_weight=0.1)
    assert float(slow) == pytest.approx(0.05)


def test_moving_batch_overlaps_and_learning_starts_when_it_is_full():
    """With B_a = 3 the fourth round's batch is rounds 1, 2, 3 (the report's figure 7)."""
    rule = Reinforce(2)
    agent, batch = make_agent(rule), MovingBatch.empty(1, 2)
    for t in range(4):
        before = batch
        batch = batch.add(torch.full((1, 2), float(t)), actions_of([[1, 0]]), torch.tensor([t + 1.0]), size=3)
        learned = rule.learn(agent, batch)
        assert (learned is agent) == (t < 2)
    assert batch.rewards.tolist() == [[2.0, 3.0, 4.0]]
    assert batch.states[0, :, 0].tolist() == [1.0, 2.0, 3.0]
    assert before.rewards.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("sign", [1, -1])
def test_bandit_with_known_good_workers(sign):
    """Workers 0 to 4 of 10 are worth 0.9, the others 0.3; the reward is the mean of the selected.

    Any set of good workers is optimal, so the bad ones must go and the good ones stay likely; with
    the reward's sign flipped it is the other way round.
    """
    rule, replicas = Reinforce(10, hidden=(32,), rate=5e-3), 2
    worth = torch.tensor([0.9] * 5 + [0.3] * 5)
    agent, states = make_agent(rule, replicas), worth.expand(replicas, 10)
    batch, delta = MovingBatch.empty(replicas, 10), torch.zeros(replicas)
    for t in range(200):
        draw = rule.draw(agent, states, streams(replicas, "draw", t))
        value = (draw.selected * worth).sum(dim=1) / draw.selected.sum(dim=1)
        reward, delta = subtract_moving_average(value, delta)
        batch = batch.add(states, draw.action, sign * reward, size=3)
        agent = rule.learn(agent, batch)
    chances = rule.log_probabilities(agent.network, states.unsqueeze(1)).exp()[:, 0, :, 0]
    good, bad = chances[:, :5].mean(dim=1), chances[:, 5:].mean(dim=1)
    wanted, unwanted = (good, bad) if sign == 1 else (bad, good)
    assert (wanted > 0.5).all()
    assert (unwanted < 0.1).all()


def test_too_few_selected_is_drawn_again_and_never_stalls():
    """k = 20: more than 2 workers. Select scores of -1.39 (p = 0.2) are redrawn at times, -30 always."""
    rule = Reinforce(20, hidden=())
    agent = make_agent(rule)
    network = torch.zeros_like(agent.network)
    network[:, 400:420] = -1.39
    some = [
        rule.draw(type(agent)(network, agent.moments), torch.ones(1, 20), streams(1, i)) for i in range(50)
    ]
    assert all(draw.selected.sum() >= 3 for draw in some)
    # binomial: P(at most 2 of 20 at p = 0.2) = 0.206
    assert 0.05 < sum(draw.redraws[0] > 0 for draw in some) / 50 < 0.4
    network[:, 400:420] = -30.0
    network[:, 405] = -29.0
    stuck = rule.draw(type(agent)(network, agent.moments), torch.ones(1, 20), streams(1, "stuck"))
    assert stuck.redraws == [MAX_REDRAWS]
    assert stuck.selected[0].nonzero().flatten().tolist() == [0, 1, 5]


def test_bad_input_is_one_line():
    with pytest.raises(UsageError, match="unknown returns of REINFORCE 'all'; allowed: to_go, immediate"):
        Reinforce(4, returns="all")
    with pytest.raises(UsageError, match="min_selected=5 given; allowed: 1 to 4 workers"):
        Reinforce(4, min_selected=5)
    with pytest.raises(UsageError, match="workers=0 given for REINFORCE; allowed: 1 or more"):
        Reinforce(0)
    with pytest.raises(UsageError, match="rate=0 given for REINFORCE; allowed: above 0"):
        Reinforce(4, rate=0)
    with pytest.raises(UsageError, match=r"gamma=1\.5 given for REINFORCE; allowed: 0 to 1"):
        Reinforce(4, gamma=1.5)
    with pytest.raises(UsageError, match="size=0 given for a moving batch; allowed: 1 or more"):
        MovingBatch.empty(1, 2).add(torch.zeros(1, 2), torch.zeros(1, 2, 2), torch.zeros(1), size=0)
    with pytest.raises(UsageError, match=r"new_weight=1\.2 given; allowed: 0 to 1"):
        subtract_moving_average(torch.zeros(1), torch.zeros(1), new_weight=1.2)
