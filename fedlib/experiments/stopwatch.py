"""Wall-clock timing of calls and of single rounds of a run."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from fedlib.federation import Method, ServerState, Task, next_cohort


def timed(call: Callable[[], Any], calls: int, warm_ups: int) -> list[float]:
    """Seconds of each call after the warm-ups, to the end of its work on a GPU."""
    return timed_in_turns({"": call}, calls, warm_ups)[""]


def timed_in_turns(
    named: Mapping[str, Callable[[], Any]], calls: int, warm_ups: int
) -> dict[str, list[float]]:
    """Seconds of each call by name, as `timed`, one of each in turn: a slower minute is slower for all."""
    seconds: dict[str, list[float]] = {name: [] for name in named}
    for turn in range(warm_ups + calls):
        for name, call in named.items():
            began = time.perf_counter()
            call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if turn >= warm_ups:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def round_player(task: Task, method: Method, state: ServerState) -> Callable[[], None]:
    """Return a function that plays the next round of a run at each call, without evaluation."""

    def play() -> None:
        nonlocal state
        state, _ = method.apply(task, state, next_cohort(task, state.round + 1))

    return play
