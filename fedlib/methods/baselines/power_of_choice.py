"""Power-of-Choice: of d candidates the K with the largest loss take part.

Y. J. Cho, J. Wang, G. Joshi, "Client Selection in Federated Learning: Convergence Analysis and
Power-of-Choice Selection Strategies", 2020, https://arxiv.org/abs/2010.01243, Algorithm 1 (pow-d):

1. d candidates are drawn without replacement, client k with probability p_k = n_k / n.
2. Each candidate evaluates the global model on its data: F_k(w).
3. The K candidates with the largest F_k(w) train; their models are averaged uniformly.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from fedlib.engine import evaluate_clients
from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, model_bytes
from fedlib.federation.aggregate import LOSS_BYTES
from fedlib.federation.client_updates import initial_state, method_streams, train_and_average, uniform_shares
from fedlib.run import Run


def largest(losses: np.ndarray, candidates: np.ndarray, count: int) -> np.ndarray:
    """[R, count] ids, ascending, of the candidates [R, d] with the largest losses [R, d]."""
    first = np.argsort(-losses, axis=1, kind="stable")[:, :count]
    return np.sort(np.take_along_axis(candidates, first, axis=1), axis=1)


@dataclass(frozen=True)
class PowerOfChoice(Method):
    """FedAvg with uniform weights over clients chosen by loss; `candidates` is the paper's d."""

    candidates: int = 20

    def check(self, run: Run) -> None:
        size = run.clients_per_round
        check(
            size <= self.candidates <= run.num_clients,
            f"candidates={self.candidates} given for method 'power_of_choice'; allowed: cohort_size={size} "
            f"to num_clients={run.num_clients}",
        )

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        rngs = method_streams(task, "candidates", cohort.round)
        sizes = task.sizes(task.everyone())
        candidates = np.stack([self._draw(*of_replica) for of_replica in zip(rngs, sizes, strict=True)])
        evaluated = evaluate_clients(
            task.trainer, task.train, state.params, state.buffers, task.train_index(candidates)
        )
        losses = torch.stack([one.loss for one in evaluated]).cpu().double().numpy()
        chosen = replace(cohort, clients=largest(losses, candidates, task.cohort_size))
        after, report = train_and_average(task, state, chosen, uniform_shares(task, chosen))
        sent = model_bytes(state.params, state.buffers) * self.candidates
        received = report.uplink_bytes + LOSS_BYTES * self.candidates
        return after, replace(report, uplink_bytes=received, downlink_bytes=sent)

    def _draw(self, rng: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
        """Ids of the candidates [d], ascending; sizes [N]: n_k of a replica's clients."""
        return np.sort(rng.choice(len(sizes), self.candidates, replace=False, p=sizes / sizes.sum()))
