"""Parameters of notebooks: the command line's rules, and names compared with the cells that ran."""

import math

import pytest

from fedlib.errors import UsageError
from fedlib.reporting.parameters import check_parameter_names, seed_list, time_budget

CELL = 'profile: str = "smoke"  # sizes\nseeds: int = 2  # a count'


@pytest.mark.parametrize(("given", "seeds"), [(2, [0, 1]), ("3", [0, 1, 2]), ("0,4", [0, 4]), ("own", None)])
def test_seeds_are_a_count_or_a_list(given, seeds):
    assert seed_list(given) == seeds


@pytest.mark.parametrize("given", ["two", 0, -1, True, 2.5, None, ""])
def test_other_seeds_are_refused_in_one_line(given):
    with pytest.raises(UsageError, match="seeds") as error:
        seed_list(given)
    assert "\n" not in str(error.value)


def test_a_budget_of_zero_is_no_limit():
    assert math.isinf(time_budget(0.0).remaining_seconds())
    for wrong in (-1, "5", True):
        with pytest.raises(UsageError, match="budget_minutes"):
            time_budget(wrong)


def test_a_name_that_papermill_injects_is_compared():
    with pytest.raises(UsageError, match="unknown parameter 'sedes'"):
        check_parameter_names(["import os", CELL, "# Parameters\nsedes = 3"])


def test_a_misspelt_name_in_the_parameters_cell_is_refused():
    with pytest.raises(UsageError, match="profil"):
        check_parameter_names(["import os", CELL.replace("seeds", "profil")])


def test_cells_further_up_may_set_what_they_like():
    check_parameter_names(["colour = 3", CELL, "# Parameters\nseeds = 3"])
    check_parameter_names(["number = 3\nprint(number)", CELL])
    check_parameter_names([])
