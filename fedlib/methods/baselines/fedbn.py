"""FedBN: batch normalisation stays local.

X. Li et al., "FedBN: Federated Learning on Non-IID Features via Local Batch Normalization",
ICLR 2021, https://arxiv.org/abs/2102.07623, Algorithm 1; a competitor in FedDisk (IEEE TAI).

* Scale, shift and running statistics of every BatchNorm layer belong to the client: they are
  neither sent nor averaged, and a client is evaluated with its own (FEDDISK-A24).
* The server therefore holds no whole model, and rows have no accuracy on a common test set.
"""

from dataclasses import dataclass

import numpy as np
from torch import nn

from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.aggregate import Tensors
from fedlib.federation.client_updates import (
    finish_round,
    gather,
    initial_state,
    put_back,
    replica_of_lanes,
    sample_shares,
    train_cohort,
)


def batch_norm_names(model: nn.Module) -> list[str]:
    """Names of all parameters and buffers of the model's BatchNorm layers."""
    layers = {n: m for n, m in model.named_modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)}
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return [name for name, _ in tensors if name.rpartition(".")[0] in layers]


@dataclass(frozen=True)
class FedBN(Method):
    """FedAvg over everything but BatchNorm; the clients' own is in `memory["batch_norm"]`, [R, N, ...]."""

    def init(self, task: Task) -> ServerState:
        state, local = initial_state(task), batch_norm_names(task.model)
        check(
            bool(local),
            f"method 'fedbn' needs a model with BatchNorm; model {task.run.model!r} has none "
            f"(allowed: e.g. cnn-feddisk, mobilenetv2)",
        )
        return ServerState(
            round=0,
            params={n: t for n, t in state.params.items() if n not in local},
            buffers={n: t for n, t in state.buffers.items() if n not in local},
            memory={"batch_norm": _copies({**state.params, **state.buffers}, local, task.run.num_clients)},
        )

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        own = gather(state.memory["batch_norm"], cohort.clients)
        # w^t with the client's own BN
        trained = train_cohort(task, state, cohort, personal=own)
        kept = {**trained.state.params, **trained.state.buffers}
        kept = put_back(state.memory["batch_norm"], cohort.clients, kept)
        return finish_round(task, state, cohort, trained, sample_shares(task, cohort), batch_norm=kept)

    def client_models(self, task: Task, state: ServerState, clients: np.ndarray) -> tuple[Tensors, Tensors]:
        """The global weights with each client's own BatchNorm, [R * K, ...]."""
        replica = replica_of_lanes(task, clients)
        shared = {name: t[replica] for name, t in {**state.params, **state.buffers}.items()}
        whole = {**shared, **gather(state.memory["batch_norm"], clients)}
        params = {name: whole[name] for name, _ in task.model.named_parameters()}
        return params, {name: whole[name] for name, _ in task.model.named_buffers()}


def _copies(tensors: Tensors, names: list[str], clients: int) -> Tensors:
    """Every client starts with the same: [R, ...] -> [R, N, ...]."""
    return {n: tensors[n].unsqueeze(1).expand(-1, clients, *tensors[n].shape[1:]).contiguous() for n in names}
