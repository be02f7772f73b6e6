"""The commands `agents` (train the committed ones anew) and `archive` (rows, figures, report and agents)."""

import argparse
from pathlib import Path

from fedlib import __version__


def add_agents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="e.g. feddrl; default: all that learn")


def agents_command(arguments: argparse.Namespace) -> int:
    from fedlib.reporting.agents import train_agents

    for path in train_agents(arguments.methods):
        print(path)
    return 0


def add_archive(parser: argparse.ArgumentParser) -> None:
    default = f"build/fedlib-{__version__}-results.zip"
    parser.add_argument("--out", metavar="FILE", default=default, help=f"default: {default}")


def archive_command(arguments: argparse.Namespace) -> int:
    from fedlib.paths import project_root
    from fedlib.reporting.archive import absent_parts, write_archive

    root = project_root()
    path = write_archive(root / Path(arguments.out).expanduser(), root)
    left_out = f"; left out, as absent: {', '.join(absent)}" if (absent := absent_parts(root)) else ""
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB{left_out}")
    return 0
