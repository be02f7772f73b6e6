"""EvaluatorFL: a REINFORCE agent decides whose local models enter the global one.

B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, 26 February 2023,
sec. III.ii, Algorithm 1, and sec. IV.iii for the two approaches.

* All k workers train and report an accuracy; the agent draws a Bernoulli choice for each (F4).
* The chosen models are averaged with equal weights (F1, FRL-A1).
* Approach 1 rewards the accuracy of the chosen workers, approach 2 that of the new global
  model, each less its moving average (F2, F3); the agent learns from the last 3 rounds (F5, F6).

A run holds all episodes (`Run.episode_rounds`) one after the other. At the start of each the task model is
the same theta_G^0 (FRL-A34), and moving batch and average are empty (lines 2, 3, 5); agent and data stay.
The options below vary the readings FRL-A2 to A5, A7 and A8.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.engine import Samples, Trained, correct_lanes, per_sample
from fedlib.engine.batches import on_device
from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, on_host, require_all_clients
from fedlib.federation.client_updates import (
    finish_round,
    initial_state,
    method_generators,
    method_streams,
    restarted,
    train_cohort,
)
from fedlib.partition import Partition, partition_like
from fedlib.rl.reinforce import (
    LIKELIHOODS,
    RETURNS,
    Draw,
    Evaluator,
    MovingBatch,
    Reinforce,
    subtract_moving_average,
)
from fedlib.run import Run

CHOICES = {
    "agent": ("learning", "shuffled", "untrained", "redrawn"),
    "state_data": ("test", "code"),
    "rewarded_model": ("new", "old", "local"),
    "first_average": ("zero", "initial"),
    "returns": RETURNS,
    "likelihood": LIKELIHOODS,
}


@dataclass(frozen=True)
class EvaluatorFL(Method):
    """Algorithm 1 with either approach; the defaults are the readings FRL-A1 to A8.

    With `agent="shuffled"` and approach 1, columns `value` and `reward` are of the workers that the agent
    drew, not of the random ones that are averaged, and it learns from them. Approach 2 rewards the averaged
    model.
    """

    approach: int = 1
    # controls (HEAD-A17): "shuffled": as many as it drew, at random; "untrained": it never learns; "redrawn":
    # it learns as if another selection, drawn anew from the same policy, had earned the reward
    agent: str = "learning"
    new_weight: float = 0.9  # 1 - a_exp (A2)
    returns: str = "to_go"  # or "immediate" (A3)
    likelihood: str = "bernoulli"  # or "code" (A4)
    min_selected: int | None = None  # None: k // 10 + 1 (A5)
    # of approach 2 (A7); "code": the worker's new model on training data less its previous one on test data
    state_data: str = "test"
    rewarded_model: str = "new"  # of approach 2; "local": theta_i^{t+1}, as the code evaluates; "old" (A8)
    learning_rate: float = 1e-3  # of Adam; the report is silent, the code of approach 1 had 0.01 (A33)
    first_average: str = "zero"  # delta before round 1; "initial": the accuracy of theta_G^0 (the code; F1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self.approach in (1, 2), f"approach={self.approach} given for method 'evaluatorfl'; allowed: 1, 2"
        )
        for name, allowed in CHOICES.items():
            check_name(f"{name} of method 'evaluatorfl'", getattr(self, name), allowed)
        check(0 <= self.new_weight <= 1, f"new_weight={self.new_weight} given; allowed: 0 to 1")
        check(self.learning_rate > 0, f"learning_rate={self.learning_rate} given; allowed: above 0")

    def rule(self, workers: int) -> Reinforce:
        """The agent for k workers."""
        return Reinforce(
            workers,
            rate=self.learning_rate,
            returns=self.returns,
            likelihood=self.likelihood,
            min_selected=self.min_selected,
        )

    def check(self, run: Run) -> None:
        require_all_clients(run, "for all workers train")
        self.rule(run.num_clients)

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        workers, state = task.run.num_clients, initial_state(task)
        agent = self.rule(workers).init(method_generators(task, "agent"))
        return replace(state, memory={"agent": dict(vars(agent))})

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models; the agent stays."""
        return restarted(task, state)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        state = self._begin_episode(task, state, cohort.round)
        agent = Evaluator(**on_host(state.memory["agent"]))
        batch, rule = MovingBatch(**on_host(state.memory["batch"])), self.rule(_k(task))
        trained = train_cohort(task, state, cohort)  # lines 8, 9
        observed = self.observe(task, state, trained)  # lines 10 to 12
        draw = rule.draw(agent, observed, method_streams(task, "draw", cohort.round))  # lines 13, 14
        chosen = self._chosen(task, draw, cohort.round)
        shares = on_device((chosen / chosen.sum(dim=1, keepdim=True)).numpy(), task.device)
        after, report = finish_round(task, state, cohort, trained, shares)  # lines 15, 20: F1
        tested = self._tested(task, trained)
        value = self.value(task, draw, observed, state, tested, after)  # line 16
        reward, delta = subtract_moving_average(  # lines 17, 18
            value, state.memory["delta"].cpu(), new_weight=self.new_weight
        )
        memory: dict[str, Any] = {**state.memory, "delta": delta}
        taught = draw
        if self.agent == "redrawn":
            taught = rule.draw(agent, observed, method_streams(task, "redraw", cohort.round))
        batch = batch.add(observed, taught.action, reward, size=rule.batch_rounds)  # line 19
        learned = agent if self.agent == "untrained" else rule.learn(agent, batch)  # lines 21 to 25
        memory |= {"agent": dict(vars(learned)), "batch": dict(vars(batch))}
        if self._sees_previous:
            memory["previous"] = tested
        after = replace(after, memory=memory)
        columns = self._columns(task.run.episode(cohort.round)[1], rule, agent, observed, draw, value, reward)
        return after, replace(report, columns=columns)

    @property
    def _sees_previous(self) -> bool:
        """Whether the state holds the accuracies of the models that the workers had before the round."""
        return self.approach == 2 and self.state_data == "code"

    def _begin_episode(self, task: Task, state: ServerState, round_index: int) -> ServerState:
        """Lines 3 and 5 at the first round of an episode, else no change."""
        if task.run.episode(round_index)[1] > 1:
            return state
        replicas = len(task.runs)
        delta = torch.zeros(replicas)
        if self.first_average == "initial":
            delta = _by_size(task, self._global(task, state, worker_tests(task), "samples"))
        fresh: dict[str, Any] = {"batch": dict(vars(MovingBatch.empty(replicas, _k(task)))), "delta": delta}
        if self._sees_previous:
            fresh["previous"] = self._global(task, state, worker_tests(task), "samples")
        return replace(state, memory={**state.memory, **fresh})

    def observe(self, task: Task, state: ServerState, trained: Trained) -> Tensor:
        """S_t [R, k] on the CPU: approach 1 `Acc_i(theta_i)` on training data (F2, A6), approach 2
        `Acc_i(theta_i) - Acc_i(theta_G)` on the worker's test data (F3, A7). The code evaluates before the
        workers download, so its second term is that of the worker's own previous model."""
        if self.approach == 1:
            return self._local(task, trained, task.train, task.clients, "label_mean")
        if self._sees_previous:
            now = self._local(task, trained, task.train, task.clients, "samples")
            return now - state.memory["previous"].cpu()
        tests = worker_tests(task)
        local = self._local(task, trained, task.test, tests, "label_mean")
        return local - self._global(task, state, tests, "label_mean")

    def value(
        self,
        task: Task,
        draw: Draw,
        observed: Tensor,
        before: ServerState,
        tested: Tensor | None,
        after: ServerState,
    ) -> Tensor:
        """Rhat [R]: the mean accuracy of the workers that were drawn (F2), or accuracies on the workers' test
        data weighted by their sizes d_i (F3): of the global model, or of each worker's own, `tested` (A8)."""
        if self.approach == 1:
            return (draw.selected * observed).sum(dim=1) / draw.selected.sum(dim=1)
        if tested is not None and self.rewarded_model == "local":
            return _by_size(task, tested)
        state = after if self.rewarded_model == "new" else before
        return _by_size(task, self._global(task, state, worker_tests(task), "samples"))

    def _tested(self, task: Task, trained: Trained) -> Tensor | None:
        """[R, k] accuracy of each worker's new model on its test data; None where no reading needs it."""
        if self.approach == 1 or not (self._sees_previous or self.rewarded_model == "local"):
            return None
        return self._local(task, trained, task.test, worker_tests(task), "samples")

    def _local(
        self, task: Task, trained: Trained, samples: Samples, lists: list[Partition], kind: str
    ) -> Tensor:
        """[R, k] accuracy of each worker's own model on its own list of samples."""
        flat = [index for ids in lists for index in ids]
        right = correct_lanes(task.trainer, samples, trained.state.params, trained.state.buffers, flat).cpu()
        labels = samples.labels.cpu()
        values = [
            mean_accuracy(row[: len(index)], labels[index], kind)
            for row, index in zip(right, flat, strict=True)
        ]
        return torch.tensor(values).view(len(lists), -1)

    def _global(self, task: Task, state: ServerState, tests: list[Partition], kind: str) -> Tensor:
        """[R, k] accuracy of each replica's global model on each worker's part of the test data."""
        labels, found = task.test.labels.cpu(), []
        for r, ids in enumerate(tests):
            joined = torch.from_numpy(np.concatenate(ids)).to(task.test.device)
            params, buffers = (
                {n: t[r : r + 1] for n, t in part.items()} for part in (state.params, state.buffers)
            )
            right = per_sample(task.trainer, task.test, params, buffers, joined)[1].cpu()
            parts = right.split([len(index) for index in ids])
            found.append([mean_accuracy(p, labels[index], kind) for p, index in zip(parts, ids, strict=True)])
        return torch.tensor(found)

    def _chosen(self, task: Task, draw: Draw, round_index: int) -> Tensor:
        """Sel [R, k]; of the control, a random set of the same size."""
        if self.agent != "shuffled":
            return draw.selected
        streams = method_streams(task, "shuffle", round_index)
        rows = zip(draw.selected, streams, strict=True)
        return torch.stack([row[torch.from_numpy(stream.permutation(len(row)))] for row, stream in rows])

    def _columns(
        self,
        episode_round: int,
        rule: Reinforce,
        agent: Evaluator,
        observed: Tensor,
        draw: Draw,
        value: Tensor,
        reward: Tensor,
    ) -> dict[str, list[Any]]:
        with torch.no_grad():
            chances = rule.log_probabilities(agent.network, observed.unsqueeze(1)).exp()[:, 0, :, 0]
        return {
            "episode_round": [episode_round] * len(reward),
            "reward": reward.tolist(),
            "value": value.tolist(),
            "selected": [int(n) for n in draw.selected.sum(dim=1)],
            "redraws": draw.redraws,
            "undecided": ((chances > 0.1) & (chances < 0.9)).float().mean(dim=1).tolist(),
            "state_mean": observed.mean(dim=1).tolist(),
            "state_std": observed.std(dim=1, correction=0).tolist(),
        }


