"""FedExP's extrapolation against numbers worked out by hand."""

import pytest
from scripted import play, scripted_world

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
