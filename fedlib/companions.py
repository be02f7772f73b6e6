"""Further processes of one `run` command, for a machine with more cores than one process uses well.

The processes share nothing but the store: each claims groups of runs by their locks
(`fedlib.suite`), so the grid divides itself. The first process owns the others: it passes Ctrl-C on,
prints, and computes what they leave.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType

from fedlib.errors import EXIT_BUDGET, EXIT_INTERRUPTED, check

FLAG = "--companion"  # marks a process that was started here
_ONCE = ("--retry-failed", "--again")  # for the first process alone
_QUIET = (0, 1, EXIT_BUDGET, EXIT_INTERRUPTED)  # 1: failed runs, which the first process reports


def threads_of_each(processes: int) -> int:
    """CPU threads for each of so many processes, at least one."""
    check(processes >= 1, f"processes={processes} given; allowed: 1 or more")
    return max(1, (os.cpu_count() or 1) // processes)


class Companions:
    """`count` further processes of a command, while used as a context.

    command_line: what this process was started with, after the interpreter's name. They end with the
    context at the latest: by themselves where it ends well, else interrupted, which stores a checkpoint of
    each.
    """

    def __init__(self, count: int, command_line: Sequence[str], threads: int):
        self.count, self.threads = count, threads
        self.command = [sys.executable, *(part for part in command_line if part not in _ONCE), FLAG]
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Companions":
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        for _ in range(self.count):
            self._started.append(
                subprocess.Popen(
                    self.command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,  # the first process meets whatever stopped them
                    start_new_session=True,  # a Ctrl-C reaches them once, from here
                )
            )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._interrupt()
            return
        try:
            self._wait()
        except KeyboardInterrupt:
            self._interrupt()
            raise

    def _interrupt(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)  # SIGINT is ignored below a shell's `&`
        for process in self._started:
            process.wait()

    def _wait(self) -> None:
        """Until all have ended; one line about each that ended in a way that its rows do not tell."""
        for process in self._started:
            status = process.wait()
            if status not in _QUIET:
                left = "what it left is computed by the first one"
                print(f"fedlib: a further process ended with status {status}; {left}", file=sys.stderr)
