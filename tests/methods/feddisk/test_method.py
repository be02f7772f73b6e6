"""FedDisk: each step against plain PyTorch or numbers by hand, and what its weights are worth."""

import copy
import io
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from feddisk_fits import fit_local_mades, fit_ratio
from worlds import make_world, through_a_file

from fedlib.engine import Samples
from fedlib.errors import UsageError
from fedlib.federation import Cohort, finish_round, rounds, sample_shares, train_cohort
from fedlib.methods import make_method
from fedlib.methods.feddisk import phase1
from fedlib.methods.feddisk.density_models import fit_global_made, pixels, validation_split
from fedlib.methods.feddisk.density_ratio import (
    Outputs,
    effective_sample_size,
    made_outputs,
    make_classifier,
    odds,
    to_mean_one,
    to_zero_two,
)
from fedlib.methods.feddisk.early_stopping import EarlyStopping, steps_taken
from fedlib.methods.feddisk.method import FedDisk
from fedlib.methods.pretraining_cache import forget
from fedlib.models import count_parameters
from fedlib.models.made import make_made, negative_log_likelihood

SHORT = {"made_hidden": 5, "made_max_rounds": 4, "ratio_hidden": 4, "ratio_max_epochs": 3}


def world(**changes):
    return make_world(**{"sizes": (30, 22, 45), "shape": (3, 4), "rounds": 2, "local_epochs": 2, **changes})


def one_round(task, alpha):
    """One round of phase 2 with given weights [R, n]."""
    method = FedDisk()
    start = make_method("fedavg").init(task)
    state = replace(start, memory={"alpha": alpha})
    return method.apply(task, state, Cohort(1, np.arange(len(task.clients[0]))[None]))


def test_weights_of_one_are_fedavg_bit_for_bit():
    task = world(batch_size=4)
    ours, report = one_round(task, torch.ones(1, 97))
    method = make_method("fedavg")
    plain, expected = method.apply(task, method.init(task), Cohort(1, np.arange(3)[None]))
    assert all(torch.equal(ours.params[name], tensor) for name, tensor in plain.params.items())
    assert torch.equal(report.train_loss, expected.train_loss)


def test_a_weighted_round_by_hand():
    """A linear model from zero, one step of lr 0.5; without weights (see test_fedavg_round_by_hand)
    W0 = [[1/4, 0], [-1/4, 0]] and W1 = [[0, -1/4], [0, 1/4]].

    alpha = 2 for client 0 and (3/2, 0, 0), whose mean is 1/2, for client 1: W0 doubles, W1 halves,
    and 1/4 W0 + 3/4 W1 = [[1/8, -3/32], [-1/8, 3/32]].
    """
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2, 2))
    images = np.array([[[255, 0]]] + [[[0, 255]]] * 3, dtype=np.uint8)
    samples = Samples.from_arrays(images, np.array([0, 1, 1, 1]))
    task = make_world(
        sizes=(1, 3), rounds=1, local_epochs=1, local_learning_rate=0.5, batch_size=10, model=model
    )
    task = replace(task, train=samples, clients=[[np.array([0]), np.array([1, 2, 3])]])
    state = replace(
        make_method("fedavg").init(world()),
        params={n: torch.zeros(1, *p.shape) for n, p in model.named_parameters()},
        memory={"alpha": torch.tensor([[2.0, 1.5, 0.0, 0.0]])},
    )
    after, _ = FedDisk().apply(task, state, Cohort(1, np.array([[0, 1]])))
    expected = torch.tensor([[1 / 8, -3 / 32], [-1 / 8, 3 / 32]])
    torch.testing.assert_close(after.params["1.weight"][0], expected)


def test_replicas_have_weights_of_their_own():
    task = world(seeds=(0, 0), batch_size=4)
    alpha = torch.stack([torch.ones(97), 2 * torch.ones(97)])
    method = make_method("fedavg")
    state = replace(method.init(task), memory={"alpha": alpha})
    after, _ = FedDisk().apply(task, state, Cohort(1, np.tile(np.arange(3), (2, 1))))
    alone, _ = one_round(world(batch_size=4), 2 * torch.ones(1, 97))
    for name, tensor in alone.params.items():
        torch.testing.assert_close(after.params[name][1], tensor[0])
        assert not torch.equal(after.params[name][0], tensor[0])


