"""The server app that `flwr run` starts: the strategy that the configuration names, on fedlib's data."""

import logging

import torch
import torch.nn.functional as F
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp

from fedlib.errors import check_name
from fedlib.federation import Task
from fedlib_flower.experiment import task_of
from fedlib_flower.strategy import STRATEGIES

LOG = logging.getLogger("flwr")
app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for the configured number of rounds; the test accuracy of every round is logged."""
    config = context.run_config
    check_name("strategy", str(config["strategy"]), STRATEGIES)
    task = task_of(config)
    run = task.run
    strategy = STRATEGIES[str(config["strategy"])](run.num_clients, seed=run.seed, cell=run.cell)
    result = strategy.start(
        grid,
        ArrayRecord(task.model.state_dict()),
        num_rounds=run.rounds,
        evaluate_fn=lambda _, arrays: evaluate(task, arrays),
    )
    LOG.info("test accuracy by round: %s", accuracies(result.evaluate_metrics_serverapp))


@torch.no_grad()
def evaluate(task: Task, arrays: ArrayRecord) -> MetricRecord:
    """Accuracy and cross-entropy in nats of a global model on the test set."""
    task.model.load_state_dict(arrays.to_torch_state_dict())
    task.model.eval()
    outputs = task.model(task.test.fetch(torch.arange(len(task.test.labels))))
    right = (outputs.argmax(dim=1) == task.test.labels).float().mean()
    return MetricRecord({"accuracy": float(right), "loss": float(F.cross_entropy(outputs, task.test.labels))})


def accuracies(metrics: dict[int, MetricRecord]) -> dict[int, float]:
    """Round -> test accuracy, four decimals."""
    return {number: round(float(record["accuracy"]), 4) for number, record in metrics.items()}
