"""The round loop: sample a cohort, let the method train and aggregate, evaluate, report."""

import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.engine import Evaluation, evaluate_clients, evaluate_lanes
from fedlib.engine.hardware.device import to_host
from fedlib.errors import check, shortened
from fedlib.federation.cohort import Cohort, sample_cohort
from fedlib.federation.method import Method
from fedlib.federation.returned import check_columns, check_memory, played
from fedlib.federation.state import RoundReport, ServerState, moved
from fedlib.federation.task import Task, given
from fedlib.partition import Partition

Row = dict[str, Any]
SUMS_DIFFER = 1e-3  # from 1; that much is more than rounding


@dataclass(frozen=True)
class RoundResult:
    """A finished round of a group of R runs.

    round: rounds finished so far, 0 for the initial models, negative in a method's own rounds
    before them (`Method.pretrain`). rows: for each run its rows of this
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
    """Train until the last round; continue after the round that `state` was saved in.

    UsageError for a run that the method cannot work with (`Method.check`), unless it resumes.
    """
    for own, kind, maker in ((task, Task, "prepare or task_of"), (method, Method, "make_method(name)")):
        told = shortened(repr(own) if isinstance(own, str) else type(own).__name__)
        check(isinstance(own, kind), f"{told} given; allowed: a {kind.__name__}, as {maker} makes it")
    return _rounds(task, method, state)


def _rounds(task: Task, method: Method, state: dict[str, Any] | None) -> Iterator[RoundResult]:
    failed: dict[int, str] = {}
    if state is None:
        started = time.perf_counter()
        method.check(task.run)
        server = method.init(task)
        check(
            isinstance(server, ServerState),
            f"{method.class_name}.init returned {type(server).__name__}; allowed: a ServerState",
        )
        check_memory(method, server.memory)
        rows = _first_rows(task, method, server, failed)
        yield RoundResult(server.round, rows, {}, _pack(task, server, failed), time.perf_counter() - started)
    else:
        server, failed = _unpack(task, state)
    while server.round < 0 and len(failed) < len(task.runs):
        started = time.perf_counter()
        server, told = method.pretrain(task, server)
        new = {replica: why for replica, why in told.items() if replica not in failed}
        failed = {**failed, **new}
        rows = _first_rows(task, method, server, failed)
        for replica, why in new.items():
            rows[replica] = [{"round": server.round, "status": why}]
        yield RoundResult(server.round, rows, new, _pack(task, server, failed), time.perf_counter() - started)
    while server.round < task.run.rounds and len(failed) < len(task.runs):
        started = time.perf_counter()
        server, rows, new = _one_round(task, method, server, failed)
        failed = {**failed, **new}
        yield RoundResult(server.round, rows, new, _pack(task, server, failed), time.perf_counter() - started)


def next_cohort(task: Task, round_index: int) -> Cohort:
    """The clients of a round of the run; rounds before round 1 are numbered 0, -1, ..."""
    return sample_cohort(task.seeds, round_index, task.run.num_clients, task.cohort_size)


def _one_round(
    task: Task, method: Method, server: ServerState, failed: dict[int, str]
) -> tuple[ServerState, list[list[Row]], dict[int, str]]:
    run = task.run
    cohort = next_cohort(task, server.round + 1)
    if server.round > 0 and run.episode(cohort.round)[1] == 1:
        server = method.restart(task, server)
    server, report = played(method, method.apply(task, server, cohort), server, cohort)
    task.once(("memory", type(method)), lambda: check_memory(method, server.memory))
    evaluates = server.round % run.eval_every == 0 or server.round == run.rounds
    rows = _report_rows(task, method, server, cohort, report, evaluates)
    _note_memory(task)
    new = {}
    for replica, row in enumerate(rows):
        reason = report.failed.get(replica) or _failure(row)
        if reason and replica not in failed:
            new[replica] = row["status"] = reason
    keep = [replica not in failed and (evaluates or replica in new) for replica in range(len(rows))]
    return server, [[row] if wanted else [] for row, wanted in zip(rows, keep, strict=True)], new


def _note_memory(task: Task) -> None:
    """Record for the provenance what memory did not hold."""
    for name, found in (("clients", task.trainer.limit.lanes), ("images", task.trainer.limit.images)):
        if found is not None:
            task.facts[f"{name}_per_pass_by_memory"] = found


def _failure(row: Row) -> str | None:
    for name in ("train_loss_mean", "test_loss"):
        value = row.get(name)
        if value is not None and not np.isfinite(value):
            lost = name == "test_loss" and not np.isfinite(json.loads(row.get("weights", "[]"))).all()
            what = "a weight is not finite" if lost else f"{name} is {value}"
            return f"failed: {what} in round {row['round']}"
    return None


def _first_rows(task: Task, method: Method, server: ServerState, failed: dict[int, str]) -> list[list[Row]]:
    """The rows of round 0; none in a method's own rounds before it, and none of a failed run."""
    if server.round < 0:
        return [[] for _ in task.runs]
    return [[] if r in failed else [row] for r, row in enumerate(_initial_rows(task, method, server))]


