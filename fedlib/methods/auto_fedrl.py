"""Auto-FedRL's search of aggregation weights: REINFORCE on a Dirichlet, online.

P. Guo, D. Yang, A. Hatamizadeh et al., "Auto-FedRL: Federated Hyperparameter Optimization for
Multi-institutional Medical Image Segmentation", ECCV 2022, https://arxiv.org/abs/2203.06338. Each round:

1. weights x of the cohort are drawn from Dir(alpha),
2. clients train, their models are averaged with x,
3. r = 1 - L_t / L_{t-1}, the relative fall of the loss on the server's images (HEAD-A8),
4. alpha learns from the last Z rounds (`fedlib.rl.dirichlet`).

The paper searches learning rates, local iterations and the server's rate besides; here these are the
run's (HEAD-A7). One alpha_i for each of N clients: the weights of a cohort are then
Dir(alpha_i, i in the cohort), the law of N weights renormalised (HEAD-A9). Controls: the option `agent`.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fedlib.engine.batches import on_device
from fedlib.errors import check_name
from fedlib.federation import (
    Cohort,
    Method,
    RoundReport,
    ServerState,
    Task,
    on_host,
    require_server_images,
    server_measures,
)
from fedlib.federation.client_updates import initial_state, method_streams, restarted, train_and_average
from fedlib.rl.dirichlet import WeightAgent, WeightSearch, draw_weights, score
from fedlib.rl.replay import AGENTS, permute_rewards
from fedlib.run import Run


@dataclass(frozen=True)
class AutoFedRL(Method):
    """FedAvg with drawn weights; columns `reward`, `concentration_min` and `concentration_max`."""

    agent: str = "learning"  # controls: "untrained" never learns; "permuted": rewards in another order
    agent_rate: float = 0.01  # of Adam
    concentration: float = 5.0  # alpha_i before round 1
    window: int = 5  # Z

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("agent of method 'auto_fedrl'", self.agent, AGENTS)
        self.search()  # checks the rest

    def search(self) -> WeightSearch:
        """The hyper-parameters of what learns."""
        return WeightSearch(rate=self.agent_rate, start=self.concentration, window=self.window)

    def check(self, run: Run) -> None:
        require_server_images("auto_fedrl", run)

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        agent = self.search().init(len(task.runs), task.run.num_clients)
        return replace(initial_state(task), memory={"agent": dict(vars(agent))})

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models; the agent stays."""
        return restarted(task, state)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        agent = WeightAgent(**on_host(state.memory["agent"]))
        first = task.run.episode(cohort.round)[1] == 1
        before = server_measures(task, state)[0] if first else state.memory["loss"].cpu()
        clients = torch.from_numpy(cohort.clients)
        concentration = agent.concentration.gather(1, clients)
        weights = draw_weights(concentration, method_streams(task, "weights", cohort.round))  # 1
        shares = on_device(weights.float().numpy(), task.device)
        after, report = train_and_average(task, state, cohort, shares)  # 2
        loss, accuracy = server_measures(task, after)
        reward = improvement(before, loss)  # 3
        scores = torch.zeros_like(agent.concentration).scatter(1, clients, score(concentration, weights))
        agent = agent.remember(scores, reward, window=self.window)
        agent = self._learn(agent, method_streams(task, "permute", cohort.round))  # 4
        columns = {
            "reward": reward.tolist(),
            "server_accuracy": accuracy.tolist(),
            "concentration_min": agent.concentration.amin(dim=1).tolist(),
            "concentration_max": agent.concentration.amax(dim=1).tolist(),
        }
        memory = {"agent": dict(vars(agent)), "loss": loss}
        return replace(after, memory=memory), replace(report, columns=columns)

    def _learn(self, agent: WeightAgent, streams: list[np.random.Generator]) -> WeightAgent:
        if self.agent == "untrained":
            return agent
        permuted = self.agent == "permuted"
        rewards = permute_rewards(agent.rewards, streams) if permuted else agent.rewards
        return self.search().learn(agent, rewards)


def improvement(before: Tensor, after: Tensor) -> Tensor:
    """r = 1 - after / before [R] of losses [R]; 0 where one is not finite: such a run fails by its row."""
    reward = 1 - after / before
    return torch.where(before.isfinite() & reward.isfinite(), reward, 0.0)
