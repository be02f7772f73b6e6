"""Types of options: what the annotations of every method, partition and network allow, null included."""

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_federation import BASE

from fedlib.errors import UsageError
from fedlib.experiments.artifact import USUAL_PROFILES
from fedlib.experiments.preflight import check_run_names
from fedlib.methods import METHODS, make_method, method_class, method_options
from fedlib.methods.baselines.fedavg import FedAvg
from fedlib.methods.baselines.fedprox import FedProx
from fedlib.methods.feddrl.agent import AggregationAgent
from fedlib.methods.feddrl.method import FedDRL
from fedlib.methods.frl.scheduler_agent import Scheduler
from fedlib.papers import artifacts
from fedlib.rl.dirichlet import WeightSearch
from fedlib.rl.dqn import DoubleDqn
from fedlib.rl.reinforce import Reinforce
from fedlib.rl.vdn import Vdn
from fedlib.validation import check_value, fits


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [3, 5.0], [2.5, 1e30, 10**30, "3", True, None, [3]]),
        (float, [3, 0.5, 1e30], [float("nan"), float("inf"), 10**400, "3", False, None]),
        (bool, [True, False], [1, "true", None]),
        (str, ["a"], [3, None, ["a"]]),
        (int | None, [3, None], ["null", 2.5]),
        (str | Path, ["a", Path("a")], [1, None]),
        (Sequence[int], [[3, 5], (7,), []], [3, [2.5], ["a"], [None], None, "357"]),
        (Mapping, [{}], [[], None, "a"]),
        (typing.Literal["a", 1], ["a", 1], ["b", True, 1.0, None, ["a"]]),
        (tuple[float, ...], [(0.5, 2), [1], ()], [0.5, (True,), ("a",), None]),
        (list[str] | None, [["a"], None], ["a", [1]]),
        (set, [{1}, "a"], [None]),  # of a method that a user brings along
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
        ((True,), tuple[float, ...], "w1=[true] given; allowed: a list of numbers"),
        ("x", typing.Literal["a", "b"] | None, "w1='x' given; allowed: 'a' or 'b' or null"),
        ({1}, int, 'w1="{1}" given; allowed: a whole number'),
    ):
        with pytest.raises(UsageError) as error:
            check_value("method 'm': w1", value, hint)
        assert str(error.value) == f"method 'm': {told}"


@dataclass(frozen=True)
class Chosen(FedAvg):
    """A method of a user's, with the kinds of options that no method here has."""

    side: typing.Literal["left", "right"] = "left"
    rates: tuple[float, ...] = (0.1, 0.2)


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("fedprox", {"mu": "x"}, "mu='x' given; allowed: a number (default 0.01)"),
        ("fedprox", {"mu": True}, "mu=true given; allowed: a number (default 0.01)"),
        ("fedprox", {"weights": 1}, "weights=1 given; allowed: text (default samples)"),
        ("feddrl", {"batch_size": 2.5}, "batch_size=2.5 given; allowed: a whole number (default 4)"),
        ("feddrl", {"updates": "2"}, "updates='2' given; allowed: a whole number or null (default None)"),
        ("feddrl", {"keep_experience": 1}, "keep_experience=1 given; allowed: true or false (default False)"),
        ("fedddrl", {"bias": [1]}, "bias=[1] given; allowed: a number or null (default None)"),
        ("schedulerfl", {"noise": None}, "noise=null given; allowed: a number (default 0.0)"),
        ("chosen", {"side": "up"}, "side='up' given; allowed: 'left' or 'right' (default left)"),
        ("chosen", {"rates": (1, "2")}, 'rates=[1, "2"] given; allowed: a list of numbers'),
    ],
)
def test_an_option_of_a_wrong_type_is_refused_in_words(name, options, told, monkeypatch):
    monkeypatch.setitem(METHODS, "chosen", Chosen)
    with pytest.raises(UsageError) as error:
        make_method(name, options)
    assert str(error.value).startswith(f"method {name!r}: {told}")


def test_an_option_of_the_annotated_type_is_taken_as_that_type(monkeypatch):
    monkeypatch.setitem(METHODS, "chosen", Chosen)
    for name, option, given, taken in (
        ("fedprox", "mu", 1, 1.0),
        ("feddrl", "batch_size", 8.0, 8),
        ("feddrl", "updates", None, None),
        ("fedddrl", "bias", 1, 1.0),
        ("chosen", "side", "right", "right"),
        ("chosen", "rates", [1, 2.5], [1, 2.5]),
    ):
        found = getattr(make_method(name, {option: given}), option)
        assert (found, type(found)) == (taken, type(taken))


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: FedAvg(weights=0), "FedAvg: weights=0 given; allowed: text"),
        (lambda: FedProx(mu="x"), "FedProx: mu='x' given; allowed: a number"),
        (lambda: FedDRL(rho=None), "FedDRL: rho=null given; allowed: a number"),
        (lambda: AggregationAgent(noise="x"), "AggregationAgent: noise='x' given; allowed: a number"),
        (lambda: Scheduler(share=True), "Scheduler: share=true given; allowed: a number"),
        (lambda: Vdn(sizes=10), "Vdn: sizes=10 given; allowed: a list of whole numbers"),
        (lambda: DoubleDqn(gamma="1"), "DoubleDqn: gamma='1' given; allowed: a number"),
        (lambda: Reinforce(2.5), "Reinforce: workers=2.5 given; allowed: a whole number"),
        (lambda: WeightSearch(window="5"), "WeightSearch: window='5' given; allowed: a whole number"),
    ],
)
def test_a_method_or_agent_built_in_python_checks_the_types_of_its_fields(build, told):
    with pytest.raises(UsageError) as error:
        build()
    assert str(error.value) == told


def test_a_number_that_float32_does_not_hold_is_refused():
    with pytest.raises(UsageError) as error:
        make_method("fedprox", {"mu": 1e300})
    assert str(error.value) == (
        "method 'fedprox': mu=1e+300 given; allowed: a number, of at most 3.4e+38 in size (default 0.01)"
    )
    noisy = {**BASE.dataset_options, "client_noise": {"strength": 1e300}}
    with pytest.raises(UsageError, match=r"strength=1e.300 given; allowed: a number, of at most"):
        check_run_names(dataclasses.replace(BASE, dataset_options=noisy))
    assert make_method("fedprox", {"mu": 3e38}).mu == 3e38


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
