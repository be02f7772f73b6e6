"""Balanced-MixUp: eqs. (19), (20) by hand, the label shares of FEDDDRL-A30, equal backends."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from fedlib.engine import Batch, Objective, Samples, Trainer, make_optimizer, make_work, stream_keys, training
from fedlib.engine.mixup import BalancedMixUp, beta
from fedlib.errors import UsageError
from fedlib.models import make_model

CLASSES = 10


def skewed_samples(size=100, sigma=0.8):
    """Client k of 2 holds 80 % label k and 20 / 9 % of every other label, pixels = label."""
    rng = np.random.default_rng(0)
    labels = [np.repeat([k, *(c for c in range(CLASSES) if c != k)], [int(size * sigma), *[
        int(size * (1 - sigma) / 9 + 0.5)] * 9]) for k in range(2)]  # fmt: skip
    sizes = [len(own) for own in labels]
    labels = np.concatenate(labels)
    images = rng.integers(0, 256, (len(labels), 8, 8), dtype=np.uint8)
    clients = [[np.arange(sizes[0]), sizes[0] + np.arange(sizes[1])]]
    return Samples.from_arrays(images, labels, mean=[0.4], std=[0.3]), clients


def make_batch(samples, index, client, key):
    index = torch.as_tensor(index)
    return Batch(
        index=index, mask=torch.ones(index.shape), targets=samples.labels[index],
        replica=torch.zeros_like(torch.as_tensor(client)), client=torch.as_tensor(client),
        key=torch.as_tensor(key),
    )  # fmt: skip


def test_mixing_by_hand():
    """One majority image (1, 0) with label 0 twice, one minority image (0, 1) with label 2.

    Every strict pair is (majority, minority), so x = (lam, 1 - lam) and y = (lam, 0, 1 - lam).
    """
    samples = Samples.from_arrays(
        np.array([[[255, 0]], [[255, 0]], [[0, 255]]], np.uint8), np.array([0, 0, 2])
    )
    mixup = BalancedMixUp.of([[np.arange(3)]], samples.labels, 3, alpha=0.4)
    batch = make_batch(samples, [0, 1, 2], 0, 77)
    x, mixed = mixup(samples, batch)
    lam = float(beta(torch.tensor(77), 0.4))
    assert 0.001 < lam < 0.999
    torch.testing.assert_close(x.view(3, 2), torch.tensor([[lam, 1 - lam]] * 3))
    torch.testing.assert_close(mixed.targets, torch.tensor([[lam, 0, 1 - lam]] * 3))


def test_one_lambda_for_each_pair_by_hand():
    """The same images: row i is (lam_i, 1 - lam_i), lam_i of the batch's key and the place i."""
    samples = Samples.from_arrays(
        np.array([[[255, 0]], [[255, 0]], [[0, 255]]], np.uint8), np.array([0, 0, 2])
    )
    mixup = BalancedMixUp.of([[np.arange(3)]], samples.labels, 3, alpha=0.4, lambdas="pair")
    x, mixed = mixup(samples, make_batch(samples, [0, 1, 2], 0, 77))
    lam = x.view(3, 2)[:, 0]
    assert len(set(lam.tolist())) == 3
    torch.testing.assert_close(x.view(3, 2).sum(dim=1), torch.ones(3))
    torch.testing.assert_close(mixed.targets, torch.stack([lam, torch.zeros(3), 1 - lam], dim=1))
    with pytest.raises(UsageError, match="unknown mixup_lambda 'image'; allowed: batch, pair"):
        BalancedMixUp.of([[np.arange(3)]], samples.labels, 3, alpha=0.4, lambdas="image")


def test_pairs_of_a_batch_differ_where_batches_are_one_image_or_the_other():
    """FEDDDRL-F4: alpha = 0.05 puts 80 % of lambdas below 0.01 or above 0.99: here pairs, there batches."""
    samples, clients = skewed_samples(900)
    shares = []
    for lambdas in ("batch", "pair"):
        mixup = BalancedMixUp.of(clients, samples.labels, CLASSES, alpha=0.05, lambdas=lambdas)
        batches = [mixup(samples, make_batch(samples, range(50), 0, key))[1].targets for key in range(400)]
        extreme = torch.stack([targets.amax(dim=1) > 0.99 for targets in batches]).double()
        assert extreme.mean() == pytest.approx(0.80, abs=0.06)
        shares.append(extreme.mean(dim=1))
    assert set(shares[0].tolist()) == {0.0, 1.0}, "all images of a batch alike"
    assert shares[1].quantile(0.02) > 0.6, "about 40 of 50 pairs in every batch"


def test_galdran_keeps_the_epochs_own_sample():
    samples, clients = skewed_samples()
    mixup = BalancedMixUp.of(clients, samples.labels, CLASSES, alpha=0.2, kind="galdran")
    batch = make_batch(samples, [3, 90, 50], 0, 5)
    first, _ = mixup.pairs(batch)
    assert first.tolist() == [3, 90, 50]


