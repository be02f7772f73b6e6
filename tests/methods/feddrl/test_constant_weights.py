"""The search for constant impact factors: its step on a known optimum, its promises on small worlds."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from worlds import make_world, through_a_file

from fedlib.errors import UsageError
from fedlib.federation import ServerState, rounds, sample_cohort
from fedlib.methods import make_method
from fedlib.methods.feddrl.constant_weights import (
    BestConstant,
    group_tilts,
    improve,
    in_main_group,
    search_task,
    ties,
)
from fedlib.methods.feddrl.mdp import reward
from fedlib.methods.feddrl.online_round import losses_before

SMALL = {"candidates": 4, "generations": 2, "elite": 2, "search_rounds": 3}


def play(task, saved=None, **options):
    return list(rounds(task, make_method("best_constant", {**SMALL, **options}), saved))


def grouped_world(**changes):
    """Clients 0 and 2 hold labels {0, 1}, client 1 holds {2}, client 3 holds {0}."""
    task = make_world(seeds=(0, 1), sizes=(8, 8, 8, 8), rounds=2, **changes)
    labels = torch.tensor([0, 1] * 4 + [2] * 8 + [1, 0] * 4 + [0] * 8)
    return replace(task, train=replace(task.train, labels=labels))


def test_improving_by_hand():
    """Returns 1, 5, 3: the two best are z = (2, 0) and (4, 2)."""
    z = torch.tensor([[[9.0, 9.0], [2.0, 0.0], [4.0, 2.0]]])
    mean, spread = improve(z, torch.tensor([[1.0, 5.0, 3.0]]), 2)
    assert mean.tolist() == [[3.0, 1.0]]
    torch.testing.assert_close(spread, torch.full((1, 2), 2**0.5))


def test_the_step_finds_a_known_optimum():
    target = torch.tensor([1.0, -0.5, 0.25])
    generator = torch.Generator().manual_seed(0)
    mean, spread = torch.zeros(1, 3), torch.ones(1, 3)
    for _ in range(12):
        z = mean.unsqueeze(1) + spread.unsqueeze(1) * torch.randn(1, 40, 3, generator=generator)
        mean, spread = improve(z, -((z - target) ** 2).sum(dim=2), 8)
    torch.testing.assert_close(mean[0], target, atol=0.05, rtol=0)


def test_clients_with_one_label_set_share_their_weight():
    task = grouped_world()
    assert ties(task).tolist() == [[0, 1, 0, 3]] * 2
    weights = play(task)[-1].state["memory"]["best"].softmax(dim=1)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(2))
    assert torch.equal(weights[:, 0], weights[:, 2])


def test_the_first_generation_opens_with_uniform_weights_and_group_tilts():
    main = torch.tensor([[True, False, True]])
    assert group_tilts(main, 4).tolist() == [
        [[0.5, 0.5, 0.5], [0.0, 1.0, 0.0], [0.5, 0.5, 0.5], [1.0, 0.0, 1.0]]
    ]
    assert group_tilts(main, 2)[0, 1].tolist() == [0.0, 1.0, 0.0]


def test_the_main_group_is_the_largest_with_the_same_labels():
    assert in_main_group(grouped_world()).tolist() == [[True, False, True, False]] * 2


def test_candidates_stay_within_the_agents_reach():
    z = play(grouped_world(), spread=5.0)[1].state["memory"]["z"]  # during the first generation
    assert (float(z.min()), float(z.max())) == (0, 1)


def test_the_winner_is_at_least_as_good_as_uniform_weights():
    """The return of eq. (2) under uniform weights, from FedAvg's own runs: r_1 + 0.99 r_2."""
    task = grouped_world()
    team = search_task(replace(task, runs=tuple(replace(r, rounds=3) for r in task.runs)), 1)
    played = list(rounds(team, make_method("fedavg", {"weights": "uniform"})))
    uniform = sum(0.99 ** (t - 1) * reward(losses_at(team, played[t], t)) for t in (1, 2))
    kept = play(task)[-1].state["memory"]["best_return"]
    assert (kept >= uniform - 1e-5).all()


def losses_at(task, result, t):
    server = ServerState(t, result.state["params"], result.state["buffers"])
    return losses_before(task, server, sample_cohort(task.seeds, t + 1, 4, 4))


def test_candidates_differ_in_their_weights_alone():
    team = search_task(grouped_world(), 3)
    assert len(set(team.seeds)) == 2
    assert team.seeds[0] == team.seeds[1] == team.seeds[2] != 0
    assert team.clients[1] is team.clients[0]


def test_no_diverged_candidate_is_kept_as_the_best():
    method, z = BestConstant(candidates=2, elite=2), torch.rand(1, 2, 3)
    memory = {"z": z, "returns": torch.tensor([[torch.nan, -torch.inf]]), "ties": torch.zeros(1, 3)}
    memory |= {"best": torch.zeros(1, 3), "best_return": torch.tensor([-torch.inf])}
    found = method._select(memory)
    assert found["best_return"].tolist() == [-torch.inf]
    assert found["best"].tolist() == [[0, 0, 0]]


def test_a_candidate_plays_an_episode_where_a_run_has_several():
    task = make_world(rounds=6, episode_rounds=3)
    assert BestConstant().length(task) == 3


def test_resumes_amid_the_search_bit_for_bit():
    task = grouped_world()
    whole = play(task)
    resumed = play(task, through_a_file(whole[4].state))  # in the second generation
    for ours, theirs in zip(resumed, whole[5:], strict=True):
        assert ours.rows == theirs.rows
    end, other = resumed[-1].state["params"], whole[-1].state["params"]
    assert all(torch.equal(end[name], other[name]) for name in other)
    assert np.isfinite(whole[6].rows[0][0]["search_return"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"candidates": 1}, "candidates=1 given"),
        ({"elite": 5}, "at most candidates=4"),
        ({"spread": 0.0}, "spread=0.0 given"),
        ({"discount": -3}, "discount=-3"),
        ({"search_rounds": 1}, "search_rounds=1 given"),
    ],
)
def test_bad_options_give_one_line(options, words):
    with pytest.raises(UsageError, match=words):
        make_method("best_constant", {**SMALL, **options})


def test_partial_participation_is_refused():
    with pytest.raises(UsageError, match="cohort_size=2 given"):
        play(make_world(cohort_size=2))
