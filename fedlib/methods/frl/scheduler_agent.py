"""SchedulerFL's agent: DDPG on the workers' times alone, without a task model.

B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, 26 February 2023,
sec. III.iii, Algorithm 2. The agent is the suite's DDPG (`fedlib.rl.ddpg`) with uniform
replay and the report's networks; what is the report's own is here:

    S_t    [k, 3]: last known T^c, T^u, T^d of each worker, z-scores per column        F7, F8
    A_t    = pi(S_t) in [0, 1]^k, one Bernoulli draw per worker
    M_t    = max_i A_i mean_c S^_{t+1, i, c}: the maximum time of the round            A10
    R_t    = M_{t-1} - M_t, M_0 = 0                                                    F9, A9

Rewards of an experiment telescope: their sum is -M_T (FRL-A11). Readings FRL-A9 to A18 are the
fields of `Scheduler`. An experiment ends when nobody is selected (A18).

Departure from the authors' code: the state is z-scored as the report says, and not divided by
each column's norm (A12). That factor of sqrt(k - 1) is no mere scale: rewards shrink
with it while the critic's rate and decay stay, and with 100 workers the probabilities then do not
fall to ten workers, as those of fig. 27 do.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.errors import check, check_name
from fedlib.methods.fedddrl.devices import draw_devices
from fedlib.methods.frl.workers import Workers, draw_workers, mean_workers, worker_times
from fedlib.processors import torch_threads
from fedlib.rl import Agent, Ddpg, Mlp, Replay
from fedlib.rl.replay import permute_rewards
from fedlib.validation import check_fields

CHOICES = {
    "reward": ("difference", "printed", "positive"),
    "maximum": ("probability", "selected"),
    "first_times": ("jittered", "mean"),
    "normalisation": ("z", "unit"),
    "stored_action": ("probabilities", "draw"),
    "devices": ("report", "fedddrl"),
    "reward_order": ("own", "permuted"),
}


@dataclass(frozen=True)
class Scheduler:
    """Hyper-parameters of Algorithm 2; the defaults are the report's and the readings FRL-A9 to A18."""

    share: float = 0.1  # p: of the workers, drawn at random in round 1
    experiments: int = 30  # E, of the agent's training
    experiment_rounds: int = 20  # R
    stop_below: int | None = 10  # training ends when fewer are selected; None: never (A17)
    reward: str = "difference"  # "printed": -M_t - nu, below 0; "positive": M_t + nu, above 0 (A9)
    offset: float = 0.0  # added to every reward: the conclusion's always positive or negative rewards
    maximum: str = "probability"  # or "selected": the maximum over the workers drawn (A10)
    normalisation: str = "z"  # F8; "unit": over the column's norm besides, as the code (A12)
    first_times: str = "jittered"  # of who was not in round 1: mean times U(0.9, 1.1); or "mean" (A13)
    stored_action: str = "probabilities"  # or "draw" (A14)
    reward_order: str = "own"  # "permuted", a control (HEAD-A17): it learns from rewards in another order
    noise: float = 0.0  # standard deviation of normal noise on the probabilities in training (A14)
    time_epochs: int = 3  # E in T^c, at every profile; with `Run.device_costs` it must be local_epochs
    devices: str = "report"  # or "fedddrl": the simulated devices of FedDdrl, to compare with its methods
    capacity: int = 50  # replay memory
    batch_size: int = 10  # drawn with replacement (A35); updates begin with more transitions than this
    discount: float = 0.99  # gamma
    rho: float = 0.01  # weight of the main network in a soft update
    actor_rate: float = 1e-3
    critic_rate: float = 1e-2
    critic_decay: float = 0.1

    def __post_init__(self) -> None:
        check_fields(self)
        for name, allowed in CHOICES.items():
            check_name(f"{name} of SchedulerFL", getattr(self, name), allowed)
        check(0 < self.share <= 1, f"share={self.share} given for SchedulerFL; allowed: above 0 to 1")
        check(0 <= self.noise < np.inf, f"noise={self.noise} given for SchedulerFL; allowed: 0 or more")
        least = {"experiments": 1, "experiment_rounds": 2, "capacity": 1, "batch_size": 1, "time_epochs": 1}
        for name, low in least.items():
            given = getattr(self, name)
            check(given >= low, f"{name}={given} given for SchedulerFL; allowed: {low} or more")
        check(
            self.capacity > self.batch_size,
            f"capacity={self.capacity} given for SchedulerFL; allowed: above batch_size={self.batch_size}, "
            "or it never learns",
        )
        for name in ("actor_rate", "critic_rate"):
            given = getattr(self, name)
            check(given > 0, f"{name}={given} given for SchedulerFL; allowed: above 0")
        for name in ("discount", "rho"):
            given = getattr(self, name)
            check(0 <= given <= 1, f"{name}={given} given for SchedulerFL; allowed: 0 to 1")
        check(
            self.critic_decay >= 0,
            f"critic_decay={self.critic_decay} given for SchedulerFL; allowed: 0 or more",
        )
        check(
            self.stop_below is None or self.stop_below >= 1,
            f"stop_below={self.stop_below} given for SchedulerFL; allowed: 1 or more",
        )

    def ddpg(self, workers: int) -> Ddpg:
        """Actor 3k-128-128-128-k, critic 3k-128-128, with the action 128-1 (k = 100: 84,452, 84,481)."""
        inner = (3 * workers, 128, 128, 128)
        return Ddpg(
            Mlp((*inner, workers), slope=0.0, last_bound=None),
            Mlp((*inner, 1), slope=0.0, last_bound=None, action_size=workers, action_layer=2),
            to_probabilities,
            policy_rate=self.actor_rate,
            critic_rate=self.critic_rate,
            critic_decay=self.critic_decay,
            discount=self.discount,
            rho=self.rho,
            sampling="uniform",
        )

    def first_round(self, workers: int, rng: np.random.Generator) -> np.ndarray:
        """[k] who takes part in round 1 (line 11): p k workers, at least one."""
        chosen = np.zeros(workers, dtype=bool)
        chosen[rng.choice(workers, max(round(self.share * workers), 1), replace=False)] = True
        return chosen

    def first_times_of(self, times: np.ndarray, took: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Line 18: the times [k, 3] of those who took part; of the others their mean (A13)."""
        factor = rng.uniform(0.9, 1.1, times.shape) if self.first_times == "jittered" else 1.0
        return np.where(took[:, None], times, times[took].mean(axis=0) * factor)

    def normalise(self, times: np.ndarray) -> np.ndarray:
        """S^ [k, 3]: z-scores of each column (F8); "unit": over their L2 norm sqrt(k - 1) besides (A12).

        A column whose times are all equal tells nothing and is 0.
        """
        centred = times - times.mean(axis=0)
        spread = times.std(axis=0, ddof=1) if len(times) > 1 else np.zeros(3)
        flat = spread <= 1e-12 * np.abs(times).max(axis=0)
        z = np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
        return z / np.sqrt(max(len(times) - 1, 1)) if self.normalisation == "unit" else z

    def maximum_time(self, state: np.ndarray, chances: np.ndarray, selected: np.ndarray) -> float:
        """M_t of the normalised new state [k, 3] (A10)."""
        means = state.mean(axis=1)
        return float((chances * means).max() if self.maximum == "probability" else means[selected].max())

    def reward_of(self, maximum: float, before: float) -> float:
        """F9 of M_t and nu = M_{t-1} (A9)."""
        signed = {"difference": before - maximum, "printed": -maximum - before, "positive": maximum + before}
        return signed[self.reward] + self.offset

    def explore(self, chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """[k] the probabilities that are drawn from and stored: with DDPG's noise, if there is any (A14)."""
        return np.clip(chances + rng.normal(0, self.noise, len(chances)), 0, 1) if self.noise else chances

    def choose(self, chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """[k] one Bernoulli draw per worker; nobody may come out (A18)."""
        return rng.random(len(chances)) < chances


def to_probabilities(outputs: Tensor) -> Tensor:
    """`(tanh + 1) / 2`, the actor's last step."""
    return (outputs.tanh() + 1) / 2


@dataclass(frozen=True)
class World:
    """The workers of one seed: sizes [k] of their data, and their times in any round."""

    seed: int
    sizes: np.ndarray
    rule: Scheduler
    cell: str = ""  # of the run (`Run.cell`), none where no task model is trained

    @property
    def stream(self) -> tuple[int | str, ...]:
        """First names of the agent's random streams."""
        return (self.seed, "scheduler", self.cell) if self.cell else (self.seed, "scheduler")

    def times(self, turn: int) -> np.ndarray:
        """[k, 3] seconds of computation, upload and download in round `turn`."""
        if self.rule.devices == "fedddrl":
            return self._device_times()
        return self._times_of(draw_workers(self.seed, len(self.sizes), turn))

    def _device_times(self) -> np.ndarray:
        """Times that are the same in every round; a download takes no time there."""
        count = len(self.sizes)
        devices, everyone = draw_devices(self.seed, count), np.arange(count)
        training = devices.training_seconds(everyone, self.sizes, self.rule.time_epochs)
        return np.stack([training, devices.upload_seconds, np.zeros(count)], axis=-1)

    def expected_seconds(self) -> np.ndarray:
        """[k] total time by each worker's means: what figs. 27 and 28 sort by."""
        if self.rule.devices == "fedddrl":
            return self._device_times().sum(axis=1)
        return self._times_of(mean_workers(self.seed, len(self.sizes))).sum(axis=1)

    def _times_of(self, workers: Workers) -> np.ndarray:
        return worker_times(workers, self.sizes, epochs=self.rule.time_epochs)


@dataclass(frozen=True)
class Training:
    """An agent and the rounds it was trained in, one dictionary per round with a decision.

    Of a round: chances [k], what the actor put out, and action [k], what the critic was told of it.

    actor [1, P]: the last one that selected at least `stop_below` workers. nobody: for each decision that
    drew nobody (A18), the number of rounds before it; such a decision is not among the rounds.
    """

    actor: Tensor
    agent: Agent
    rounds: list[dict[str, Any]] = field(default_factory=list)
    nobody: tuple[int, ...] = ()

    def rounds_before(self, fewer: int) -> int:
        """Rounds before the first decision that drew fewer workers than this, 1 or more; all without one."""
        few = (n for n, step in enumerate(self.rounds) if step["selected"].sum() < fewer)
        return min([next(few, len(self.rounds)), *self.nobody])


def act(rule: Scheduler, actor: Tensor, state: np.ndarray) -> np.ndarray:
    """[k] selection probabilities of one actor [1, P] in a normalised state [k, 3]."""
    return _act(rule.ddpg(len(state)), actor, state)


def _act(ddpg: Ddpg, actor: Tensor, state: np.ndarray) -> np.ndarray:
    flat = torch.from_numpy(state.ravel()).float().view(1, 1, -1)
    with torch.no_grad():
        return ddpg.act(actor, flat)[0, 0].double().numpy()


def untrained_agent(rule: Scheduler, world: World) -> Agent:
    """The agent that training starts from."""
    return rule.ddpg(len(world.sizes)).init([seeds.torch_generator(*world.stream, "agent")])


@torch_threads(1)
def train_scheduler(rule: Scheduler, world: World) -> Training:
    """Algorithm 2 without a task model: up to `experiments` times `experiment_rounds` rounds."""
    workers, agent = len(world.sizes), untrained_agent(rule, world)
    ddpg = rule.ddpg(workers)
    replay = Replay.empty(1, 3 * workers, workers)
    kept, turn = agent.policy, 0
    rounds: list[dict[str, Any]] = []
    nobody: list[int] = []
    for experiment in range(1, rule.experiments + 1):
        rng = seeds.rng(*world.stream, "experiment", experiment)
        noise = seeds.rng(*world.stream, "noise", experiment)
        turn += 1
        times, took = world.times(turn), rule.first_round(workers, rng)
        known, before = rule.first_times_of(times, took, rng), 0.0  # lines 10 to 18
        for round_index in range(2, rule.experiment_rounds + 1):
            turn += 1
            state = rule.normalise(known)  # line 21
            chances = _act(ddpg, agent.policy, state)  # line 22
            action = rule.explore(chances, noise)
            selected = rule.choose(action, rng)
            if rule.stop_below is not None and selected.sum() < rule.stop_below:  # A17
                return Training(kept, agent, rounds, tuple(nobody))
            if not selected.any():  # A18
                nobody.append(len(rounds))
                break
            kept = agent.policy
            times = world.times(turn)
            known = np.where(selected[:, None], times, known)  # lines 27, 28
            after = rule.normalise(known)
            maximum = rule.maximum_time(after, action, selected)  # line 30
            reward, before = rule.reward_of(maximum, before), maximum
            replay = _remember(rule, replay, state, action, selected, reward, after)  # line 32
            if len(replay) > rule.batch_size:  # lines 33 to 40
                seen = replay
                if rule.reward_order == "permuted":
                    order = seeds.rng(*world.stream, "permute", experiment, round_index)
                    seen = replace(replay, rewards=permute_rewards(replay.rewards, [order]))
                agent, _ = ddpg.learn(agent, seen, [rng], batch_size=rule.batch_size, updates=1)
            rounds.append(
                {
                    "experiment": experiment,
                    "round": round_index,
                    "turn": turn,
                    "reward": reward,
                    "maximum": maximum,
                    "max_seconds": float(times.sum(axis=1)[selected].max()),
                    "selected": selected,
                    "chances": chances,
                    "action": action if rule.stored_action == "probabilities" else selected.astype(float),
                }
            )
    return Training(kept, agent, rounds, tuple(nobody))


def _remember(
    rule: Scheduler,
    replay: Replay,
    state: np.ndarray,
    chances: np.ndarray,
    selected: np.ndarray,
    reward: float,
    after: np.ndarray,
) -> Replay:
    """The memory with (S_t, A_t, R_t, S_{t+1}); A_t are the probabilities, or the draw (A14)."""
    action = chances if rule.stored_action == "probabilities" else selected
    earned = torch.tensor([reward], dtype=torch.float32)
    return replay.add(_row(state), _row(action), earned, _row(after), capacity=rule.capacity)


def _row(values: np.ndarray) -> Tensor:
    """[1, n] float32."""
    return torch.from_numpy(np.asarray(values, dtype=np.float32).reshape(1, -1))
