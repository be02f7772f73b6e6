"""The processors that this process may use, and the threads of them that torch takes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


def cores() -> int:
    """CPU cores that this process may use: those that it is pinned to, where the system has pinning."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Set the number of torch's CPU threads within a context, or a function that it decorates.

    An agent's operations are so small that they lose more by waiting for a second thread than they gain, on
    a busy machine ten times and more. One thread also keeps its numbers independent of how many there are.
    """
    import torch  # commands that compute nothing do without

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
