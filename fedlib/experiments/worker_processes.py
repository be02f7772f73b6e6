"""Further processes of one `run` command, for a machine with more cores than one process uses well.

The processes share nothing but the store: each claims groups of runs by their locks
(`experiments.runner`), so the grid divides itself. The first process owns the others: it passes Ctrl-C on,
prints, and computes what they leave.

A `multiprocessing` pool would hand out groups itself: a second way to divide the work beside the locks, which
processes started by hand need anyway, and its workers would get Ctrl-C before their checkpoint is written.
"""

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from types import TracebackType

from fedlib.errors import EXIT_BUDGET, EXIT_INTERRUPTED, check
from fedlib.processors import cores

FLAG = "--companion"  # marks a process that was started here
_STARTED = "FEDLIB_STARTED"  # of the environment, in seconds of the monotonic clock
_ONCE = ("--retry-failed", "--again")  # for the first process alone
_QUIET = (0, 1, EXIT_BUDGET, EXIT_INTERRUPTED)  # 1: failed runs, which the first process reports


def at_most_cores(processes: int) -> int:
    """`processes`, or one per core with a warning where there are fewer cores."""
    check(processes >= 1, f"processes={processes} given; allowed: 1 or more")
    if processes > cores():
        warnings.warn(f"--processes {processes} given; working with {cores()}, one per core", stacklevel=2)
    return min(processes, cores())


def threads_of_each(processes: int) -> int:
    """CPU threads for each of so many processes, at least one."""
    return max(1, cores() // processes)


def started_at(own: float) -> float:
    """When the command began: in a companion when the first process did, else `own`."""
    return float(os.environ.get(_STARTED, own))


def end_with_parent() -> None:
    """End this process as SIGTERM does once the process that started it has ended, however it did.

    The parent holds the other end of standard input, which the system closes when it is killed.
    """
    threading.Thread(target=_wait_for_end_of_input, name="parent-watch", daemon=True).start()


def _wait_for_end_of_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class Companions:
    """`count` further processes of a command, while used as a context.

    command_line: what this process was started with, after the interpreter's name. started: on the monotonic
    clock, which processes share, so that a time budget is one for all (`started_at`). They end with the
    context at the latest: by themselves where it ends well, else interrupted, which stores a checkpoint of
    each.
    """

    def __init__(self, count: int, command_line: Sequence[str], threads: int, started: float):
        self.count, self.threads, self.started = count, threads, started
        self.command = [sys.executable, *(part for part in command_line if part not in _ONCE), FLAG]
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Companions":
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads), _STARTED: str(self.started)}
        for _ in range(self.count):
            self._started.append(
                subprocess.Popen(
                    self.command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,  # errors are reported by the first process
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
            _ended(process)

    def _wait(self) -> None:
        """Until all have ended; one line about each that ended in a way that its rows do not tell."""
        for process in self._started:
            status = _ended(process)
            if status not in _QUIET:
                left = "what it left is computed by the first one"
                print(f"fedlib: a further process ended with status {status}; {left}", file=sys.stderr)


def _ended(process: "subprocess.Popen[bytes]") -> int:
    """Its exit status, once it has one; until then its standard input stays open."""
    status = process.wait()
    if process.stdin is not None:
        process.stdin.close()
    return status
