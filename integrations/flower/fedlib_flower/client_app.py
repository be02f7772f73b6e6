"""The client app: local training by plain PyTorch, and the reports that the strategies need.

`make_client_app(load)` serves any PyTorch model and data. `app` is the one that `flwr run` starts: a data
set, partition and model of fedlib by the names in the run's configuration.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch import Tensor, nn

from fedlib.methods.frl.evaluatorfl import mean_accuracy
from fedlib_flower.experiment import task_of
from fedlib_flower.strategy import ARRAYS, CONFIG, METRICS, PARTITION

EVALUATION_BATCH = 512


@dataclass(frozen=True)
class Client:
    """A partition: its samples, the network, and how it trains.

    inputs [n, ...], labels [n]. order: round -> positions [n] that an epoch goes through; None draws a new
    order for every epoch. seconds: round -> computation, upload and download time to report; None reports
    the measured computation time, and 0 for transfers, which a client cannot see.
    """

    model: nn.Module
    inputs: Tensor
    labels: Tensor
    epochs: int = 1
    batch_size: int = 32
    learning_rate: float = 0.05
    order: Callable[[int], Tensor] | None = None
    seconds: Callable[[int], Sequence[float]] | None = None

    def train(self, server_round: int) -> None:
        """E epochs of mini-batch SGD."""
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.learning_rate)
        self.model.train()
        for _ in range(self.epochs):
            order = torch.randperm(len(self.labels)) if self.order is None else self.order(server_round)
            for index in order.split(self.batch_size):
                optimizer.zero_grad()
                F.cross_entropy(self.model(self.inputs[index]), self.labels[index]).backward()
                optimizer.step()

    @torch.no_grad()
    def outputs(self) -> Tensor:
        """Logits [n, classes] of the client's own samples."""
        self.model.eval()
        return torch.cat([self.model(x) for x in self.inputs.split(EVALUATION_BATCH)])

    def loss(self) -> float:
        """Mean cross-entropy in nats on the client's own samples."""
        return float(F.cross_entropy(self.outputs(), self.labels))

    def accuracy(self) -> float:
        """Mean over labels of the share of correct samples."""
        right = (self.outputs().argmax(dim=1) == self.labels).float()
        return mean_accuracy(right, self.labels, "label_mean")


def make_client_app(load: Callable[[Context], Client]) -> ClientApp:
    """A client app for the client that `load` makes of a node's context.

    `context.node_config` has `partition-id` and `num-partitions`.
    """
    app = ClientApp()

    @app.query()
    def describe(message: Message, context: Context) -> Message:
        return _reply(message, context, load(context), {})

    @app.train()
    def train(message: Message, context: Context) -> Message:
        client, server_round = load(context), int(message.content[CONFIG]["server-round"])
        client.model.load_state_dict(message.content[ARRAYS].to_torch_state_dict())
        before = client.loss()
        started = time.perf_counter()
        client.train(server_round)
        seconds = [time.perf_counter() - started, 0.0, 0.0]
        metrics = {
            "loss-before": before,
            "loss-after": client.loss(),
            "accuracy": client.accuracy(),
            "seconds": [float(s) for s in client.seconds(server_round)] if client.seconds else seconds,
        }
        return _reply(message, context, client, metrics, {ARRAYS: ArrayRecord(client.model.state_dict())})

    return app


def _reply(
    message: Message,
    context: Context,
    client: Client,
    metrics: dict[str, float | list[float]],
    records: dict[str, ArrayRecord] | None = None,
) -> Message:
    told = {PARTITION: int(context.node_config[PARTITION]), "num-examples": len(client.labels), **metrics}
    return Message(RecordDict({**(records or {}), METRICS: MetricRecord(told)}), reply_to=message)


def load_client(context: Context) -> Client:
    """The partition of a fedlib data set that the run's configuration names."""
    config, node = context.run_config, context.node_config
    task = task_of(config)
    index = torch.from_numpy(task.clients[0][int(node[PARTITION])])
    return Client(
        task.model,
        task.train.fetch(index),
        task.train.labels[index],
        epochs=task.run.local_epochs,
        batch_size=task.run.batch_size,
        learning_rate=task.run.local_learning_rate,
    )


app = make_client_app(load_client)
