"""FedNova against numbers worked out by hand and against FedAvg."""

import numpy as np
import pytest
import torch
from scripted import play, scripted_world
from worlds import make_run, make_world

from fedlib.errors import UsageError
from fedlib.federation import sample_cohort
from fedlib.methods import make_method
from fedlib.methods.baselines import fednova


def test_changes_per_step_are_averaged(monkeypatch):
    """Sizes 6 and 2, B = 2, E = 1: 3 steps and 1 step, p = 0.75, 0.25, tau_eff = 2.5.

    d = (4 - 1) / 3 = 1 and (3 - 1) / 1 = 2, so w = 1 + 2.5 (0.75 * 1 + 0.25 * 2) = 4.125.
    """
    task = scripted_world(
        monkeypatch, fednova, [(4.0, 3.0)], start=1.0, sizes=(6, 2), batch_size=2, local_epochs=1
    )
    seen, _, _ = play(task, make_method("fednova"), 1)
    assert seen == pytest.approx([4.125])


def test_changes_are_averaged_by_the_weight_of_momentum(monkeypatch):
    """As above with rho = 0.5: ||a|| = 4.25 and 1, tau_eff = 0.75 * 4.25 + 0.25 = 3.4375.

    d = (5.25 - 1) / 4.25 = 1 and (3 - 1) / 1 = 2, so w = 1 + 3.4375 (0.75 * 1 + 0.25 * 2) = 5.296875.
    """
    task = scripted_world(
        monkeypatch, fednova, [(5.25, 3.0)], start=1.0, sizes=(6, 2), batch_size=2, local_epochs=1,
        local_optimizer_options={"momentum": 0.5},
    )  # fmt: skip
    seen, _, _ = play(task, make_method("fednova"), 1)
    assert seen == pytest.approx([5.296875])


def test_accumulated_weight_with_momentum():
    """rho = 0.5, three steps: (1 - 0.5^3) / 0.5 + (1 - 0.5^2) / 0.5 + (1 - 0.5) / 0.5 = 1.75 + 1.5 + 1."""
    assert fednova.accumulated_weight(np.array([1, 3]), 0.5) == pytest.approx([1.0, 4.25])
    assert fednova.accumulated_weight(np.array([3]), 0.0) == pytest.approx([3.0])


def test_accumulated_weight_is_what_momentum_sgd_does():
    """With a constant gradient of 1 and learning rate 1 the model moves by ||a||_1."""
    w = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0, momentum=0.9)
    for _ in range(7):
        w.grad = torch.ones(1)
        optimizer.step()
    assert -w.item() == pytest.approx(float(fednova.accumulated_weight(np.array(7), 0.9)), rel=1e-5)


def assert_is_fedavg(task, cohort):
    ours, plain = (make_method(name) for name in ("fednova", "fedavg"))
    first, _ = ours.apply(task, ours.init(task), cohort)
    second, _ = plain.apply(task, plain.init(task), cohort)
    for name, tensor in first.params.items():
        torch.testing.assert_close(tensor, second.params[name], rtol=1e-5, atol=1e-6)


def test_equal_numbers_of_steps_are_fedavg():
    task = make_world(sizes=(8, 8, 8))
    cohort = sample_cohort(task.seeds, 1, 3, 3)
    assert_is_fedavg(task, cohort)


def test_a_limit_of_local_steps_counts():
    """Clients of 8 and 2 images, B = 2, all stopped after one step: as many steps, so FedAvg."""
    task = make_world(sizes=(8, 2), batch_size=2, local_steps=1)
    cohort = sample_cohort(task.seeds, 1, 2, 2)
    assert fednova.local_steps(task, cohort).tolist() == [[1, 1]] * len(task.seeds)
    assert_is_fedavg(task, cohort)


def test_other_local_optimizers_are_refused():
    method = make_method("fednova")
    with pytest.raises(UsageError, match="local_optimizer='adam'"):
        method.check(make_run(local_optimizer="adam"))
    with pytest.raises(UsageError, match="no nesterov"):
        method.check(make_run(local_optimizer_options={"momentum": 0.9, "nesterov": True}))
    with pytest.raises(UsageError, match="a momentum below 1"):
        method.check(make_run(local_optimizer_options={"momentum": 1.0}))
