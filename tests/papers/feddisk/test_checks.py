"""FedDisk's artifacts without runs: eq. (17) on a discrete toy, widths of the MADE, sample images."""

import numpy as np
import pandas as pd
import pytest
from claims import decide

from fedlib.papers.feddisk import leakage_bound
from fedlib.papers.feddisk.claims import CLAIMS
from fedlib.papers.feddisk.made_width import measure_width, widths_measured
from fedlib.papers.feddisk.samples import sample_images, unpack_images
from fedlib.papers.feddisk.toy import agreement, toy_weights


def test_information_by_hand():
    """Two fair coins that agree share ln 2; independent ones nothing."""
    assert leakage_bound.mutual_information(np.eye(2) / 2) == pytest.approx(np.log(2))
    assert leakage_bound.mutual_information(np.full((2, 2), 0.25)) == pytest.approx(0)
    assert leakage_bound.entropy(np.array([0.5, 0.5, 0.0])) == pytest.approx(np.log(2))


def test_joint_law_against_simulation():
    rng = np.random.default_rng(0)
    laws, kappa = rng.dirichlet(np.ones(3), 4), np.array([0.4, 0.3, 0.2, 0.1])
    draws = np.stack([rng.choice(3, 200_000, p=law) for law in laws])  # Z_i
    seen = draws[rng.choice(4, 200_000, p=kappa), np.arange(200_000)]  # Z_Theta
    for client in range(4):
        counts = np.zeros((3, 3))
        np.add.at(counts, (draws[client], seen), 1 / 200_000)
        np.testing.assert_allclose(leakage_bound.joint_law(laws, kappa, client), counts, atol=0.005)


def test_bound_is_tight_for_a_single_client_and_the_claim_can_fail():
    law = np.array([[0.2, 0.8]])
    leak = leakage_bound.mutual_information(leakage_bound.joint_law(law, np.array([1.0]), 0))
    assert leak == pytest.approx(leakage_bound.entropy(law[0]))  # kappa = 1: equality
    rows = leakage_bound.check_bound("smoke")
    assert decide(CLAIMS, "FEDDISK-C10", rows).verdict == "supported"
    flat = rows.assign(leakage=0.01, bound=0.02)
    assert decide(CLAIMS, "FEDDISK-C10", flat).verdict == "not supported"  # it does not fall with K
    assert decide(CLAIMS, "FEDDISK-C10", rows.assign(violations=1)).verdict == "not supported"


def test_widths_are_measured_on_the_same_clients():
    rows = pd.concat(measure_width("smoke", part) for part in widths_measured("smoke"))
    assert rows.groupby("dataset").hidden.nunique().tolist() == [2, 2]
    assert (rows.weights == 2 * rows.hidden * np.where(rows.dataset == "standin-xray", 1024, 784)).all()
    assert np.isfinite(rows.validation_loss).all()
    assert set(rows.chosen) == {30, 50}


def test_sample_images_survive_the_table():
    rows = sample_images("smoke")
    noisy = rows[rows.dataset == "fmnist-embedded"]
    assert noisy.noise_variance.tolist() == pytest.approx([0, 0.06, 0.12, 0.18, 0.27])  # k 0.3 / 10
    assert noisy.spread_of_pixels.iloc[-1] > noisy.spread_of_pixels.iloc[0]
    for row in rows.itertuples():
        images = unpack_images(row.shape, row.images)
        assert images.shape[0] == 6
        assert images.std() > 0


@pytest.fixture(scope="module")
def toy():
    return toy_weights()


def test_toy_has_the_true_ratio_and_weights_that_know_the_first_pixel_only(toy):
    for _, own in toy.groupby("client"):
        assert own["true"].mean() == pytest.approx(1, abs=4 * own["true"].std() / np.sqrt(len(own)))
        for feed in ("local", "global"):
            assert own[feed].mean() == pytest.approx(1, rel=1e-4)
            inside = own[own.x1.between(0, 1)].sort_values("x1")
            steps = np.diff(inside[feed])
            assert (steps >= -1e-6).all() or (steps <= 1e-6).all()  # a monotone function of x1


def test_the_order_of_the_toys_weights(toy):
    """Signs by hand; notebook 02 says that the toy's change from client to client."""
    by_hand = pd.DataFrame(
        {
            "client": [0, 0, 0, 1, 1, 1], "true": [1, 2, 3, 1, 2, 3],
            "local": [3, 2, 1, 1, 3, 2], "global": [4, 5, 6, 6, 5, 4],
        }
    )  # fmt: skip
    table = agreement(by_hand).set_index("client")
    assert table["rank correlation: local"].tolist() == pytest.approx([-1, 0.5])
    assert table["rank correlation: global"].tolist() == pytest.approx([1, -1])
    table = agreement(toy).set_index("client")
    assert (table.abs() > 0.95).all(axis=None)
    assert (table < 0).any(axis=None)
    assert (table > 0).any(axis=None)