def _initial_rows(task: Task, method: Method, server: ServerState) -> list[Row]:
    further = method.initial_columns(task, server)
    check_columns(f"{method.class_name}.initial_columns", further, len(task.runs))
    rows = [
        {"round": 0, "status": "ok", **{name: values[r] for name, values in further.items()}}
        for r in range(len(task.runs))
    ]
    whom = task.everyone() if task.run.client_eval == "all" else None
    found, _ = _with_host(_evaluate(task, method, server, whom))
    _add_evaluation(task, server, rows, found)
    return rows


def _report_rows(
    task: Task, method: Method, server: ServerState, cohort: Cohort, report: RoundReport, evaluates: bool
) -> list[Row]:
    found: dict[str, list[Evaluation]] = {}
    if evaluates:
        # those who took part: a method may choose others than were drawn; -1 is nobody (SingleSet)
        took_part = cohort.clients if (report.clients < 0).any() else report.clients
        whom = {"none": None, "cohort": took_part, "all": task.everyone()}[task.run.client_eval]
        found = _evaluate(task, method, server, whom, on_server="server_accuracy" not in report.columns)
    found, (train_loss, weights) = _with_host(found, report.train_loss.mean(dim=1), report.weights)
    _warn_of_sums(task, method, weights, server.round)
    losses, shares = train_loss.tolist(), weights.tolist()
    episode = {} if task.run.episode_rounds is None else {"episode": task.run.episode(server.round)[0]}
    rows = [
        {
            "round": server.round,
            "status": "ok",
            "train_loss_mean": losses[r],
            "clients": json.dumps([int(k) for k in report.clients[r]]),
            "weights": json.dumps([float(f"{w:.6g}") for w in shares[r]]),
            "uplink_bytes": report.uplink_bytes,
            "downlink_bytes": report.downlink_bytes,
            **episode,
            **{name: values[r] for name, values in report.columns.items()},
        }
        for r in range(len(task.runs))
    ]
    _add_evaluation(task, server, rows, found)
    return rows


def _warn_of_sums(task: Task, method: Method, weights: Tensor, round_index: int) -> None:
    """Warn once a run of weights [R, K], on the CPU, that do not sum to 1 without the method saying so."""
    sums = weights.sum(dim=1)
    off = sums[(sums - 1).abs() > SUMS_DIFFER]
    if len(off) and method.weights_sum_to_1:
        text = (
            f"the weights of {method.class_name} sum to {float(off[0]):.6g} in round {round_index} and "
            "are used as they are; a method whose weights need not sum to 1 says `weights_sum_to_1 = False`"
        )
        task.once(("sums", type(method)), lambda: warnings.warn(text, stacklevel=2))


def _evaluate(
    task: Task, method: Method, server: ServerState, clients: np.ndarray | None, *, on_server: bool = True
) -> dict[str, list[Evaluation]]:
    """The global models on the test set and the server's own images, the clients' models on the training
    data of `clients` [R, K] and on all clients' test parts: one Evaluation per replica of each."""
    found, server = {}, method.evaluated(task, server)
    if _has_global_model(task, server):
        if on_server and task.server is not None:
            found["server"] = _server_evaluation(task, server)
        tests = task.test_index
        found["test"] = evaluate_clients(task.trainer, task.test, server.params, server.buffers, tests)
    if clients is not None:
        found["clients"] = _evaluate_clients(task, method, server, clients, task.clients)
    if task.held_out is not None:
        found["held out"] = _evaluate_clients(task, method, server, task.everyone(), task.held_out)
    return found


