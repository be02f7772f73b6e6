"""FedProx: FedAvg with a proximal term in the clients' loss.

T. Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020,
https://arxiv.org/abs/1812.06127, Algorithm 2. The local loss is
`F_k(w) + (mu / 2) ||w - w^t||^2` (FEDDRL-A40). All clients finish their E epochs: the
papers here use no partial work.
"""

from dataclasses import dataclass

import numpy as np
import torch

from fedlib.engine import LocalRule
from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, initial_state, train_and_average
from fedlib.methods.baselines.fedavg import WEIGHTS, FedAvg


@dataclass(frozen=True)
class FedProx(Method):
    """FedAvg whose clients are pulled back to the global model with strength mu."""

    mu: float = 0.01  # FedDRL sec. 4.1; FedDisk tunes it over 0.001, 0.01, 0.1, 1
    weights: str = "samples"  # "uniform" reproduces FedDRL's table 3 (FEDDRL-A36)

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.mu >= 0, f"mu={self.mu} given for method 'fedprox'; allowed: 0 or more")
        check_name("weights of method 'fedprox'", self.weights, WEIGHTS)

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        weights = WEIGHTS[self.weights](task, cohort)
        return train_and_average(task, state, cohort, weights, rule=LocalRule(proximal=self.mu))


@dataclass(frozen=True)
class JoinedFedProx(Method):
    """FedAvg and FedProx with several strengths mu as replicas of one computation.

    FedProx with mu = 0 is FedAvg, so a group of such runs differs in numbers only: mu and the weights
    of the aggregation, one value per replica. members: one per replica, in the order of the runs.
    """

    members: tuple[FedAvg | FedProx, ...]

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        strengths = [member.mu if isinstance(member, FedProx) else 0.0 for member in self.members]
        mu = np.repeat(strengths, cohort.clients.shape[1])  # one per slot, replica by replica
        shares = {kind: WEIGHTS[kind](task, cohort) for kind in {m.weights for m in self.members}}
        weights = torch.stack([shares[m.weights][r] for r, m in enumerate(self.members)])
        return train_and_average(
            task, state, cohort, weights, rule=LocalRule(proximal=mu) if mu.any() else None
        )
