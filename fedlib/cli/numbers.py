"""The command `reproduce-number`: one number of README or a notebook computed here, and compared."""

import argparse

from fedlib.cli import run
from fedlib.errors import EXIT_FAILED


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="see docs/numbers.md; without one: all numbers")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:<n> (default: auto)")
    run.add_budget(parser)


def reproduce_number_command(arguments: argparse.Namespace) -> int:
    """Print the comparison in one line; returns 0 if it agrees, 1 if not."""
    from fedlib.experiments.budget import Budget
    from fedlib.experiments.store import Store
    from fedlib.reporting.numbers import find_number, number_lines

    budget = Budget(arguments.budget_minutes, started=run.STARTED)
    if arguments.id is None:
        print("\n".join(number_lines()))
        return 0
    number = find_number(arguments.id)
    from fedlib.reporting.repetition import reproduce  # imports torch

    found = reproduce(number, Store(arguments.store), device=arguments.device, budget=budget)
    print(found.line())
    return 0 if found.agrees else EXIT_FAILED
