"""EvaluatorFL: state, value and reward by hand, FedAvg as a special case, episodes, controls, resume."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from worlds import make_world, through_a_file

from fedlib.engine import correct_lanes, evaluate_clients, evaluate_lanes
from fedlib.errors import UsageError
from fedlib.federation import rounds, sample_cohort, train_cohort
from fedlib.methods.baselines.fedavg import FedAvg
from fedlib.methods.frl.evaluatorfl import EvaluatorFL, mean_accuracy, worker_tests
from fedlib.papers.frl.runs import CODE
from fedlib.rl.reinforce import Draw


def world(**changes):
    settings = {
        "seeds": (0, 1),
        "sizes": (9, 12, 7, 6),
        "rounds": 6,
        "local_epochs": 1,
        "client_eval": "none",
    }
    return make_world(**{**settings, **changes})


def certain(state, chance):
    """Agents that select with `chance` (0 or 1) whatever they see: zero weights, a bias at the outputs."""
    network = torch.zeros_like(state.memory["agent"]["network"])
    select = network.shape[1] // 2
    network[:, select - 4 : select] = 100.0 if chance else -100.0
    state.memory["agent"]["network"] = network
    return state


def by_label(right, labels, lists):
    """Mean over the labels of each list of the share of correct samples (FRL-A6); right [lists, longest]."""
    found = []
    for row, index in zip(right, lists, strict=True):
        own, correct = labels[index], row[: len(index)]
        found.append(float(torch.stack([correct[own == label].mean() for label in own.unique()]).mean()))
    return found


def test_accuracy_of_a_worker_by_hand():
    """Label 0: 1 of 2 right, label 2: 3 of 3: mean over labels 0.75, over samples 0.8."""
    right, labels = torch.tensor([1.0, 0, 1, 1, 1]), torch.tensor([0, 0, 2, 2, 2])
    assert mean_accuracy(right, labels, "label_mean") == pytest.approx(0.75)
    assert mean_accuracy(right, labels, "samples") == pytest.approx(0.8)


def test_correct_lanes_agree_with_the_rows_accuracy():
    task = world()
    state = FedAvg().init(task)
    trained = train_cohort(task, state, sample_cohort(task.seeds, 1, 4, 4))
    lists = [index for ids in task.clients for index in ids]
    args = (task.trainer, task.train, trained.state.params, trained.state.buffers)
    right, whole = correct_lanes(*args, lists), evaluate_lanes(*args, lists)
    sizes = torch.tensor([len(index) for index in lists])
    torch.testing.assert_close(right.sum(dim=1) / sizes, whole.accuracy)
    for row, index in zip(right, lists, strict=True):
        assert not row[len(index) :].any()
    one = correct_lanes(*args, [lists[0][:0]] * 7 + [lists[7][:2]])
    assert torch.equal(one[7], right[7, :2])


def test_tests_of_workers_have_the_shares_of_their_training_data():
    task = world()
    for lists, tests in zip(task.clients, worker_tests(task), strict=True):
        assert sorted(np.concatenate(tests)) == list(range(len(task.test.labels)))
        for own, test in zip(lists, tests, strict=True):  # the world's test set is its training set
            held, tested = (np.bincount(task.train.labels[i].numpy(), minlength=3) for i in (own, test))
            np.testing.assert_array_equal(held, tested)


def test_weighted_local_test_accuracy_is_that_of_the_test_set():
    """FRL-A21: with equal shares the report's metric is the accuracy on the union of the test parts."""
    task = world()
    state = FedAvg().init(task)
    found = evaluate_clients(task.trainer, task.test, state.params, state.buffers, worker_tests(task))
    whole = [[np.arange(len(task.test.labels))]] * 2
    union = evaluate_clients(task.trainer, task.test, state.params, state.buffers, whole)
    for local, one in zip(found, union, strict=True):
        weighted = (local.count * local.accuracy).sum() / local.count.sum()
        torch.testing.assert_close(weighted, one.accuracy[0])


