"""FedExP's extrapolation against numbers worked out by hand."""

import pytest
import torch
from scripted import play, scripted_world
from worlds import make_world

from fedlib.engine import evaluate_clients
from fedlib.federation import ServerState, rounds
from fedlib.methods import make_method
from fedlib.methods.baselines import fedexp

EXACT = {"epsilon": 0.0}


def test_clients_that_disagree_are_extrapolated(monkeypatch):
    """From 0: changes 3 and -1, shares 1/2: mean 1, (9 + 1) / 2 / (2 * 1) = 2.5, so w = 2.5."""
    task = scripted_world(monkeypatch, fedexp, [(3.0, -1.0)], start=0.0, sizes=(4, 4))
    seen, report, _ = play(task, make_method("fedexp", EXACT), 1)
    assert seen == pytest.approx([2.5])
    assert report.columns["server_learning_rate"] == pytest.approx([2.5])


def test_clients_that_agree_are_fedavg(monkeypatch):
    """Equal changes: 4 / (2 * 4) = 0.5, so the rate is 1."""
    task = scripted_world(monkeypatch, fedexp, [(3.0, 3.0)], start=1.0, sizes=(3, 1))
    assert play(task, make_method("fedexp", EXACT), 1)[0] == pytest.approx([3.0])


def test_shares_weigh_the_norms(monkeypatch):
    """Shares 0.75, 0.25, changes 2 and -2: mean 1, sum 4 / 2 = 2; epsilon = 1 halves it to 1."""
    for epsilon, expected in ((0.0, 2.0), (1.0, 1.0)):
        task = scripted_world(monkeypatch, fedexp, [(2.0, -2.0)], start=0.0, sizes=(3, 1))
        assert play(task, make_method("fedexp", {"epsilon": epsilon}), 1)[0] == pytest.approx([expected])


def test_the_mean_of_the_last_two_models_is_evaluated_and_training_goes_on_from_the_last(monkeypatch):
    """Round 1 leads from 0 to 2.5, as above, round 2 to 3.5, where all clients agree: (2.5 + 3.5) / 2."""
    task = scripted_world(monkeypatch, fedexp, [(3.0, -1.0), (3.5, 3.5)], start=0.0, sizes=(4, 4))
    for averaged, expected in ((2, 3.0), (1, 3.5)):
        method = make_method("fedexp", {**EXACT, "averaged": averaged})
        _, _, state = play(task, method, 2)
        (last,) = (tensor.flatten().tolist() for tensor in state.params.values())
        (seen,) = (tensor.flatten().tolist() for tensor in method.evaluated(task, state).params.values())
        assert last == pytest.approx([3.5])
        assert seen == pytest.approx([expected])
    fresh = method.init(task)
    assert method.evaluated(task, fresh).params.keys() == fresh.params.keys()


def test_rows_are_those_of_the_evaluated_models():
    """The row's accuracies are the mean model's, batch-norm statistics included."""
    task = make_world(model="cnn-feddisk", shape=(16, 16), method="fedexp", rounds=3)
    method = make_method("fedexp")
    *_, one, last = rounds(task, method)
    state = ServerState(3, *(last.state[name] for name in ("params", "buffers", "memory")))
    mean = method.evaluated(task, state)
    for own, before, after in (
        (mean.params, one.state["params"], state.params), (mean.buffers, one.state["buffers"], state.buffers)
    ):  # fmt: skip
        assert own.keys() == after.keys()
        for name in own:
            halfway = (before[name] + after[name]) / 2 if own[name].is_floating_point() else after[name]
            assert torch.equal(own[name], halfway), name
    found = evaluate_clients(task.trainer, task.test, mean.params, mean.buffers, task.test_index)
    assert last.rows[0][-1]["test_loss"] == pytest.approx(float(found[0].loss[0]), abs=1e-6)
    whole = evaluate_clients(task.trainer, task.test, state.params, state.buffers, task.test_index)
    assert last.rows[0][-1]["test_loss"] != pytest.approx(float(whole[0].loss[0]), abs=1e-6)
