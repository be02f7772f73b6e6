"""FedDisk's phase 1 from end to end, MADEs fitted, on two Bernoulli products whose ratio is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from feddisk_fits import fit_local_mades
from worlds import make_world

from fedlib.engine import Samples
from fedlib.methods.feddisk.density_models import fit_global_made
from fedlib.methods.feddisk.density_ratio import made_outputs
from fedlib.methods.feddisk.method import FedDisk

THETA = np.array([0.3, 0.7])
COUNT, FEATURES = 1000, 6
OWN = (slice(0, COUNT), slice(COUNT, 2 * COUNT))
# one full-batch step of SGD a round: averaging is then a gradient step on everybody's data
STEPS = {
    "made_optimizer": "sgd", "made_learning_rate": 0.3, "made_batch_size": COUNT, "made_max_rounds": 300,
    "made_patience": 30, "ratio_batch_size": 2 * COUNT, "ratio_learning_rate": 0.5,
    "ratio_max_epochs": 100, "ratio_least": 0.0,
}  # fmt: skip
# the method's own setting: two local epochs of mini-batches between two averages
EPOCHS = {"made_learning_rate": 0.03, "made_batch_size": 100, "made_max_rounds": 60}


def clients(seed):
    """A task of two clients, x ~ prod_d Bernoulli(theta_k); log p / q_k [2 n]; exact P(x_d | x_<d) of p."""
    rng, owner = np.random.default_rng(seed), np.repeat([0, 1], COUNT)
    x = (rng.random((2 * COUNT, FEATURES)) < THETA[owner, None]).astype(np.uint8)
    ones, before = np.cumsum(x, axis=1) - x, np.arange(FEATURES)
    theta = THETA[:, None, None]
    seen = theta**ones * (1 - theta) ** (before - ones)
    exact = (seen * theta).sum(axis=0) / seen.sum(axis=0)
    total = x.sum(axis=1)
    q = THETA[:, None] ** total * (1 - THETA[:, None]) ** (FEATURES - total)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(FEATURES, 2))
    task = make_world(sizes=(COUNT, COUNT), shape=(2, 3), rounds=1, seeds=(seed,), model=model)
    labels = np.zeros(2 * COUNT, dtype=np.int64)
    train = Samples.from_arrays(255 * x.reshape(-1, 2, 3), labels, mean=[0.4], std=[0.3])
    return replace(task, train=train), np.log(q.mean(axis=0) / q[owner, np.arange(2 * COUNT)]), exact


def correlations(values, log_ratio):
    return [float(np.corrcoef(values[own], log_ratio[own])[0, 1]) for own in OWN]


def one_step(task):
    """The task of one mini-batch a round."""
    return replace(task, runs=tuple(replace(run, local_steps=1) for run in task.runs))


def outputs_of(task, settings):
    made = FedDisk(**settings).made
    local, shared = fit_local_mades(task, made), fit_global_made(task, made, torch.full((1, 2), 0.5))
    return made_outputs(task, made, local, shared, 0)


@pytest.mark.parametrize("seed", [0, 1])
def test_weights_of_fitted_mades_follow_the_true_ratio_unless_they_are_shuffled(seed):
    task, log_ratio, _ = clients(seed)
    task, method = one_step(task), FedDisk(**STEPS, feed="global")

    def log_alpha(method):
        return np.log(method.start(task).memory["alpha"][0].numpy())

    assert min(correlations(log_alpha(method), log_ratio)) > 0.35
    assert np.abs(correlations(log_alpha(replace(method, control="shuffled")), log_ratio)).max() < 0.12
    assert min(correlations(log_alpha(replace(method, feed="local")), log_ratio)) < 0  # FEDDISK-A4


def test_local_epochs_keep_the_averaged_made_from_the_mixture():
    """Between two averages each MADE goes to its client's density, and these are constants in x: the
    average is nearly one too, whereas the mixture's conditionals depend on the pixels before."""
    task, log_ratio, exact = clients(0)
    steps, epochs = outputs_of(one_step(task), STEPS), outputs_of(task, EPOCHS)

    def missed(outputs):
        return np.mean((outputs.shared.numpy() - exact) ** 2) / exact.var()

    assert missed(steps) < 0.2
    assert missed(epochs) > 0.6
    assert min(correlations(steps.log_ratio.numpy(), log_ratio)) > 0.95
    assert min(correlations(steps.log_ratio.numpy(), log_ratio)) > max(
        correlations(epochs.log_ratio.numpy(), log_ratio)
    )
