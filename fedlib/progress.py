"""Progress of long work: a bar on a terminal, plain lines anywhere else.

A log file or a notebook gets one line per evaluation, and never more than one every few
seconds, because a flood of lines is as useless there as silence.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

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

    def say(self, line: str) -> None:
        """One line, above the bar where there is one."""
        if self._bar is not None:
            self._bar.write(line, file=self.stream)
        else:
            print(line, file=self.stream, flush=True)

    def start(self, label: str, *, total_rounds: int, done_rounds: int = 0) -> None:
        """Begin a group of replicas of `total_rounds` rounds."""
        self._label, self._total = label, total_rounds
        self._last_line = float("-inf")
        if self.stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total_rounds,
                initial=done_rounds,
                desc=label,
                unit="round",
                file=self.stream,
                leave=False,
            )

    def update(self, done_rounds: int, metrics: Mapping[str, Any]) -> None:
        """`done_rounds` are finished; `metrics` is the newest row, empty in a round without evaluation."""
        shown = {name: f"{metrics[name]:.4f}" for name in _SHOWN if isinstance(metrics.get(name), float)}
        if self._bar is not None:
            if shown:
                self._bar.set_postfix(shown, refresh=False)
            self._bar.update(done_rounds - self._bar.n)
        elif shown and self._line_is_due(done_rounds):
            numbers = "  ".join(f"{name} {value}" for name, value in shown.items())
            self.say(f"{self._label}: round {done_rounds}/{self._total}  {numbers}")

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
