"""FedProx: FedAvg with a proximal term in the clients' loss.

T. Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020,
https://arxiv.org/abs/1812.06127, Algorithm 2. The local loss is
`F_k(w) + (mu / 2) ||w - w^t||^2` (FEDDRL-A40). All clients finish their E epochs: the
papers here use no partial work.
"""

from dataclasses import dataclass

from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    finish_round,
    initial_state,
    train_cohort,
)
from fedlib.methods.fedavg import WEIGHTS, cohort_weights


@dataclass(frozen=True)
class FedProx:
    """FedAvg whose clients are pulled back to the global model with strength mu."""

    mu: float = 0.01  # FedDRL sec. 4.1; FedDisk tunes it over 0.001, 0.01, 0.1, 1
    weights: str = "samples"  # "uniform" reproduces FedDRL's table 3 (FEDDRL-A36)

    def __post_init__(self) -> None:
        check(self.mu >= 0, f"mu={self.mu} given for method 'fedprox'; allowed: 0 or more")
        check_name("weights of method 'fedprox'", self.weights, WEIGHTS)

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, Diagnostics]:
        trained = train_cohort(task, state, cohort, proximal=self.mu)
        return finish_round(task, state, cohort, trained, cohort_weights(self.weights, task, cohort))
