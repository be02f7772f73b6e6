"""Three rounds of each strategy on an in-process grid, held to fedlib's own federation."""

import json

import numpy as np
import pytest
import torch
from fedlib_flower.client_app import Client, make_client_app
from fedlib_flower.in_process import InProcessGrid
from fedlib_flower.strategy import EvaluatorFL, FedDRL, PartitionedFedAvg, SchedulerFL
from flwr.app import ArrayRecord

from fedlib.federation import Task, prepare, rounds
from fedlib.methods import make_method
from fedlib.methods.feddrl.agent import AggregationAgent
from fedlib.methods.frl.evaluatorfl import EvaluatorFL as EvaluatorMethod
from fedlib.methods.frl.schedulerfl import FIRST_TURN
from fedlib.methods.frl.schedulerfl import SchedulerFL as SchedulerMethod
from fedlib.run import Run

CLIENTS, ROUNDS = 6, 3


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    torch.set_num_threads(1)


def run_of(method: str, options: dict, cohort_size: int | None = None) -> Run:
    return Run(
        paper="start", artifact="flower", profile="smoke", dataset="fmnist-embedded", partition="pa",
        model="mlp", method=method, method_options=options, num_clients=CLIENTS, cohort_size=cohort_size,
        rounds=ROUNDS, local_epochs=2, batch_size=16, local_learning_rate=0.05, sample_order="stored", seed=3,
        dataset_options={"train_per_class": 40, "test_per_class": 20}, client_eval="none",
    )  # fmt: skip


def our_rounds(run: Run) -> tuple[Task, list[dict], dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The task, its rows, and the global models before round 1 and after the last."""
    task = prepare([run])
    results = list(rounds(task, make_method(run.method, run.method_options)))
    states = [{**results[i].state["params"], **results[i].state["buffers"]} for i in (0, -1)]
    first, last = ({name: t[0] for name, t in state.items()} for state in states)
    return task, [row for result in results[1:] for row in result.rows[0]], first, last


def client_app(task: Task, strategy: PartitionedFedAvg):
    """Clients of the task's partitions, going through their samples front to back as the run does."""
    run = task.run

    def load(context):
        partition = context.node_config["partition-id"]
        index = torch.from_numpy(task.clients[0][partition])
        inputs, labels = task.train.fetch(index), task.train.labels[index]
        seconds = None
        if isinstance(strategy, SchedulerFL):
            world = strategy.rule.world(task, 0)
            seconds = lambda number: world.times(FIRST_TURN + number)[partition]  # noqa: E731
        return Client(
            task.model, inputs, labels, run.local_epochs, run.batch_size, run.local_learning_rate,
            order=lambda _: torch.arange(len(labels)), seconds=seconds,
        )  # fmt: skip

    return make_client_app(load)


CASES = {
    "fedavg": ({}, PartitionedFedAvg, {}),
    "feddrl": (
        {"mode": "online", "batch_size": 1},  # so that the agent learns from round 2 on
        FedDRL,
        {"agent": AggregationAgent(batch_size=1)},
    ),
    "evaluatorfl": ({}, EvaluatorFL, {"method": EvaluatorMethod()}),
    "schedulerfl": (
        {"share": 0.5, "stop_below": None, "experiments": 3},
        SchedulerFL,
        {"rule": SchedulerMethod(share=0.5, stop_below=None, experiments=3)},
    ),
}


@pytest.mark.parametrize(("method", "cohort_size"), [*((name, None) for name in CASES), ("feddrl", 4)])
def test_three_rounds_have_our_federations_numbers(method, cohort_size):
    options, strategy_class, settings = CASES[method]
    run = run_of(method, options, cohort_size)
    task, rows, first, last = our_rounds(run)
    strategy = strategy_class(CLIENTS, cohort_size=cohort_size, seed=run.seed, cell=run.cell, **settings)
    grid = InProcessGrid(client_app(task, strategy), CLIENTS)
    result = strategy.start(grid, ArrayRecord(first), num_rounds=ROUNDS)
    assert len(rows) == ROUNDS
    for row in rows:
        metrics = result.train_metrics_clientapp[row["round"]]
        np.testing.assert_allclose(metrics["weights"], json.loads(row["weights"]), atol=2e-6)
    found = result.arrays.to_torch_state_dict()
    assert found.keys() == last.keys()
    for name, tensor in last.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=2e-6)
        assert not torch.equal(found[name], first[name])
