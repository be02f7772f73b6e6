"""FedAdam and FedYogi: adaptive optimisers on the server.

S. J. Reddi et al., "Adaptive Federated Optimization", ICLR 2021, https://arxiv.org/abs/2003.00295,
Algorithm 2. `Delta_t`, the cohort's mean change, is the negative pseudo-gradient:

    m_t = beta_1 m_{t-1} + (1 - beta_1) Delta_t
    v_t = beta_2 v_{t-1} + (1 - beta_2) Delta_t^2                      (FedAdam)
    v_t = v_{t-1} - (1 - beta_2) Delta_t^2 sign(v_{t-1} - Delta_t^2)   (FedYogi)
    x_{t+1} = x_t + eta m_t / (sqrt(v_t) + tau)

v starts at tau^2, the least that the paper allows. The paper has no bias correction; `bias_correction` is
that of Flower's FedAdam, for beside public numbers of it. The paper's Algorithm 2 averages changes uniformly,
its experiments by the clients' sample counts, and so does this.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task
from fedlib.federation.client_updates import initial_state, sample_shares, train_and_average


@dataclass(frozen=True)
class FedAdam(Method):
    """Adam on the server; moments [R, ...] are in `memory["m"]` and `memory["v"]`."""

    learning_rate: float = 0.01  # eta
    beta_1: float = 0.9
    beta_2: float = 0.99
    tau: float = 1e-3  # adaptivity: large values come close to FedAvgM
    bias_correction: bool = False  # eta sqrt(1 - beta_2^t) / (1 - beta_1^t), where round 1 has t = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("learning_rate", "tau"):
            check(getattr(self, name) > 0, f"{name}={getattr(self, name)} given; allowed: above 0")
        for name in ("beta_1", "beta_2"):
            value = getattr(self, name)
            check(0 <= value < 1, f"{name}={value} given; allowed: 0 to below 1")

    def init(self, task: Task) -> ServerState:
        state = initial_state(task)
        zeros = {n: torch.zeros_like(w) for n, w in state.params.items()}
        return replace(
            state, memory={"m": zeros, "v": {n: torch.full_like(z, self.tau**2) for n, z in zeros.items()}}
        )

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        after, report = train_and_average(task, state, cohort, sample_shares(task, cohort))
        rate, m, v, params = self._rate(state.round + 2), {}, {}, {}
        for name, old in state.params.items():
            change = after.params[name] - old  # Delta_t
            m[name] = self.beta_1 * state.memory["m"][name] + (1 - self.beta_1) * change
            v[name] = self.variance(state.memory["v"][name], change)
            params[name] = old + rate * m[name] / (v[name].sqrt() + self.tau)
        return replace(after, params=params, memory={"m": m, "v": v}), report

    def _rate(self, t: int) -> float:
        """eta, corrected as Kingma and Ba (2015) do before their section 2.1 if asked for."""
        if not self.bias_correction:
            return self.learning_rate
        return self.learning_rate * (1 - self.beta_2**t) ** 0.5 / (1 - self.beta_1**t)

    def variance(self, v: Tensor, change: Tensor) -> Tensor:
        """v_t from v_{t-1} and Delta_t."""
        return self.beta_2 * v + (1 - self.beta_2) * change.square()


@dataclass(frozen=True)
class FedYogi(FedAdam):
    """FedAdam with Yogi's additive rule for v."""

    def variance(self, v: Tensor, change: Tensor) -> Tensor:
        square = change.square()
        return v - (1 - self.beta_2) * square * torch.sign(v - square)
