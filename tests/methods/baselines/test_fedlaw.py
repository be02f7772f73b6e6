"""FedLAW's learned weights: where they start, what they descend, what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scripted import play, scripted_world
from torch import nn
from worlds import make_run, make_world

from fedlib.engine import Samples, evaluate_clients
from fedlib.errors import UsageError
from fedlib.federation import Cohort, ServerState
from fedlib.methods import make_method
from fedlib.methods.baselines import fedlaw

SHARE = {"server_share": 0.5}


def test_a_vanishing_rate_leaves_fedavg(monkeypatch):
    task = scripted_world(monkeypatch, fedlaw, [(1.0, 5.0)], start=0.0, sizes=(3, 1), dataset_options=SHARE)
    seen, report, _ = play(task, make_method("fedlaw", {"server_learning_rate": 1e-12}), 1)
    assert seen == pytest.approx([2.0])
    assert report.weights[0].tolist() == pytest.approx([0.75, 0.25])
    assert report.columns["gamma"] == pytest.approx([1.0])


def test_weights_descend_the_loss_on_the_servers_images():
    task = make_world(sizes=(20, 20, 20), seeds=(0, 1), dataset_options=SHARE)
    method = make_method("fedlaw", {"server_learning_rate": 0.05, "server_epochs": 10})
    plain = make_method("fedavg")
    cohort = Cohort(1, task.everyone())
    ours, report = method.apply(task, method.init(task), cohort)
    theirs, _ = plain.apply(task, plain.init(task), cohort)
    whole = [[torch.arange(len(task.server.labels)).numpy()]] * 2

    def losses(state):
        found = evaluate_clients(task.trainer, task.server, state.params, state.buffers, whole)
        return torch.stack([one.loss[0] for one in found])

    assert (losses(ours) < losses(theirs)).all()
    assert report.weights.sum(dim=1).tolist() == pytest.approx(report.columns["gamma"], rel=1e-5)


def test_the_first_step_follows_the_gradient():
    """One batch, one step of Adam from z = log p, g = 0: all move by the rate, against the gradient."""
    task = make_world(sizes=(12, 4), dataset_options=SHARE)
    method = make_method("fedlaw", {"server_learning_rate": 0.1, "server_epochs": 1})
    state = method.init(task)
    gen = torch.Generator().manual_seed(1)
    local = {
        name: (w + 0.5 * torch.randn(2, *w.shape[1:], generator=gen)) for name, w in state.params.items()
    }
    shares = torch.tensor([[0.75, 0.25]])
    weights, gamma = method.learn(task, local, state, shares, 1)

    z, g = shares.log().squeeze(0).requires_grad_(), torch.zeros((), requires_grad=True)
    mixed = {n: sum(a * w for a, w in zip(g.exp() * z.softmax(0), t, strict=True)) for n, t in local.items()}
    inputs = task.server.fetch(torch.arange(len(task.server.labels)))
    outputs = torch.func.functional_call(task.model, mixed, (inputs,))
    torch.nn.functional.cross_entropy(outputs, task.server.labels).backward()
    expected = (z - 0.1 * z.grad.sign()).detach().softmax(0) * (-0.1 * g.grad.sign()).exp()
    torch.testing.assert_close(weights[0], expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gamma[0], (-0.1 * g.grad.sign()).exp(), rtol=1e-4, atol=1e-5)


def test_a_server_without_images_is_refused():
    with pytest.raises(UsageError, match="server_share"):
        make_method("fedlaw").check(make_run())
    task = make_world()
    task = replace(task, runs=tuple(replace(run, dataset_options=SHARE) for run in task.runs))
    assert make_method("fedlaw").init(task).round == 0


def test_as_many_proxy_images_of_each_class():
    labels = np.array([2, 0, 0, 1, 0, 2, 2, 2, 1])
    proxy = Samples(torch.zeros(9, 1), torch.from_numpy(labels))
    task = make_world()  # whose model has more outputs than there are labels here
    for images, expected in ((6, [0, 1, 2, 3, 5, 8]), (1, [0, 1, 3]), (99, list(range(9)))):
        assert make_method("fedlaw", {"proxy_images": images})._proxy(task, proxy).tolist() == expected


def test_a_replica_learns_the_same_alone_and_beside_others():
    """Its proxy images come in an order of its own seed."""
    method = make_method("fedlaw", {"server_batch_size": 5, "server_learning_rate": 0.05})

    def learned(seeds):
        task = make_world(sizes=(12, 14), seeds=seeds, dataset_options=SHARE)
        state, cohort = method.init(task), Cohort(1, task.everyone())
        return method.apply(task, state, cohort)[1].weights[-1]

    torch.testing.assert_close(learned((3, 7)), learned((7,)), rtol=1e-5, atol=1e-6)


class OneLogit(nn.Module):
    """Logits (w, 0, 0) whatever the image."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return torch.cat([self.w * torch.ones(len(x), 1), torch.zeros(len(x), 2)], dim=1)


@pytest.mark.parametrize("w", [4.0, 0.05])
def test_gamma_travels_by_the_number_of_steps_and_not_by_the_slope(w):
    """HEAD-A3. A third of the images has label 0: any w > 0 is too sure, and shrinking it lowers the loss.

    Adam moves g by its rate in every step however small the slope: 20 steps of 0.005 give
    gamma = exp(-0.1), with w = 4 as with w = 0.05, where nothing is left to gain.
    """
    task = make_world(sizes=(30, 30), model=OneLogit(), dataset_options=SHARE)
    keep = torch.cat([(task.server.labels == c).nonzero()[:10, 0] for c in range(3)])
    thirds = replace(task.server, inputs=task.server.inputs[keep], labels=task.server.labels[keep])
    task = replace(task, server=thirds)
    local = {"w": torch.full((2, 1), w)}
    state = ServerState(0, {"w": torch.full((1, 1), w)}, {})
    shares = torch.tensor([[0.5, 0.5]])
    _, gamma = make_method("fedlaw").learn(task, local, state, shares, 1)
    assert gamma.item() == pytest.approx(0.9048, abs=0.004)
    _, gamma = make_method("fedlaw", {"server_epochs": 1}).learn(task, local, state, shares, 1)
    assert gamma.item() == pytest.approx(0.9950, abs=0.0005)