def test_a_client_s_equal_weights_are_a_learning_rate_and_nothing_else():
    """What the ablation `control="mean"` rests on."""
    task, times = world(batch_size=4), np.array([2.0, 0.5, 1.5])
    alpha = torch.ones(1, 97)
    for index, factor in zip(task.clients[0], times, strict=True):
        alpha[0, index] = factor
    weighted, _ = one_round(task, alpha)
    state, cohort = make_method("fedavg").init(task), Cohort(1, np.arange(3)[None])
    trained = train_cohort(task, state, cohort, learning_rate=times * task.run.local_learning_rate)
    scaled, _ = finish_round(task, state, cohort, trained, sample_shares(task, cohort))
    plain, _ = one_round(task, torch.ones(1, 97))
    for name, tensor in scaled.params.items():
        torch.testing.assert_close(weighted.params[name], tensor, rtol=1e-4, atol=1e-6)
        assert not torch.allclose(tensor, plain.params[name], rtol=1e-3)


def test_odds_are_finite_where_h_is_0_or_1():
    """Eq. (15) by hand: h = 0.75 gives 3; 0 and 1 are clipped to 0.01 and 0.99: 1/99 and 99."""
    ratio = odds(torch.tensor([0.0, 0.5, 0.75, 1.0]))
    torch.testing.assert_close(ratio, torch.tensor([1 / 99, 1.0, 3.0, 99.0]))


def test_scales_by_hand():
    torch.testing.assert_close(to_mean_one(torch.tensor([1.0, 3.0])), torch.tensor([0.5, 1.5]))
    torch.testing.assert_close(to_zero_two(torch.tensor([1.0, 2.0, 5.0])), torch.tensor([0.0, 0.5, 2.0]))
    assert to_zero_two(torch.tensor([4.0, 4.0])).tolist() == [1, 1]


def test_effective_sample_size_by_hand():
    weights = {(1.0, 1.0, 1.0, 1.0): 4, (1.0, 0.0, 0.0): 1, (1.0, 3.0): 1.6}
    for alpha, expected in weights.items():
        assert effective_sample_size(torch.tensor(alpha)) == pytest.approx(expected)


def test_options_of_the_weights():
    task = world()
    h = torch.rand(1, 97, generator=torch.Generator().manual_seed(0))
    h[0, :3] = torch.tensor([0.0, 1.0, 0.5])

    def weights(**options):
        return FedDisk(**options).sample_weights(task, h)[0]

    raw = weights(scale="raw")
    torch.testing.assert_close(raw, odds(h)[0])
    mixed, flat = weights(control="shuffled"), weights(scale="raw", control="mean")
    for index in task.clients[0]:
        assert float(weights()[index].mean()) == pytest.approx(1, rel=1e-5)
        assert sorted(mixed[index].tolist()) == sorted(weights()[index].tolist())
        assert mixed[index].tolist() != weights()[index].tolist()
        torch.testing.assert_close(flat[index], raw[index].mean().expand(len(index)))
        assert weights(scale="minmax")[index].max() == 2
    assert weights().isfinite().all()


def test_patience_by_hand():
    patience = EarlyStopping(2, 2, torch.device("cpu"), least=0.5)
    course = [(5.0, 5.0), (4.8, 4.0), (4.9, 4.0), (1.0, float("nan"))]  # 4.8 is no fall by 0.5
    better = [patience.update(step, torch.tensor(loss)).tolist() for step, loss in enumerate(course, 1)]
    assert better == [[True, True], [False, True], [False, False], [False, False]]
    assert patience.at.tolist() == [1, 2]
    assert patience.active.tolist() == [False, False]
    at = torch.tensor([1, 2, 0])  # NaN in the last step of the second; the third has no minimum
    assert steps_taken(at, 2, steps=4).tolist() == [3, 4, 2]
    assert steps_taken(at, 2, steps=3).tolist() == [3, 3, 2]


