"""Signals of processes that tests start."""

import signal


def usual_signals() -> None:
    """For `preexec_fn`: what nohup, a shell's `&` or a CI system made the tests ignore is heard again."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def deaf_to_interrupts() -> None:
    """For `preexec_fn`: as below a shell's `&`."""
    usual_signals()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