def test_value_of_both_approaches_by_hand():
    task = world(seeds=(0,))
    state = FedAvg().init(task)
    seen = torch.tensor([[0.5, 0.9, 0.7, 0.1]])
    draw = Draw(torch.tensor([[1.0, 0, 1, 0]]), torch.zeros(1, 4, 2), [0])
    one = EvaluatorFL().value(task, draw, seen, state, None, state)
    assert one.tolist() == pytest.approx([0.6])
    other = FedAvg().apply(task, state, sample_cohort(task.seeds, 1, 4, 4))[0]
    for kind, of in (("new", other), ("old", state)):
        two = EvaluatorFL(approach=2, rewarded_model=kind).value(task, draw, seen, state, None, other)
        whole = [[np.arange(len(task.test.labels))]]
        wanted = evaluate_clients(task.trainer, task.test, of.params, of.buffers, whole)[0].accuracy
        torch.testing.assert_close(two, wanted)  # here the sizes d_i are those of the test parts


def test_the_codes_reward_is_the_accuracy_of_the_workers_own_models():
    """FRL-F1: theta_i^{t+1} on the worker's test data, by size d_i; delta starts at theta_G^0's accuracy."""
    task = world()
    method = EvaluatorFL(approach=2, rewarded_model="local", first_average="initial", new_weight=1.0)
    state = method.init(task)
    for r in range(1, 3):
        cohort = sample_cohort(task.seeds, r, 4, 4)
        local = train_cohort(task, state, cohort).state
        parts = [index for ids in worker_tests(task) for index in ids]
        found = evaluate_lanes(task.trainer, task.test, local.params, local.buffers, parts).accuracy.view(
            2, 4
        )
        sizes = torch.tensor([[len(k) for k in ids] for ids in task.clients]).float()
        value = (sizes * found).sum(dim=1) / sizes.sum(dim=1)
        if r == 1:
            whole = [[np.arange(len(task.test.labels))]] * 2
            first = evaluate_clients(task.trainer, task.test, state.params, state.buffers, whole)
            before = torch.stack([one.accuracy[0] for one in first])
        state, report = method.apply(task, state, cohort)
        torch.testing.assert_close(torch.tensor(report.columns["reward"]), value - before)
        before = value


@pytest.mark.parametrize("options", [{}, {"approach": 2}, {"approach": 2, **CODE}])
def test_selecting_everyone_is_fedavg_with_equal_weights_bit_for_bit(options):
    task = world()
    method, average = EvaluatorFL(min_selected=4, **options), FedAvg(weights="uniform")
    state, plain = certain(method.init(task), 1), average.init(task)
    for r in range(1, 4):
        cohort = sample_cohort(task.seeds, r, 4, 4)
        state, report = method.apply(task, state, cohort)
        plain, _ = average.apply(task, plain, cohort)
        state = certain(state, 1)
        assert all(torch.equal(state.params[n], plain.params[n]) for n in plain.params)
        assert report.columns["selected"] == [4, 4]


def test_a_round_by_hand():
    """Approach 1: S is each worker's own accuracy on its training data, R the mean of the drawn ones."""
    task, method = world(), EvaluatorFL(new_weight=0.5)
    state, delta = method.init(task), np.zeros(2)
    for r in range(1, 3):
        cohort = sample_cohort(task.seeds, r, 4, 4)
        trained = train_cohort(task, state, cohort)
        lists = [index for ids in task.clients for index in ids]
        local = trained.state
        right = correct_lanes(task.trainer, task.train, local.params, local.buffers, lists)
        seen = torch.tensor(by_label(right, task.train.labels, lists)).view(2, 4)
        state, report = method.apply(task, state, cohort)
        drawn = (report.weights > 0).float()
        torch.testing.assert_close(report.weights, drawn / drawn.sum(dim=1, keepdim=True))
        value = ((drawn * seen).sum(dim=1) / drawn.sum(dim=1)).numpy()
        assert report.columns["reward"] == pytest.approx((value - delta).tolist(), abs=1e-6)
        delta = delta + 0.5 * (value - delta)
        torch.testing.assert_close(state.memory["batch"]["states"][:, -1], seen)


