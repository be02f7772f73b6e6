"""FedDRL's agent: what it observes, decides, stores and learns (Algorithm 2, lines 1, 13 to 15, 17 to 22).

Nothing here trains a client: reports of the clients' losses come in, impact factors go out. Where the
paper is silent or cannot be meant as printed, the readings FEDDRL-A1 to A20 say what is done.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.errors import UsageError, check, check_name
from fedlib.federation import Task, method_generators, on_host
from fedlib.methods.feddrl import mdp
from fedlib.processors import torch_threads
from fedlib.rl import Agent, Ddpg, Mlp, Replay
from fedlib.rl.replay import permute_rewards
from fedlib.validation import check_fields

Generators = list[np.random.Generator]  # one per replica
Streams = Callable[[str], Generators]  # by name

CHOICES = {
    "agent": ("learning", "shuffled", "untrained", "permuted"),
    "policy": ("joint", "shared"),
    "slot_order": ("client", "drawn"),
    "state": mdp.STATES,
}


@dataclass(frozen=True)
class AgentState:
    """The agents of R replicas between two rounds: what they learned, keep and wait for.

    agent: as the last decision was made with; what it learns from `replay` it learns beside the
    next round. state [R, 3K], action [R, 2K]: of the last round, whose reward is not known yet
    (None before round 1). mean_reward [R]: the running mean that `centring` subtracts.
    """

    agent: Agent = field(repr=False)
    replay: Replay
    state: Tensor | None = field(default=None, repr=False)
    action: Tensor | None = field(default=None, repr=False)
    mean_reward: Tensor | None = None

    def pack(self) -> dict[str, Any]:
        """Plain values for a checkpoint."""
        return {**vars(self), "agent": dict(vars(self.agent)), "replay": dict(vars(self.replay))}

    @classmethod
    def unpack(cls, packed: dict[str, Any]) -> "AgentState":
        """The state in a checkpoint; agents live on the CPU wherever the models train."""
        agent, replay = Agent(**on_host(packed["agent"])), Replay(**on_host(packed["replay"]))
        known = {one.name for one in fields(cls)}  # older checkpoints have further entries
        own = {name: value for name, value in packed.items() if name in known}
        return cls(**{**on_host(own), "agent": agent, "replay": replay})

    @property
    def slots(self) -> int:
        """K: clients of a round."""
        return self.replay.actions.shape[2] // 2


@dataclass(frozen=True)
class AggregationAgent:
    """DDPG over the clients' losses: hyper-parameters as fields, pure functions over an AgentState."""

    # controls: "shuffled" state when it acts; "untrained", never updated; "permuted" rewards when it learns
    agent: str = "learning"
    beta: float = 0.1  # eq. (6) (A9)
    slot_order: str = "client"  # or "drawn" anew each round: by number, a slot can tell the group (A5)
    state: str = "shares"  # or "raw", or "losses": the counts alone as shares (A6)
    centring: float = 0.0  # rate of the running mean that D's rewards are less (`mdp.centre`); 0: none
    policy: str = "joint"  # or "shared": one network for every client, of its own three reports
    noise: float = 0.1  # standard deviation of the exploration noise (A13)
    batch_size: int = 4  # of Algorithm 1 (A19); D is sufficient once it holds as many (A20)
    updates: int | None = None  # b; None: floor(buffer length / batch_size) (A19)
    capacity: int = 100_000  # experience buffer (table 1)
    discount: float = 0.99  # gamma (table 1)
    rho: float = 0.02  # weight of the main network in a soft update (table 1, A16)
    policy_rate: float = 1e-4  # table 1
    critic_rate: float = 1e-3  # table 1
    hidden_size: int = 256  # table 1

    def __post_init__(self) -> None:
        check_fields(self)
        for name, allowed in CHOICES.items():
            check_name(f"{name} of method 'feddrl'", getattr(self, name), allowed)
        for name, least in (("noise", 0), ("batch_size", 1), ("capacity", 1), ("hidden_size", 1)):
            self._check_least(name, least)
        if self.updates is not None:
            self._check_least("updates", 1)
        check(
            self.capacity >= self.batch_size,
            f"capacity={self.capacity} given for method 'feddrl'; allowed: at least "
            f"batch_size={self.batch_size}, else it never learns (A20)",
        )
        check(0 <= self.beta <= 1, f"beta={self.beta} given for method 'feddrl'; allowed: 0 to 1 (eq. (6))")
        check(0 <= self.centring <= 1, f"centring={self.centring} given for method 'feddrl'; allowed: 0 to 1")
        self.ddpg(1)  # checks the rest

    def _check_least(self, name: str, least: int) -> None:
        given = getattr(self, name)
        check(given >= least, f"{name}={given} given for method 'feddrl'; allowed: {least} or more")

    def ddpg(self, slots: int) -> Ddpg:
        """Networks of table 1 for K slots: policy 3K-256-256-2K, critic 5K-256-256-1 (A14).

        A shared policy is 3-256-256-2 for each slot: it has no slots to tell groups by.
        """
        hidden = (self.hidden_size, self.hidden_size)
        joint = self.policy == "joint"
        return Ddpg(
            Mlp((3 * slots, *hidden, 2 * slots)) if joint else Mlp((3, *hidden, 2), slots=slots),
            Mlp((3 * slots, *hidden, 1), action_size=2 * slots),
            partial(mdp.gaussians, beta=self.beta),
            policy_rate=self.policy_rate,
            critic_rate=self.critic_rate,
            discount=self.discount,
            rho=self.rho,
        )

    def new_state(self, task: Task) -> AgentState:
        """Fresh agents and empty buffers of a task's replicas."""
        return self.start(method_generators(task, "agent"), task.cohort_size)

    def start(self, generators: Sequence[torch.Generator], slots: int) -> AgentState:
        """Line 1: networks, targets and an empty D, one agent per generator, for K slots, 1 or more."""
        right = isinstance(generators, Sequence) and all(isinstance(g, torch.Generator) for g in generators)
        check(right and len(generators) > 0, f"{generators} given; allowed: torch generators, one per agent")
        check(
            isinstance(slots, int) and slots >= 1,
            f"slots={slots} given; allowed: 1 or more clients of a round",
        )
        count = len(generators)
        agent = self.ddpg(slots).init(generators)
        return AgentState(agent, Replay.empty(count, 3 * slots, 2 * slots))

    def learn(
        self, learner: AgentState, streams: Generators | Mapping[str, Generators]
    ) -> tuple[AgentState, Tensor | None]:
        """Lines 19 to 22, Algorithm 1 once D is sufficient; also the mean critic loss [R] of its updates.

        streams: one per replica, or a mapping with them as `replay`. None instead of a loss: nothing was
        learned. UsageError for streams of another form.
        """
        given = streams if isinstance(streams, Mapping) else {"replay": streams}
        streams = _find_streams(given, {"replay": "learn"}, len(learner.replay.rewards))["replay"]
        if self.agent == "untrained" or len(learner.replay) < self.batch_size:  # lines 19, 20
            return learner, None
        ddpg = self.ddpg(learner.slots)
        replay = self.experience(learner.replay, streams)
        agent, loss = ddpg.learn(
            learner.agent, replay, streams, batch_size=self.batch_size, updates=self.updates
        )
        return replace(learner, agent=agent), loss

    def experience(self, replay: Replay, streams: Generators) -> Replay:
        """Experience for Algorithm 1: D, or under "permuted" D with its rewards in another order.

        The order is drawn anew at every call, so that rewards keep their law and say nothing of actions.
        """
        if self.agent != "permuted":
            return replay
        return replace(replay, rewards=permute_rewards(replay.rewards, streams))

    @property
    def taught(self) -> str:
        """The value of `agent` that all training before round 1 has: how it acts later changes nothing."""
        return "permuted" if self.agent == "permuted" else "learning"

    def step(
        self,
        learner: AgentState,
        before: Tensor,
        after: Tensor,
        sizes: Tensor,
        streams: Streams | Mapping[str, Generators],
    ) -> tuple[AgentState, Tensor, dict[str, list[Any]]]:
        """Impact factors [R, K] of a round in a loop that is not fedlib's: `decide` once all is checked.

        before, after: losses [R, K], float32, in nats. sizes [R, K]: numbers of images, of any type.
        streams: those of `step_streams`, a mapping or a function of the name. Returns the next state, the
        factors and the columns of a row. UsageError, before anything is drawn, for a report of another form
        or with numbers that are not finite or, sizes and losses that become shares, below 0, and for a stream
        that is missing or has not R generators.
        """
        for name, report in (("before", before), ("after", after), ("sizes", sizes)):
            self._check_report(learner, name, report)
        found = _find_streams(streams, self.step_streams, len(learner.replay.rewards))
        before, after, sizes = before.detach(), after.detach(), sizes.detach()  # D must hold no graphs
        return self.decide(learner, before, after, sizes, found.__getitem__)

    @property
    def step_streams(self) -> dict[str, str]:
        """Names of the random streams that `step` draws from, with what needs each."""
        wanted = {"explore": "step", "impact": "step"}
        if self.slot_order == "drawn":
            wanted["slots"] = "slot_order='drawn'"
        return wanted | ({"shuffle": "agent='shuffled'"} if self.agent == "shuffled" else {})

    def _check_report(self, learner: AgentState, name: str, report: Any) -> None:
        shape = (len(learner.replay.rewards), learner.slots)
        fits = isinstance(report, Tensor) and tuple(report.shape) == shape
        told = f"{report.dtype} {tuple(report.shape)}" if hasattr(report, "dtype") else repr(report)
        check(
            fits and (name == "sizes" or report.dtype == torch.float32),
            f"{name} given: {told}; allowed: a float32 tensor [R, K] = {list(shape)}",
        )
        positive = name == "sizes" or self.state == "shares"
        good = report.isfinite() & (report >= 0) if positive else report.isfinite()
        for r, k in torch.nonzero(~good)[:1].tolist():
            allowed = "finite numbers, 0 or more" if positive else "finite numbers"
            raise UsageError(f"{name} given: {report[r, k].item()} at [{r}, {k}]; allowed: {allowed}")

    @torch_threads(1)
    def decide(
        self, learner: AgentState, before: Tensor, after: Tensor, sizes: Tensor, streams: Streams
    ) -> tuple[AgentState, Tensor, dict[str, list[Any]]]:
        """Lines 13 to 18 for one round: the clients' reports [R, K] in, impact factors [R, K] out.

        Lines 17 and 18 are those of the round before. Also returns the columns of the row. Within, all is
        by slot; reports come and factors go by client. A report that is not finite makes its replica's
        factors NaN, whose run then fails alone.
        """
        order = self._slots(len(before), learner.slots, streams)
        before, after, sizes = (reports.gather(1, order) for reports in (before, after, sizes))
        state = mdp.observe(before, after, sizes, self.state)  # line 13
        earned = None
        if learner.state is not None:  # lines 17, 18
            earned = mdp.reward(before)
            learner = self.remember(learner, earned, state)
        noise = self.noise * _normal(streams("explore"), 2 * learner.slots)
        chosen = self._choose(learner, state, streams)
        action = mdp.explore(chosen, noise, self.beta)  # line 14; this is what D stores (A12)
        factors = mdp.impact_factors(action, _normal(streams("impact"), learner.slots))  # line 15
        factors, mu = (mdp.by_client(values, order) for values in (factors, chosen[:, : learner.slots]))
        columns = {**_columns(earned, factors, len(learner.replay)), "mu": _as_json(mu)}
        return replace(learner, state=state, action=action), factors, columns

    def remember(self, learner: AgentState, earned: Tensor, state: Tensor) -> AgentState:
        """With the experience of the round before in D: its reward [R] is known now, and the next state."""
        before, action = learner.state, learner.action
        if before is None or action is None:
            raise ValueError("no round before the first one")
        if self.centring:
            earned, mean = mdp.centre(earned, learner.mean_reward, self.centring)
            learner = replace(learner, mean_reward=mean)
        replay = learner.replay.add(before, action, earned, state, capacity=self.capacity)
        return replace(learner, replay=replay)

    def _slots(self, count: int, slots: int, streams: Streams) -> Tensor:
        """[R, K] which of the cohort's clients, in the order of their numbers, has each slot."""
        if self.slot_order == "client":
            return torch.arange(slots).expand(count, slots)
        return torch.from_numpy(np.stack([stream.permutation(slots) for stream in streams("slots")]))

    def _choose(self, learner: AgentState, state: Tensor, streams: Streams) -> Tensor:
        """(mu, sigma) = pi(s) [R, 2K], without exploration noise."""
        if self.agent == "shuffled":  # D keeps the true state, so that the agent learns as ever
            order = np.stack([stream.permutation(learner.slots) for stream in streams("shuffle")])
            state = mdp.shuffle_slots(state, torch.from_numpy(order))
        return self.ddpg(learner.slots).act(learner.agent.policy, state.unsqueeze(1)).squeeze(1)


