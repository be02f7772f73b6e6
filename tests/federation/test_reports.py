"""Shapes of what a method of the user's reports of a round."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from worlds import make_world

from fedlib.errors import UsageError
from fedlib.federation import (
    Method,
    finish_round,
    initial_state,
    rounds,
    sample_shares,
    train_cohort,
)


@dataclass(frozen=True)
class Own(Method):
    """FedAvg whose report `change` changes."""

    change: Callable

    def init(self, task):
        return initial_state(task)

    def apply(self, task, state, cohort):
        trained = train_cohort(task, state, cohort)
        after, report = finish_round(task, state, cohort, trained, sample_shares(task, cohort))
        return after, replace(report, **self.change(report))


def losses(change):
    task = make_world(seeds=(0, 1), rounds=1, client_eval="none")
    rows = [*rounds(task, Own(change))][-1].rows
    return [row["train_loss_mean"] for (row,) in rows]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: {"train_loss": r.train_loss.view(-1).unsqueeze(1)}, r"train_loss Tensor \(8, 1\)"),
        (lambda r: {"train_loss": r.train_loss.view(-1)}, r"train_loss Tensor \(8,\)"),
        (lambda r: {"train_loss": r.train_loss.numpy()}, r"train_loss ndarray \(2, 4\)"),
        (lambda r: {"train_loss": 0.5}, "train_loss float"),
        (lambda r: {"weights": r.weights[0]}, r"weights Tensor \(4,\)"),
        (lambda r: {"weights": r.weights.numpy()}, r"weights ndarray \(2, 4\)"),
        (lambda r: {"clients": r.clients[:, :3]}, r"weights Tensor \(2, 4\); allowed: .* \(2, 3\), "),
        (lambda r: {"clients": r.clients[0]}, r"clients ndarray \(4,\); allowed: .* \[R, K\], R = 2"),
        (lambda r: {"clients": r.clients.tolist()}, "clients list"),
    ],
)
def test_a_report_of_another_shape_is_one_line(change, says):
    with pytest.raises(UsageError, match=f"Own.apply reported {says}.*"):
        losses(change)


def test_one_loss_for_each_replica_may_be_reported():
    mean = losses(lambda report: {"train_loss": report.train_loss.mean(dim=1, keepdim=True)})
    assert mean == pytest.approx(losses(lambda report: {}))


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("weights", [1, 2], "'weights', which every row has; allowed: another name"),
        ("test_accuracy", [0.5, 0.5], "'test_accuracy', which every row has"),
        ("method", ["a", "b"], "'method', which every row has"),
        ("spread", [0.5], "'spread' with 1; allowed: a list of 2"),
    ],
)
def test_a_column_that_would_hide_another_or_lacks_values_is_one_line(column, values, says):
    with pytest.raises(UsageError, match=f"Own.apply reported column {says}"):
        losses(lambda report: {"columns": {column: values}})


def test_a_weight_that_is_not_finite_is_told_as_such():
    @dataclass(frozen=True)
    class Lost(Own):
        def apply(self, task, state, cohort):
            trained = train_cohort(task, state, cohort)
            return finish_round(task, state, cohort, trained, sample_shares(task, cohort) * float("nan"))

    task = make_world(rounds=1, client_eval="none")
    *_, last = rounds(task, Lost(lambda report: {}))
    assert last.failed == {0: "failed: a weight is not finite in round 1"}


@dataclass(frozen=True)
class Keeping(Own):
    """FedAvg with a memory from the first state or from round 1 on."""

    at_first: dict = field(default_factory=dict)
    later: dict = field(default_factory=dict)

    def init(self, task):
        return replace(super().init(task), memory=self.at_first)

    def apply(self, task, state, cohort):
        after, report = super().apply(task, state, cohort)
        return replace(after, memory=self.later), report


@pytest.mark.parametrize("when", ["at_first", "later"])
@pytest.mark.parametrize(
    ("memory", "says"),
    [
        ({"rng": np.random.default_rng(0)}, r"memory\['rng'\], numpy.random._generator.Generator; allowed"),
        ({"a": {"seen": [1, {2}]}}, r"memory\['a'\]\['seen'\]\[1\], builtins.set; allowed in memory: "),
        ({"sum": np.float64(1)}, r"memory\['sum'\], numpy.float64; allowed in memory: tensors, numbers"),
    ],
)
def test_a_memory_that_no_checkpoint_can_give_back_is_refused(when, memory, says):
    task = make_world(rounds=1, client_eval="none")
    with pytest.raises(UsageError, match=f"Keeping keeps {says}"):
        list(rounds(task, Keeping(lambda report: {}, **{when: memory})))


def test_rounds_want_a_task_and_a_method_before_the_first():
    task = make_world(rounds=1)
    with pytest.raises(
        UsageError, match=r"'fedavg' given; allowed: a Method, as make_method\(name\) makes it"
    ):
        rounds(task, "fedavg")
    with pytest.raises(UsageError, match="list given; allowed: a Task, as prepare or task_of makes it"):
        rounds([], Own(lambda report: {}))
