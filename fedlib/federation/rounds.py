"""The round loop: sample a cohort, let the method train and aggregate, evaluate, report."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fedlib.federation.cohort import Cohort, sample_cohort
from fedlib.federation.server import Diagnostics, Method, ServerState
from fedlib.federation.task import Task
from fedlib.local import Evaluation, evaluate_segments

Row = dict[str, Any]


@dataclass(frozen=True)
class RoundResult:
    """One finished round of a group of R runs.

    round: rounds finished so far, 0 for the initial models. rows: for each run its rows of this
    round (none when it was not evaluated). failed: replica -> why it is finished as failed.
    state: what a resumed group needs, in plain values and tensors (`torch.load(weights_only=True)`).
    seconds: wall time of the round, kept apart from the rows so that these repeat bit for bit.
    """

    round: int
    rows: list[list[Row]]
    failed: dict[int, str]
    state: dict[str, Any]
    seconds: float


def rounds(task: Task, method: Method, state: dict[str, Any] | None = None) -> Iterator[RoundResult]:
    """Train until the last round; continue after the round that `state` was saved in."""
    failed: dict[int, str] = {}
    if state is None:
        started = time.perf_counter()
        server = method.init(task)
        rows = [[row] for row in _initial_rows(task, server)]
        yield RoundResult(0, rows, {}, _pack(server, failed), time.perf_counter() - started)
    else:
        server, failed = _unpack(task, state)
    while server.round < task.run.rounds and len(failed) < len(task.runs):
        started = time.perf_counter()
        server, rows, new = _one_round(task, method, server, failed)
        failed = {**failed, **new}
        yield RoundResult(server.round, rows, new, _pack(server, failed), time.perf_counter() - started)


def _one_round(
    task: Task, method: Method, server: ServerState, failed: dict[int, str]
) -> tuple[ServerState, list[list[Row]], dict[int, str]]:
    run = task.run
    cohort = sample_cohort(task.seeds, server.round + 1, run.num_clients, task.cohort_size)
    server, report = method.apply(task, server, cohort)
    evaluates = server.round % run.eval_every == 0 or server.round == run.rounds
    rows = _report_rows(task, server, cohort, report, evaluates)
    new = {}
    for replica, row in enumerate(rows):
        reason = _failure(row)
        if reason and replica not in failed:
            new[replica] = row["status"] = reason
    keep = [replica not in failed and (evaluates or replica in new) for replica in range(len(rows))]
    return server, [[row] if wanted else [] for row, wanted in zip(rows, keep, strict=True)], new


def _failure(row: Row) -> str | None:
    for name in ("train_loss_mean", "test_loss"):
        value = row.get(name)
        if value is not None and not np.isfinite(value):
            return f"failed: {name} is {value} in round {row['round']}"
    return None


def _initial_rows(task: Task, server: ServerState) -> list[Row]:
    everyone = np.tile(np.arange(task.run.num_clients), (len(task.runs), 1))
    rows = [{"round": 0, "status": "ok"} for _ in task.runs]
    _add_evaluation(task, server, rows, everyone if task.run.client_eval == "all" else None)
    return rows


def _report_rows(
    task: Task, server: ServerState, cohort: Cohort, report: Diagnostics, evaluates: bool
) -> list[Row]:
    train_loss = report.train_loss.mean(dim=1).tolist()
    weights = report.weights.tolist()
    rows = [
        {
            "round": server.round,
            "status": "ok",
            "train_loss_mean": train_loss[r],
            "clients": json.dumps([int(k) for k in report.clients[r]]),
            "weights": json.dumps([float(f"{w:.6g}") for w in weights[r]]),
            "uplink_bytes": report.uplink_bytes,
            "downlink_bytes": report.downlink_bytes,
            **{name: values[r] for name, values in report.columns.items()},
        }
        for r in range(len(task.runs))
    ]
    if evaluates:
        everyone = np.tile(np.arange(task.run.num_clients), (len(task.runs), 1))
        whom = {"none": None, "cohort": cohort.clients, "all": everyone}[task.run.client_eval]
        _add_evaluation(task, server, rows, whom)
    return rows


def _add_evaluation(task: Task, server: ServerState, rows: list[Row], clients: np.ndarray | None) -> None:
    """The global models on the test set and on the training data of `clients` [R, K]."""
    whole = [[np.arange(len(task.test.labels))]] * len(rows)
    tests = evaluate_segments(task.trainer, task.test, server.params, server.buffers, whole)
    for row, test in zip(rows, tests, strict=True):
        row["test_accuracy"], row["test_loss"] = float(test.accuracy[0]), float(test.loss[0])
    if clients is None:
        return
    segments = [[task.clients[r][k] for k in ids] for r, ids in enumerate(clients)]
    on_clients = evaluate_segments(task.trainer, task.train, server.params, server.buffers, segments)
    for row, result in zip(rows, on_clients, strict=True):
        row.update(client_columns(result))


def client_columns(result: Evaluation) -> Row:
    """Spread over clients of one model's loss on each client's data (population variance, FEDDRL-A41)."""
    loss, accuracy = result.loss.double(), result.accuracy.double()
    return {
        "client_loss_mean": float(loss.mean()),
        "client_loss_variance": float(loss.var(correction=0)),
        "client_loss_min": float(loss.min()),
        "client_loss_max": float(loss.max()),
        "client_accuracy_mean": float(accuracy.mean()),
        "client_accuracy_min": float(accuracy.min()),
    }


def _pack(server: ServerState, failed: dict[int, str]) -> dict[str, Any]:
    return {
        "round": server.round,
        "params": server.params,
        "buffers": server.buffers,
        "memory": server.memory,
        "failed": dict(failed),
    }


def _unpack(task: Task, state: dict[str, Any]) -> tuple[ServerState, dict[int, str]]:
    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(task.device)
        if isinstance(value, dict):
            return {k: move(v) for k, v in value.items()}
        return [move(v) for v in value] if isinstance(value, list) else value

    tensors = {name: move(state[name]) for name in ("params", "buffers", "memory")}
    return ServerState(round=state["round"], **tensors), dict(state["failed"])
