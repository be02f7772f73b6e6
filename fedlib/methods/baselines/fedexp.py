"""FedExP: the server extrapolates further, the less the clients' changes agree.

D. Jhunjhunwala, S. Wang, G. Joshi, "FedExP: Speeding Up Federated Averaging via Extrapolation", ICLR 2023,
https://arxiv.org/abs/2301.09604, Algorithm 1:

    eta_g = max(1, sum_i p_i ||Delta_i||^2 / (2 (||mean Delta||^2 + epsilon))),   w <- w - eta_g mean Delta

with `Delta_i = w - w_i` and p_i = 1 / M in the paper; here p_i = n_i / n, as in FedAvg. The mean of the last
two global models is evaluated, as in the authors' code, since the last one swings (HEAD-A19).
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlib.engine import spread
from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.aggregate import Tensors
from fedlib.federation.client_updates import finish_round, initial_state, sample_shares, train_cohort


def squared_norms(local: Tensors, start: Tensors, clients: int) -> Tensor:
    """[R, K] squared distance of local models [R * K, ...] from the models [R, ...] they started at."""
    distances = [
        (local[name].unflatten(0, (-1, clients)) - old.unsqueeze(1)).flatten(2).square().sum(dim=2)
        for name, old in start.items()
    ]
    return torch.stack(distances).sum(dim=0)


@dataclass(frozen=True)
class FedExP(Method):
    """FedAvg with an adaptive server learning rate, told in the column `server_learning_rate`.

    averaged: how many of the last global models are averaged for evaluation, 2 (the authors' code) or 1.
    """

    epsilon: float = 1e-3
    averaged: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.epsilon >= 0, f"epsilon={self.epsilon} given for method 'fedexp'; allowed: 0 or more")
        check(self.averaged in (1, 2), f"averaged={self.averaged} given for method 'fedexp'; allowed: 1, 2")

    def init(self, task: Task) -> ServerState:
        state = initial_state(task)
        return replace(state, memory={"before": {**state.params, **state.buffers}})

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        trained, shares = train_cohort(task, state, cohort), sample_shares(task, cohort)
        after, report = finish_round(task, state, cohort, trained, shares)
        single = squared_norms(trained.state.params, state.params, cohort.clients.shape[1])
        common = squared_norms(after.params, state.params, 1)[:, 0]  # ||mean Delta||^2
        rate = ((shares * single).sum(dim=1) / (2 * (common + self.epsilon))).clamp(min=1)  # eta_g [R]
        params = {
            name: old + spread(rate, old) * (after.params[name] - old) for name, old in state.params.items()
        }
        columns = {**report.columns, "server_learning_rate": rate.tolist()}
        before = {**state.params, **state.buffers}
        return replace(after, params=params, memory={"before": before}), replace(report, columns=columns)

    def evaluated(self, task: Task, state: ServerState) -> ServerState:
        """The state with the mean of the last two global models; counts of batches are the last one's."""
        if self.averaged == 1:
            return state
        params, buffers = (
            {
                name: (now + state.memory["before"][name]) / 2 if now.is_floating_point() else now
                for name, now in own.items()
            }
            for own in (state.params, state.buffers)
        )
        return replace(state, params=params, buffers=buffers)
