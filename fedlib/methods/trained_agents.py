"""Trained agents apart from the run that trained them: networks out of a server's state, and into one.

Only the networks that decide are kept: no experience, no optimiser moments, no critic of an actor. What FAVOR
and Auto-FedRL learn is bound to the clients of one federation, so they are not among `LEARNED`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from torch import Tensor

from fedlib.errors import UsageError, check, check_name
from fedlib.federation import prepare, rounds
from fedlib.methods import make_method
from fedlib.run import Run


@dataclass(frozen=True)
class _Kept:
    """Place of a method's networks in the server's memory, and the options with which they only act."""

    paths: tuple[str, ...]
    options: Mapping[str, Any]


_FIXED = ("method", "method_options", "episode_rounds")
_CHANGEABLE = [field.name for field in fields(Run) if field.name not in _FIXED]
_NO_TRAINING = {"episodes": 0, "bias": 0.0}  # b only enters rewards, of which nothing is learned
LEARNED = {
    "feddrl": _Kept(("learner.agent.policy",), {"mode": "online", "agent": "untrained"}),
    "fedddrl": _Kept(("agents.0.team.network", "agents.1.team.network"), _NO_TRAINING),
    "fedmarl": _Kept(("agents.0.team.network",), {"episodes": 0}),
    "evaluatorfl": _Kept(("agent.network",), {}),
    "schedulerfl": _Kept(("actor",), {"experiments": 1, "experiment_rounds": 2}),
}


@dataclass(frozen=True)
class TrainedAgent:
    """The networks of one run's agent, [P] float32 each, under their places in the server's memory.

    run: that trained it. provenance: data, versions, device and commit of that run.
    """

    run: Run
    networks: Mapping[str, Tensor]
    provenance: Mapping[str, Any]

    def play(self, *, rounds: int = 1, **changes: Any) -> list[dict[str, Any]]:
        """Rows of a fresh federation in which the agent decides; row 0 is before round 1.

        changes: fields of the run, e.g. `seed=7` or `dataset="fmnist-embedded"`; the number of clients
        that the agent decides on is fixed. Another data set is taken whole. The rounds are one episode.
        SchedulerFL's agent knows the workers of its own seed alone: with another its choice means nothing.
        Networks do not learn on, EvaluatorFL's excepted; FedDRL's actions keep their exploration noise.
        """
        for name in changes:
            check_name("field of a run", name, _CHANGEABLE)
        run = _playing(self.run, rounds, changes)
        task, method = prepare([run]), make_method(run.method, run.method_options)
        results = _rounds_with(self.networks, task, method)
        return [row for result in results for row in result.rows[0]]


def extract(method: str, memory: Mapping[str, Any], replica: int = 0) -> dict[str, Tensor]:
    """The networks of one replica's agent, from the memory of a server's state.

    UsageError for a method without one, and for options with which no agent decides.
    """
    check_name("method with an agent", method, LEARNED)
    paths = LEARNED[method].paths
    try:
        return {path: _at(memory, path)[replica].cpu().clone() for path in paths}
    except KeyError as error:
        text = (
            f"no agent decides with these options of method {method!r}; allowed: options with which one does"
        )
        raise UsageError(text) from error


def insert(memory: Mapping[str, Any], networks: Mapping[str, Tensor]) -> dict[str, Any]:
    """The memory with these networks in place of those there; UsageError for a network of another size."""
    changed = dict(memory)
    for path, network in networks.items():
        there = _at(memory, path)
        check(
            there[0].shape == network.shape,
            f"a network of {network.numel():,} parameters given for {path}; allowed: {there[0].numel():,}, "
            "for as many clients as the agent was trained with",
        )
        changed = _with(changed, path.split("."), network.expand_as(there).clone())
    return changed


def _playing(run: Run, count: int, changes: Mapping[str, Any]) -> Run:
    options = {**run.method_options, **LEARNED[run.method].options}
    data = dict(run.dataset_options)
    if changes.get("dataset", run.dataset) != run.dataset:
        data = {name: value for name, value in data.items() if not name.endswith("_per_class")}
    given: dict[str, Any] = {"dataset_options": data, **changes}
    return replace(run, rounds=count, episode_rounds=None, method_options=options, **given)


def _rounds_with(networks: Mapping[str, Tensor], task: Any, method: Any) -> Any:
    first = next(rounds(task, method))
    yield first
    yield from rounds(task, method, {**first.state, "memory": insert(first.state["memory"], networks)})


def _at(memory: Any, path: str) -> Tensor:
    for name in path.split("."):
        memory = memory[int(name)] if isinstance(memory, list) else memory[name]
    return memory


def _with(memory: Any, names: list[str], value: Tensor) -> Any:
    """A copy of nested dictionaries and lists with one entry replaced."""
    if not names:
        return value
    if isinstance(memory, list):
        at = int(names[0])
        return [_with(one, names[1:], value) if i == at else one for i, one in enumerate(memory)]
    return {**memory, names[0]: _with(memory[names[0]], names[1:], value)}
