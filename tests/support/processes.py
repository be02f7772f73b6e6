"""Signals of processes that tests start, and waiting for what they do."""

import signal
import time

import psutil

PATIENCE = 300.0  # seconds after which nothing will happen, however busy the machine is


def usual_signals() -> None:
    """For `preexec_fn`: what nohup, a shell's `&` or a CI system made the tests ignore is heard again."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def deaf_to_interrupts() -> None:
    """For `preexec_fn`: as below a shell's `&`."""
    usual_signals()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def wait_for(condition, process=None) -> None:
    """Until the condition holds; fails at once where `process`, which is to bring it about, has ended."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if process is not None and process.poll() is not None and not condition():
            raise AssertionError(f"ended with status {process.returncode}: {process.communicate()}")
        assert time.monotonic() < deadline, f"nothing happened within {PATIENCE:g} s"
        time.sleep(0.01)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or dead and only not yet collected by whoever adopted it."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
