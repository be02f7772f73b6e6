"""Types of options: what the annotations of every method, partition and network allow, null included."""

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from fake_federation import BASE

from fedlib.errors import UsageError
from fedlib.experiments.artifact import USUAL_PROFILES
from fedlib.experiments.preflight import check_run_names
from fedlib.experiments.validation import check_option, fits
from fedlib.methods import METHODS, make_method, method_class, method_options
from fedlib.papers import artifacts


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [3, 5.0], [2.5, "3", True, None, [3]]),
        (float, [3, 0.5], ["3", False, None]),
        (bool, [True, False], [1, "true", None]),
        (str, ["a"], [3, None, ["a"]]),
        (int | None, [3, None], ["null", 2.5]),
        (str | Path, ["a", Path("a")], [1, None]),
        (Sequence[int], [[3, 5], (7,), []], [3, [2.5], ["a"], [None], None, "357"]),
        (Mapping, [{}], [[], None, "a"]),
        (typing.Literal["a", "b"], ["a"], [None]),  # of a method that a user brings along
        (typing.Any, ["a", None], []),
    ],
)
def test_what_fits(hint, good, bad):
    assert [fits(value, hint) for value in good] == [True] * len(good)
    assert [fits(value, hint) for value in bad] == [False] * len(bad)


def test_the_error_says_what_was_given_and_what_is_allowed():
    for value, hint, told in (
        (None, float, "w1=null given; allowed: a number"),
        (True, int | None, "w1=true given; allowed: a whole number or null"),
        ("x", Sequence[int], "w1='x' given; allowed: a list of whole numbers"),
    ):
        with pytest.raises(UsageError) as error:
            check_option("method 'm'", "w1", value, hint)
        assert str(error.value) == f"method 'm': {told}"


@pytest.mark.parametrize("name", METHODS)
def test_null_is_taken_where_the_field_allows_none_and_refused_elsewhere(name):
    """With a value that allows None the method can be made, too; its default is the witness."""
    hints = typing.get_type_hints(method_class(name))
    needed = {"dataset_options": {"server_share": 0.5}, "client_eval": "none"}  # by FedDdrl, SchedulerFL
    base = dataclasses.replace(BASE, rounds=690, **needed)
    for option, default in method_options(name).items():
        run = dataclasses.replace(base, method=name, method_options={option: None})
        if type(None) in typing.get_args(hints[option]):
            check_run_names(run)
            assert getattr(make_method(name, {option: None}), option) is None
        else:
            assert default is not None
            with pytest.raises(UsageError, match=f"method {name!r}: {option}=null given; allowed: "):
                check_run_names(run)


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_every_run_of_every_artifact_passes(profile):
    having = [artifact for artifact in artifacts().values() if profile in artifact.profiles]
    runs = {run.group_key: run for artifact in having for run in artifact.runs(profile)}
    assert runs
    for run in runs.values():
        check_run_names(run)
