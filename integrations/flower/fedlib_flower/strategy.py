"""Flower strategies around fedlib's agents: FedDRL, EvaluatorFL and SchedulerFL, on the Message API.

The agents see clients in the order of their partitions. Flower's node ids are random numbers and replies
arrive in any order, so every client reports its partition, and replies are sorted by it. A round in which
a client fails changes neither the model nor the agent.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from flwr.serverapp.strategy.strategy_utils import sample_nodes
from torch import Tensor

from fedlib import seeds
from fedlib.errors import check
from fedlib.federation.aggregate import weighted_mean
from fedlib.federation.cohort import sample_cohort
from fedlib.methods.feddrl.agent import AggregationAgent
from fedlib.methods.frl import evaluatorfl, schedulerfl
from fedlib.methods.frl.scheduler_agent import World, act, train_scheduler
from fedlib.rl.reinforce import MovingBatch, subtract_moving_average

LOG = logging.getLogger("flwr")
ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"
PARTITION = "partition-id"


class PartitionedFedAvg(FedAvg):
    """FedAvg over K of N partitions: `w^{t+1} = sum_k (n_k / n) w_k^t`.

    partitions: N, the number of nodes that a run waits for. cohort_size: K, None for all. seed, cell:
    names of the random streams, those of `fedlib.run.Run` where a run is to be repeated.
    """

    def __init__(
        self, partitions: int, *, cohort_size: int | None = None, seed: int = 0, cell: str = "flower"
    ) -> None:
        size = partitions if cohort_size is None else cohort_size
        check(
            1 <= size <= partitions, f"cohort_size={size} given; allowed: 1 to {partitions}, the partitions"
        )
        super().__init__(fraction_evaluate=0.0, min_train_nodes=size, min_available_nodes=partitions)
        self.partitions, self.cohort_size, self.seed, self.cell = partitions, size, seed, cell
        self.nodes: dict[int, int] = {}  # partition -> node
        self.sizes = np.zeros(partitions)  # n_k of every partition
        self.cohort: list[int] = []

    def stream(self, *names: int | str) -> np.random.Generator:
        """A random stream of the method's own, the one that `fedlib.federation.method_rng` gives a run."""
        return seeds.rng(self.seed, "method", self.cell, *names)

    def generator(self) -> torch.Generator:
        """The generator of the agent's first parameters."""
        return seeds.torch_generator(self.seed, "method", self.cell, "agent")

    def connect(self, grid: Grid) -> None:
        """Wait for N nodes, and ask each for its partition and its number of samples."""
        node_ids, _ = sample_nodes(grid, self.partitions, self.partitions)
        questions = [Message(RecordDict(), node, MessageType.QUERY) for node in node_ids]
        for reply in grid.send_and_receive(questions):
            metrics = reply.content[METRICS]
            self.nodes[int(metrics[PARTITION])] = reply.metadata.src_node_id
            self.sizes[int(metrics[PARTITION])] = metrics["num-examples"]
        found, last = sorted(self.nodes), self.partitions - 1
        check(
            found == list(range(last + 1)), f"partitions {found} connected; allowed: 0 to {last}, each once"
        )

    def participants(self, server_round: int) -> Sequence[int]:
        """The partitions that train in a round, ascending."""
        (cohort,) = sample_cohort([self.seed], server_round, self.partitions, self.cohort_size).clients
        return cohort.tolist()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """One message for each participant, with the global model."""
        if not self.nodes:
            self.connect(grid)
        self.cohort = list(self.participants(server_round))
        LOG.info("configure_train: partitions %s of %d", self.cohort, self.partitions)
        config["server-round"] = server_round
        record = RecordDict({ARRAYS: arrays, CONFIG: config})
        return [Message(record, self.nodes[k], MessageType.TRAIN) for k in self.cohort]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Weighted mean of the local models; (None, None) where a reply is missing or reports an error."""
        answered, _ = self._check_and_log_replies(list(replies), is_train=True)
        if len(answered) < len(self.cohort) or not answered:
            LOG.warning("round %d: %d of %d replies; skipped", server_round, len(answered), len(self.cohort))
            return None, None
        contents = sorted((m.content for m in answered), key=lambda content: content[METRICS][PARTITION])
        weights, columns = self.weigh(server_round, [content[METRICS] for content in contents])
        metrics = MetricRecord({"weights": weights.tolist(), **columns})
        return weighted_arrays([content[ARRAYS] for content in contents], weights), metrics

    def weigh(self, server_round: int, reports: Sequence[MetricRecord]) -> tuple[Tensor, dict[str, Any]]:
        """Weights [K] of the local models, and further metrics of the round, from the clients' reports."""
        return sample_shares(reports), {}


class FedDRL(PartitionedFedAvg):
    """Algorithm 2 online: DDPG chooses each client's impact factor (N. H. Nguyen et al., ICPP 2022).

    A client reports the cross-entropy of the global model and of its own on its training data.
    """

    def __init__(self, partitions: int, agent: AggregationAgent | None = None, **settings: Any) -> None:
        super().__init__(partitions, **settings)
        self.agent = AggregationAgent() if agent is None else agent
        self.state = self.agent.start([self.generator()], self.cohort_size)

    def weigh(self, server_round: int, reports: Sequence[MetricRecord]) -> tuple[Tensor, dict[str, Any]]:
        before, after, sizes = (_row(reports, name) for name in ("loss-before", "loss-after", "num-examples"))
        learned, _ = self.agent.learn(self.state, [self.stream("replay", server_round - 1)])
        self.state, factors, columns = self.agent.step(
            learned, before, after, sizes, lambda name: [self.stream(name, server_round)]
        )
        return factors[0], _scalars(columns)