def worker_tests(task: Task) -> list[Partition]:
    """Each worker's share of the test set, label by label as it holds training data (A23).

    UsageError for a worker whose share rounds to no image at all.
    """
    return task.once("worker tests", lambda: _worker_tests(task))


def _worker_tests(task: Task) -> list[Partition]:
    train, test = task.train.labels.cpu().numpy(), task.test.labels.cpu().numpy()
    classes = task.dataset.num_classes
    return [
        partition_like(lists, train, test, classes, seeds.rng(seed, "worker tests"))
        for lists, seed in zip(task.clients, task.seeds, strict=True)
    ]


def mean_accuracy(right: Tensor, labels: Tensor, kind: str) -> float:
    """Share of correct samples, right [n] of 0 and 1; "label_mean": of each label's share (A6)."""
    if kind == "samples":
        return float(right.mean())
    count = torch.bincount(labels)
    share = torch.bincount(labels, weights=right) / count.clamp(min=1)
    return float(share[count > 0].mean())


def _by_size(task: Task, values: Tensor) -> Tensor:
    """[R] means of [R, k], weighted by the workers' sizes d_i."""
    sizes = torch.tensor([[len(own) for own in lists] for lists in task.clients]).float()
    return (sizes * values).sum(dim=1) / sizes.sum(dim=1)


def _k(task: Task) -> int:
    return task.run.num_clients
