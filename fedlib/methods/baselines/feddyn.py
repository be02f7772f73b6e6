"""FedDyn: a dynamic penalty makes the clients' optima those of the server.

D. A. E. Acar et al., "Federated Learning Based on Dynamic Regularization", ICLR 2021,
https://arxiv.org/abs/2111.04263, Algorithm 1. In round t client k of the cohort P minimises

    L_k(w) - <g_k, w> + (alpha / 2) ||w - w^{t-1}||^2          (eq. 1)

from w^{t-1} and sets `g_k <- g_k - alpha (w_k - w^{t-1})`. The server then takes

    h <- h - (alpha / N) sum_{k in P} (w_k - w^{t-1}),   w^t = mean_{k in P} w_k - h / alpha
"""

from dataclasses import dataclass, replace

import torch

from fedlib.engine import LocalRule
from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
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
from fedlib.methods.baselines.scaffold import zeros_per_client


@dataclass(frozen=True)
class FedDyn(Method):
    """`memory["h"]` is the server's state [R, ...], `memory["clients"]` the g_k [R, N, ...]."""

    alpha: float = 0.01  # the paper searches over 0.1, 0.01, 0.001

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.alpha > 0, f"alpha={self.alpha} given for method 'feddyn'; allowed: above 0")

    def init(self, task: Task) -> ServerState:
        state = initial_state(task)
        memory = {
            "h": {n: torch.zeros_like(w) for n, w in state.params.items()},
            "clients": zeros_per_client(state.params, task.run.num_clients),
        }
        return replace(state, memory=memory)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        own = gather(state.memory["clients"], cohort.clients)  # g_k
        rule = LocalRule(proximal=self.alpha, offset={n: -g for n, g in own.items()})
        trained = train_cohort(task, state, cohort, rule=rule)
        start = broadcast(state.params, replica_of_lanes(task, cohort.clients))
        renewed = {n: own[n] - self.alpha * (w - start[n]) for n, w in trained.state.params.items()}
        share = cohort.clients.shape[1] / task.run.num_clients
        after, report = finish_round(
            task, state, cohort, trained, uniform_shares(task, cohort),
            clients=put_back(state.memory["clients"], cohort.clients, renewed),
        )  # fmt: skip
        h = {
            n: old - self.alpha * share * (after.params[n] - state.params[n])
            for n, old in state.memory["h"].items()
        }
        params = {n: mean - h[n] / self.alpha for n, mean in after.params.items()}
        return replace(after, params=params, memory={**after.memory, "h": h}), report