class EvaluatorFL(PartitionedFedAvg):
    """REINFORCE chooses whose models are averaged (B. Bourbon, T. Nagellen, Orange, 2023), approach 1.

    A client reports its model's accuracy on its own data, a mean over labels. A Flower run is one episode.
    """

    def __init__(
        self, partitions: int, method: evaluatorfl.EvaluatorFL | None = None, **settings: Any
    ) -> None:
        super().__init__(partitions, **settings)
        self.method = evaluatorfl.EvaluatorFL() if method is None else method
        check(self.method.approach == 1, f"approach={self.method.approach} given; allowed with Flower: 1")
        check(self.cohort_size == partitions, f"cohort_size={self.cohort_size} given; all workers train")
        self.rule = self.method.rule(partitions)
        self.state = self.rule.init([self.generator()])
        self.batch, self.average = MovingBatch.empty(1, partitions), torch.zeros(1)

    def weigh(self, server_round: int, reports: Sequence[MetricRecord]) -> tuple[Tensor, dict[str, Any]]:
        observed = _row(reports, "accuracy")
        draw = self.rule.draw(self.state, observed, [self.stream("draw", server_round)])
        value = (draw.selected * observed).sum(dim=1) / draw.selected.sum(dim=1)
        reward, self.average = subtract_moving_average(value, self.average, new_weight=self.method.new_weight)
        self.batch = self.batch.add(observed, draw.action, reward, size=self.rule.batch_rounds)
        self.state = self.rule.learn(self.state, self.batch)
        return draw.selected[0] / draw.selected.sum(), {"reward": float(reward), "value": float(value)}


class SchedulerFL(PartitionedFedAvg):
    """DDPG chooses who takes part, from known times (B. Bourbon, T. Nagellen, Orange, 2023).

    The agent is trained before round 1, on simulated times of workers with these numbers of samples. A
    client reports three times in seconds: computation, upload and download. Until a round succeeds no times
    are known, and participants are drawn at random. A round in which the agent draws nobody leaves the model
    as it is.
    """

    def __init__(self, partitions: int, rule: schedulerfl.SchedulerFL | None = None, **settings: Any) -> None:
        super().__init__(partitions, **settings)
        self.rule = schedulerfl.SchedulerFL() if rule is None else rule
        self.known = np.zeros((partitions, 3))  # seconds
        self.times_known = False
        self.actor: Tensor | None = None

    def connect(self, grid: Grid) -> None:
        super().connect(grid)
        world = World(self.seed, self.sizes.astype(int), self.rule, self.cell)
        self.actor = train_scheduler(self.rule, world).actor

    def participants(self, server_round: int) -> Sequence[int]:
        rng = self.stream("select", server_round)
        chosen = self.rule.first_round(self.partitions, rng)
        if self.times_known:
            chosen = self.rule.choose(act(self.rule, self.actor, self.rule.normalise(self.known)), rng)
        return np.flatnonzero(chosen).tolist()

    def weigh(self, server_round: int, reports: Sequence[MetricRecord]) -> tuple[Tensor, dict[str, Any]]:
        self.known[self.cohort] = [report["seconds"] for report in reports]
        if not self.times_known:
            took = np.isin(np.arange(self.partitions), self.cohort)
            self.known = self.rule.first_times_of(self.known, took, self.stream("first times"))
            self.times_known = True
        return sample_shares(reports), {"max-seconds": float(self.known[self.cohort].sum(axis=1).max())}


STRATEGIES = {
    "fedavg": PartitionedFedAvg, "feddrl": FedDRL, "evaluatorfl": EvaluatorFL, "schedulerfl": SchedulerFL
}  # fmt: skip


def sample_shares(reports: Sequence[MetricRecord]) -> Tensor:
    """n_k / n [K], float32."""
    sizes = np.array([report["num-examples"] for report in reports], dtype=np.float64)
    return torch.from_numpy((sizes / sizes.sum()).astype(np.float32))


def weighted_arrays(models: Sequence[ArrayRecord], weights: Tensor) -> ArrayRecord:
    """`sum_k alpha_k w_k` of every parameter and buffer; weights [K] are used as they are."""
    stacked = {name: np.stack([model[name].numpy() for model in models]) for name in models[0]}
    means = {name: weighted_mean(torch.from_numpy(s), weights[None])[0] for name, s in stacked.items()}
    return ArrayRecord({name: Array(mean.numpy()) for name, mean in means.items()})


def _row(reports: Sequence[MetricRecord], name: str) -> Tensor:
    """[1, K] float32: one reported number of every client."""
    return torch.tensor([[report[name] for report in reports]], dtype=torch.float32)


def _scalars(columns: dict[str, list[Any]]) -> dict[str, float]:
    """The numbers of a row of one replica: what a MetricRecord can hold."""
    numbers = {name: values[0] for name, values in columns.items()}
    return {name: float(value) for name, value in numbers.items() if isinstance(value, (int, float))}
