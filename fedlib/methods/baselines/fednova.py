"""FedNova: local changes are divided by the number of local steps before they are averaged.

J. Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization",
NeurIPS 2020, https://arxiv.org/abs/2007.07481, eq. (9) and (10):

    d_i = (x - y_i) / ||a_i||_1,   tau_eff = sum_i p_i ||a_i||_1,   x <- x - tau_eff sum_i p_i d_i

`a_i` weighs the gradients of client i's tau_i local steps. For plain SGD all weights are 1, so
`||a_i||_1 = tau_i`. With local momentum rho step k weighs `(1 - rho^(tau - k)) / (1 - rho)`, k = 0 .. tau - 1
(sec. 4.1).
"""

from dataclasses import dataclass

import numpy as np
import torch

from fedlib.engine import spread
from fedlib.engine.batches import on_device
from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.aggregate import weighted_sum
from fedlib.federation.client_updates import finish_round, initial_state, sample_shares, train_cohort
from fedlib.run import Run


def accumulated_weight(steps: np.ndarray, momentum: float) -> np.ndarray:
    """||a_i||_1 of clients with `steps` local steps of SGD, of any shape (float64)."""
    steps = np.asarray(steps, np.float64)
    if momentum == 0:
        return steps
    return (steps - momentum * (1 - momentum**steps) / (1 - momentum)) / (1 - momentum)


def local_steps(task: Task, cohort: Cohort) -> np.ndarray:
    """[R, K] mini-batches of each client in a round: E ceil(n_k / B), at most the run's `local_steps`."""
    run = task.run
    steps = run.local_epochs * np.ceil(task.sizes(cohort.clients) / run.batch_size)
    return steps if run.local_steps is None else np.minimum(steps, run.local_steps)


def check_plain_sgd(method: str, run: Run) -> None:
    """UsageError unless clients run SGD without Nesterov: how others weigh gradients is in no paper.

    With a momentum of 1 the weights of the gradients, divided by 1 - momentum, are not defined.
    """
    options = run.local_optimizer_options
    plain = not options.get("nesterov", False) and options.get("momentum", 0) < 1
    check(
        run.local_optimizer == "sgd" and plain,
        f"local_optimizer={run.local_optimizer!r} with {dict(options)} given for method {method!r}; "
        "allowed: sgd, with a momentum below 1 or without, no nesterov",
    )


@dataclass(frozen=True)
class FedNova(Method):
    """FedAvg on changes per local step; for equal numbers of steps it is FedAvg."""

    def check(self, run: Run) -> None:
        check_plain_sgd("fednova", run)

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        trained = train_cohort(task, state, cohort)
        shares = sample_shares(task, cohort)  # p_i
        after, report = finish_round(task, state, cohort, trained, shares)
        momentum = float(task.run.local_optimizer_options.get("momentum", 0.0))
        norm = on_device(accumulated_weight(local_steps(task, cohort), momentum), task.device)
        effective = (shares * norm).sum(dim=1, keepdim=True)  # tau_eff
        factors = (effective * shares / norm).to(torch.float32)  # of y_i - x
        params = {
            name: old
            + weighted_sum(trained.state.params[name], factors)
            - spread(factors.sum(dim=1), old) * old
            for name, old in state.params.items()
        }
        return ServerState(after.round, params, after.buffers, after.memory), report