def test_state_of_approach_2_is_the_gain_of_local_training():
    task = world(seeds=(0,))
    state = FedAvg().init(task)
    trained = train_cohort(task, state, sample_cohort(task.seeds, 1, 4, 4))
    tests, local = worker_tests(task), trained.state
    copies = {n: t.expand(4, *t.shape[1:]).contiguous() for n, t in state.params.items()}
    after, before = (
        by_label(correct_lanes(task.trainer, task.test, params, {}, tests[0]), task.test.labels, tests[0])
        for params in (local.params, copies)
    )
    ours = EvaluatorFL(approach=2).observe(task, state, trained)
    torch.testing.assert_close(ours[0], torch.tensor(after) - torch.tensor(before))


def test_the_codes_state_of_approach_2_holds_the_workers_previous_models():
    """Round 1: less the initial model's accuracy; round 2: less that of the worker's model of round 1."""
    task = world(seeds=(0,))
    method, tests = EvaluatorFL(approach=2, state_data="code"), worker_tests(task)
    state = method._begin_episode(task, method.init(task), 1)
    before = [method._global(task, state, tests, "samples")]
    for number in (1, 2):
        cohort = sample_cohort(task.seeds, number, 4, 4)
        trained = train_cohort(task, state, cohort)
        new = method._local(task, trained, task.train, task.clients, "samples")
        torch.testing.assert_close(method.observe(task, state, trained), new - before[-1])
        before.append(method._local(task, trained, task.test, tests, "samples"))
        state = method.apply(task, state, cohort)[0]
    assert not torch.equal(before[0], before[1])


def test_the_rate_of_adam_is_that_of_the_agent():
    assert EvaluatorFL(learning_rate=0.01).rule(20).rate == 0.01
    assert EvaluatorFL().rule(20).rate == 1e-3


def test_episodes_restart_model_batch_and_average_but_not_the_agent():
    task, method = world(episode_rounds=3), EvaluatorFL()
    results = list(rounds(task, method))
    at = [(r.rows[0][0]["episode"], r.rows[0][0]["episode_round"]) for r in results[1:]]
    assert at == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert results[4].state["memory"]["batch"]["rewards"].shape == (2, 1)
    assert results[4].rows[0][0]["reward"] == results[4].rows[0][0]["value"]  # delta is 0 again
    steps = [r.state["memory"]["agent"]["steps"] for r in results]
    assert steps == [0, 0, 0, 1, 1, 1, 2]
    spoiled = {n: torch.full_like(t, 7.0) for n, t in results[3].state["params"].items()}
    other = next(rounds(task, method, {**results[3].state, "params": spoiled}))
    assert all(torch.equal(results[4].state["params"][n], t) for n, t in other.state["params"].items())


def test_shuffled_control_aggregates_as_many_but_others():
    task = world(sizes=(6,) * 12, seeds=(0,), rounds=8)
    results = list(rounds(task, EvaluatorFL(agent="shuffled")))
    plain = list(rounds(task, EvaluatorFL()))
    same = []
    for mine, theirs in zip(results[1:3], plain[1:3], strict=True):
        a, b = (np.array(json.loads(r.rows[0][0]["weights"])) > 0 for r in (mine, theirs))
        assert mine.rows[0][0]["selected"] == a.sum()
        same.append((a == b).all())
    ours, others = results[1].rows[0][0], plain[1].rows[0][0]
    for column in ("selected", "value", "reward"):  # of the workers that were drawn
        assert ours[column] == others[column]
    assert not all(same)