def fit_alone(model, x, held, epochs, patience):
    """One client's MADE with torch.optim.Adagrad, full batches, early stopping in plain Python."""
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    least, best, at = float("inf"), None, 0
    for epoch in range(1, epochs + 1):
        optimizer.zero_grad()
        negative_log_likelihood(model(x), x).mean().backward()
        optimizer.step()
        loss = float(negative_log_likelihood(model(held), held).mean().detach())
        if loss < least:
            least, best, at = loss, copy.deepcopy(model.state_dict()), epoch
        elif epoch - at >= patience:
            break
    return best, at, epoch


def test_local_mades_are_those_of_clients_that_train_alone():
    task, settings = world(), {"made_hidden": 5, "made_learning_rate": 0.1, "made_patience": 2}
    made = FedDisk(**settings, made_max_rounds=60).made
    fitted = fit_local_mades(task, made)
    fit, held = validation_split(task)
    flat, last = pixels(task).inputs.flatten(1) / 255, []
    for client in range(3):
        model = make_made(12, hidden=5, generator_seed=(0, "made"))
        best, at, end = fit_alone(model, flat[fit[0][client]], flat[held[0][client]], 60, 2)
        assert int(fitted.best[client]) == at
        assert int(fitted.train_loss[:, client].isfinite().sum()) == end
        last.append(end)
        for name, tensor in best.items():
            torch.testing.assert_close(fitted.params[name][client], tensor, rtol=1e-3, atol=1e-4)
    assert len(set(last)) > 1  # clients stop by themselves


def test_global_made_is_averaged_by_eq_11():
    task = world()
    made = FedDisk(made_hidden=5, made_learning_rate=0.1, made_max_rounds=3).made
    shares = sample_shares(task, Cohort(0, np.arange(3)[None]))
    fitted = fit_global_made(task, made, shares)
    fit, held = validation_split(task)
    flat, course = pixels(task).inputs.flatten(1) / 255, []
    model = make_made(12, hidden=5, generator_seed=(0, "made"))
    for _ in range(3):
        local = [copy.deepcopy(model) for _ in range(3)]
        for client, own in enumerate(local):
            optimizer = torch.optim.Adagrad(own.parameters(), lr=0.1)
            for _ in range(2):  # local epochs, one full batch each
                x = flat[fit[0][client]]
                optimizer.zero_grad()
                negative_log_likelihood(own(x), x).mean().backward()
                optimizer.step()
        with torch.no_grad():
            for name, p in model.named_parameters():
                mean = sum(n / 97 * m.get_parameter(name) for n, m in zip((30, 22, 45), local, strict=True))
                p.copy_(mean)
            losses = [negative_log_likelihood(model(flat[i]), flat[i]).mean() for i in held[0]]
        course.append(float(sum(losses) / 3))
    torch.testing.assert_close(fitted.validation_loss[:, 0], torch.tensor(course), rtol=1e-4, atol=1e-4)
    assert int(fitted.best[0]) == int(np.argmin(course)) + 1


def test_the_global_made_is_averaged_by_the_parts_of_the_mixture():
    """FEDDISK-A1: eq. (2) has parts c_i = N_i / N."""
    task, method = world(), FedDisk(**SHORT)
    told = json.loads(method.start(task).memory["phase1"]["made_validation_loss"][0])
    expected = fit_global_made(task, method.made, torch.tensor([[30, 22, 45]]) / 97).validation_loss[:, 0]
    np.testing.assert_allclose(told, expected, rtol=1e-5)


def test_outputs_and_classifier_against_plain_pytorch():
    task = world()
    method = FedDisk(**{**SHORT, "ratio_batch_size": 1000, "ratio_learning_rate": 0.5})
    local = fit_local_mades(task, method.made)
    shared = fit_global_made(task, method.made, torch.full((1, 3), 1 / 3))
    outputs = made_outputs(task, method.made, local, shared, 0)
    all_h, epochs = fit_ratio(task, method.ratio, outputs, 0)
    assert epochs.tolist() == [3, 3, 3]
    assert outputs.starts.tolist() == [0, 30, 52, 97]
    model = make_made(12, hidden=5)
    flat = pixels(task).inputs.flatten(1) / 255
    for client, index in enumerate(task.clients[0]):
        us = []
        for params in (
            {n: t[client] for n, t in local.params.items()},
            {n: t[0] for n, t in shared.params.items()},
        ):
            model.load_state_dict(params)
            us.append(model(flat[index]).sigmoid().detach())
        torch.testing.assert_close(outputs.local[outputs.places(client)], us[0])
        torch.testing.assert_close(outputs.shared[outputs.places(client)], us[1])
        net = make_classifier(12, 4, 0)
        labels = torch.arange(2).repeat_interleave(len(index)).float()
        for _ in range(3):
            loss = F.binary_cross_entropy(net(torch.cat(us))[:, 0].sigmoid(), labels)
            for p, gradient in zip(
                net.parameters(), torch.autograd.grad(loss, [*net.parameters()]), strict=True
            ):
                p.data -= 0.5 * gradient
        for feed, u in zip(("local", "global"), us, strict=True):
            expected, h = net(u)[:, 0].sigmoid().detach(), all_h[feed][outputs.places(client)]
            torch.testing.assert_close(h, expected, rtol=1e-4, atol=1e-5)


