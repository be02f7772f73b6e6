"""FedROD: balanced softmax by its formula, a round in plain PyTorch, what stays with clients."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from worlds import make_world

from fedlib.engine import evaluate_lanes
from fedlib.errors import UsageError
from fedlib.federation import ServerState, rounds
from fedlib.methods import make_method
from fedlib.methods.baselines.fedrod import FedROD, _class_counts, balanced_softmax


def play(task, **options):
    return list(rounds(task, make_method("fedrod", options)))


def test_balanced_softmax_by_hand():
    """z = (0, ln 2), n = (3, 1): weights 3 e^0 = 3 and 1 e^{ln 2} = 2, so p = (3/5, 2/5)."""
    logits = torch.tensor([[0.0, math.log(2.0)], [0.0, math.log(2.0)]])
    losses = balanced_softmax(logits, torch.tensor([0, 1]), torch.tensor([3.0, 1.0]))
    torch.testing.assert_close(losses, torch.tensor([math.log(5 / 3), math.log(5 / 2)]))


def test_balanced_softmax_agrees_with_its_formula_for_stacked_rows():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, 4, generator=generator, dtype=torch.float64)
    counts = torch.tensor([[1, 2, 3, 4], [9, 1, 1, 5], [7, 7, 7, 7]], dtype=torch.float64)
    targets = torch.randint(0, 4, (3, 5), generator=generator)
    weighted = counts[:, None] * logits.exp()
    expected = -(weighted / weighted.sum(-1, keepdim=True)).log().gather(2, targets[..., None])[..., 0]
    torch.testing.assert_close(balanced_softmax(logits, targets, counts), expected)
    torch.testing.assert_close(  # equal counts: plain cross-entropy
        balanced_softmax(logits[2], targets[2], counts[2]),
        F.cross_entropy(logits[2], targets[2], reduction="none"),
    )


def test_an_absent_class_leaves_the_sum_and_gives_no_nan():
    logits = torch.tensor([[1.0, 5.0, 2.0]], requires_grad=True)
    loss = balanced_softmax(logits, torch.tensor([0]), torch.tensor([2.0, 0.0, 2.0]))
    torch.testing.assert_close(
        loss.detach(), F.cross_entropy(torch.tensor([[1.0, 2.0]]), torch.tensor([0]))[None]
    )
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert gradient[0, 1] == 0
    assert gradient.isfinite().all()


def reference(task, results, mu, *, personal_trains_body=False):
    """Full-batch FedROD of an MLP, written out: dictionaries of tensors, SGD by hand."""
    shared = {n: t[0].clone() for n, t in results[0].state["params"].items()}
    heads = [(torch.zeros(3, 100), torch.zeros(3)) for _ in task.clients[0]]
    for _ in range(task.run.rounds):
        locals_ = []
        for k, index in enumerate(task.clients[0]):
            x, y = task.train.fetch(torch.from_numpy(index)), task.train.labels[index]
            w = {n: t.clone().requires_grad_() for n, t in shared.items()}
            own_w, own_b = (t.clone().requires_grad_() for t in heads[k])
            features = torch.relu(x.flatten(1) @ w["fc1.weight"].t() + w["fc1.bias"])
            generic = features @ w["fc2.weight"].t() + w["fc2.bias"]
            seen = features if personal_trains_body else features.detach()
            own = generic.detach() + seen @ own_w.t() + own_b
            log_n = torch.tensor([math.log(max(int((y == c).sum()), 1e-30)) for c in range(3)])
            loss = F.cross_entropy(generic + log_n, y) + mu * F.cross_entropy(own, y)
            leaves = [*w.values(), own_w, own_b]
            after = [
                p.detach() - 0.3 * g for p, g in zip(leaves, torch.autograd.grad(loss, leaves), strict=True)
            ]
            locals_.append(dict(zip(w, after, strict=False)))
            heads[k] = (after[-2], after[-1])
        sizes = [len(index) for index in task.clients[0]]
        shares = [n / sum(sizes) for n in sizes]
        shared = {n: sum(c * own[n] for c, own in zip(shares, locals_, strict=True)) for n in shared}
    return shared, heads


@pytest.mark.parametrize(("mu", "through"), [(1.0, False), (5.0, True)])
def test_three_rounds_against_plain_pytorch(mu, through):
    task = make_world(rounds=3, local_epochs=1, batch_size=50, local_learning_rate=0.3)
    results = play(task, mu=mu, personal_trains_body=through)
    shared, heads = reference(task, results, mu, personal_trains_body=through)
    state = results[-1].state
    for name, tensor in shared.items():
        torch.testing.assert_close(state["params"][name][0], tensor, rtol=1e-4, atol=1e-5)
    for k, (weight, bias) in enumerate(heads):
        torch.testing.assert_close(
            state["memory"]["heads"]["personal.weight"][0, k], weight, rtol=1e-4, atol=1e-5
        )
        torch.testing.assert_close(
            state["memory"]["heads"]["personal.bias"][0, k], bias, rtol=1e-4, atol=1e-5
        )


def test_ragged_batches_and_absent_classes_agree_with_the_loop():
    task = make_world(sizes=(9, 1, 7, 6), rounds=2)
    task.train.labels[0] = 2  # padding gathers sample 0, whose class client 1 does not have
    task.train.labels[9] = 0
    loop = replace(task, trainer=replace(task.trainer, backend="loop"))
    ours, plain = play(task)[-1], play(loop)[-1]
    for name, tensor in plain.state["params"].items():
        assert tensor.isfinite().all()
        torch.testing.assert_close(ours.state["params"][name], tensor, rtol=1e-4, atol=1e-5)


def test_heads_stay_with_their_clients_and_traffic_is_fedavgs():
    task = make_world(cohort_size=2, rounds=1, seeds=(0, 1))
    first, last = play(task)
    assert set(last.state["params"]) == {n for n, _ in task.model.named_parameters()}
    plain = [*rounds(task, make_method("fedavg"))][-1].rows[0][0]
    assert last.rows[0][0]["uplink_bytes"] == plain["uplink_bytes"]
    moved = last.state["memory"]["heads"]["personal.weight"].flatten(2).abs().sum(dim=2) > 0
    for replica in range(2):
        expected = np.isin(np.arange(4), json.loads(last.rows[replica][0]["clients"]))
        assert moved[replica].tolist() == expected.tolist()
    assert not first.state["memory"]["heads"]["personal.weight"].any()


def test_episodes_share_a_trainer_and_no_checkpoint_holds_the_counts(monkeypatch):
    made = []
    whole = FedROD._trainer
    monkeypatch.setattr(FedROD, "_trainer", lambda *given: made.append(1) or whole(*given))
    task = make_world(rounds=6, episode_rounds=2, seeds=(0, 1))
    assert all(set(one.state["memory"]) == {"heads"} for one in play(task))
    assert len(made) == 1


def test_a_checkpoint_that_holds_the_counts_resumes():
    """As those written before they were made once for a task."""
    begun, *_, last = play(make_world(rounds=2))
    counts = _class_counts(make_world())
    state = {**begun.state, "memory": {**begun.state["memory"], "counts": counts}}
    *_, resumed = rounds(make_world(rounds=2), make_method("fedrod"), state)
    assert resumed.rows == last.rows
    assert all(torch.equal(t, resumed.state["params"][n]) for n, t in last.state["params"].items())


def test_mu_does_not_reach_the_generic_model():
    task = make_world(rounds=2)
    one, ten = play(task, mu=1.0)[-1], play(task, mu=10.0)[-1]
    assert all(torch.equal(t, ten.state["params"][n]) for n, t in one.state["params"].items())
    heads = [r.state["memory"]["heads"]["personal.weight"] for r in (one, ten)]
    assert not torch.equal(*heads)


def test_personalised_evaluation_adds_both_heads():
    task = make_world(rounds=4, local_learning_rate=0.3)
    state = play(task, evaluate="personalised")[-1].state
    server = ServerState(4, state["params"], state["buffers"], state["memory"])
    clients = np.arange(4)[None]
    models = FedROD(evaluate="personalised").client_models(task, server, clients)
    result = evaluate_lanes(task.trainer, task.train, *models, task.clients[0])
    heads = state["memory"]["heads"]
    for k, index in enumerate(task.clients[0]):
        x = task.train.fetch(torch.from_numpy(index)).flatten(1)
        p = {n: t[0] for n, t in state["params"].items()}
        features = torch.relu(F.linear(x, p["fc1.weight"], p["fc1.bias"]))
        logits = F.linear(features, p["fc2.weight"], p["fc2.bias"])
        logits = logits + F.linear(features, heads["personal.weight"][0, k], heads["personal.bias"][0, k])
        torch.testing.assert_close(result.loss[k], F.cross_entropy(logits, task.train.labels[index]))
    generic = play(task)[-1].rows[0][0]
    personal = play(task, evaluate="personalised")[-1].rows[0][0]
    assert personal["test_loss"] == generic["test_loss"]
    assert personal["client_loss_mean"] < generic["client_loss_mean"]


def test_bad_options_and_models_are_one_line():
    with pytest.raises(UsageError, match="mu=-1 given for method 'fedrod'"):
        FedROD(mu=-1)
    with pytest.raises(
        UsageError, match="unknown evaluate of method 'fedrod' 'own'; allowed: generic, personalised"
    ):
        FedROD(evaluate="own")


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.Softmax(-1)), r"which ends in Softmax\("),
        (nn.Sequential(nn.Flatten(), nn.Linear(64, 3, bias=False)), "which ends in Linear.*bias=False"),
        (
            nn.Linear(64, 3),
            "Linear; allowed: a torch.nn.Sequential that ends in a torch.nn.Linear with a bias",
        ),
        (nn.Sequential(), "Sequential; allowed"),
    ],
)
def test_a_model_without_a_head_is_one_line(model, told):
    with pytest.raises(UsageError, match=f"method 'fedrod' given the model 'mlp', {told}"):
        FedROD().init(replace(make_world(), model=model))
