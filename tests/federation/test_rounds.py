"""The round loop: hand-worked FedAvg, FedSGD as gradient descent, replicas, resume, failure."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from worlds import make_run, make_world, through_a_file

from fedlib.data.dataset import Split
from fedlib.engine import Samples, Trainer, batches, evaluate_clients, make_optimizer
from fedlib.errors import UsageError
from fedlib.federation import initial_state, moved, on_host, prepare, rounds, sample_cohort
from fedlib.methods import make_method


def play(task, method="fedavg", state=None, **options):
    return list(rounds(task, make_method(method, options), state))


def flat(state):
    return torch.cat([t.flatten(1).double() for t in state["params"].values()], dim=1)


def test_fedavg_round_by_hand():
    """Two clients, a linear model from zero, one step of lr 0.5 each.

    Client 0: one sample x = (1, 0), label 0: W0 = [[1/4, 0], [-1/4, 0]], b0 = (1/4, -1/4).
    Client 1: three samples x = (0, 1), label 1: W1 = [[0, -1/4], [0, 1/4]], b1 = (-1/4, 1/4).
    n_k / n = (1/4, 3/4): W = [[1/16, -3/16], [-1/16, 3/16]], b = (-1/8, 1/8).
    """
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2, 2))
    for p in model.parameters():
        torch.nn.init.zeros_(p)
    images = np.array([[[255, 0]]] + [[[0, 255]]] * 3, dtype=np.uint8)
    samples = Samples.from_arrays(images, np.array([0, 1, 1, 1]))
    task = make_world(
        sizes=(1, 3), rounds=1, local_epochs=1, local_learning_rate=0.5, batch_size=10, model=model
    )
    task = replace(task, train=samples, test=samples, clients=[[np.array([0]), np.array([1, 2, 3])]])
    state = {
        "round": 0, "failed": {}, "memory": {}, "buffers": {},
        "params": {n: p.detach()[None] for n, p in model.named_parameters()},
    }  # fmt: skip
    result = play(task, state=state)[-1]
    torch.testing.assert_close(
        result.state["params"]["1.weight"][0], torch.tensor([[1 / 16, -3 / 16], [-1 / 16, 3 / 16]])
    )
    torch.testing.assert_close(result.state["params"]["1.bias"][0], torch.tensor([-1 / 8, 1 / 8]))
    row = result.rows[0][0]
    assert json.loads(row["weights"]) == [0.25, 0.75]
    assert row["uplink_bytes"] == row["downlink_bytes"] == 2 * 6 * 4
    assert row["train_loss_mean"] == pytest.approx(np.log(2), rel=1e-6)


def test_fedsgd_is_gradient_descent_on_the_union():
    task = make_world(rounds=2)
    after = play(task, "fedsgd")
    model = task.model
    state = {n: t[0] for n, t in after[0].state["params"].items()}
    model.load_state_dict(state)
    optimizer = torch.optim.SGD(model.parameters(), lr=task.run.local_learning_rate)
    for _ in range(2):
        optimizer.zero_grad()
        x = task.train.fetch(torch.arange(len(task.train.labels)))
        torch.nn.functional.cross_entropy(model(x), task.train.labels).backward()
        optimizer.step()
    for name, p in model.named_parameters():
        torch.testing.assert_close(after[-1].state["params"][name][0], p.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("change", [{"local_optimizer": "adam"}, {"mixup_alpha": 0.2}])
def test_fedsgd_takes_nothing_that_makes_it_another_step(change):
    with pytest.raises(UsageError, match=r"given for method 'fedsgd'; allowed: (sgd|null)"):
        make_method("fedsgd").check(make_run(**change))


@pytest.mark.parametrize("method", ["fedavg", "fedprox", "singleset"])
def test_replicas_equal_separate_runs(method):
    together = play(make_world(seeds=(0, 1, 2)), method)
    for position, seed in enumerate((0, 1, 2)):
        alone = play(make_world(seeds=(seed,)), method)
        torch.testing.assert_close(
            flat(together[-1].state)[position], flat(alone[-1].state)[0], rtol=1e-5, atol=1e-6
        )
        ours, theirs = together[-1].rows[position][0], alone[-1].rows[0][0]
        assert ours["clients"] == theirs["clients"]
        assert ours["test_loss"] == pytest.approx(theirs["test_loss"], rel=1e-5)


@pytest.mark.parametrize("method", ["fedavg", "singleset", "fedrod", "fedddrl", "evaluatorfl"])
def test_stored_order_draws_no_order_and_ends_elsewhere(method, monkeypatch):
    options = {"episodes": 0} if method == "fedddrl" else {}
    world = {"dataset_options": {"server_share": 0.5}}
    shuffled = play(make_world(**world), method, **options)

    def refuse(*_):
        raise AssertionError("an order was drawn")

    monkeypatch.setattr(batches, "epoch_order", refuse)
    stored = play(make_world(**world, sample_order="stored"), method, **options)
    assert torch.equal(flat(stored[0].state), flat(shuffled[0].state))
    assert not torch.equal(flat(stored[-1].state), flat(shuffled[-1].state))


def test_a_later_setting_leaves_the_keys_of_stored_runs_alone():
    run = make_run()
    assert run.key == "10dc92726a753c13"  # before `precision` and the fields after it came
    later = {"sample_order": "stored", "precision": "bf16", "local_steps": 2, "mixup_alpha": 0.1}
    later |= {"episode_rounds": 1, "device_costs": True, "mixup_lambda": "pair"}
    assert len({run.key, *(replace(run, **{name: value}).key for name, value in later.items())}) == 8


@pytest.mark.parametrize("method", ["fedavg", "singleset"])
def test_resume_is_bit_for_bit(method):
    settings = {"rounds": 6, "local_optimizer": "sgd", "local_optimizer_options": {"momentum": 0.9}}
    task = make_world(seeds=(0, 1), cohort_size=2, **settings)
    whole = play(task, method)
    resumed = play(task, method, state=through_a_file(whole[2].state))
    assert [r.round for r in resumed] == [3, 4, 5, 6]
    assert torch.equal(flat(resumed[-1].state), flat(whole[-1].state))
    assert resumed[-1].rows == whole[-1].rows


def test_memory_moves_with_its_nested_parts_and_on_host_leaves_these():
    tensor = torch.zeros(2, device="meta")
    found = moved({"a": torch.zeros(2), "b": [torch.zeros(2), {"c": torch.zeros(2)}], "n": 3}, "meta")
    assert (found["a"].is_meta, found["b"][0].is_meta, found["b"][1]["c"].is_meta) == (True,) * 3
    assert found["n"] == 3
    models = {"params": {"w": tensor}}
    assert on_host(models) == models


def test_training_learns_and_controls_do_not():
    results = play(make_world(rounds=15))
    first, last = results[0].rows[0][0], results[-1].rows[0][0]
    assert last["test_loss"] < 0.5 * first["test_loss"]
    assert last["client_loss_min"] <= last["client_loss_mean"] <= last["client_loss_max"]


def test_strong_proximal_term_keeps_the_model_in_place():
    start = flat(play(make_world(rounds=1))[0].state)
    moved = {
        mu: float((flat(play(make_world(rounds=1), "fedprox", mu=mu)[-1].state) - start).norm())
        for mu in (0.0, 1.0, 10.0)
    }
    assert moved[0.0] > moved[1.0] > moved[10.0]
    plain = flat(play(make_world(rounds=1))[-1].state)
    assert torch.equal(flat(play(make_world(rounds=1), "fedprox", mu=0.0)[-1].state), plain)


def test_singleset_trains_whole_epochs():
    """A round is one, whatever `local_epochs`; a limit of steps would have no effect."""
    one, five = (play(make_world(local_epochs=epochs), "singleset")[-1] for epochs in (1, 5))
    assert torch.equal(flat(one.state), flat(five.state))
    with pytest.raises(UsageError, match="local_steps=2 given for method 'singleset'; allowed: null"):
        play(make_world(local_steps=2), "singleset")


def test_one_client_with_all_data_is_singleset():
    task = make_world(sizes=(20,), rounds=3, local_epochs=1)
    torch.testing.assert_close(flat(play(task)[-1].state), flat(play(task, "singleset")[-1].state))


def test_uniform_weights_are_a_named_option():
    row = play(make_world(rounds=1), weights="uniform")[-1].rows[0][0]
    assert json.loads(row["weights"]) == [0.25] * 4
    row = play(make_world(rounds=1))[-1].rows[0][0]
    assert json.loads(row["weights"]) == [float(f"{np.float32(n / 26):.6g}") for n in (9, 4, 7, 6)]


def test_diverging_replica_fails_alone_and_says_so():
    task = make_world(seeds=(0, 1), rounds=4)
    task = replace(task, clients=[task.clients[0], [np.array([25])] * 4])
    bad = Split(task.dataset.train.images, task.dataset.train.labels)
    images = bad.images.astype(np.float32) / 255
    images[25] = np.nan
    samples = Samples.from_arrays(images, bad.labels, mean=[0.4], std=[0.3])
    clean = [list(range(3)) for _ in range(4)]
    task = replace(task, train=samples, clients=[[np.array(c) for c in clean], task.clients[1]])
    results = play(task)
    assert results[1].failed == {1: "failed: train_loss_mean is nan in round 1"}
    assert results[1].rows[1][0]["status"].startswith("failed")
    assert results[-1].round == 4
    assert results[-1].rows[1] == []
    assert results[-1].rows[0][0]["status"] == "ok"


def test_when_all_fail_the_run_stops():
    results = play(make_world(rounds=9, local_learning_rate=1e30))
    assert results[-1].failed
    assert results[-1].round < 9


def test_evaluation_every_few_rounds_and_always_at_the_end():
    results = play(make_world(rounds=5, eval_every=2))
    assert [r.round for r in results if r.rows[0]] == [0, 2, 4, 5]


def test_cohorts_depend_on_seed_and_round_only():
    cohorts = [sample_cohort([0, 1], r, 20, 5).clients for r in range(30)]
    assert all((np.diff(c, axis=1) > 0).all() for c in cohorts)
    assert np.array_equal(sample_cohort([0, 1], 7, 20, 5).clients, cohorts[7])
    assert not np.array_equal(cohorts[1], cohorts[2])
    counts = np.bincount(np.concatenate([c[0] for c in cohorts]), minlength=20)
    assert counts.min() > 0
    assert sample_cohort([0], 1, 4, 4).clients.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cohort_size": 9}, "cohort_size=9 given; allowed: 1 to num_clients=4"),
        ({"rounds": 0}, "rounds=0 given; allowed: 1 or more"),
        ({"rounds": 2.0}, r"rounds=2\.0 given; allowed: a whole number"),
        ({"local_steps": True}, "local_steps=True given; allowed: a whole number"),
        ({"local_learning_rate": 0.0}, "local_learning_rate=0.0 given; allowed: above 0"),
        ({"client_eval": "some"}, "unknown client_eval 'some'"),
        ({"sample_order": "random"}, "unknown sample order 'random'"),
        ({"dataset": "mnits"}, "unknown data set 'mnits'"),
    ],
)
def test_bad_settings_are_one_line(changes, message):
    with pytest.raises(UsageError, match=message):
        prepare([make_run(**changes)])


def test_wrong_method_names_and_options_are_one_line():
    with pytest.raises(UsageError, match="unknown method 'fedavgg'"):
        make_method("fedavgg")
    with pytest.raises(UsageError, match=r"unknown option of method 'fedprox' 'mew'.*allowed: mu, weights"):
        make_method("fedprox", {"mew": 1})
    with pytest.raises(UsageError, match="method 'fedsgd' has no options"):
        make_method("fedsgd", {"mu": 1})
    with pytest.raises(UsageError, match=r"mu=-1\.0 given"):
        make_method("fedprox", {"mu": -1})


def test_groups_may_differ_in_seed_only():
    with pytest.raises(UsageError, match="differ in their seed only"):
        prepare([make_run(seed=0), make_run(seed=1, rounds=9)])


def test_trainer_split_into_passes_gives_the_same_round():
    task = make_world(rounds=2)
    small = replace(task, trainer=Trainer(task.model, "stacked", make_optimizer("sgd"), 4, max_lanes=2))
    torch.testing.assert_close(flat(play(task)[-1].state), flat(play(small)[-1].state))


def test_max_clients_per_pass_changes_last_digits_only_and_is_told():
    run = make_run(
        dataset="fmnist-embedded", partition="iid", local_epochs=1, rounds=2,
        dataset_options={"train_per_class": 8, "test_per_class": 2},
    )  # fmt: skip
    tasks = {n: prepare([run], max_clients_per_pass=n) for n in (None, 3)}
    assert [task.trainer.max_lanes for task in tasks.values()] == [20, 3]
    assert tasks[3].facts["clients_per_pass"] == tasks[3].facts["max_clients_per_pass"] == 3
    assert "max_clients_per_pass" not in tasks[None].facts
    ends = [flat(play(task)[-1].state) for task in tasks.values()]
    torch.testing.assert_close(*ends)
    with pytest.raises(UsageError, match="max_clients_per_pass=0 given; allowed: 1 or more"):
        prepare([run], max_clients_per_pass=0)


def test_a_model_may_have_more_outputs_than_the_data_set_has_classes():
    """FEDDRL-A25: CIFAR-10's images under a head of 100 outputs; fewer than the classes is refused."""
    run = make_run(
        dataset="fmnist-embedded", partition="iid", model="mlp",
        dataset_options={"num_classes": 100, "train_per_class": 4, "test_per_class": 2},
    )  # fmt: skip
    task = prepare([run])
    assert task.model.fc2.out_features == 100
    assert initial_state(task).params["fc2.bias"].shape == (1, 100)
    with pytest.raises(UsageError, match="num_classes=5 given; allowed: 10 or more"):
        prepare([replace(run, dataset_options={"num_classes": 5})])


def test_client_losses_are_those_of_the_clients_that_a_method_chose():
    """Power-of-Choice trains the two of four with the largest losses, whoever was drawn."""
    task = make_world(cohort_size=2, rounds=1, sizes=(6, 8, 10, 12), client_eval="cohort")
    method = make_method("power_of_choice", {"candidates": 4})
    (row,) = [*rounds(task, method)][-1].rows[0]
    chosen = np.array([json.loads(row["clients"])])
    drawn = sample_cohort(task.seeds, 1, 4, 2)
    assert set(chosen[0]) != set(drawn.clients[0])  # else the test shows nothing
    after, _ = method.apply(task, method.init(task), drawn)
    indices = task.train_index(chosen)
    (found,) = evaluate_clients(task.trainer, task.train, after.params, after.buffers, indices)
    assert row["client_loss_mean"] == pytest.approx(float(found.loss.mean()), rel=1e-6)
