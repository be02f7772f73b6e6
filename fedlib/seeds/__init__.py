"""Named random streams: every random choice has a name, and no stream depends on another.

*Host streams* (`rng`, `torch_generator`, `derive`) are seeded from a hash of the names, for partitions,
cohorts and initial weights. *Counter streams* are in `fedlib.seeds.counter`.
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def derive(*names: int | str) -> int:
    """A 63-bit seed from a list of names, e.g. `derive(seed, "cohort", round)`."""
    text = "/".join(f"{type(name).__name__}:{name}" for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def rng(*names: int | str) -> np.random.Generator:
    """A NumPy generator of its own for these names."""
    return np.random.default_rng(derive(*names))


def torch_generator(*names: int | str) -> "torch.Generator":
    """A CPU torch generator of its own for these names."""
    import torch

    return torch.Generator().manual_seed(derive(*names))