def test_classifier_has_the_paper_s_size_and_stops_without_progress():
    assert count_parameters(make_classifier(784, 100, 0)) == 78_601
    u = torch.full((97, 12), 0.5)  # both models say the same: nothing to learn
    same = Outputs(u, u, np.array([0, 30, 52, 97]))
    all_h, epochs = fit_ratio(world(), FedDisk(ratio_learning_rate=1e-6).ratio, same, 0)
    h = all_h["local"]
    assert epochs.tolist() == [6, 6, 6]  # the first epoch and five without progress
    assert float(h.max() - h.min()) < 1e-6


def two_bernoulli_clients(count=400, features=12, theta=(0.35, 0.65)):
    """Samples of two Bernoulli products q_0, q_1, the exact outputs of their densities and log p / q_k.

    All features of a client have the same theta, so the number of ones before a pixel gives the
    mixture's conditionals in closed form: u_glob = sum_k P(k | x_<d) theta_k, u_loc = theta_k.
    """
    rng, theta = np.random.default_rng(0), np.array(theta)
    owner = np.repeat([0, 1], count)
    x = (rng.random((2 * count, features)) < theta[owner, None]).astype(float)
    ones, before = np.cumsum(x, axis=1) - x, np.arange(features)
    likelihood = theta[:, None, None] ** ones * (1 - theta[:, None, None]) ** (before - ones)
    shared = (likelihood * theta[:, None, None]).sum(axis=0) / likelihood.sum(axis=0)
    local = np.broadcast_to(theta[owner, None], x.shape)
    total = x.sum(axis=1)
    q = theta[:, None] ** total * (1 - theta[:, None]) ** (features - total)
    log_ratio = np.log(q.mean(axis=0) / q[owner, np.arange(2 * count)])
    tables = [torch.tensor(table, dtype=torch.float32) for table in (local, shared)]
    return Outputs(*tables, np.array([0, count, 2 * count])), log_ratio


def alphas(feed, outputs, epochs):
    """Unscaled weights [2, count] on the exact densities' outputs, h trained by full-batch steps."""
    task = make_world(sizes=(400, 400), shape=(3, 4))
    full = {"ratio_batch_size": 800, "ratio_learning_rate": 0.2, "ratio_least": 0.0}
    h, _ = fit_ratio(task, FedDisk(ratio_max_epochs=epochs, **full).ratio, outputs, 0)
    return odds(h[feed]).numpy().reshape(2, -1)


def test_weights_follow_the_true_ratio_on_global_outputs_and_not_on_local_ones():
    """FEDDISK-A4. The densities are exact, so what goes wrong is the method's, not the fit's."""
    outputs, log_ratio = two_bernoulli_clients()
    log_ratio = log_ratio.reshape(2, -1)
    on_global, on_local = alphas("global", outputs, 40), alphas("local", outputs, 40)
    for client in range(2):
        true = np.exp(log_ratio[client])
        assert abs(true.mean() - 1) < 3 * true.std() / np.sqrt(400)  # E_q[p / q] = 1
        assert np.corrcoef(np.log(on_global[client]), log_ratio[client])[0, 1] > 0.5
        assert np.ptp(on_local[client]) < 1e-4 * on_local[client].mean()  # the same for every sample
        assert np.ptp(log_ratio[client]) > 1


