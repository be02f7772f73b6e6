"""FedAvg, the baseline of all four papers.

H. B. McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
Data", AISTATS 2017, https://arxiv.org/abs/1602.05629, Algorithm 1.
"""

from dataclasses import dataclass

from fedlib.errors import check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.client_updates import initial_state, sample_shares, train_and_average, uniform_shares

WEIGHTS = {"samples": sample_shares, "uniform": uniform_shares}


@dataclass(frozen=True)
class FedAvg(Method):
    """`w^{t+1} = sum_k (n_k / n) w_k^t` over the cohort (FedDRL eq. (1))."""

    weights: str = "samples"  # or "uniform": 1 / K, the control without sample counts

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("weights of method 'fedavg'", self.weights, WEIGHTS)

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        # each client: E epochs of mini-batch SGD from w^t
        return train_and_average(task, state, cohort, WEIGHTS[self.weights](task, cohort))
