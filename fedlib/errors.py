"""Errors that end a command with one clear line, and the exit statuses they carry.

| status | meaning |
|---|---|
| 0 | everything asked for is done |
| 1 | something failed (a run with NaN losses, a notebook, a full disk) |
| 2 | bad input: the line says what was given and what is allowed |
| 3 | the time budget ran out; what was finished is stored, the rest resumes |
| 130 | interrupted by the user (Ctrl-C), or ended by SIGTERM or SIGHUP |
| 141 | nobody reads the output any more; what was finished is stored, the rest resumes |
"""

import difflib
from collections.abc import Iterable

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUDGET = 3
EXIT_INTERRUPTED = 130
EXIT_NO_READER = 141


class FedlibError(Exception):
    """A failure that is told in one line; `status` is the exit status of the command."""

    status = EXIT_FAILED

    def _render_traceback_(self) -> list[str]:
        """Replace IPython's traceback in a notebook by the one line (IPython's hook of this name)."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(FedlibError):
    """A wrong name or value: the message says what was given and what is allowed."""

    status = EXIT_USAGE


class MemoryShortage(FedlibError):
    """Memory does not hold even the smallest piece of the work: the message names it and what to lower."""


class WriteError(FedlibError):
    """A file cannot be written: the message names the path and the system's reason."""


class OutputError(FedlibError):
    """Standard output cannot be written, or nobody reads it any more."""

    def __init__(self, message: str, status: int = EXIT_FAILED):
        super().__init__(message)
        self.status = status


class DataError(FedlibError):
    """A data set that is absent or damaged: the message names the file and how to get it."""

    status = EXIT_USAGE


def shortened(text: str, most: int = 80) -> str:
    """Text from outside as an error line can hold it."""
    return text if len(text) <= most else f"{text[:most]}..."


MOST_LISTED = 12  # names in a line, where another place lists them all


def check_name(kind: str, given: str, allowed: Iterable[str], *, listed_by: str = "", more: str = "") -> str:
    """Return `given` if it is one of `allowed`, else raise a UsageError that lists them.

    listed_by: the command or page that lists all of them; the line then has a dozen at the most.
    more: what else is allowed, behind the names.
    """
    names = list(allowed)
    if given in names:
        return given
    close = difflib.get_close_matches(str(given), names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    few = names[:MOST_LISTED] if listed_by else names
    rest = f" and {len(names) - len(few)} more, listed by {listed_by}" if len(few) < len(names) else ""
    raise UsageError(f"unknown {kind} {shortened(str(given))!r}{hint}; allowed: {', '.join(few)}{rest}{more}")


def check(condition: bool, message: str) -> None:
    """Raise a UsageError with `message` unless `condition` holds."""
    if not condition:
        raise UsageError(message)
