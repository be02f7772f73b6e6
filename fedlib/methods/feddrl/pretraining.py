"""FedDRL's two-stage training (sec. 3.4.2): workers collect experience, the main agent learns from it.

Stage 1: m workers per run, identical agents at the start, each in a federated run of its own
with another seed on the same partition. They train as replicas on the engine's client axis.
Stage 2: their buffers are merged, a fresh main agent is trained offline on the result, and
makes the decisions of the run proper, which starts from a fresh global model and an empty
buffer and goes on updating online (FEDDRL-A23). The paper says neither that the merged buffer is
discarded nor that it is kept; `keep_experience` keeps it.

The state's round counts from -worker_rounds to 0 meanwhile (FEDDRL-A24: these rounds are not
rounds of the run; both counts can be told).

Both stages are the same for the control that shuffles the trained agent's input: a process goes through
them once for runs that differ in what follows only (`fedlib.methods.pretraining_cache`).
"""

from collections.abc import Hashable
from dataclasses import asdict, dataclass, replace
from typing import Any

from fedlib import seeds
from fedlib.federation import ServerState, Task, sample_cohort
from fedlib.federation.client_updates import initial_state, method_generators, method_streams
from fedlib.methods.feddrl.agent import AgentState, AggregationAgent
from fedlib.methods.feddrl.online_round import play_round
from fedlib.methods.pretraining_cache import LruCache, before_round_1, cache_key
from fedlib.rl import Agent, Replay
from fedlib.run import Run

_remembered = LruCache()


@dataclass(frozen=True)
class TwoStageAgent(AggregationAgent):
    """An agent with the settings of the two-stage training."""

    workers: int = 2  # m (sec. 4.1.3)
    worker_rounds: int | None = None  # None: T (A23)
    offline_passes: int = 50  # over the merged buffer (A23)
    offline_batch_size: int = 16  # (A23)
    keep_experience: bool = False  # the run proper goes on with the merged buffer instead of an empty one

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("workers", 1), ("offline_passes", 0), ("offline_batch_size", 1)):
            self._check_least(name, least)
        if self.worker_rounds is not None:
            self._check_least("worker_rounds", 2)


def worker_task(task: Task, workers: int) -> Task:
    """The task of m workers for each of R runs, [R * m] replicas: other seeds, same partitions."""
    return task.once(("workers", workers), lambda: _worker_task(task, workers))


def _worker_task(task: Task, workers: int) -> Task:
    runs = [
        replace(run, seed=seeds.derive(run.seed, "worker", i)) for run in task.runs for i in range(workers)
    ]
    return replace(task, runs=tuple(runs), clients=[lists for lists in task.clients for _ in range(workers)])


def worker_rounds(method: TwoStageAgent, run: Run) -> int:
    """Rounds of stage 1: T (of an episode, where a run has several), unless the option says otherwise."""
    return run.rounds_per_episode if method.worker_rounds is None else method.worker_rounds


def start(method: TwoStageAgent, task: Task, state: ServerState) -> ServerState:
    """The state before the first worker round; `state` has the global models of the run proper.

    Before round 1, if this process has trained the same main agents already.
    """
    known = _remembered.get(_cache_key(method, task))
    if known is not None:
        return replace(state, memory={"learner": known.pack()})
    workers = initial_state(worker_task(task, method.workers))
    same_start = [method_generators(task, "agent") for _ in range(method.workers)]
    learner = method.start([g for start in zip(*same_start, strict=True) for g in start], task.cohort_size)
    return replace(
        state,
        round=-worker_rounds(method, task.run),
        memory=_pack(replace(workers, memory={"learner": learner.pack()})),
    )


def advance(method: TwoStageAgent, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
    """Compute a round of all workers; after the last, train the main agents offline.

    Also returns which runs failed, and why.
    """
    team, done = worker_task(task, method.workers), worker_rounds(method, task.run) + state.round
    cohort = sample_cohort(team.seeds, done + 1, task.run.num_clients, task.cohort_size)
    learning = replace(method, agent=method.taught)
    workers, report = play_round(learning, team, ServerState(done, **state.memory), cohort)
    failed = {r // method.workers: f"{why} of a worker" for r, why in report.failed.items()}
    if state.round < -1:
        return replace(state, round=state.round + 1, memory=_pack(workers)), failed
    learner, experience = main_agent(method, task, workers)
    if not failed and experience.is_finite():
        _remembered.keep(_cache_key(method, task), learner)
    return replace(state, round=0, memory={"learner": learner.pack()}), failed


def _cache_key(method: TwoStageAgent, task: Task) -> Hashable | None:
    """All that decides the main agents before round 1: not T, who evaluates, or how they act later."""
    run = before_round_1(task.run, worker_rounds(method, task.run))
    settings = asdict(replace(method, agent=method.taught, worker_rounds=None))
    return cache_key(task, run.key, settings, method=method)


def _pack(workers: ServerState) -> dict[str, Any]:
    return {"params": workers.params, "buffers": workers.buffers, "memory": workers.memory}


def main_agent(method: TwoStageAgent, task: Task, workers: ServerState) -> tuple[AgentState, Replay]:
    """Stage 2: fresh main agents, trained offline on their workers' merged experience, and this."""
    fresh = method.new_state(task)
    merged = fresh.unpack(workers.memory["learner"]).replay.merge(method.workers)
    trained = replace(fresh, agent=train_offline(method, task, fresh.agent, merged))
    return replace(trained, replay=merged) if method.keep_experience else trained, merged


def train_offline(method: TwoStageAgent, task: Task, agent: Agent, merged: Replay) -> Agent:
    """`offline_passes` calls of Algorithm 1, each with floor(n / batch) updates."""
    ddpg = method.ddpg(task.cohort_size)
    batch_size = min(method.offline_batch_size, len(merged))
    for number in range(method.offline_passes):
        streams = method_streams(task, "offline", number)
        replay = method.experience(merged, streams)
        agent, _ = ddpg.learn(agent, replay, streams, batch_size=batch_size)
    return agent
