"""A time limit that stops work cleanly before it is reached."""

import time
from collections import deque
from collections.abc import Callable

from fedlib.errors import EXIT_BUDGET, FedlibError, check

_MARGIN_SECONDS = 1.0
_POLL_SECONDS = 0.5
_SLACK = 1.25  # a round may take this much longer than the slowest recent one


class BudgetExhausted(FedlibError):
    """The time budget ran out; what was finished is stored and the rest resumes."""

    status = EXIT_BUDGET


class Budget:
    """Minutes from `started` (default: now); None is no limit. `clock` counts seconds."""

    def __init__(
        self,
        minutes: float | None = None,
        *,
        started: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        check(minutes is None or minutes > 0, f"time budget of {minutes} minutes given; allowed: above 0")
        self.minutes = minutes
        self._clock = clock
        self._started = clock() if started is None else started
        self._recent: deque[float] = deque(maxlen=8)

    def remaining_seconds(self) -> float:
        """Seconds until the limit; infinite without one."""
        if self.minutes is None:
            return float("inf")
        return self._started + 60 * self.minutes - self._clock()

    def new_group(self) -> None:
        """Forget the pace of the last group of runs; the slowest step is kept as the first guess."""
        slowest = max(self._recent, default=0.0)
        self._recent.clear()
        self._recent.append(slowest)

    def took(self, seconds: float) -> None:
        """A step (a round, the preparation of a group) took this long."""
        self._recent.append(seconds)

    def allows(self, seconds: float) -> bool:
        """Whether work of so many seconds fits before the limit."""
        return self.remaining_seconds() > seconds + _MARGIN_SECONDS

    def allows_step(self, closing_seconds: float = 0.0) -> bool:
        """Whether one more step, and `closing_seconds` for a checkpoint after it, fit before the limit."""
        return self.allows(_SLACK * max(self._recent, default=0.0) + closing_seconds)

    def used_up(self) -> BudgetExhausted:
        """The error, to be raised, of a budget that no further step fits."""
        return BudgetExhausted(f"the time budget of {self.minutes:g} minutes is used up")

    def wait(self) -> None:
        """Sleep while another process works; BudgetExhausted if no step would fit afterwards."""
        if not self.allows_step(_POLL_SECONDS):
            raise self.used_up()
        time.sleep(_POLL_SECONDS)
