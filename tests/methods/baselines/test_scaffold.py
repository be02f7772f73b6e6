"""SCAFFOLD and FedDyn: by hand on quadratics, and against the papers' own invariants."""

import numpy as np
import pytest
import torch
from worlds import make_run, make_world

from fedlib.errors import UsageError
from fedlib.federation import Cohort, initial_state, sample_cohort
from fedlib.methods import make_method
from fedlib.methods.baselines.scaffold import gradients

PLAIN = {"sizes": (8, 8, 8, 8), "batch_size": 4, "local_epochs": 2, "local_learning_rate": 0.1}


def everybody(task, t=1):
    return Cohort(t, task.everyone())


def loss_gradient(task, params, own):
    """The gradient of a client's mean loss by autograd, one model."""
    params = {n: w.clone().requires_grad_() for n, w in params.items()}
    inputs = task.train.fetch(torch.from_numpy(own))
    outputs = torch.func.functional_call(task.model, params, (inputs,))
    loss = torch.nn.functional.cross_entropy(outputs, task.train.labels[own])
    return dict(zip(params, torch.autograd.grad(loss, list(params.values())), strict=True))


def test_first_round_is_fedavg_with_uniform_weights():
    """All control variates are 0 at the start."""
    task = make_world(**PLAIN)
    ours, plain = make_method("scaffold"), make_method("fedavg", {"weights": "uniform"})
    first, report = ours.apply(task, ours.init(task), everybody(task))
    second, told = plain.apply(task, plain.init(task), everybody(task))
    for name, w in first.params.items():
        torch.testing.assert_close(w, second.params[name], rtol=1e-5, atol=1e-6)
    assert report.uplink_bytes == 2 * told.uplink_bytes
    assert report.downlink_bytes == 2 * told.downlink_bytes


def test_control_variates_have_no_buffers():
    """Batch norm's statistics are sent once, parameters twice."""
    task = make_world(**PLAIN, model="cnn-feddisk", model_options={"width": 2}, shape=(16, 16))
    method = make_method("scaffold")
    state = method.init(task)
    _, report = method.apply(task, state, everybody(task))
    params, buffers = (
        sum(t[0].numel() * t.element_size() for t in tensors.values())
        for tensors in (state.params, state.buffers)
    )
    assert buffers > 0
    assert report.uplink_bytes == report.downlink_bytes == 4 * (2 * params + buffers)