def test_a_longer_trained_classifier_pushes_the_local_weights_to_zero():
    outputs, _ = two_bernoulli_clients()
    brief, long = alphas("local", outputs, 40), alphas("local", outputs, 200)
    assert (long.mean(axis=1) < 0.6).all()
    assert (long.mean(axis=1) < 0.8 * brief.mean(axis=1)).all()


def test_row_of_round_0_tells_phase_1():
    task = world(seeds=(0, 1), rounds=1)
    first, last = (result for result in rounds(task, FedDisk(**SHORT)) if result.round >= 0)
    for replica in range(2):
        row = first.rows[replica][0]
        sizes = 2 * 12 * 5 + 5 + 12
        assert row["uplink_bytes"] == row["downlink_bytes"] == row["made_rounds_run"] * 3 * 4 * sizes
        held = json.loads(row["made_validation_loss"])
        assert len(held) == len(json.loads(row["made_train_loss"])) == row["made_rounds_run"] <= 4
        assert row["made_rounds"] == int(np.argmin(held)) + 1
        h, alpha = (np.array(json.loads(row[name])) for name in ("h_quantiles", "alpha_quantiles"))
        assert h.shape == alpha.shape == (3, 5)
        assert (np.diff(h, axis=1) >= 0).all()
        sizes = json.loads(row["effective_sample_size"])
        assert all(1 <= ess <= n for ess, n in zip(sizes, (30, 22, 45), strict=True))
    memory = last.state["memory"]
    assert memory["h"].isfinite().all()
    assert ((memory["h"] > 0) & (memory["h"] < 1)).all()


def test_replicas_equal_separate_runs_and_resume_is_bit_for_bit():
    method = FedDisk(**SHORT)
    together = [*rounds(world(seeds=(0, 1), cohort_size=2), method)]
    saved_round = next(result for result in together if result.round == 1)
    alone = [*rounds(world(seeds=(1,), cohort_size=2), method)]
    alpha = together[-1].state["memory"]["alpha"]
    torch.testing.assert_close(alpha[1], alone[-1].state["memory"]["alpha"][0], rtol=1e-4, atol=1e-4)
    assert not torch.equal(alpha[0], alpha[1])
    state = through_a_file(saved_round.state)
    resumed = [*rounds(world(seeds=(0, 1), cohort_size=2), method, state)]
    assert resumed[-1].rows == together[-1].rows


def test_client_noise_images_are_taken_as_they_are_and_others_refused():
    task = world(sizes=(30, 22))
    floats = torch.rand(52, 1, 3, 4, generator=torch.Generator().manual_seed(0))
    index = torch.arange(52)
    noisy = replace(task, train=replace(task.train, inputs=floats))
    assert torch.equal(pixels(noisy).fetch(index), floats)
    torch.testing.assert_close(pixels(task).fetch(index), task.train.inputs / 255)
    outside = floats.clone()
    outside[7, 0, 1, 1] = 1.25
    with pytest.raises(
        UsageError, match=r"takes images in \[0, 1\]; data set 'made' has values from .* to 1.25"
    ):
        FedDisk(**SHORT).init(replace(task, train=replace(task.train, inputs=outside)))


def test_a_small_client_is_one_line():
    with pytest.raises(
        UsageError, match="client 1 has 19 training samples; method 'feddisk' needs at least 20"
    ):
        FedDisk(**SHORT).init(world(sizes=(20, 19)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feed": "locl"}, "unknown feed of method 'feddisk' 'locl'.*allowed: local, global"),
        ({"scale": "max"}, "unknown scale of method 'feddisk' 'max'.*allowed: mean1, raw, minmax"),
        ({"made_patience": 0}, "made_patience=0 given for method 'feddisk'; allowed: 1 or more"),
        ({"ratio_learning_rate": 0}, "ratio_learning_rate=0.0 given for method 'feddisk'; allowed: above 0"),
    ],
)
def test_wrong_options_are_one_line(options, message):
    with pytest.raises(UsageError, match=message):
        make_method("feddisk", options)