@pytest.mark.parametrize(("kind", "share"), [("strict", 0.5), ("galdran", 0.45)])
def test_expected_share_of_the_majority_label(kind, share):
    """FEDDDRL-A30: strict E(lam) = 0.5; galdran 0.5 * 0.8 + 0.5 * 0.1 = 0.45, minorities share the rest."""
    samples, clients = skewed_samples(900)
    mixup = BalancedMixUp.of(clients, samples.labels, CLASSES, alpha=0.4, kind=kind)
    rows, width = 4000, 25
    rng = np.random.default_rng(1)
    batch = make_batch(samples, rng.integers(0, 900, (rows, width)), np.zeros(rows, int), np.arange(rows))
    _, mixed = mixup(replace(samples, inputs=torch.zeros(len(samples.labels), 1), mean=None), batch)
    mean = mixed.targets.double().mean(dim=(0, 1)).numpy()
    np.testing.assert_allclose(mean[0], share, atol=0.015)  # 3 standard errors of 4,000 lam
    np.testing.assert_allclose(mean[1:], (1 - share) / 9, atol=0.004)
    torch.testing.assert_close(mixed.targets.sum(dim=-1), torch.ones(rows, width))


def test_strict_pairs_join_majority_and_minority_of_the_own_client():
    samples, clients = skewed_samples()
    mixup = BalancedMixUp.of(clients, samples.labels, CLASSES, alpha=0.4)
    batch = make_batch(samples, np.zeros((2, 500), int), [0, 1], [11, 12])
    first, second = mixup.pairs(batch)
    for k in (0, 1):
        assert np.isin(first[k], clients[0][k]).all()
        assert np.isin(second[k], clients[0][k]).all()
        assert (samples.labels[first[k]] == k).all()
        assert set(samples.labels[second[k]].tolist()) == set(range(CLASSES)) - {k}


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.4, 1.0])
def test_lambda_follows_the_beta_distribution(alpha):
    """Shares below seven bounds; a bound at the ends, where float64 cannot hold 1 - 1e-20, is left out."""
    drawn = beta(torch.arange(20_000), alpha).numpy()
    bounds = np.array([1e-6, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-3, 1 - 1e-6])
    shares = (drawn[:, None] < bounds).mean(axis=0)
    np.testing.assert_allclose(shares, stats.beta(alpha, alpha).cdf(bounds), atol=0.011)  # 3 standard errors


def train(backend, kind, samples, clients):
    mixup = BalancedMixUp.of(clients, samples.labels, CLASSES, alpha=0.4, kind=kind)
    model = make_model("lenet", image_shape=(1, 28, 28), num_classes=CLASSES, generator_seed=1)
    trainer = Trainer(copy.deepcopy(model), backend, make_optimizer("sgd"), 4, Objective(inputs=mixup))
    work = make_work(
        clients[0], replica=[0, 0], client=[0, 1], key=stream_keys([0, 0], 1, [0, 1]), epochs=[2, 1],
        learning_rate=0.05,
    )  # fmt: skip
    params = {n: p.detach().expand(2, *p.shape) for n, p in model.named_parameters()}
    return training.train(trainer, samples, trainer.start(params, {}), work)


@pytest.mark.parametrize("kind", ["strict", "galdran"])
def test_backends_agree_on_ragged_clients(kind):
    rng = np.random.default_rng(2)
    labels = np.array([0, 0, 0, 0, 1, 2, 3, 1, 1, 1, 5])  # 7 and 4 samples, batches of 4
    images = rng.integers(0, 256, (11, 28, 28), dtype=np.uint8)
    samples = Samples.from_arrays(images, labels, mean=[0.4], std=[0.3])
    clients = [[np.arange(7), np.arange(7, 11)]]
    reference = train("loop", kind, samples, clients)
    assert reference.state.steps.tolist() == [4, 1]
    for backend in ("vmap", "stacked"):
        other = train(backend, kind, samples, clients)
        torch.testing.assert_close(other.loss, reference.loss, rtol=1e-5, atol=1e-5)
        for name, tensor in reference.state.params.items():
            torch.testing.assert_close(other.state.params[name], tensor, rtol=1e-5, atol=1e-5)


def test_bad_input_is_one_line():
    labels = torch.tensor([0, 1, 7, 7, 7])
    clients = [[np.array([0, 1, 2]), np.array([2, 3, 4])]]
    for kind in ("strict", "galdran"):
        with pytest.raises(UsageError, match=r"client 1 has no minority labels \(labels held: \[7\]\)"):
            BalancedMixUp.of(clients, labels, 10, alpha=0.4, kind=kind)
    for alpha in (0, 1.5, float("nan")):
        with pytest.raises(UsageError, match=f"alpha={alpha} given for Balanced-MixUp; allowed: above 0"):
            BalancedMixUp.of(clients[:1], labels, 10, alpha=alpha)
    with pytest.raises(UsageError, match="unknown kind of Balanced-MixUp 'loose'; allowed: strict, galdran"):
        BalancedMixUp.of(clients, labels, 10, alpha=0.4, kind="loose")
