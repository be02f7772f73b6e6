"""CPU memory: a pool of large buffers, and glibc settings that keep freed memory in the process.

The local models of a cohort are hundreds of MB that are needed anew in every round. A fresh block
costs a page fault per 4 KiB, and that was more than half of a round with 100 clients of one
mini-batch (benchmarks/NOTES.md, note 15). On a GPU PyTorch's own allocator does the same.

glibc returns blocks above 32 MiB, and the free end of its heap above 64 MiB, to the kernel at once. A step of
ten stacked MobileNetV2 frees and takes hundreds of MB of activations, and the kernel clears every page anew:
11,000 page faults a client-step, two thirds of its time (benchmarks/NOTES.md, note 28). Numbers do not
depend on it.
"""

import ctypes
import math
import os
import platform
import sys
import threading
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

LEAST_BYTES = 1 << 20  # smaller blocks stay with the allocator, which keeps them anyway
IDLE_REQUESTS = 64  # a block that lay idle for so many requests is given back
ALIGNMENT = 64  # bytes, as PyTorch's own


class BufferPool:
    """Pool of CPU buffers. A buffer is reusable once no tensor or view refers to it."""

    def __init__(self) -> None:
        self.blocks: dict[int, np.ndarray] = {0: np.empty(0, np.uint8)}  # by the request last served
        self.requests = 0
        self.idle_holders = self._holders(0)  # the dictionary, and the call that counts
        self.lock = threading.Lock()

    def _holders(self, at: int) -> int:
        return sys.getrefcount(self.blocks[at])

    def _new(self, size: int, idle: list[int]) -> np.ndarray:
        try:
            return np.empty(size, np.uint8)
        except MemoryError:  # what lies idle may be what is missing
            for at in idle:
                self.blocks.pop(at, None)
            return np.empty(size, np.uint8)

    def take(self, nbytes: int) -> np.ndarray:
        """`nbytes` bytes [nbytes] uint8: an idle block of that size if there is any, else a new one."""
        size = nbytes + ALIGNMENT
        with self.lock:
            self.requests += 1
            idle = [at for at in self.blocks if self._holders(at) == self.idle_holders]
            fitting = next((at for at in idle if self.blocks[at].nbytes == size), None)
            for at in idle:
                if at != fitting and at < self.requests - IDLE_REQUESTS:
                    del self.blocks[at]
            block = self._new(size, idle) if fitting is None else self.blocks.pop(fitting)
            self.blocks[self.requests] = block
        start = -block.ctypes.data % ALIGNMENT
        return block[start : start + nbytes]  # what is lent holds the block through its `base`


# Without a global interpreter lock reference counts are no exact numbers of holders.
_COUNTS_HOLDERS = getattr(sys, "_is_gil_enabled", lambda: True)()
_BLOCKS = BufferPool()


def empty(shape: Sequence[int], like: Tensor) -> Tensor:
    """An uninitialised tensor of `shape` with the dtype and device of `like`, in reused memory if large."""
    nbytes = math.prod(shape) * like.element_size()
    if like.device.type != "cpu" or nbytes < LEAST_BYTES or not _COUNTS_HOLDERS:
        return torch.empty(tuple(shape), dtype=like.dtype, device=like.device)
    return torch.from_numpy(_BLOCKS.take(nbytes)).view(like.dtype).view(tuple(shape))


def copy_of(tensor: Tensor) -> Tensor:
    """A contiguous copy, in reused memory if large."""
    return empty(tensor.shape, tensor).copy_(tensor)


def picked(tensor: Tensor, at: Tensor) -> Tensor:
    """`tensor[at]` for places `at` [C] on the first axis, in reused memory if large."""
    return torch.index_select(tensor, 0, at, out=empty((len(at), *tensor.shape[1:]), tensor))


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGEST_BLOCK = 1 << 30  # bytes; larger blocks are the kernel's own, as without this
LARGEST_FREE_END = (1 << 31) - 1  # bytes of free heap that are kept: the most that mallopt(3) takes
SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")  # the user's own


@cache
def keep_freed_memory() -> bool:
    """Tell glibc's malloc to keep what is freed, once per process; whether that was done.

    It is not where another C library is at work, nor where the environment holds one of `SETTINGS`.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in SETTINGS):
        return False
    tell = ctypes.CDLL(None).mallopt
    kept = tell(M_MMAP_THRESHOLD, LARGEST_BLOCK)
    return bool(tell(M_TRIM_THRESHOLD, LARGEST_FREE_END) and kept)
