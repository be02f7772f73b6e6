"""The command line, `python -m fedlib COMMAND`; `--help` lists the commands.

Bad input gives one line and exit status 2; the other statuses are in `fedlib.errors`. Everything
heavy is imported by the command that needs it, so that `list` and a typing error answer at once,
and `run` works on a machine without Jupyter.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from fedlib import __version__, running
from fedlib.errors import EXIT_FAILED, EXIT_INTERRUPTED, FedlibError, UsageError
from fedlib.papers import PROFILES

_Command = Callable[[argparse.Namespace], int]


class _Parser(argparse.ArgumentParser):
    """argparse without its usage text before an error, which is one line here."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    warnings.showwarning = _show_warning
    try:
        arguments = make_parser().parse_args(argv)
        arguments.command_line = sys.orig_argv[1:] if argv is None else ["-m", "fedlib", *argv]
        status = arguments.command(arguments)
        sys.stdout.flush()
        return status
    except FedlibError as error:
        print(f"fedlib: error: {' '.join(str(error).split())}", file=sys.stderr)
        return error.status
    except BrokenPipeError:  # `fedlib list | head`: who reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("fedlib: interrupted; what was finished is stored, the rest resumes", file=sys.stderr)
        return EXIT_INTERRUPTED


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    print(f"fedlib: warning: {message}", file=sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(prog="fedlib", description="Reproduces four papers on federated learning.")
    parser.add_argument("--version", action="version", version=f"fedlib {__version__}")
    commands = parser.add_subparsers(dest="name", required=True, metavar="command", parser_class=_Parser)

    def command(name: str, function: _Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=function)
        return sub

    _add_list(command("list", list_command, "every artifact: id, kind, data it needs, stored results"))
    run = command("run", running.run_command, "compute artifacts, as far as they are not stored")
    running.add_options(run)
    _add_store(run)
    _add_verdicts(command("verdicts", verdicts_command, "every claim: verdict, evidence, profile, data"))
    _add_data(command("data", data_command, "data sets: list, fetch, check"))
    _add_export(command("export", export_command, "write stored rows to data/results, to be committed"))
    _add_figures(command("figures", figures_command, "draw the figures from stored rows into figures/"))
    _add_notebooks(command("notebooks", notebooks_command, "run the notebooks headless"))
    _add_report(command("report", report_command, "write build/report/index.html from what is stored"))
    _add_reproduce(command("reproduce", reproduce_command, "notebooks, verdicts and report in one go"))
    return parser


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="FOLDER", help="run store (default: $FEDLIB_STORE or build/runs)")


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paper", help="only this paper")
    _add_store(parser)


def list_command(arguments: argparse.Namespace) -> int:
    from fedlib.papers import artifacts
    from fedlib.results import stored_counts
    from fedlib.store import Store

    store = Store(arguments.store)
    rows = [("artifact", "kind", "data it needs (smoke; reduced; paper)", "stored")]
    for artifact in artifacts(arguments.paper).values():
        needs = "; ".join(", ".join(artifact.needs(profile)) or "none" for profile in PROFILES)
        stored = ", ".join(f"{name}: {what}" for name, what in stored_counts(artifact, store).items())
        absent = "computed on demand" if artifact.compute and not artifact.keep else "none"
        rows.append((artifact.id, artifact.kind, needs, stored or absent))
    _print_table(rows)
    return 0


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _add_verdicts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paper", help="only this paper")
    parser.add_argument("--profile", help="rows of this profile only (default: the largest that has rows)")
    _add_store(parser)


def verdicts_command(arguments: argparse.Namespace) -> int:
    from fedlib.verdicts import decide_claims

    rows = [("claim", "verdict", "profile", "data", "statement", "evidence")]
    for claim, verdict in decide_claims(arguments.paper, profile=arguments.profile, store=arguments.store):
        seen = (verdict.profile or "-", verdict.data or "-")
        rows.append((claim.id, verdict.verdict, *seen, claim.statement, verdict.evidence))
    _print_table(rows)
    return 0


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifacts", nargs="+", metavar="ID")
    parser.add_argument("--profile", required=True, help="reduced or paper")
    parser.add_argument(
        "--every", type=int, default=1, help="keep rounds that are multiples of this, and the last"
    )
    _add_store(parser)


def export_command(arguments: argparse.Namespace) -> int:
    from fedlib.results import export_results

    for name in arguments.artifacts:
        print(export_results(name, arguments.profile, store=arguments.store, every=arguments.every))
    return 0


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "fetch", "check"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets; default for list and check: all")


def data_command(arguments: argparse.Namespace) -> int:
    from fedlib import data

    if arguments.action == "list":
        found = data.describe_datasets()
        rows = [(row.name, row.state, row.what, row.origin or row.how) for row in found]
        _print_table([("name", "state", "what it is", "origin, or how to get it"), *rows])
        return 0
    if arguments.action == "fetch":
        return _fetch(arguments.names)
    rows = [row for name in arguments.names or data.dataset_names() for row in data.check(name)]
    _print_table([("name", "verdict", "file"), *((row.name, row.verdict, row.file) for row in rows)])
    # A set that was asked for by name has to be there; in a round over all of them only damage counts.
    bad = {"damaged", "absent"} if arguments.names else {"damaged"}
    return EXIT_FAILED if any(row.verdict in bad for row in rows) else 0


def _fetch(names: Sequence[str]) -> int:
    from fedlib import data

    if not names:
        raise UsageError(f"data fetch needs a name; allowed: {', '.join(data.dataset_names())}")
    for name in names:
        found = data.fetch(name)
        images = f"{len(found.train)} + {len(found.test)} images"
        print(f"{found.name}: {images}, {found.origin}, sha256 {found.checksum}")
    return 0


def _add_figures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="default: all")
    parser.add_argument("--profile", help="rows of this profile only (default: the largest that has rows)")
    _add_store(parser)


def figures_command(arguments: argparse.Namespace) -> int:
    from fedlib.publish import draw_figures

    for line in draw_figures(arguments.papers, profile=arguments.profile, store=arguments.store):
        print(line)
    return 0


def _add_notebooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="e.g. 00_start_here or feddrl; default: all")
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--timeout", type=float, metavar="S", help="most seconds for one cell")


def notebooks_command(arguments: argparse.Namespace) -> int:
    from fedlib.notebooks import run_notebooks

    results = run_notebooks(arguments.names, arguments.profile, timeout=arguments.timeout)
    return EXIT_FAILED if any(result.status != "ok" for result in results) else 0


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--paper", help="only this paper")


def report_command(arguments: argparse.Namespace) -> int:
    from fedlib.notebooks import load_results
    from fedlib.publish import publish

    print(publish(load_results(), arguments.paper))
    return 0


def _add_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", default="smoke", help=f"one of {', '.join(PROFILES)} (default: smoke)")
    parser.add_argument("--paper", help="only this paper")


def reproduce_command(arguments: argparse.Namespace) -> int:
    from fedlib.publish import reproduce

    return reproduce(arguments.profile, arguments.paper)
