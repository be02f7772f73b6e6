"""Auto-FedRL's search of weights: the score of a Dirichlet, its ascent, reward and controls."""

import json

import numpy as np
import pytest
import torch
from worlds import make_run, make_world

from fedlib.errors import UsageError
from fedlib.federation import rounds
from fedlib.methods import auto_fedrl, make_method
from fedlib.rl.dirichlet import WeightSearch, draw_weights, score

SHARE = {"dataset_options": {"server_share": 0.5}}


def world(seeds=(0, 1), **changes):
    settings = {"cohort_size": 3, "rounds": 5, "local_epochs": 1, "client_eval": "none", **SHARE, **changes}
    return make_world(seeds=seeds, sizes=(9, 4, 7, 6, 8), model_options={"hidden": 8}, **settings)


def test_the_score_of_two_equal_concentrations():
    """alpha = (1, 1): psi(2) - psi(1) = 1, so the score is 1 + log x: 0 at x = 1/e."""
    found = score(torch.ones(2, dtype=torch.float64), torch.tensor([1 / np.e, 1 - 1 / np.e]))
    assert found.tolist() == pytest.approx([0, 1 + np.log(1 - 1 / np.e)])


def test_the_score_is_the_gradient_of_the_log_density():
    concentration = torch.tensor([[0.7, 5.0, 2.5], [3.0, 0.2, 9.0]], dtype=torch.float64, requires_grad=True)
    weights = draw_weights(concentration.detach(), [np.random.default_rng(i) for i in (0, 1)])
    logs = torch.distributions.Dirichlet(concentration).log_prob(weights)
    (gradient,) = torch.autograd.grad(logs.sum(), concentration)
    torch.testing.assert_close(score(concentration.detach(), weights), gradient)


def test_draws_have_the_mean_of_the_distribution_and_no_zero():
    streams = [np.random.default_rng(i) for i in range(4000)]
    drawn = draw_weights(torch.tensor([[1.0, 2.0, 5.0]], dtype=torch.float64).expand(4000, 3), streams)
    assert drawn.mean(dim=0).tolist() == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.01)
    tiny = draw_weights(torch.full((200, 3), 1e-3, dtype=torch.float64), streams[:200])
    assert (tiny > 0).all()
    assert tiny.sum(dim=1).tolist() == pytest.approx([1.0] * 200)


def test_one_step_of_ascent_by_hand():
    """Two rounds, rewards 0.3 and 0.1: advantages 0.1 and -0.1. Scores (1, 0) and (0, 1) give the
    gradient (0.1, -0.1); Adam's first step is the rate in the direction of its sign."""
    search = WeightSearch(rate=0.01, start=5.0)
    agent = search.init(1, 2)
    for own, reward in (([1.0, 0.0], 0.3), ([0.0, 1.0], 0.1)):
        assert search.learn(agent, agent.rewards) is agent  # one round alone teaches nothing
        agent = agent.remember(
            torch.tensor([own], dtype=torch.float64), torch.tensor([reward], dtype=torch.float64), window=5
        )
    learned = search.learn(agent, agent.rewards)
    assert learned.concentration.tolist() == [pytest.approx([5.01, 4.99], abs=1e-6)]
    assert learned.moments[:, 0].tolist() == [pytest.approx([-0.03, 0.03]), pytest.approx([0.003, 0.003])]
    low = WeightSearch(rate=9.0, start=5.0).learn(agent, agent.rewards)
    assert low.concentration[0].tolist() == pytest.approx([14.0, 0.1], abs=1e-4)  # the floor


def test_the_window_forgets_the_oldest_round():
    agent = WeightSearch().init(1, 2)
    for t in range(7):
        agent = agent.remember(
            torch.full((1, 2), float(t), dtype=torch.float64), torch.tensor([float(t)]).double(), window=5
        )
    assert agent.rewards.tolist() == [[2, 3, 4, 5, 6]]
    assert agent.scores[0, :, 0].tolist() == [2, 3, 4, 5, 6]


def test_rewards_of_other_rounds_than_the_window_are_refused():
    agent = WeightSearch().init(1, 2)
    for reward in (0.1, 0.2):
        agent = agent.remember(torch.zeros(1, 2).double(), torch.tensor([reward]).double(), window=5)
    with pytest.raises(UsageError, match=r"rewards of shape \[1, 3\] given.*allowed: \[1, 2\]"):
        WeightSearch().learn(agent, torch.zeros(1, 3).double())


def test_the_reward_is_the_relative_fall_of_the_loss():
    fall = auto_fedrl.improvement(torch.tensor([2.0, 1.0, 1.0]), torch.tensor([1.5, 1.2, torch.nan]))
    assert fall.tolist() == pytest.approx([0.25, -0.2, 0])
    infinite = auto_fedrl.improvement(
        torch.tensor([torch.inf, 1.0, 0.0]), torch.tensor([1.0, torch.inf, 1.0])
    )
    assert infinite.tolist() == [0, 0, 0]


def test_weights_learn_of_clients_that_took_part_alone():
    task, method = world(rounds=2), make_method("auto_fedrl", {"agent_rate": 0.5})
    results = list(rounds(task, method))
    rows = results[1].rows[0] + results[2].rows[0]
    part = {client for row in rows for client in json.loads(row["clients"])}
    found = results[-1].state["memory"]["agent"]["concentration"][0]
    moved = {client for client, value in enumerate(found.tolist()) if value != 5}
    assert moved == part
    assert rows[1]["concentration_max"] > 5 > rows[1]["concentration_min"]
    assert sum(json.loads(rows[0]["weights"])) == pytest.approx(1, abs=1e-4)
    losses = [r.state["memory"].get("loss") for r in results]
    assert rows[1]["reward"] == pytest.approx(float(1 - losses[2][0] / losses[1][0]))


def test_controls():
    """Untrained: the concentration stays. Permuted: it learns, and something else."""

    def final(agent):
        results = list(rounds(world(), make_method("auto_fedrl", {"agent": agent, "agent_rate": 0.1})))
        return results[-1].state["memory"]["agent"]["concentration"]

    assert (final("untrained") == 5).all()
    learned, permuted = final("learning"), final("permuted")
    assert ((learned != 5) & (permuted != 5)).any()
    assert (learned != permuted).any()


def test_resuming_after_any_round_changes_nothing():
    changes = {"rounds": 6, "episode_rounds": 3}
    whole = list(rounds(world(**changes), make_method("auto_fedrl")))
    for at, result in enumerate(whole[:-1]):
        rest = list(rounds(world(**changes), make_method("auto_fedrl"), result.state))
        assert [r.rows for r in rest] == [r.rows for r in whole[at + 1 :]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"agent": "lazy"}, "agent of method 'auto_fedrl'"), ({"agent_rate": -1}, "rate=-1"),
        ({"concentration": 0.01}, "concentration=0.01"), ({"window": 1}, "window=1"),
    ],
)  # fmt: skip
def test_wrong_options_are_one_line(options, words):
    with pytest.raises(UsageError, match=words):
        make_method("auto_fedrl", options)


def test_a_window_of_nothing_is_refused():
    agent = WeightSearch().init(1, 2)
    with pytest.raises(UsageError, match="window=0 given for a search of weights; allowed: 1 or more"):
        agent.remember(torch.zeros(1, 2), torch.zeros(1), window=0)


def test_it_needs_images_on_the_server():
    with pytest.raises(UsageError, match="server_share"):
        make_method("auto_fedrl").check(make_run())
