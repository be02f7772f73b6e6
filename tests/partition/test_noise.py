"""FedDisk's client noise: zero on client 0, growing variance, clipping, and both readings of A19."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.partition import add_client_noise, split_within_clients

GREY = np.full((400, 20, 20), 128, dtype=np.uint8)
CLIENTS = np.split(np.arange(400), 4)


def spread(images, client):
    return float(images[CLIENTS[client]].std())


def test_variance_is_k_x_over_n():
    noisy = add_client_noise(GREY, CLIENTS, strength=0.02, rng=np.random.default_rng(0))
    assert noisy.dtype == np.float32
    np.testing.assert_array_equal(noisy[CLIENTS[0]], np.float32(128) / np.float32(255))
    for client in (1, 2, 3):  # small enough that clipping to [0, 1] does not matter
        assert spread(noisy, client) == pytest.approx(np.sqrt(client * 0.02 / 4), rel=0.02)


def test_noise_as_standard_deviation():
    noisy = add_client_noise(GREY, CLIENTS, strength=0.2, rng=np.random.default_rng(0), noise_as="std")
    assert spread(noisy, 3) == pytest.approx(3 * 0.2 / 4, rel=0.02)


def test_values_are_clipped_and_images_of_no_client_stay_clean():
    noisy = add_client_noise(GREY, CLIENTS[:3], strength=5.0, rng=np.random.default_rng(0))
    assert noisy.min() == 0
    assert noisy.max() == 1
    np.testing.assert_array_equal(noisy[CLIENTS[3]], np.float32(128) / np.float32(255))


def test_input_is_not_changed_and_colour_images_work():
    images = np.random.default_rng(0).integers(0, 256, size=(8, 4, 4, 3), dtype=np.uint8)
    before = images.copy()
    noisy = add_client_noise(
        images, [np.arange(4), np.arange(4, 8)], strength=0.3, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(images, before)
    assert noisy.shape == images.shape


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": -1}, "noise strength is -1; allowed: a number from 0 up"),
        ({"strength": 0.3, "noise_as": "sigma"}, "unknown noise_as 'sigma'; allowed: variance, std"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError, match=message):
        add_client_noise(GREY, CLIENTS, rng=np.random.default_rng(0), **options)


def test_float_images_are_refused():
    with pytest.raises(UsageError, match="uint8 images; given: float64"):
        add_client_noise(GREY / 255, CLIENTS, strength=0.1, rng=np.random.default_rng(0))


def test_split_needs_two_images_and_a_fraction():
    with pytest.raises(UsageError, match="client 1 has 1 images; allowed: at least 2"):
        split_within_clients([np.arange(3), np.array([3])], 0.85, np.random.default_rng(0))
    with pytest.raises(UsageError, match=r"training fraction is 1\.0"):
        split_within_clients([np.arange(3)], 1.0, np.random.default_rng(0))


def test_without_clipping_the_noise_leaves_the_range_and_keeps_its_variance():
    noisy = add_client_noise(GREY, CLIENTS, strength=4.0, rng=np.random.default_rng(0), clip=False)
    assert noisy.min() < -1
    assert spread(noisy, 3) == pytest.approx(np.sqrt(3.0), rel=0.02)
