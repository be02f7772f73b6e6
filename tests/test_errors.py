"""Errors about names: the nearest one, and a list that fits a line."""

import pytest

from fedlib.errors import MOST_LISTED, UsageError, check_name

NAMES = [f"name-{n}" for n in range(40)]


def test_a_long_list_is_cut_where_another_place_has_it():
    with pytest.raises(UsageError) as told:
        check_name("thing", "name-39x", NAMES, listed_by="`list`")
    few = ", ".join(NAMES[:MOST_LISTED])
    assert str(told.value) == (
        f"unknown thing 'name-39x' (did you mean 'name-39'?); allowed: {few} and 28 more, listed by `list`"
    )


def test_without_such_a_place_all_names_are_listed():
    with pytest.raises(UsageError, match=r"name-0, .*name-39$"):
        check_name("thing", "zebra", NAMES)
    with pytest.raises(UsageError, match=r"allowed: a, b$"):
        check_name("thing", "zebra", ["a", "b"], listed_by="`list`")
