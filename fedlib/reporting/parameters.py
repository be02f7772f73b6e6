"""Parameters of a notebook, checked by the rules of the command line.

Papermill only logs `Passed unknown parameter` and goes on with the defaults, so the names in the cell that it
injects are compared here, with IPython's list of the cells that have run.

References: papermill (https://papermill.readthedocs.io), parameterize.
"""

import ast
from collections.abc import Sequence

from IPython import get_ipython

from fedlib.errors import check, check_name
from fedlib.experiments.budget import Budget
from fedlib.experiments.selection import parse_seeds

PARAMETERS = ("profile", "seeds", "device", "shown", "compute", "budget_minutes")


OWN = "own"  # as many seeds as the profile has for each artifact


def seed_list(given: int | str) -> list[int] | None:
    """Seeds of a count (3) or a list ("0,1,2"), by the command line's rule; None for each artifact's own."""
    if given == OWN:
        return None
    whole = isinstance(given, str | int) and not isinstance(given, bool)
    check(whole, f'seeds={given!r} given; allowed: a count such as 3, a list such as "0,1,2", or "own"')
    return parse_seeds(str(given))


def time_budget(minutes: float) -> Budget:
    """A budget of so many minutes; 0 is no limit."""
    number = isinstance(minutes, int | float) and not isinstance(minutes, bool) and minutes >= 0
    check(number, f"budget_minutes={minutes!r} given; allowed: a number of minutes, 0 for no limit")
    return Budget(minutes or None)


def cells_before() -> list[str]:
    """Sources of the cells that this kernel has run before the present one, none outside of a notebook."""
    shell = get_ipython()
    return [] if shell is None else list(shell.user_ns.get("In", []))[:-1]


def execution_id() -> str | None:
    """Id of the message that executes the present cell, None outside of a notebook.

    IPython's count of executions stays the same where a client keeps no history, as nbval does.
    """
    parent = getattr(get_ipython(), "get_parent", None)
    return None if parent is None else parent()["header"]["msg_id"]


def check_parameter_names(cells: Sequence[str]) -> None:
    """Refuse a name that is no parameter, in the parameters cell or in the one that papermill injected."""
    for source in reversed(cells):
        names = _assigned(source)
        if not names:
            return
        for name in names:
            check_name("parameter", name, PARAMETERS)
        if "profile" in names and not source.startswith("# Parameters"):
            return


def _assigned(source: str) -> list[str]:
    """Names that a cell of constant assignments sets; none for a cell with anything else in it."""
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return []
    names = []
    for statement in statements:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not _is_constant(statement.value):
            return []
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def _is_constant(value: ast.expr | None) -> bool:
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return value is not None