def _normal(streams: Generators, count: int) -> Tensor:
    """[R, count] standard normal numbers, float32."""
    return torch.from_numpy(np.stack([stream.standard_normal(count, np.float32) for stream in streams]))


def _columns(earned: Tensor | None, factors: Tensor, length: int) -> dict[str, list[Any]]:
    """The row's own columns: the reward is the last round's; None where there is none yet."""
    count = len(factors)
    return {
        "reward": [None] * count if earned is None else earned.tolist(),
        "impact_min": factors.amin(dim=1).tolist(),
        "impact_max": factors.amax(dim=1).tolist(),
        "buffer_length": [length] * count,
    }


def _as_json(mu: Tensor) -> list[str]:
    """The means [R, K], a JSON list for each replica."""
    return [json.dumps([float(f"{value:.4g}") for value in one]) for one in mu.tolist()]


def _find_streams(
    streams: Streams | Mapping[str, Generators], wanted: Mapping[str, str], count: int
) -> dict[str, Generators]:
    """The wanted streams, names with what needs each; UsageError unless each is a list of `count`."""
    told = type(streams).__name__
    check(
        isinstance(streams, Mapping) or callable(streams),
        f"streams of type {told} given; allowed: a mapping from names to lists of generators",
    )
    found: dict[str, Generators] = {}
    for name, reason in wanted.items():
        try:
            found[name] = streams[name] if isinstance(streams, Mapping) else streams(name)
        except KeyError as error:
            raise UsageError(
                f"stream {name!r} is needed for {reason}, but not given; allowed: streams for "
                f"{', '.join(wanted)}"
            ) from error
        listed = isinstance(found[name], list | tuple)
        told = f"{len(found[name])} generators" if listed else type(found[name]).__name__
        check(
            listed and len(found[name]) == count,
            f"stream {name!r} given: {told}; allowed: a list of {count}, one per agent",
        )
    return found
