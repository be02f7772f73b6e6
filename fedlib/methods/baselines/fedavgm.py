"""FedAvgM: momentum on the server.

T.-M. H. Hsu, H. Qi, M. Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated
Visual Classification", 2019, https://arxiv.org/abs/1909.06335, sec. 4.4:
`v <- beta v + Delta w`, `w <- w - v`, with `Delta w = sum_k (n_k / n) (w - w_k)`. Here the sign is
turned, so that `change = -Delta w` points from the old to the averaged model.
"""

from dataclasses import dataclass, replace

from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.client_updates import initial_state, sample_shares, train_and_average


@dataclass(frozen=True)
class FedAvgM(Method):
    """FedAvg with server momentum; the velocity [R, ...] is in `memory["velocity"]`.

    nesterov: the step looks ahead, `beta v + change` instead of `v` (Nesterov's accelerated gradient,
    which sec. 4.4 uses). learning_rate: of the server, 1 in the paper.
    """

    beta: float = 0.9
    nesterov: bool = True
    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check(0 <= self.beta < 1, f"beta={self.beta} given for method 'fedavgm'; allowed: 0 to below 1")
        check(
            self.learning_rate > 0,
            f"learning_rate={self.learning_rate} given for method 'fedavgm'; allowed: above 0",
        )

    def init(self, task: Task) -> ServerState:
        state = initial_state(task)
        return replace(state, memory={"velocity": {n: 0 * w for n, w in state.params.items()}})

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        after, report = train_and_average(task, state, cohort, sample_shares(task, cohort))
        velocity, params = {}, {}
        for name, old in state.params.items():
            change = after.params[name] - old
            velocity[name] = self.beta * state.memory["velocity"][name] + change
            step = self.beta * velocity[name] + change if self.nesterov else velocity[name]
            params[name] = old + self.learning_rate * step
        return replace(after, params=params, memory={"velocity": velocity}), report
