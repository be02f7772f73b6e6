"""Parsers of the command line: one line for an error, with the option that was meant."""

import argparse
import difflib
from typing import Any, NoReturn

from fedlib.errors import UsageError


class Once(argparse.Action):
    """An option that may be given once: argparse itself would take the last value in silence.

    For what chooses runs; how they are computed may be given again, as scripts that wrap a command do.
    """

    given = False

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if self.given and option_string:
            parser.error(f"{option_string} given twice; allowed: once")
        self.given = True
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """argparse without its usage text before an error, which is one line here; whole names of options only.

    `worker_processes` leaves out options by their names. For one command line: `Once` marks what was given.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


class CommandParser(Parser):
    """The parser of one command, whose errors name its own help and the option that was meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            option = next((one.partition("=")[0] for one in unknown if one.startswith("-")), "")
            close = difflib.get_close_matches(option, self._option_string_actions, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return namespace, unknown
