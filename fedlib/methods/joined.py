"""FedAvg and FedProx with several strengths mu as replicas of one computation.

FedProx with mu = 0 is FedAvg, so a group of such runs differs in numbers only: mu and the weights of
the aggregation, one value per replica. Seeds and partitions may differ too. Everything else is
`fedlib.methods.fedavg` and `fedlib.methods.fedprox`.
"""

from dataclasses import dataclass

import numpy as np
import torch

from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    initial_state,
    train_and_average,
)
from fedlib.methods.fedavg import FedAvg, cohort_weights
from fedlib.methods.fedprox import FedProx


@dataclass(frozen=True)
class Joined:
    """One method per replica, in the order of the group's runs."""

    members: tuple[FedAvg | FedProx, ...]

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, Diagnostics]:
        strengths = [getattr(member, "mu", 0.0) for member in self.members]
        mu = np.repeat(strengths, cohort.clients.shape[1])  # one per row, replica by replica
        shares = {kind: cohort_weights(kind, task, cohort) for kind in {m.weights for m in self.members}}
        weights = torch.stack([shares[m.weights][r] for r, m in enumerate(self.members)])
        return train_and_average(task, state, cohort, weights, proximal=mu if mu.any() else None)
