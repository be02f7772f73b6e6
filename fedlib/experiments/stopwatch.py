"""Wall-clock timing of calls and of single rounds of a run."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from fedlib.federation import Method, ServerState, Task, sample_cohort


@contextmanager
def cpu_threads(count: int) -> Iterator[None]:
    """Set the number of torch's CPU threads within a context."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def timed(call: Callable[[], Any], calls: int, warm_ups: int) -> list[float]:
    """Seconds of each call after the warm-ups; a GPU is waited for."""
    seconds = []
    for number in range(warm_ups + calls):
        began = time.perf_counter()
        call()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        if number >= warm_ups:
            seconds.append(time.perf_counter() - began)
    return seconds


def round_player(task: Task, method: Method, state: ServerState) -> Callable[[], None]:
    """Return a function that plays the next round of a run at each call."""
    states = [state]

    def play() -> None:
        number = states[-1].round + 1
        cohort = sample_cohort(task.seeds, number, task.run.num_clients, task.cohort_size)
        states[:] = [method.apply(task, states[-1], cohort)[0]]

    return play
