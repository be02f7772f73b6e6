"""Cohorts whose local models do not all exist at once: the same average, part by part."""

import numpy as np
import pytest
import torch
from worlds import make_world

from fedlib.federation import client_updates, clients_at_once, sample_cohort
from fedlib.methods import make_method
from fedlib.methods.baselines.fedprox import JoinedFedProx


def one_round(task, method):
    cohort = sample_cohort(task.seeds, 1, task.run.num_clients, task.cohort_size)
    return method.apply(task, method.init(task), cohort)


def limit(monkeypatch, task, clients):
    """So many clients of every replica at once."""
    state = make_method("fedavg").init(task)
    size = client_updates.model_bytes(state.params, state.buffers) * len(task.runs)
    monkeypatch.setattr(client_updates, "LOCAL_MODELS_BYTES", clients * size)


def with_batch_norm():
    return make_world(shape=(28, 28), model="cnn-feddisk", model_options={"width": 4}, seeds=(0, 1))


def joined(task):
    other = make_method("fedprox", {"mu": 0.5, "weights": "uniform"})
    return JoinedFedProx((make_method("fedavg"), other))


CASES = {
    "fedavg": (lambda: make_world(seeds=(0, 1)), lambda task: make_method("fedavg")),
    "integer buffers": (with_batch_norm, lambda task: make_method("fedavg")),
    "fedprox": (make_world, lambda task: make_method("fedprox", {"mu": 0.5})),
    "one mu for each replica": (lambda: make_world(seeds=(0, 0)), joined),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("clients", [1, 3])
def test_parts_average_to_the_whole(case, clients, monkeypatch):
    world, method = CASES[case]
    task = world()
    whole, report = one_round(task, method(task))
    limit(monkeypatch, task, clients)
    trained = []
    original = client_updates.train_cohort
    monkeypatch.setattr(
        client_updates,
        "train_cohort",
        lambda *a, **k: trained.append(a[2].clients.shape[1]) or original(*a, **k),
    )
    parts, told = one_round(task, method(task))
    assert trained == ([1] * 4 if clients == 1 else [2, 2])
    for name, tensor in {**whole.params, **whole.buffers}.items():
        other = {**parts.params, **parts.buffers}[name]
        assert other.dtype == tensor.dtype
        torch.testing.assert_close(other, tensor, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(told.train_loss, report.train_loss, rtol=1e-5, atol=1e-6)
    assert (told.clients == report.clients).all()
    assert (told.uplink_bytes, told.downlink_bytes) == (report.uplink_bytes, report.downlink_bytes)


def test_at_least_one_client_trains_at_once(monkeypatch):
    monkeypatch.setattr(client_updates, "LOCAL_MODELS_BYTES", 10)
    assert [clients_at_once(size) for size in (1, 4, 100)] == [10, 2, 1]


def test_no_artifact_comes_near_the_limit():
    """VGG-11 with 100 clients is in one piece; only its 1,000 clients, 39 GB, are not."""
    vgg, mobile = 4 * 9_750_922, 4 * 2_236_682
    assert clients_at_once(vgg) > 100
    assert clients_at_once(mobile) > 400
    assert np.ceil(1000 / clients_at_once(vgg)) == 10