def server_measures(task: Task, server: ServerState) -> tuple[Tensor, Tensor]:
    """Mean loss and accuracy [R] of the global models on the server's own images, float64 on the CPU."""
    found = _server_evaluation(task, server)
    loss, accuracy = torch.stack([torch.stack([e.loss[0], e.accuracy[0]]) for e in found]).cpu().double().T
    return loss, accuracy


def _server_evaluation(task: Task, server: ServerState) -> list[Evaluation]:
    samples = given(task.server, "server_share")
    return evaluate_clients(task.trainer, samples, server.params, server.buffers, task.server_index)


def _with_host(
    found: dict[str, list[Evaluation]], *further: Tensor
) -> tuple[dict[str, list[Evaluation]], list[Tensor]]:
    """Evaluations and further tensors on the CPU: all that a round's row needs, copied at once."""
    results = [one for several in found.values() for one in several]
    copies = to_host([*further, *(t for one in results for t in (one.loss, one.accuracy, one.count))])
    values = iter(copies[len(further) :])
    there = {
        kind: [Evaluation(next(values), next(values), next(values)) for _ in several]
        for kind, several in found.items()
    }
    return there, copies[: len(further)]


def _add_evaluation(
    task: Task, server: ServerState, rows: list[Row], found: dict[str, list[Evaluation]]
) -> None:
    for at, row in enumerate(rows):
        if "server" in found:
            row["server_accuracy"] = float(found["server"][at].accuracy[0])
        if "test" in found:
            test = found["test"][at]
            row["test_accuracy"], row["test_loss"] = float(test.accuracy[0]), float(test.loss[0])
        if "clients" in found:
            row.update(client_columns(found["clients"][at]))
        if "held out" in found:
            last = server.round == task.run.rounds
            row.update(held_out_columns(found["held out"][at], every_client=last))


def _has_global_model(task: Task, server: ServerState) -> bool:
    """Whether the server holds all of the model; with FedBN it does not."""
    model = task.model
    return all(n in server.params for n, _ in model.named_parameters()) and all(
        n in server.buffers for n, _ in model.named_buffers()
    )


def _evaluate_clients(
    task: Task, method: Method, server: ServerState, clients: np.ndarray, lists: list[Partition]
) -> list[Evaluation]:
    """Evaluate the `clients` [R, K] of each replica, with their own models if they have any."""
    models = method.client_models(task, server, clients)
    if models is None:
        own = (task.train_index if lists is task.clients else task.held_out_index)(clients)
        return evaluate_clients(task.trainer, task.train, server.params, server.buffers, own)
    indices = [lists[r][k] for r, ids in enumerate(clients) for k in ids]
    result = evaluate_lanes(task.trainer, task.train, *models, indices)
    by_replica = (v.view(clients.shape) for v in (result.loss, result.accuracy, result.count))
    return [Evaluation(*values) for values in zip(*by_replica, strict=True)]


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


def held_out_columns(result: Evaluation, *, every_client: bool) -> Row:
    """Spread over clients of the accuracy on their own test parts, unweighted (FEDDISK-A28).

    every_client: also the JSON list of all clients' accuracies, for box plots.
    """
    accuracy = result.accuracy.double().cpu()
    levels = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0], dtype=torch.float64)
    names = ("min", "lower_quartile", "median", "upper_quartile", "max")
    spread = zip(names, torch.quantile(accuracy, levels).tolist(), strict=True)
    row: Row = {
        "client_test_accuracy_mean": float(accuracy.mean()),
        **{f"client_test_accuracy_{name}": value for name, value in spread},
        "client_test_loss_mean": float(result.loss.double().mean()),
    }
    if every_client:
        row["client_test_accuracies"] = json.dumps([round(value, 6) for value in accuracy.tolist()])
    return row


def _pack(task: Task, server: ServerState, failed: dict[int, str]) -> dict[str, Any]:
    return {
        "round": server.round,
        "params": server.params,
        "buffers": server.buffers,
        "memory": server.memory,
        "failed": dict(failed),
        # found when memory ran out; they decide the last digits
        "clients_per_pass": task.trainer.limit.lanes,
        "images_per_pass": task.trainer.limit.images,
    }


def _unpack(task: Task, state: dict[str, Any]) -> tuple[ServerState, dict[int, str]]:
    task.trainer.limit.lanes = state.get("clients_per_pass")
    task.trainer.limit.images = state.get("images_per_pass")
    tensors = {name: moved(state[name], task.device) for name in ("params", "buffers", "memory")}
    return ServerState(round=state["round"], **tensors), dict(state["failed"])