def test_phase_1_is_computed_once_for_runs_that_differ_in_phase_2(monkeypatch):
    calls, finish = [], phase1.finish
    forget()
    monkeypatch.setattr(phase1, "finish", lambda *given: calls.append(1) or finish(*given))
    first = FedDisk(**SHORT).start(world())
    for options in ({"scale": "raw"}, {"control": "shuffled"}, {"feed": "global"}):
        other = FedDisk(**SHORT, **options).start(world(rounds=7))
        assert not torch.equal(other.memory["alpha"], first.memory["alpha"])
    assert len(calls) == 1
    images = world()
    images.train.inputs[3, 0, 1, 1] += 1  # one pixel of one image
    for task in (world(seeds=(1,)), world(local_epochs=3), world(sizes=(31, 21, 45)), images):
        FedDisk(**SHORT).start(task)
    FedDisk(**{**SHORT, "ratio_max_epochs": 2}).start(world())
    assert len(calls) == 6


@pytest.fixture(scope="module")
def uninterrupted():
    """Replicas 0 and 1 with a phase 1 of several steps in each of its stages."""
    forget()
    task = world(seeds=(0, 1), rounds=2)
    return task, [*rounds(task, FedDisk(**STAGES))]


STAGES = {
    "made_hidden": 5, "made_learning_rate": 0.05, "made_max_rounds": 35, "made_patience": 12,
    "made_batch_size": 8, "ratio_hidden": 4, "ratio_max_epochs": 25, "ratio_least": 0.0,
}  # fmt: skip


def stage_of(result):
    memory = result.state["memory"]
    return memory.get("stage", "weights"), len(memory.get("epochs", ()))


def test_phase_1_counts_its_steps_as_rounds_before_round_1(uninterrupted):
    _, results = uninterrupted
    counted = [result.round for result in results]
    assert counted == sorted(set(counted))
    assert counted[0] == -(4 + 4 + 2 * 3)  # 35 epochs, 35 rounds and twice 25 epochs, ten at a time
    assert counted[-3:] == [0, 1, 2]
    stages = [stage_of(result) for result in results]
    for stage in (("local", 0), ("global", 0), ("ratio", 0), ("ratio", 1)):
        assert stages.count(stage) >= 2, stage
    assert all(result.rows == [[], []] for result in results if result.round < 0)


@pytest.mark.parametrize("stage", [("local", 0), ("global", 0), ("ratio", 0), ("ratio", 1), ("weights", 0)])
def test_a_run_left_within_phase_1_ends_bit_for_bit_where_the_whole_one_does(uninterrupted, stage):
    task, results = uninterrupted
    forget()  # nothing is remembered by a new process
    left = [result for result in results if stage_of(result) == stage][1]
    resumed = [*rounds(task, FedDisk(**STAGES), through_a_file(left.state))]
    whole = {result.round: result for result in results}
    for result in resumed:
        assert result.rows == whole[result.round].rows
    for name in ("alpha", "h"):
        ours, theirs = (run[-1].state["memory"][name] for run in (resumed, results))
        assert torch.equal(ours, theirs)
    for name, tensor in results[-1].state["params"].items():
        assert torch.equal(resumed[-1].state["params"][name], tensor)


def test_a_step_of_phase_1_leaves_the_state_before_it_as_it_was():
    """An interrupt in the middle of a step writes the last finished one."""
    task, method = world(), FedDisk(**STAGES)
    forget()
    state = method.init(task)
    while state.round < 0:
        saved = io.BytesIO()
        torch.save(state.memory, saved)
        after, _ = method.pretrain(task, state)
        again = io.BytesIO()
        torch.save(state.memory, again)
        assert saved.getvalue() == again.getvalue(), state.memory["stage"]
        state = after


def test_agreement_of_alpha_with_the_ratio_of_the_mades():
    task = world()
    ratio = torch.randn(1, 97, generator=torch.Generator().manual_seed(0))
    alpha = ratio.exp()  # grows with the ratio ...
    alpha[0, task.clients[0][1]] *= 0  # ... but for client 1, whose weights are all equal,
    alpha[0, task.clients[0][2]] = -ratio[0, task.clients[0][2]]  # and client 2, whose fall
    columns = phase1.weight_columns(task, ratio, alpha, ratio)
    assert json.loads(columns["alpha_agreement"][0]) == [1, 0, -1]


