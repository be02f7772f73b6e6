"""Progress of long work: a bar on a terminal, plain lines anywhere else.

A log file or a notebook gets one line per evaluation, and never more than one every few
seconds, because a flood of lines is as useless there as silence.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from fedlib.experiments.durations import minutes

_SHOWN = ("test_accuracy", "test_loss")


class Progress:
    """Reports rounds of one group at a time, and single lines in between.

    stream: standard error on a terminal (so that a pipe stays clean), else standard output.
    every_seconds: the least time between two plain lines about rounds.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        every_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.stream = stream or (sys.stderr if sys.stderr.isatty() else sys.stdout)
        self.every_seconds = every_seconds
        self._clock = clock
        self._last_line = float("-inf")
        self._bar: Any = None
        self._label, self._total = "", 0
        self._group, self._expected = 0, 0
        self._started, self._resumed = 0.0, 0

    def expect(self, groups: int) -> None:
        """Announce how many groups of runs there will be; the first announcement counts."""
        self._expected = self._expected or groups

    def say(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.write(line, file=self.stream)
        else:
            print(line, file=self.stream, flush=True)

    def start(self, label: str, *, total_rounds: int, done_rounds: int = 0) -> None:
        """Begin a group of replicas of `total_rounds` rounds."""
        self._group += 1
        place = f"[{self._group}/{self._expected}] " if self._expected >= self._group else ""
        self._label, self._total = f"{place}{label}", total_rounds
        self._started, self._resumed = self._clock(), done_rounds
        self._last_line = float("-inf")
        if self.stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total_rounds,
                initial=done_rounds,
                desc=self._label,
                unit="round",
                file=self.stream,
                leave=False,
            )

    def update(self, done_rounds: int, metrics: Mapping[str, Any]) -> None:
        """`done_rounds` are finished; `metrics` is the newest row, empty in a round without evaluation.

        Below 0: so many steps of pretraining are left at most, before round 1.
        """
        if done_rounds <= 0:
            self._started = self._clock()  # the pace of pretraining tells nothing about that of the rounds
        if done_rounds < 0:
            self._pretraining(pretraining_words(done_rounds))
            return
        shown = {name: f"{metrics[name]:.4f}" for name in _SHOWN if isinstance(metrics.get(name), float)}
        if self._bar is not None:
            if shown:
                self._bar.set_postfix(shown, refresh=False)
            self._bar.update(done_rounds - self._bar.n)
        elif shown and self._line_is_due(done_rounds):
            numbers = "  ".join(f"{name} {value}" for name, value in shown.items())
            self.say(f"{self._label}: round {done_rounds}/{self._total}  {numbers}{self._left(done_rounds)}")

    def _pretraining(self, words: str) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(words)
        elif self._line_is_due(0):
            self.say(f"{self._label}: {words}")

    def _left(self, done_rounds: int) -> str:
        """Time left for this group at its pace so far, in words; nothing at the start and at the end."""
        done, left = done_rounds - self._resumed, self._total - done_rounds
        seconds = (self._clock() - self._started) / done * left if done > 0 else 0.0
        if seconds < 1:
            return ""
        return f"  {minutes(seconds)} left"

    def _line_is_due(self, done_rounds: int) -> bool:
        now = self._clock()
        due = now - self._last_line >= self.every_seconds or done_rounds == self._total
        if due:
            self._last_line = now
        return due

    def finish(self) -> None:
        """End the group; safe to call twice."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Silent(Progress):
    """Says nothing, for tests and for notebooks that show their own tables."""

    def say(self, line: str) -> None:
        pass

    def start(self, label: str, *, total_rounds: int, done_rounds: int = 0) -> None:
        pass

    def update(self, done_rounds: int, metrics: Mapping[str, Any]) -> None:
        pass


class NotebookProgress(Progress):
    """Progress in a notebook: a bar over all groups if somebody watches, and a summary line.

    A headless run has no bar. Used as a context, which closes the bar.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic):
        super().__init__(clock=clock)
        self._began = clock()
        self._groups: Any = None
        self._notes: list[str] = []
        self._done = 0

    def __enter__(self) -> "NotebookProgress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._groups is not None:
            self._groups.close()

    def expect(self, groups: int) -> None:
        """Announce how many groups of runs and measurements there will be."""
        if self._groups is None and watched():
            from tqdm.auto import tqdm

            self._groups = tqdm(total=groups, unit="group", leave=False)

    @contextmanager
    def measuring(self, label: str) -> Iterator[None]:
        """A measurement without rounds counts as one group."""
        self.start(label, total_rounds=1)
        yield
        self.finish()

    def say(self, line: str) -> None:
        self._notes.append(line)

    def start(self, label: str, *, total_rounds: int, done_rounds: int = 0) -> None:
        self._total = total_rounds
        if self._groups is not None:
            self._groups.set_description_str(label)

    def update(self, done_rounds: int, metrics: Mapping[str, Any]) -> None:
        if self._groups is not None:
            place = f"round {done_rounds} of {self._total}"
            self._groups.set_postfix_str(pretraining_words(done_rounds) if done_rounds < 0 else place)

    def finish(self) -> None:
        self._done += 1
        if self._groups is not None:
            self._groups.update(1)

    def summary(self) -> str:
        """E.g. `computed 7 groups of runs in 23 s`, with what was said meanwhile."""
        took = f"computed {self._done} groups of runs in {self._clock() - self._began:.0f} s"
        return "; ".join([took, *self._notes])


def pretraining_words(round_index: int) -> str:
    """Words for a round below 0: a method counts its steps before round 1 up to 0."""
    return f"pretraining; steps left at most: {-round_index}"


def watched() -> bool:
    """Whether the kernel was started from a notebook server (it then names the session's notebook)."""
    return bool(os.environ.get("JPY_SESSION_NAME"))
