"""FedBN: against plain PyTorch, and what never leaves a client."""

import copy

import numpy as np
import pytest
import torch
from worlds import make_world, through_a_file

from fedlib.errors import UsageError
from fedlib.federation import Cohort, ServerState, rounds
from fedlib.methods import make_method
from fedlib.methods.baselines.fedbn import FedBN, batch_norm_names

BN = ["bn1.weight", "bn1.bias", "bn2.weight", "bn2.bias"]
BUFFERS = [f"bn{n}.{b}" for n in (1, 2) for b in ("running_mean", "running_var", "num_batches_tracked")]


def bn_world(**changes):
    settings = {"model": "cnn-feddisk", "model_options": {"width": 3}, "shape": (16, 16), "rounds": 2}
    return make_world(**{**settings, "local_epochs": 1, "batch_size": 50, **changes})


def play(task, method="fedbn", state=None):
    return list(rounds(task, make_method(method), state))


def test_batch_norm_is_found_with_its_buffers():
    assert batch_norm_names(bn_world().model) == BN + BUFFERS


def test_two_rounds_against_plain_pytorch():
    """Each client one full batch a round, its own BatchNorm; all else averaged with n_k / n."""
    task = bn_world(sizes=(9, 4, 7), local_learning_rate=0.2)
    results = play(task)
    models = [copy.deepcopy(task.model) for _ in range(3)]  # all from the same initial weights
    initial = results[0].state
    for model in models:
        own = {n: t[0, 0] for n, t in initial["memory"]["batch_norm"].items()}
        model.load_state_dict({**{n: t[0] for n, t in initial["params"].items()}, **own})
    for _ in range(2):
        for model, index in zip(models, task.clients[0], strict=True):
            model.train()
            loss = torch.nn.functional.cross_entropy(
                model(task.train.fetch(torch.from_numpy(index))), task.train.labels[index]
            )
            model.zero_grad()
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.2 * p.grad
        states = [m.state_dict() for m in models]
        for name in initial["params"]:
            mean = sum(n / 20 * s[name] for n, s in zip((9, 4, 7), states, strict=True))
            for s in states:
                s[name].copy_(mean)
    final = results[-1].state
    for name, tensor in final["params"].items():
        torch.testing.assert_close(tensor[0], models[0].state_dict()[name], rtol=1e-4, atol=1e-6)
    for name, tensor in final["memory"]["batch_norm"].items():
        for client, model in enumerate(models):
            torch.testing.assert_close(tensor[0, client], model.state_dict()[name], rtol=1e-4, atol=1e-6)
    for client, index in enumerate(task.clients[0]):  # evaluation with the client's own BatchNorm
        params, buffers = FedBN().client_models(task, _server(final), np.array([[client]]))
        logits = models[client].eval()(task.train.fetch(torch.from_numpy(index)))
        ours = torch.func.functional_call(
            task.model.eval(),
            {n: t[0] for n, t in {**params, **buffers}.items()},
            task.train.fetch(torch.from_numpy(index)),
        )
        torch.testing.assert_close(ours, logits, rtol=1e-4, atol=1e-5)


def _server(state):
    return ServerState(state["round"], state["params"], state["buffers"], state["memory"])


def test_the_server_never_sees_batch_norm():
    task = bn_world(rounds=1, seeds=(0, 1))
    first, last = play(task)
    for result in (first, last):
        assert not {*BN, *BUFFERS} & {*result.state["params"], *result.state["buffers"]}
    row = last.rows[0][0]
    values = sum(p.numel() for n, p in task.model.named_parameters() if n not in BN)
    assert row["uplink_bytes"] == row["downlink_bytes"] == 4 * 4 * values  # 4 clients, 4 bytes
    full = play(task, "fedavg")[-1].rows[0][0]
    assert full["uplink_bytes"] - row["uplink_bytes"] == 4 * (4 * (4 * 3 + 4 * 3) + 2 * 8)
    assert "test_accuracy" not in row  # there is no whole global model
    assert "test_accuracy" in full


def test_a_client_outside_of_the_cohort_keeps_its_own():
    task, method = bn_world(seeds=(0, 1)), FedBN()
    state = method.init(task)
    cohort = Cohort(1, np.array([[0, 2], [1, 2]]))
    after, _ = method.apply(task, state, cohort)
    for name in (*BN, "bn1.running_mean"):
        before, now = state.memory["batch_norm"][name], after.memory["batch_norm"][name]
        changed = (before != now).flatten(2).any(dim=2)
        assert changed.tolist() == [[True, False, True, False], [False, True, True, False]]
    assert not torch.equal(*(after.memory["batch_norm"]["bn1.running_mean"][0, [0, 2]]))


def test_one_client_is_fedavg_bit_for_bit():
    task = bn_world(sizes=(14,), batch_size=4)
    ours, plain = play(task)[-1], play(task, "fedavg")[-1]
    for name, tensor in plain.state["params"].items():
        mine = ours.state["params"].get(name)
        mine = ours.state["memory"]["batch_norm"][name][:, 0] if mine is None else mine
        assert torch.equal(mine, tensor), name
    assert ours.rows[0][0]["client_loss_mean"] == pytest.approx(
        plain.rows[0][0]["client_loss_mean"], rel=1e-5
    )


def test_resume_is_bit_for_bit():
    task = bn_world(cohort_size=2, rounds=4)
    whole = play(task)
    resumed = play(task, state=through_a_file(whole[2].state))
    assert resumed[-1].rows == whole[-1].rows
    for name, tensor in whole[-1].state["memory"]["batch_norm"].items():
        assert torch.equal(resumed[-1].state["memory"]["batch_norm"][name], tensor)


def test_a_model_without_batch_norm_is_one_line():
    with pytest.raises(UsageError, match="method 'fedbn' needs a model with BatchNorm; model 'mlp' has none"):
        FedBN().init(make_world())
