"""CUDA helpers: current-device context, capture stream, batched host copies, out-of-memory errors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor

from fedlib.errors import MemoryShortage

# How CUDA, cuBLAS, cuDNN and allocators say it; few of these errors have a class of their own.
_SHORTAGE = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",  # DefaultCPUAllocator
    "alloc_failed",
    "allocation_failed",
    "cublas_status_not_initialized",  # cublasCreate, which allocates
    "unable to find an engine",  # cuDNN, when no workspace could be had
)
# oneDNN, in full: what it says of a convolution that it does not know begins with the same words.
_ONEDNN_SHORTAGE = ("could not create a primitive", "could not create a memory object")


@contextmanager
def current(device: torch.device) -> Iterator[None]:
    """Within this context `device` is CUDA's current device; nothing to do for a CPU.

    Streams, graphs and libraries belong to the current device: a graph that is recorded while
    another one is current holds nothing, and its replay trains nothing, without an error.
    """
    if device.type != "cuda":
        yield
        return
    with torch.cuda.device(device):
        yield


def side_stream(device: torch.device) -> Any:
    """The stream that steps are warmed up and recorded on, one per device.

    Libraries keep a workspace per stream for as long as the process lives: a new stream for every
    recording would add one each time. What was set up while warming up is at hand while recording.
    """
    index = torch.cuda.current_device() if device.index is None else device.index
    return _stream(index)


@cache
def _stream(index: int) -> Any:
    return torch.cuda.Stream(index)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that it was raised upon, says that memory does not suffice.

    A graph whose recording runs out of memory ends with another error, raised upon the first one.
    """
    while error is not None:
        if isinstance(error, torch.OutOfMemoryError | MemoryError | MemoryShortage):
            return True
        text = str(error).strip().lower()
        short = text in _ONEDNN_SHORTAGE or any(sign in text for sign in _SHORTAGE)
        if isinstance(error, RuntimeError) and short:
            return True
        error = error.__cause__ or error.__context__
    return False


def first_line(error: BaseException) -> str:
    """The beginning of an error's text, without the hints that follow it."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return line.rpartition("DefaultCPUAllocator: ")[2].split(". ")[0]  # torch names its source line first


def to_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copy values to the CPU, a GPU's in one synchronising copy per dtype."""
    found = list(tensors)
    for dtype in dict.fromkeys(t.dtype for t in tensors if t.device.type != "cpu"):
        at = [i for i, t in enumerate(tensors) if t.device.type != "cpu" and t.dtype == dtype]
        joined = torch.cat([tensors[i].detach().flatten() for i in at]).cpu()
        for i, part in zip(at, joined.split([tensors[i].numel() for i in at]), strict=True):
            found[i] = part.view(tensors[i].shape)
    return found
