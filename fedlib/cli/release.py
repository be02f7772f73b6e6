"""The commands `agents` (train the committed ones anew) and `archive` (rows, figures, report and agents)."""

import argparse
from pathlib import Path

from fedlib import __version__
from fedlib.cli.output import print_table
from fedlib.errors import check_name
from fedlib.paths import agents_folder


def add_agents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="e.g. feddrl, or all; none: list them")


def agents_command(arguments: argparse.Namespace) -> int:
    """Train the agents that are named; list what there is if none is."""
    from fedlib.reporting.agent_runs import TRAINED_BY

    asked = [*TRAINED_BY] if arguments.methods == ["all"] else arguments.methods
    for method in asked:
        check_name("method with an agent", method, TRAINED_BY)
    if not asked:
        print_table([_agent_line(method, artifact) for method, (artifact, _) in TRAINED_BY.items()])
        print("python -m fedlib agents METHOD trains one anew, over its file; `all` trains all")
        return 0
    from fedlib.reporting.agents import train_agents

    for path in train_agents(asked):
        print(path)
    return 0


def _agent_line(method: str, artifact: str) -> dict[str, str]:
    path = agents_folder() / f"{method}.pt"
    size = f"{path.stat().st_size / 1e6:.1f} MB" if path.is_file() else "not there"
    return {"method": method, "trained by": artifact, "file": f"data/agents/{path.name}", "size": size}


_ARCHIVE = f"build/fedlib-{__version__}-results.zip"


def add_archive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE", help=f"default: {_ARCHIVE} of the project")


def archive_command(arguments: argparse.Namespace) -> int:
    from fedlib.paths import project_root
    from fedlib.reporting.archive import absent_parts, write_archive

    root = project_root()
    path = write_archive(Path(arguments.out).expanduser() if arguments.out else root / _ARCHIVE, root)
    left_out = f"; left out, as absent: {', '.join(absent)}" if (absent := absent_parts(root)) else ""
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB{left_out}")
    return 0
