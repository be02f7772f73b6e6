"""FAVOR: compressed models, double Q-learning, reward, whom it chooses; all by numbers worked out before."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from worlds import make_run, make_world

from fedlib.errors import UsageError
from fedlib.federation import rounds
from fedlib.federation.client_updates import initial_state
from fedlib.methods import favor, make_method
from fedlib.rl.dqn import DoubleDqn
from fedlib.rl.replay import AGENTS
from fedlib.rl.vdn import Team, Transitions

SHARE = {"dataset_options": {"server_share": 0.5}}
SMALL = {"episodes": 2, "batch_size": 2, "hidden_size": 8}


def world(seeds=(0, 1), **changes):
    settings = {"cohort_size": 2, "rounds": 3, "local_epochs": 1, "client_eval": "none", **SHARE, **changes}
    return make_world(seeds=seeds, sizes=(9, 4, 7, 6, 8), model_options={"hidden": 8}, **settings)


def test_the_reward_is_0_at_the_target_and_above_minus_1():
    """64^0 - 1; 64^(-1/2) - 1 = 1/8 - 1; 64^(-1) - 1 = 1/64 - 1; 64^(1/6) - 1 = 2 - 1."""
    earned = favor.reward(torch.tensor([0.6, 0.1], dtype=torch.float64), 0.6)
    assert earned.tolist() == pytest.approx([0, -0.875])
    assert favor.reward(torch.tensor([0.0, 1.0]), 1.0).tolist() == pytest.approx([1 / 64 - 1, 0])
    assert favor.reward(torch.tensor([0.7 + 1 / 6]), 0.7).item() == pytest.approx(1)


def test_components_are_those_of_the_singular_value_decomposition():
    models = torch.randn(6, 40, generator=torch.Generator().manual_seed(0))
    mean, loadings = favor.principal_components(models, 5)
    centred = (models - models.mean(0)).double().numpy()
    _, spread, directions = np.linalg.svd(centred, full_matrices=False)
    ours = favor.compress(models[None], {"mean": mean[None], "loadings": loadings[None]})[0].double().numpy()
    theirs = centred @ directions[:5].T
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-4)
    np.testing.assert_allclose(loadings.T @ loadings, np.eye(5), atol=1e-5)
    np.testing.assert_allclose((ours**2).sum(0), spread[:5] ** 2, rtol=1e-4)
    farthest = np.abs(ours).argmax(0)
    assert (ours[farthest, range(5)] > 0).all()


def test_three_models_on_a_line_have_one_component():
    models = torch.tensor([[0.0, 0.0], [3.0, 4.0], [9.0, 12.0]])  # 0, 5 and 15 along (0.6, 0.8); mean 20/3
    mean, loadings = favor.principal_components(models, 2)
    coordinates = favor.compress(models[None], {"mean": mean[None], "loadings": loadings[None]})[0]
    assert coordinates[:, 0].tolist() == pytest.approx([-20 / 3, -5 / 3, 25 / 3], rel=1e-5)
    assert loadings[:, 0].tolist() == pytest.approx([0.6, 0.8])
    assert coordinates[:, 1].tolist() == [0, 0, 0]
    assert favor.principal_components(torch.ones(3, 4), 2)[1].tolist() == [[0, 0]] * 4


def test_an_agent_whose_values_are_not_finite_fails_alone():
    """Infinite weights in the network of one of two replicas: it fails, the other learns as ever."""
    task = world()
    method = make_method("favor", SMALL)
    start = method.init(task)
    plain, told = method.pretrain(task, start)
    assert told == {}
    team = dict(start.memory["agent"]["team"])
    network = team["network"].clone()
    network[1] = torch.inf
    agent = {**start.memory["agent"], "team": {**team, "network": network}}
    after, told = method.pretrain(task, replace(start, memory={**start.memory, "agent": agent}))
    assert told == {1: favor.NOT_FINITE}
    for name, tensor in plain.params.items():
        torch.testing.assert_close(after.params[name][0], tensor[0], rtol=0, atol=0)


class Table:
    """A network that is a table: Q(s, a) = network[s, a] for states 0 and 1."""

    def __call__(self, network, states):
        return network.view(len(network), 2, 2)[torch.arange(len(network))[:, None], states[..., 0].long()]


def test_the_main_network_chooses_and_the_target_network_values(monkeypatch):
    """Next state 1: main Q (4, 5) chooses action 1; target Q' (9, 2) gives it 2: y = 1 + 0.5 * 2 = 2.

    Plain Q-learning would take Q's maximum, 9. Where the episode is over, y = r.
    """
    monkeypatch.setattr(DoubleDqn, "net", Table())
    dqn = DoubleDqn(sizes=(1, 2), gamma=0.5, batch_size=1)
    team = Team(torch.tensor([[0.0, 0, 4, 5]]), torch.tensor([[0.0, 0, 9, 2]]), torch.zeros(2, 1, 4))
    one = Transitions.empty(1, 1, 1).add(
        torch.zeros(1, 1, 1), torch.zeros(1, 1, dtype=torch.int64), torch.ones(1), torch.ones(1, 1, 1),
        done=torch.tensor([False]), capacity=9,
    )  # fmt: skip
    assert dqn.targets(team, one).tolist() == [[2]]
    assert dqn.targets(team, replace(one, done=torch.ones(1, 1))).tolist() == [[1]]


def test_actions_are_drawn_with_the_softmax_and_the_best_are_kept(monkeypatch):
    monkeypatch.setattr(DoubleDqn, "net", lambda self, network, states: network.unsqueeze(1))
    monkeypatch.setattr(DoubleDqn, "values", lambda self, network, states: network.unsqueeze(1))
    dqn, values = DoubleDqn(sizes=(1, 3), batch_size=1), torch.tensor([[0.0, 1.0, 2.0]])
    drawn = [dqn.draw(values, None, [np.random.default_rng(i)]).item() for i in range(2000)]
    expected = torch.tensor([0.0, 1.0, 2.0]).softmax(0)  # 0.09, 0.245, 0.665
    assert np.bincount(drawn) / 2000 == pytest.approx(expected.numpy(), abs=0.03)
    ties = torch.tensor([[3.0, 5.0, 3.0, 1.0, 3.0]])
    assert dqn.best(ties, None, 3).tolist() == [[0, 1, 2]]


def test_a_round_takes_the_clients_with_the_largest_values():
    task, method = world(), make_method("favor", {"agent": "untrained", **SMALL})
    state = method.init(task)
    network = state.memory["agent"]["team"]["network"]
    values = method.dqn(5).values(network, favor.observe(state))[:, 0]
    after, report = method.apply(task, state, favor.Cohort(1, np.array([[0, 1]] * 2)))
    assert report.clients.tolist() == values.topk(2).indices.sort().values.tolist()
    known, before = after.memory["known"], state.memory["known"]
    changed = (known != before).any(dim=2)
    expected = torch.zeros(2, 6, dtype=torch.bool).scatter(1, torch.from_numpy(report.clients), True)
    expected[:, -1] = True  # the global model
    assert changed.tolist() == expected.tolist()


def test_training_makes_one_local_training_a_round_and_changes_the_network():
    task = world()
    learned, untrained = (
        list(rounds(task, make_method("favor", {**SMALL, "agent": agent})))
        for agent in ("learning", "untrained")
    )
    assert [result.round for result in learned] == [*range(-6, 4)]
    assert [result.round for result in untrained] == [*range(4)]
    (first,) = next(result.rows[0] for result in learned if result.round == 0)
    assert first["local_trainings"] == 5 + 6
    assert len(first["training_reward"].split(",")) == 2

    def network(results):
        return results[-1].state["memory"]["agent"]["team"]["network"]

    assert (network(learned) != network(untrained)).any()
    assert "replay" not in learned[-1].state["memory"]["agent"]


def test_every_control_observes_along_the_same_components():
    learning, untrained, permuted = (
        make_method("favor", {**SMALL, "agent": agent}).init(world()).memory for agent in AGENTS
    )
    for other in (untrained, permuted):
        assert all((other["basis"][name] == learning["basis"][name]).all() for name in ("mean", "loadings"))
        assert (other["first"] == learning["first"]).all()


def test_a_model_that_diverges_in_training_ends_its_episode_and_leaves_the_other_replica_as_it_is(
    monkeypatch,
):
    method, exact = make_method("favor", SMALL), favor.finish_round

    def broken(task, state, cohort, trained, shares):
        after, report = exact(task, state, cohort, trained, shares)
        if cohort.round == -4:  # of replica 1
            report.train_loss[1] = torch.nan
            for tensor in after.params.values():
                tensor[1] = torch.nan
        return after, report

    whole = list(rounds(world(), method))
    monkeypatch.setattr(favor, "finish_round", broken)
    results = list(rounds(world(), method))
    assert not any(result.failed for result in results)
    (start,) = (result for result in results if result.round == 0)
    assert [rows[0]["training_restarts"] for rows in start.rows] == [0, 1]
    (lost,) = (result.state for result in results if result.round == -4)
    initial = initial_state(world()).params
    assert all((lost["params"][name][1] == tensor[1]).all() for name, tensor in initial.items())
    assert (lost["memory"]["known"][1] == lost["memory"]["first"][1]).all()
    assert lost["memory"]["agent"]["replay"]["done"][:, -1].tolist() == [0, 1]
    assert results[-1].rows[0] == whole[-1].rows[0]


def test_permuted_rewards_teach_something_else():
    def network(agent):
        (last,) = [
            r for r in rounds(world(), make_method("favor", {**SMALL, "agent": agent})) if r.round == 0
        ]
        return last.state["memory"]["agent"]["team"]["network"]

    assert (network("learning") != network("permuted")).any()


def test_resuming_after_any_round_changes_nothing():
    whole = list(rounds(world(), make_method("favor", SMALL)))
    for at, result in enumerate(whole[:-1]):
        rest = list(rounds(world(), make_method("favor", SMALL), result.state))
        assert [r.rows for r in rest] == [r.rows for r in whole[at + 1 :]]


@pytest.mark.parametrize(("name", "omega"), [("fmnist-embedded", 0.85), ("mnist-5k", 0.99), ("made", 0.9)])
def test_the_target_follows_the_data_set(name, omega):
    assert make_method("favor").omega(make_run(dataset=name)) == omega
    assert make_method("favor", {"target": 0.7}).omega(make_run(dataset=name)) == 0.7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"agent": "lazy"}, "agent of method 'favor'"), ({"episodes": -1}, "episodes=-1"),
        ({"target": 1.5}, "target=1.5"), ({"agent_rate": 0}, "agent_rate=0"), ({"discount": 2}, "discount=2"),
    ],
)  # fmt: skip
def test_wrong_options_are_one_line(options, words):
    with pytest.raises(UsageError, match=words):
        make_method("favor", options)


def test_it_needs_images_on_the_server_and_two_clients():
    with pytest.raises(UsageError, match="server_share"):
        make_method("favor").check(make_run())
    with pytest.raises(UsageError, match="num_clients=1"):
        make_method("favor").check(make_run(num_clients=1, **SHARE))


@pytest.mark.parametrize("count", [0, 6, -1])
def test_more_components_than_models_are_refused(count):
    with pytest.raises(UsageError, match=f"{count} components given; allowed: 1 to 5, the models"):
        favor.principal_components(torch.randn(5, 8), count)
