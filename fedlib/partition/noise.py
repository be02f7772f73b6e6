"""Gaussian feature noise that grows with the client, and the train/test split within clients.

Federated Learning for distribution skewed data using sample weights (FedDisk). H. Nguyen, P. Wu,
J. M. Chang. IEEE TAI, manuscript TAI-2023-May-A-00417, sec. VI.A (FEDDISK-A19, A22).
"""

from collections.abc import Sequence

import numpy as np

from fedlib.errors import UsageError, check, check_name
from fedlib.partition.sampling import Partition


def add_client_noise(
    images: np.ndarray,
    clients: Sequence[np.ndarray],
    *,
    strength: float,
    rng: np.random.Generator,
    noise_as: str = "variance",
    clip: bool = True,
) -> np.ndarray:
    """A copy of the images in [0, 1] in which client k's have noise of variance `k * strength / N`.

    images: [n, ...] uint8. clients: N disjoint index arrays; images of no client stay clean.
    strength: x of the paper, 0.3 in its fig. 3. noise_as: "std" takes `k * strength / N` for the
    standard deviation (FEDDISK-A19). Returns float32, clipped to [0, 1] unless `clip` is off.
    """
    check_name("noise_as", noise_as, ("variance", "std"))
    check(images.dtype == np.uint8, f"noise is added to uint8 images; given: {images.dtype}")
    valid = isinstance(strength, (int, float)) and np.isfinite(strength) and strength >= 0
    check(valid, f"noise strength is {strength!r}; allowed: a number from 0 up")
    noisy = images.astype(np.float32) / np.float32(255)
    for client, indices in enumerate(clients):
        scale = client * strength / len(clients)
        scale = scale if noise_as == "std" else np.sqrt(scale)
        pixels = images[indices].astype(np.float32) / np.float32(255)
        pixels += np.float32(scale) * rng.standard_normal(pixels.shape, dtype=np.float32)
        noisy[indices] = np.clip(pixels, 0, 1) if clip else pixels
    return noisy


def split_within_clients(
    partition: Sequence[np.ndarray], fraction: float, rng: np.random.Generator
) -> tuple[Partition, Partition]:
    """Split every client's images at random: `fraction` for training, the rest for testing.

    FedDisk: 0.85, so that 600 images give 510 and 90. Both parts keep at least one image; a
    client with a single image is a UsageError. Both lists are in rising order.
    """
    check(0 < fraction < 1, f"training fraction is {fraction!r}; allowed: between 0 and 1")
    train: Partition = []
    test: Partition = []
    for client, indices in enumerate(partition):
        if len(indices) < 2:
            raise UsageError(f"client {client} has {len(indices)} images; allowed: at least 2 to split")
        cut = min(max(int(fraction * len(indices) + 0.5), 1), len(indices) - 1)
        shuffled = rng.permutation(np.asarray(indices, dtype=np.int64))
        train.append(np.sort(shuffled[:cut]))
        test.append(np.sort(shuffled[cut:]))
    return train, test
