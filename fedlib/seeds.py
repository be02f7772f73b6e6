"""Named random streams: every random choice has a name, and no stream depends on another.

Two kinds. *Host streams* (`rng`, `torch_generator`, `derive`) are seeded from a hash of
the names, for partitions, cohorts and initial weights. *Counter streams* (`hash_bits`,
`uniform`) are pure functions of integer keys, computed on any device: mini-batch orders
and dropout masks come from them, so that they are the same on the CPU and on a GPU, for
one client alone or a hundred stacked, and a resumed run needs no generator state.
"""

import hashlib

import numpy as np
import torch
from torch import Tensor

_MASK = 0xFFFFFFFF


def derive(*names: int | str) -> int:
    """A 63-bit seed from a list of names, e.g. `derive(seed, "cohort", round)`."""
    text = "/".join(f"{type(name).__name__}:{name}" for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def rng(*names: int | str) -> np.random.Generator:
    """A NumPy generator of its own for these names."""
    return np.random.default_rng(derive(*names))


def torch_generator(*names: int | str) -> torch.Generator:
    """A CPU torch generator of its own for these names."""
    return torch.Generator().manual_seed(derive(*names))


def hash_bits(*keys: Tensor | int) -> Tensor:
    """32 pseudo-random bits for every element of the broadcast integer `keys`.

    Each key is folded in and mixed with the 32-bit finaliser of MurmurHash3; the result
    is an int64 tensor in [0, 2**32). Only the low 32 bits of a key count.
    """
    state: Tensor | int = 0x9E3779B9
    for key in keys:
        state = _mix((state ^ key) & _MASK)
    return state


def _mix(x: Tensor | int) -> Tensor | int:
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & _MASK
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & _MASK
    return ((x ^ (x >> 16)) + 0x9E3779B9) & _MASK


def uniform(*keys: Tensor | int) -> Tensor:
    """Uniform float32 numbers in [0, 1) for every element of the broadcast `keys`."""
    return (hash_bits(*keys) >> 8).to(torch.float32) * (1.0 / (1 << 24))