def test_log_ratio_of_the_mades_by_their_likelihoods():
    task = world()
    made = FedDisk(**SHORT).made
    local, shared = fit_local_mades(task, made), fit_global_made(task, made, torch.full((1, 3), 1 / 3))
    outputs = made_outputs(task, made, local, shared, 0)
    x = pixels(task).inputs.flatten(1) / 255
    x = torch.cat([x[index] for index in task.clients[0]])
    log_p, log_q = (
        (x * u.log() + (1 - x) * (1 - u).log()).sum(dim=1) for u in (outputs.shared, outputs.local)
    )
    torch.testing.assert_close(outputs.log_ratio, log_p - log_q, rtol=1e-3, atol=1e-4)


def after_a_round(name, task, **options):
    method = make_method(name, {**(SHORT if name == "feddisk" else {}), **options})
    state = method.start(task) if name == "feddisk" else method.init(task)
    return method.apply(task, state, Cohort(1, np.arange(3)[None]))[0].params["fc2.bias"]


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "fedbn", "fedrod", "feddisk"])
def test_steps_instead_of_epochs(name):
    """FEDDISK-A13: a client of 20 samples takes 5 steps of 4 in an epoch, so 10 steps are two of them."""
    model = {"model": "cnn-feddisk", "model_options": {"width": 2}, "shape": (16, 16)}
    task = world(batch_size=4, sizes=(20, 20, 20), **(model if name == "fedbn" else {}))
    two, five, ten = (after_a_round(name, with_steps(task, steps)) for steps in (2, 5, 10))
    assert not torch.equal(two, five)
    assert torch.equal(ten, after_a_round(name, task))


def with_steps(task, steps):
    return replace(task, runs=tuple(replace(run, local_steps=steps) for run in task.runs))


def test_the_global_made_takes_as_many_steps_as_the_task_model():
    task = world()
    made = FedDisk(**{**SHORT, "made_batch_size": 5, "made_max_rounds": 1}).made
    limited = fit_global_made(with_steps(task, 1), made, torch.full((1, 3), 1 / 3))
    whole = fit_global_made(task, made, torch.full((1, 3), 1 / 3))
    assert float(limited.validation_loss[0, 0]) > float(whole.validation_loss[0, 0])  # it learned less


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"made_optimizer": "sgd", "made_learning_rate": 1e30}, "density model"),
        ({"ratio_learning_rate": 1e30}, "ratio classifier"),
    ],
)
def test_phase_1_that_diverges_is_told_in_a_failed_row(options, why):
    results = list(rounds(world(seeds=(0, 1)), FedDisk(**SHORT, **options)))
    assert results[-1].round <= 0
    told = results[-1].state["failed"]
    assert set(told) == {0, 1}
    assert all(why in reason and reason.startswith("failed: ") for reason in told.values())
    for replica, reason in told.items():
        assert [row["status"] for result in results for row in result.rows[replica]] == [reason]
    with pytest.raises(UsageError, match=why):
        FedDisk(**SHORT, **options).start(world())


def test_one_replica_that_diverges_leaves_the_other_as_it_is(monkeypatch):
    method, exact = FedDisk(**SHORT), phase1.probabilities

    def broken(task, ratio, outputs, replica, course):
        found = exact(task, ratio, outputs, replica, course)
        return {feed: h / (1 - replica) for feed, h in found.items()}

    monkeypatch.setattr(phase1, "probabilities", broken)
    alone = [*rounds(world(seeds=(0,), cohort_size=2), method)]
    forget()
    together = [*rounds(world(seeds=(0, 1), cohort_size=2), method)]
    assert together[-1].round == 2
    assert together[-1].rows[1] == []
    assert together[-1].rows[0][0]["test_loss"] == pytest.approx(alone[-1].rows[0][0]["test_loss"], rel=1e-4)
    assert [*together[-1].state["failed"]] == [1]


def test_clients_that_share_an_image_are_refused():
    """Eq. (9) would have two weights for it."""
    task = world()
    lists = [[*task.clients[0][:2], np.append(task.clients[0][2], task.clients[0][0][:3])]]
    with pytest.raises(UsageError, match="clients that hold 3 images more than once; allowed: images of one"):
        make_method("feddisk").init(replace(task, clients=lists))
