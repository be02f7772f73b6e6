"""Held-out samples of clients, personal models in the evaluation, what stays with clients."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from worlds import make_run, make_world

from fedlib.errors import UsageError
from fedlib.federation import gather, prepare, put_back, rounds
from fedlib.methods import make_method
from fedlib.methods.baselines.fedavg import FedAvg


def prepared(local_test=0.15, seeds=(0, 1), **options):
    dataset_options = {"train_per_class": 40, "test_per_class": 5, "local_test": local_test, **options}
    settings = {"dataset": "fmnist-embedded", "partition": "iid", "dataset_options": dataset_options}
    return prepare([make_run(seed=seed, rounds=1, local_epochs=1, **settings) for seed in seeds])


def test_more_images_of_a_class_than_there_are_is_refused():
    with pytest.raises(UsageError, match="train_per_class=601 given; allowed: 1 to 600"):
        prepared(None, train_per_class=601)
    with pytest.raises(UsageError, match="test_per_class=0 given; allowed: 1 to 100"):
        prepared(None, test_per_class=0)


def test_every_client_holds_its_share_out_of_training():
    task, whole = prepared(), prepared(None)
    assert whole.held_out is None
    for replica in range(2):
        for client in range(4):
            train, test = task.clients[replica][client], task.held_out[replica][client]
            assert (len(train), len(test)) == (85, 15)
            assert np.array_equal(np.sort(np.concatenate([train, test])), whole.clients[replica][client])
    assert not np.array_equal(task.held_out[0][0], task.held_out[1][0])
    assert task.facts["train_samples"] == [340, 340]


def test_held_out_samples_have_their_clients_noise_and_replicas_their_own_images():
    task = prepared(client_noise={"strength": 5.0})
    clean = prepared(None).train.inputs / 255
    for replica in range(2):
        index = task.held_out[replica][3]
        assert index.min() >= replica * 400
        assert index.max() < (replica + 1) * 400
        assert (task.train.inputs[index] - clean[index % 400]).abs().mean() > 0.2
        first = task.held_out[replica][0]  # variance 0 * x / N
        torch.testing.assert_close(task.train.inputs[first], clean[first % 400])


@pytest.mark.parametrize("option", ["mean", "std"])
def test_more_values_than_the_images_have_channels_are_refused(option):
    with pytest.raises(
        UsageError, match=rf"{option}=\[0.5, 0.5, 0.5\] given; allowed: one number, or one for"
    ):
        prepared(None, **{option: [0.5, 0.5, 0.5]})


@pytest.mark.parametrize("share", [0, 1, 1.5])
def test_wrong_share_is_one_line(share):
    with pytest.raises(UsageError, match=f"local_test={share} given; allowed: between 0 and 1"):
        prepared(share)
    with pytest.raises(UsageError, match=f"server_share={share} given; allowed: between 0 and 1"):
        prepared(None, server_share=share)


def test_the_servers_images_and_the_test_set_are_two_parts_of_one():
    """10 test images of each class, 0.3 of them the server's: three of each, and the other seven tested."""
    whole = prepared(None, test_per_class=10)
    parts = prepared(None, test_per_class=10, server_share=0.3)
    assert whole.server is None
    assert torch.bincount(parts.server.labels).tolist() == [3] * 10
    assert torch.bincount(parts.test.labels).tolist() == [7] * 10
    images = {image.numpy().tobytes() for image in whole.test.inputs}
    tested, held = ({image.numpy().tobytes() for image in p.inputs} for p in (parts.test, parts.server))
    assert tested | held == images
    assert not tested & held
    with pytest.raises(UsageError, match=r"server_share=0.1 given; no class has the 10 test samples for one"):
        prepared(None, server_share=0.1)


def test_rows_tell_the_spread_over_clients():
    task = make_world(rounds=1, seeds=(0, 1))
    task = replace(task, held_out=[task.clients[0], task.clients[1]])
    before, after = rounds(task, make_method("fedavg"))
    for replica in range(2):
        row = after.rows[replica][0]
        accuracies = np.array(json.loads(row["client_test_accuracies"]))
        assert len(accuracies) == 4
        quartiles = np.quantile(accuracies, [0, 0.25, 0.5, 0.75, 1])
        names = ("min", "lower_quartile", "median", "upper_quartile", "max")
        ours = [row[f"client_test_accuracy_{name}"] for name in names]
        np.testing.assert_allclose(ours, quartiles, atol=1e-6)
        # here the held-out samples are those of training, so both evaluations must agree
        assert row["client_test_accuracy_mean"] == pytest.approx(row["client_accuracy_mean"])
        assert row["client_test_loss_mean"] == pytest.approx(row["client_loss_mean"])
        assert "client_test_accuracies" not in before.rows[replica][0]
        assert "client_test_accuracy_mean" in before.rows[replica][0]


@dataclass(frozen=True)
class OwnModels(FedAvg):
    """FedAvg whose client 2 is evaluated with a model of zeros."""

    def client_models(self, task, state, clients):
        factor = torch.from_numpy((clients.reshape(-1) != 2).astype(np.float32))
        replica = torch.arange(len(clients)).repeat_interleave(clients.shape[1])
        return {n: t[replica] * factor.view(-1, *[1] * (t.ndim - 1)) for n, t in state.params.items()}, {}

    def initial_columns(self, task, state):
        return {"note": [f"replica {r}" for r in range(len(task.runs))]}


def test_clients_are_evaluated_with_their_own_models():
    task = make_world(rounds=1, seeds=(0, 1))
    task = replace(task, held_out=task.clients)
    ours, plain = [*rounds(task, OwnModels())], [*rounds(task, FedAvg())]
    assert [rows[0]["note"] for rows in ours[0].rows] == ["replica 0", "replica 1"]
    for replica in range(2):
        mine, theirs = ours[1].rows[replica][0], plain[1].rows[replica][0]
        assert mine["test_loss"] == theirs["test_loss"]
        a, b = (json.loads(row["client_test_accuracies"]) for row in (mine, theirs))
        assert [a[k] for k in (0, 1, 3)] == [b[k] for k in (0, 1, 3)]
        labels = task.train.labels[torch.from_numpy(task.clients[replica][2])]
        assert a[2] == pytest.approx(float((labels == 0).float().mean()), abs=1e-6)
        assert mine["client_loss_max"] == pytest.approx(np.log(3), rel=1e-5)


def test_what_clients_keep_is_taken_and_put_back_by_client():
    kept = {"w": torch.arange(8.0).view(2, 4)}
    clients = np.array([[0, 2], [1, 3]])
    assert gather(kept, clients)["w"].tolist() == [0, 2, 5, 7]
    after = put_back(kept, clients, {"w": torch.tensor([10.0, 12.0, 15.0, 17.0]), "other": torch.zeros(4)})
    assert after["w"].tolist() == [[10, 1, 12, 3], [4, 15, 6, 17]]
    assert kept["w"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


@dataclass(frozen=True)
class Pairs(FedAvg):
    """A method of the user's that works with two clients a round."""

    def check(self, run):
        if run.cohort_size != 2:
            raise UsageError(f"cohort_size={run.cohort_size} given; allowed: 2")


def test_a_run_that_the_method_cannot_work_with_is_refused_before_it_begins():
    task = make_world(rounds=2, cohort_size=2)
    begun, *_ = rounds(task, Pairs())
    other = replace(task, runs=(replace(task.run, cohort_size=3),))
    with pytest.raises(UsageError, match="cohort_size=3 given; allowed: 2"):
        next(rounds(other, Pairs()))
    assert [result.round for result in rounds(other, Pairs(), begun.state)] == [1, 2]  # it goes on
