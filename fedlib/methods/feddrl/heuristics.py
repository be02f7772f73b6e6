"""Hand-written impact factors within the reach of FedDRL's agent: what there is to gain.

Not in the paper. The agent's means lie in [0, 1] and alpha = softmax(mu) (eq. (5) without spread,
FEDDRL-A8), so whatever a rule with mu in [0, 1] earns, the agent could have earned.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlib.engine.batches import on_device
from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.aggregate import LOSS_BYTES
from fedlib.federation.client_updates import finish_round, initial_state, train_cohort
from fedlib.methods.feddrl.constant_weights import in_main_group
from fedlib.methods.feddrl.online_round import losses_before

RULES = ("small_groups", "main_group", "largest_losses", "proportional")
ON_LOSSES = ("largest_losses", "proportional")


@dataclass(frozen=True)
class HeuristicWeights(Method):
    """`w^{t+1} = sum_k softmax(mu)_k w_k^t` with mu by a rule on the groups, or on the losses l_b."""

    rule: str = "small_groups"  # "main_group": its mirror; "largest_losses", "proportional" to l_b
    largest: int = 4  # clients with mu = 1 under "largest_losses"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("rule of method 'heuristic_weights'", self.rule, RULES)
        check(
            self.largest >= 1,
            f"largest={self.largest} given for method 'heuristic_weights'; allowed: 1 or more",
        )

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        mu = (
            self.by_losses(losses_before(task, state, cohort))
            if self.asks_losses
            else self.by_group(task, cohort)
        )
        trained = train_cohort(task, state, cohort)
        state, report = finish_round(task, state, cohort, trained, torch.softmax(mu, dim=1))
        sent = LOSS_BYTES * task.cohort_size if self.asks_losses else 0
        return state, replace(report, uplink_bytes=report.uplink_bytes + sent)

    @property
    def asks_losses(self) -> bool:
        """Whether the clients report their losses."""
        return self.rule in ON_LOSSES

    def by_losses(self, before: Tensor) -> Tensor:
        """mu [R, K] of the losses l_b [R, K] of the global model on the clients' data."""
        if self.rule == "proportional":
            return before / before.amax(dim=1, keepdim=True)
        top = before.topk(min(self.largest, before.shape[1]), dim=1).indices
        return torch.zeros_like(before).scatter(1, top, 1.0)

    def by_group(self, task: Task, cohort: Cohort) -> Tensor:
        """mu [R, K]: 1 for clients of small groups and 0 for the main group, or the other way round."""
        main = task.once("main group", lambda: on_device(in_main_group(task).numpy(), task.device))
        mu = main.gather(1, on_device(cohort.clients, task.device)).float()
        return mu if self.rule == "main_group" else 1 - mu
