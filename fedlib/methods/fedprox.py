"""FedProx: FedAvg with a proximal term in the clients' loss.

T. Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020,
https://arxiv.org/abs/1812.06127, Algorithm 2. The local loss is
`F_k(w) + (mu / 2) ||w - w^t||^2` (FEDDRL-A40). All clients finish their E epochs: the
papers here use no partial work.
"""

from dataclasses import dataclass
from typing import Any

from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    initial_state,
    train_and_average,
)
from fedlib.methods.fedavg import WEIGHTS, check_local_steps, cohort_weights
from fedlib.methods.surroundings import (
    check_episodes,
    check_setting,
    restarted,
    server_columns,
    with_costs,
    with_mixup,
)
from fedlib.run import Run


@dataclass(frozen=True)
class FedProx:
    """FedAvg whose clients are pulled back to the global model with strength mu."""

    mu: float = 0.01  # FedDRL sec. 4.1; FedDisk tunes it over 0.001, 0.01, 0.1, 1
    weights: str = "samples"  # "uniform" reproduces FedDRL's table 3 (FEDDRL-A36)
    mixup_alpha: float | None = None  # these three as FedAvg's
    mixup_kind: str = "strict"
    episode_rounds: int | None = None
    latency_factor: float = 1.0  # how much dearer a sample is than FedAvg's (FEDDDRL-A40)
    local_steps: int = 0  # as FedAvg's (FEDDISK-A13)

    def __post_init__(self) -> None:
        check(self.mu >= 0, f"mu={self.mu} given for method 'fedprox'; allowed: 0 or more")
        check(self.latency_factor > 0, f"latency_factor={self.latency_factor} given; allowed: above 0")
        check_local_steps("fedprox", self.local_steps)
        check_name("weights of method 'fedprox'", self.weights, WEIGHTS)
        check_setting(self.mixup_alpha, self.mixup_kind, self.episode_rounds)

    def check_run(self, run: Run) -> None:
        check_episodes(run.rounds, self.episode_rounds)

    def init(self, task: Task) -> ServerState:
        self.check_run(task.run)
        return initial_state(task)

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        return {} if self.episode_rounds is None else server_columns(task, state)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, Diagnostics]:
        task = with_mixup(task, self.mixup_alpha, self.mixup_kind)
        state = restarted(task, state, cohort, self.episode_rounds)
        weights = cohort_weights(self.weights, task, cohort)
        limit = self.local_steps or None
        after, report = train_and_average(task, state, cohort, weights, proximal=self.mu, steps_limit=limit)
        return after, with_costs(task, after, cohort, report, self.episode_rounds, self.latency_factor)