def test_the_untrained_policy_keeps_its_network_and_reports_its_rewards():
    task = world(seeds=(0,))
    results, plain = list(rounds(task, EvaluatorFL(agent="untrained"))), list(rounds(task, EvaluatorFL()))
    networks = [result.state["memory"]["agent"]["network"] for result in results]
    assert all(torch.equal(networks[0], one) for one in networks[1:])
    assert not torch.equal(networks[-1], plain[-1].state["memory"]["agent"]["network"])
    assert results[1].rows == plain[1].rows  # the first round is played before anybody learns
    assert all(result.rows[0][0]["reward"] is not None for result in results[1:])


def test_the_redrawn_control_learns_from_selections_that_it_did_not_play():
    """Rewards are those of the selections played; the batch has other actions, of the same law."""
    task = world(sizes=(6,) * 12, seeds=(0, 1), rounds=8)
    results, plain = (list(rounds(task, EvaluatorFL(agent=a))) for a in ("redrawn", "learning"))
    assert results[1].rows == plain[1].rows  # the first round is played before anybody learns
    for r in range(2):
        batches = [one.state["memory"]["batch"] for one in results[1:]]
        told = [one.rows[r][0]["reward"] for one in results[1:]]
        assert [float(batch["rewards"][r, -1]) for batch in batches] == pytest.approx(told)
        taught = np.array([batch["actions"][r, -1, :, 0].tolist() for batch in batches]) > 0  # selected
        played = np.array([json.loads(one.rows[r][0]["weights"]) for one in results[1:]]) > 0
        assert (taught != played).any(axis=1).sum() > 4  # of eight rounds
    own, other = (one[-1].state["memory"]["agent"]["network"] for one in (plain, results))
    assert not torch.equal(own, other)


@pytest.mark.parametrize("options", [{"approach": 1}, {"approach": 2}, {"agent": "redrawn"}])
def test_resume_is_exact(options):
    task, method = world(rounds=8, episode_rounds=4), EvaluatorFL(**options)
    whole = list(rounds(task, method))
    resumed = list(rounds(task, method, through_a_file(whole[3].state)))
    assert [r.rows for r in resumed] == [r.rows for r in whole[4:]]


def test_a_policy_that_selects_nobody_is_drawn_again_and_told():
    """FRL-A5: chances of 0 end at the most probable k // 10 + 1 workers after 1000 draws."""
    task, method = world(seeds=(0,)), EvaluatorFL()
    state, report = method.apply(task, certain(method.init(task), 0), sample_cohort(task.seeds, 1, 4, 4))
    assert (report.columns["selected"], report.columns["redraws"]) == ([1], [1000])
    assert all(t.isfinite().all() for t in state.params.values())


def test_a_worker_without_test_images_is_named():
    task = world(seeds=(0,))
    few = replace(task, test=replace(task.test, inputs=task.test.inputs[:3], labels=task.test.labels[:3]))
    with pytest.raises(UsageError, match=r"leaves client . of 4 without images"):
        worker_tests(few)


def test_bad_input_is_one_line():
    with pytest.raises(UsageError, match="approach=3 given for method 'evaluatorfl'; allowed: 1, 2"):
        EvaluatorFL(approach=3)
    with pytest.raises(UsageError, match="unknown returns of method 'evaluatorfl' 'all'; allowed: to_go"):
        EvaluatorFL(returns="all")
    with pytest.raises(UsageError, match="learning_rate=0 given; allowed: above 0"):
        EvaluatorFL(learning_rate=0)
    with pytest.raises(UsageError, match="cohort_size=2 given; allowed: 4, for all workers train"):
        EvaluatorFL().check(world(cohort_size=2).run)
    with pytest.raises(UsageError, match="min_selected=5 given; allowed: 1 to 4 workers"):
        EvaluatorFL(min_selected=5).check(world().run)
    empty = world(seeds=(0,), sizes=(9, 0, 7, 6))
    state = EvaluatorFL().init(empty)
    with pytest.raises(UsageError, match="client 1 has no samples"):
        EvaluatorFL().apply(empty, state, sample_cohort(empty.seeds, 1, 4, 4))
