"""SCAFFOLD: control variates correct the drift of local training.

S. P. Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", ICML 2020,
https://arxiv.org/abs/1910.06378, Algorithm 1. Client i of the cohort S takes steps along

    g_i(y) - c_i + c                                                     (line 10)

and then renews its control variate c_i:

    I:  c_i+ = g_i(x), the gradient of all its data at the global model   (line 12)
    II: c_i+ = c_i - c + (x - y_i) / (K_i eta_l)

    x <- x + eta_g mean(y_i - x),   c <- c + (|S| / N) mean(c_i+ - c_i)   (line 16, 17)

Departure: with local momentum, which the paper lacks, K_i in option II is the weight that the local steps
give to a constant gradient (FedNova's ||a_i||_1). So c_i stays an estimate of the gradient. c - c_i passes
through the momentum, like the gradient; Flower's code (niid_bench) adds it to each step outside of it.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from fedlib.engine import LocalRule, make_optimizer, spread
from fedlib.engine.batches import on_device
from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.aggregate import Tensors, model_bytes, weighted_mean
from fedlib.federation.client_updates import (
    broadcast,
    finish_round,
    gather,
    initial_state,
    put_back,
    replica_of_lanes,
    train_cohort,
    uniform_shares,
)
from fedlib.methods.baselines.fednova import accumulated_weight, check_plain_sgd, local_steps
from fedlib.run import Run

OPTIONS = ("I", "II")


def zeros_per_client(params: Tensors, clients: int) -> Tensors:
    """Zeros for every client: [R, ...] -> [R, N, ...]."""
    return {n: w.new_zeros(w.shape[0], clients, *w.shape[1:]) for n, w in params.items()}


def gradients(task: Task, state: ServerState, cohort: Cohort) -> Tensors:
    """[R * K, ...] gradients of the clients' whole data at the global models: x - y of one step of rate 1."""
    largest = int(task.sizes(cohort.clients).max())
    trainer = replace(task.trainer, batch_size=largest, optimizer=make_optimizer("sgd"))
    trained = train_cohort(
        replace(task, trainer=trainer), state, cohort, epochs=1, learning_rate=1.0, order="stored"
    )
    start = broadcast(state.params, replica_of_lanes(task, cohort.clients))
    return {name: start[name] - y for name, y in trained.state.params.items()}


@dataclass(frozen=True)
class Scaffold(Method):
    """`memory["c"]` is the server's control variate [R, ...], `memory["clients"]` theirs [R, N, ...]."""

    option: str = "II"
    learning_rate: float = 1.0  # eta_g

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("option of method 'scaffold'", self.option, OPTIONS)
        rate = self.learning_rate
        check(rate > 0, f"learning_rate={rate} given for method 'scaffold'; allowed: above 0")

    def check(self, run: Run) -> None:
        check_plain_sgd("scaffold", run)

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        state = initial_state(task)
        memory = {
            "c": {n: torch.zeros_like(w) for n, w in state.params.items()},
            "clients": zeros_per_client(state.params, task.run.num_clients),
        }
        return replace(state, memory=memory)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        replica = replica_of_lanes(task, cohort.clients)
        own = gather(state.memory["clients"], cohort.clients)  # c_i
        server = broadcast(state.memory["c"], replica)
        offset = {n: server[n] - own[n] for n in own}
        trained = train_cohort(task, state, cohort, rule=LocalRule(offset=offset))  # line 10
        renewed = self._renewed(task, state, cohort, trained.state.params, offset)  # line 12
        mean = uniform_shares(task, cohort)
        share = cohort.clients.shape[1] / task.run.num_clients
        c = {
            n: old + share * weighted_mean(renewed[n] - own[n], mean) for n, old in state.memory["c"].items()
        }
        after, report = finish_round(
            task, state, cohort, trained, mean,
            c=c, clients=put_back(state.memory["clients"], cohort.clients, renewed),
        )  # fmt: skip
        params = {n: x + self.learning_rate * (after.params[n] - x) for n, x in state.params.items()}
        variates = model_bytes(state.params, {}) * cohort.clients.shape[1]  # c and c_i have no buffers
        up, down = report.uplink_bytes + variates, report.downlink_bytes + variates
        return replace(after, params=params), replace(report, uplink_bytes=up, downlink_bytes=down)

    def _renewed(
        self, task: Task, state: ServerState, cohort: Cohort, local: Tensors, offset: Tensors
    ) -> Tensors:
        """c_i+ [R * K, ...]."""
        if self.option == "I":
            return gradients(task, state, cohort)
        momentum = float(task.run.local_optimizer_options.get("momentum", 0.0))
        weight = accumulated_weight(local_steps(task, cohort), momentum) * task.run.local_learning_rate
        scale = on_device((1 / weight).astype(np.float32).reshape(-1), task.device)
        start = broadcast(state.params, replica_of_lanes(task, cohort.clients))
        return {n: spread(scale, y) * (start[n] - y) - offset[n] for n, y in local.items()}
