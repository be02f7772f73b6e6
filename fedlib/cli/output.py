"""Standard output and error of a command: tables as wide as the terminal, and streams that fail.

A stream may be closed, full, without a reader, or of another encoding. Its error becomes an OutputError, so
that it is told apart from that of a file and a run leaves its checkpoint.
"""

import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fedlib.errors import EXIT_NO_READER, OutputError


class _Guarded:
    """A text stream whose errors are OutputErrors."""

    def __init__(self, stream: Any):
        self._stream = stream

    def write(self, text: str) -> int:
        with _told():
            return self._stream.write(text)

    def flush(self) -> None:
        with _told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        text = "nobody reads the output any more; what was finished is stored, the rest resumes"
        raise OutputError(text, status=EXIT_NO_READER) from error
    except OSError as error:
        raise OutputError(f"cannot write the output: {error.strerror}") from error


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Within this context standard output raises OutputErrors and prints any text in its encoding."""
    if sys.stderr is None:  # closed: what is told there is lost, as asked for
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    stdout = sys.stdout
    if stdout is None:
        raise OutputError("standard output is closed; allowed: a terminal, a pipe, a file or /dev/null")
    for stream in (stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = _Guarded(stdout)
    try:
        try:
            yield
        except SystemExit:  # of --help, whose text may still be buffered
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except OutputError:
        _discard(stdout)
        raise
    finally:
        sys.stdout = stdout


def tell(line: str) -> None:
    """Write a line to standard error; drop it if that cannot be written."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def tell_if_watched(line: str) -> None:
    """`tell` why a command is silent for long, where somebody sits at a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        tell(line)


def draw_without_window() -> None:
    """Figures are written, never shown; call it before matplotlib is imported, which reads the variable."""
    os.environ["MPLBACKEND"] = "agg"


def _discard(stream: Any) -> None:
    """Let what is buffered go nowhere, or Python would fail once more when it ends."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def terminal_width() -> int:
    """Columns of the terminal ($COLUMNS, where set); 120 where there is none."""
    return shutil.get_terminal_size((120, 24)).columns


def uncut_width() -> int:
    """`terminal_width`; without bound where output goes to a file or a pipe and $COLUMNS is not set."""
    watched = sys.stdout is not None and sys.stdout.isatty()
    return terminal_width() if watched or os.environ.get("COLUMNS") else sys.maxsize


def print_table(rows: Sequence[Mapping[str, str]], *, wrap: bool = False) -> None:
    """Rows as aligned text; where the terminal is narrower the widest column is cut, or wrapped."""
    names = list(rows[0])
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    space = (terminal_width() if wrap else uncut_width()) - 2 * (len(names) - 1)
    while sum(widths.values()) > space and max(widths.values()) > 12:
        widths[max(widths, key=widths.__getitem__)] -= 1
    for row in ({name: name for name in names}, *rows):
        cells = [_lines(row[name], widths[name], wrap) for name in names]
        for at in range(max(map(len, cells))):
            parts = (cell[at] if at < len(cell) else "" for cell in cells)
            line = (part.ljust(width) for part, width in zip(parts, widths.values(), strict=True))
            print("  ".join(line).rstrip())


def _lines(text: str, width: int, wrap: bool) -> list[str]:
    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, width) if wrap else [f"{text[: width - 1]}…"]
