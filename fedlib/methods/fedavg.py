"""FedAvg, the baseline of all four papers.

H. B. McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized
Data", AISTATS 2017, https://arxiv.org/abs/1602.05629, Algorithm 1.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    initial_state,
    sample_shares,
    train_and_average,
    uniform_shares,
)
from fedlib.methods.surroundings import (
    check_episodes,
    check_setting,
    restarted,
    server_columns,
    with_costs,
    with_mixup,
)
from fedlib.run import Run

WEIGHTS = {"samples": sample_shares, "uniform": uniform_shares}


def cohort_weights(kind: str, task: Task, cohort: Cohort) -> Tensor:
    """[R, K] aggregation weights that sum to 1: n_k / n ("samples") or 1 / K ("uniform")."""
    return WEIGHTS[kind](task, cohort)


def check_local_steps(method: str, steps: int) -> None:
    """UsageError for a negative number of mini-batches per round; 0: all of E epochs (FEDDISK-A13)."""
    check(steps >= 0, f"local_steps={steps} given for method {method!r}; allowed: 0 or more")


@dataclass(frozen=True)
class FedAvg:
    """`w^{t+1} = sum_k (n_k / n) w_k^t` over the cohort (FedDRL eq. (1))."""

    weights: str = "samples"  # or "uniform": 1 / K, the control without sample counts
    local_steps: int = 0  # mini-batches per round, as FEDDISK-A13 may be read; 0: all of E epochs
    mixup_alpha: float | None = None  # of Balanced-MixUp on the clients (FedDdrl, sec. 4.2); None: none
    mixup_kind: str = "strict"
    episode_rounds: int | None = None  # FedDdrl's setting: again from w_0 after so many, rows with H_t, B_t

    def __post_init__(self) -> None:
        check_name("weights of method 'fedavg'", self.weights, WEIGHTS)
        check_setting(self.mixup_alpha, self.mixup_kind, self.episode_rounds)
        check_local_steps("fedavg", self.local_steps)

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
        # each client: E epochs of mini-batch SGD from w^t
        limit = self.local_steps or None
        after, report = train_and_average(task, state, cohort, weights, steps_limit=limit)
        return after, with_costs(task, after, cohort, report, self.episode_rounds)
