"""Freed memory of a CPU process stays with it instead of going back to the kernel after every step.

glibc gives blocks above 32 MiB, and the free end of its heap above 64 MiB, back at once. A step of ten
stacked MobileNetV2 frees and takes hundreds of MB of activations, and the kernel clears every page anew:
11,000 page faults a client-step, two thirds of its time (benchmarks/NOTES.md, note 28). Numbers do not
depend on it. On a GPU PyTorch's own allocator keeps its blocks.
"""

import ctypes
import os
import platform
from functools import cache

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