@pytest.mark.parametrize(("limit", "length"), [(None, 0.4), (1, 0.1)])
def test_option_two_is_the_mean_gradient_of_the_local_steps(limit, length):
    """c_i+ = (x - y_i) / (K eta) after round 1, K = 2 epochs of 2 steps, or the one step that is allowed."""
    task = make_world(**PLAIN | {"local_steps": limit})
    method = make_method("scaffold")
    start = method.init(task)
    after, _ = method.apply(task, start, everybody(task))
    for name, mean in after.params.items():
        mean_c = after.memory["clients"][name].mean(dim=1)
        torch.testing.assert_close(mean_c, (start.params[name] - mean) / length, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(after.memory["c"][name], mean_c, rtol=1e-4, atol=1e-6)


def test_variates_under_momentum_are_the_gradients():
    """Four full-batch steps so short that g_i is constant; momentum 0.9 gives them 1, 1.9, 2.71 and 3.439.

    Round 1, c_i = c = 0: x - y_i = eta 9.049 g_i. In round 2 c - c_i is not 0, and gathers like g_i:
    x - y_i = eta 9.049 (g_i - c_i + c) = eta 9.049 c. Both rounds leave c_i = g_i.
    """
    eta = 1e-4
    task = make_world(
        sizes=(8, 8), batch_size=8, local_epochs=4, local_learning_rate=eta,
        local_optimizer_options={"momentum": 0.9},
    )  # fmt: skip
    method = make_method("scaffold")
    state = method.init(task)
    for t in (1, 2):
        found = gradients(task, state, everybody(task))
        after, _ = method.apply(task, state, everybody(task, t))
        for name, g in found.items():
            near = {"rtol": 0.02, "atol": 0.02 * float(g.abs().max())}
            torch.testing.assert_close(after.memory["clients"][name][0], g, **near)
            moved = (state.params[name] - after.params[name])[0] / (9.049 * eta)
            torch.testing.assert_close(moved, g.mean(dim=0), **near)
        state = after


def test_option_one_is_the_gradient_at_the_global_model():
    task = make_world(**PLAIN)
    state = initial_state(task)
    found = gradients(task, state, everybody(task))
    for k, own in enumerate(task.clients[0]):
        expected = loss_gradient(task, {n: w[0] for n, w in state.params.items()}, own)
        for name, g in expected.items():
            torch.testing.assert_close(found[name][k], g, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("option", ["I", "II"])
def test_the_servers_variate_is_the_mean_of_all_clients(option):
    """An invariant of lines 12 and 17, also where only some take part."""
    task = make_world(**PLAIN, seeds=(0, 1), cohort_size=2)
    method = make_method("scaffold", {"option": option})
    state = method.init(task)
    for t in range(1, 5):
        state, _ = method.apply(task, state, sample_cohort(task.seeds, t, 4, 2))
    for name, c in state.memory["c"].items():
        mean = state.memory["clients"][name].mean(dim=1)
        torch.testing.assert_close(c, mean, rtol=1e-4, atol=1e-5)


def test_correction_removes_the_drift_of_one_full_step():
    """With one full-batch step and exact variates of x every client moves along the mean gradient."""
    task = make_world(sizes=(8, 8), batch_size=8, local_epochs=1, local_learning_rate=0.1)
    method = make_method("scaffold", {"option": "I"})
    state = method.init(task)
    found = gradients(task, state, everybody(task))
    state.memory["clients"] = {n: g.unsqueeze(0) for n, g in found.items()}
    state.memory["c"] = {n: g.mean(dim=0, keepdim=True) for n, g in found.items()}
    after, _ = method.apply(task, state, everybody(task))
    for name, x in state.params.items():
        torch.testing.assert_close(
            after.params[name], x - 0.1 * state.memory["c"][name], rtol=1e-4, atol=1e-6
        )


def test_other_settings_are_refused():
    with pytest.raises(UsageError, match="unknown option of method 'scaffold' 'III'"):
        make_method("scaffold", {"option": "III"})
    with pytest.raises(UsageError, match="local_optimizer='adam'"):
        make_method("scaffold").check(make_run(local_optimizer="adam"))
    with pytest.raises(UsageError, match=r"alpha=0\.0 given"):
        make_method("feddyn", {"alpha": 0})


def test_feddyns_first_step_by_hand():
    """One full-batch step from w: w_k = w - eta grad, g_k = alpha eta grad_k, h = alpha eta mean grad.

    So w^1 = w - eta mean - eta mean: FedAvg's step twice.
    """
    task = make_world(sizes=(8, 8), batch_size=8, local_epochs=1, local_learning_rate=0.1)
    method = make_method("feddyn", {"alpha": 0.5})
    state = method.init(task)
    found = gradients(task, state, everybody(task))
    after, _ = method.apply(task, state, everybody(task))
    for name, w in state.params.items():
        mean = found[name].mean(dim=0, keepdim=True)
        torch.testing.assert_close(after.params[name], w - 0.2 * mean, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(after.memory["clients"][name][0], 0.05 * found[name], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(after.memory["h"][name], 0.05 * mean, rtol=1e-4, atol=1e-6)


def test_feddyns_server_state_is_the_mean_of_its_clients():
    task = make_world(**PLAIN, cohort_size=2)
    method = make_method("feddyn", {"alpha": 0.1})
    state = method.init(task)
    for t in range(1, 5):
        state, _ = method.apply(task, state, sample_cohort(task.seeds, t, 4, 2))
    for name, h in state.memory["h"].items():
        torch.testing.assert_close(h, state.memory["clients"][name].mean(dim=1), rtol=1e-4, atol=1e-5)


def test_a_stationary_point_stays():
    """Where g_k is the gradient of every client at w and their mean is 0, nobody moves (the paper's aim)."""
    task = make_world(sizes=(8, 8), batch_size=8, local_epochs=3, local_learning_rate=0.05)
    method = make_method("feddyn", {"alpha": 0.5})
    state = method.init(task)
    found = gradients(task, state, everybody(task))
    state.memory["clients"] = {n: g.unsqueeze(0) for n, g in found.items()}
    after, _ = method.apply(task, state, everybody(task))
    for name, w in state.params.items():
        np.testing.assert_allclose(after.params[name].numpy(), w.numpy(), atol=1e-5)
