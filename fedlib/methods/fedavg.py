"""FedAvg, the baseline of all four papers.

H. B. McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
Data", AISTATS 2017, https://arxiv.org/abs/1602.05629, Algorithm 1.
"""

from dataclasses import dataclass

from torch import Tensor

from fedlib.errors import check_name
from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    finish_round,
    initial_state,
    sample_shares,
    train_cohort,
    uniform_shares,
)

WEIGHTS = {"samples": sample_shares, "uniform": uniform_shares}


def cohort_weights(kind: str, task: Task, cohort: Cohort) -> Tensor:
    """[R, K] aggregation weights that sum to 1: n_k / n ("samples") or 1 / K ("uniform")."""
    return WEIGHTS[kind](task, cohort)


@dataclass(frozen=True)
class FedAvg:
    """`w^{t+1} = sum_k (n_k / n) w_k^t` over the cohort (FedDRL eq. (1))."""

    weights: str = "samples"  # or "uniform": 1 / K, the control without sample counts

    def __post_init__(self) -> None:
        check_name("weights of method 'fedavg'", self.weights, WEIGHTS)

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, Diagnostics]:
        trained = train_cohort(task, state, cohort)  # each client: E epochs of mini-batch SGD from w^t
        return finish_round(task, state, cohort, trained, cohort_weights(self.weights, task, cohort))
