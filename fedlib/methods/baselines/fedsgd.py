"""FedSGD: every client takes one gradient step on all of its data, the server averages.

McMahan et al., AISTATS 2017, sec. 2: with C = 1 and weights n_k / n this is exactly one
step of gradient descent on the union of the clients' data, whatever the partition. That
makes it the sanity check of engine and aggregation.
"""

from dataclasses import dataclass, replace

from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, refuse_mixup
from fedlib.federation.client_updates import finish_round, initial_state, sample_shares, train_cohort
from fedlib.run import Run


@dataclass(frozen=True)
class FedSGD(Method):
    """`w^{t+1} = w^t - eta * sum_k (n_k / n) grad F_k(w^t)`; batch size and epochs do not apply."""

    def check(self, run: Run) -> None:
        refuse_mixup("fedsgd", run)
        check(
            run.local_optimizer == "sgd",
            f"local_optimizer={run.local_optimizer!r} given for method 'fedsgd'; allowed: sgd",
        )
        check(
            not run.device_costs,
            "device_costs=true given for method 'fedsgd'; allowed: false (devices train E epochs)",
        )

    def init(self, task: Task) -> ServerState:
        return initial_state(task)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        # On a GPU one size for all rounds, since steps are recorded per size; padding changes last digits
        those = task.everyone() if task.device.type == "cuda" else cohort.clients
        largest = int(task.sizes(those).max())
        full_batch = replace(task, trainer=replace(task.trainer, batch_size=largest))
        trained = train_cohort(full_batch, state, cohort, epochs=1)
        return finish_round(task, state, cohort, trained, sample_shares(task, cohort))
