"""Timing of calls and rounds, with a clock that every call moves on by hand."""

from dataclasses import replace

import pytest

from fedlib.experiments import stopwatch
from fedlib.federation import initial_state, next_cohort
from fedlib.methods.baselines.fedavg import FedAvg
from tests.support.worlds import make_world


class Clock:
    """A clock that stands still unless a call moves it on."""

    def __init__(self) -> None:
        self.now, self.called = 0.0, []

    def call(self, name, *seconds):
        """A function that takes so many seconds at each of its calls."""
        left = iter(seconds)

        def run():
            self.called.append(name)
            self.now += next(left)

        return run


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: found.now)
    return found


def test_the_first_calls_are_warm_ups(clock):
    assert stopwatch.timed(clock.call("a", 9, 8, 1, 2, 3), 3, 2) == [1, 2, 3]


def test_calls_by_name_take_turns_from_the_first_warm_up_on(clock):
    named = {"a": clock.call("a", 9, 1, 2), "b": clock.call("b", 8, 4, 5)}
    assert stopwatch.timed_in_turns(named, 2, 1) == {"a": [1, 2], "b": [4, 5]}
    assert clock.called == ["a", "b"] * 3


def test_each_call_plays_the_next_round_of_the_run():
    """From round 1 on, with the cohorts that the run itself would draw."""
    task, played = make_world(cohort_size=2), []

    class Recorded(FedAvg):
        def apply(self, task, state, cohort):
            played.append((cohort.round, cohort.clients.tolist()))
            return replace(state, round=cohort.round), None

    play = stopwatch.round_player(task, Recorded(), initial_state(task))
    for _ in range(3):
        play()
    assert played == [(number, next_cohort(task, number).clients.tolist()) for number in (1, 2, 3)]
