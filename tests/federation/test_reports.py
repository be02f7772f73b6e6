"""Shapes of what a method of the user's reports of a round."""

from collections.abc import Callable
from dataclasses import dataclass, replace

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
