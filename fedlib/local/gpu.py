"""What a GPU needs around the engine: to be the current device, and one stream for recordings."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch


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
