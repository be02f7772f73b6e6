"""FedDRL: a DDPG agent on the server chooses the impact factor of every client.

N. H. Nguyen et al., "FedDRL: Deep Reinforcement Learning-based Adaptive Aggregation for Non-IID
Data in Federated Learning", ICPP 2022, https://doi.org/10.1145/3545008.3545085, Algorithm 2.

* Clients report the losses of the global model before and of their own model after local
  training, on their training data, and their sample count: the state.
* The agent answers with K Gaussians; a softmax over one draw of each gives the factors.
* The reward of a round is known one round later, from the losses that the next cohort
  measures on the new global model (FEDDRL-A2, A3); the last round stores no experience.
* `mode="two_stage"`: m workers, each a whole federated run, collect experience first; the
  agent of the run proper is trained offline on their merged buffers.

What learns stands in `agent`, one round in `online_round`, what comes before round 1 in `pretraining`.
Where the paper is silent or cannot be meant as printed, the readings FEDDRL-A1 to A24 say what is done;
`rho=0.98` is the printed soft update (A16). Controls: the option `agent`, and FedAvg with
`weights="uniform"`.
"""

from dataclasses import dataclass, replace

from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, initial_state, restarted
from fedlib.methods.feddrl import pretraining
from fedlib.methods.feddrl.online_round import play_round
from fedlib.methods.feddrl.pretraining import TwoStageAgent
from fedlib.run import Run

MODES = ("two_stage", "online")


@dataclass(frozen=True)
class FedDRL(TwoStageAgent, Method):
    """Algorithm 2. The defaults are table 1 and the readings of FEDDRL-A1 to A24."""

    mode: str = "two_stage"  # or "online": no pre-training (A23)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("mode of method 'feddrl'", self.mode, MODES)

    @property
    def has_workers(self) -> bool:
        """Whether stage 1 comes before round 1."""
        return self.mode == "two_stage" and self.agent != "untrained"

    def check(self, run: Run) -> None:
        rounds = pretraining.worker_rounds(self, run)
        check(
            rounds >= 2 or not self.has_workers,
            f"rounds={rounds} given for workers of mode 'two_stage'; allowed: 2 or more (the first action is "
            "rewarded in round 2)",
        )

    def init(self, task: Task) -> ServerState:
        """Lines 1 and 2. Before round 1 of a two-stage run come the workers' rounds."""
        self.check(task.run)
        state = initial_state(task)
        if self.has_workers:
            return pretraining.start(self, task, state)
        return replace(state, memory={"learner": self.new_state(task).pack()})

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models; the agent stays, and the last action of the episode before earns nothing."""
        learner = {**state.memory["learner"], "state": None, "action": None, "mean_reward": None}
        return replace(restarted(task, state), memory={"learner": learner})

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        return play_round(self, task, state, cohort)

    def pretrain(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        """Compute a round of the workers (stage 1); after the last, train offline (stage 2)."""
        return pretraining.advance(self, task, state)
