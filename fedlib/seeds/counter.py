"""Counter streams: random bits as pure functions of integer keys, computed on any device.

Mini-batch orders and dropout masks come from them, so that they are the same on the CPU and on a GPU, for one
client alone or a hundred stacked, and a resumed run needs no generator state.
"""

import math

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor  # there is no public way to ask

_MASK = 0xFFFFFFFF
_GOLDEN, _FIRST, _SECOND = 0x9E3779B9, 0x85EBCA6B, 0xC2B2AE35
_UNIT = 1.0 / (1 << 24)
_BLOCK = 1 << 15  # elements that are mixed at once: they stay in a core's own cache


def hash_bits(*keys: Tensor | int) -> Tensor:
    """32 pseudo-random bits for every element of the broadcast integer `keys`.

    Each key is folded in and mixed with the 32-bit finaliser of MurmurHash3; the result
    is an int64 tensor in [0, 2**32). Only the low 32 bits of a key count.
    """
    if _on_host(keys):
        return torch.from_numpy(_host_bits(keys).astype(np.int64))
    state: Tensor | int = _GOLDEN
    for key in keys:
        state = _mix((state ^ key) & _MASK)
    return state


def _mix(x: Tensor | int) -> Tensor | int:
    x = ((x ^ (x >> 16)) * _FIRST) & _MASK
    x = ((x ^ (x >> 13)) * _SECOND) & _MASK
    return ((x ^ (x >> 16)) + _GOLDEN) & _MASK


def _on_host(keys: tuple[Tensor | int, ...]) -> bool:
    """Whether NumPy can hash them: plain tensors of the CPU, outside of `vmap` and `torch.compile`."""
    tensors = [key for key in keys if isinstance(key, Tensor)]
    return (
        bool(tensors)
        and not torch.compiler.is_compiling()
        and all(type(t) is Tensor and t.is_cpu and not is_functorch_wrapped_tensor(t) for t in tensors)
    )


def _host_bits(keys: tuple[Tensor | int, ...]) -> np.ndarray:
    """Compute the bits in 32-bit arithmetic, which needs no masks: ten times as fast as int64 tensors."""
    state = np.array(_GOLDEN, np.uint32)
    for key in keys:
        word = key.numpy().astype(np.uint32) if isinstance(key, Tensor) else np.array(key & _MASK, np.uint32)
        state = np.asarray(np.bitwise_xor(word, state, order="C"))
        flat = state.reshape(-1)  # a view, since the order is C
        for start in range(0, flat.size, _BLOCK):
            _mix_(flat[start : start + _BLOCK])
    return state


def _mix_(x: np.ndarray) -> None:
    """`_mix` of uint32 [n], in place."""
    for shift, factor in ((16, _FIRST), (13, _SECOND)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    x ^= x >> np.uint32(16)
    x += np.uint32(_GOLDEN)


def uniform(*keys: Tensor | int) -> Tensor:
    """Uniform float32 numbers in [0, 1) for every element of the broadcast `keys`."""
    return (hash_bits(*keys) >> 8).to(torch.float32) * _UNIT


def at_least(limit: float, *keys: Tensor | int) -> Tensor:
    """`uniform(*keys) >= limit`, bool: True with probability 1 - limit. limit: 0 to 1."""
    if not _on_host(keys):
        return uniform(*keys) >= limit
    steps = math.ceil(float(np.float32(limit)) / _UNIT)  # of 2^-24, in which `uniform` counts
    return torch.from_numpy((_host_bits(keys) >> np.uint32(8)) >= np.uint32(steps))
