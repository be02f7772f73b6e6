"""A method on simulated devices: rows have latency and cost of each round (FedDdrl eqs. (1), (2))."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, is_played
from fedlib.federation.aggregate import Tensors
from fedlib.methods.fedddrl.environment import full_costs
from fedlib.run import Run


@dataclass(frozen=True)
class DeviceCosts(Method):
    """A method whose clients of a round all train E epochs and upload; own costs of a method stay."""

    method: Method

    @property
    def class_name(self) -> str:
        return self.method.class_name

    @property
    def weights_sum_to_1(self) -> bool:  # type: ignore[override]
        return self.method.weights_sum_to_1

    def check(self, run: Run) -> None:
        check(
            run.local_steps is None,
            f"device_costs=true and local_steps={run.local_steps} given; allowed: local_steps=null, for a "
            "device's time is that of E epochs",
        )
        self.method.check(run)

    def init(self, task: Task) -> ServerState:
        return self.method.init(task)

    def pretrain(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        return self.method.pretrain(task, state)

    def restart(self, task: Task, state: ServerState) -> ServerState:
        return self.method.restart(task, state)

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        return self.method.initial_columns(task, state)

    def evaluated(self, task: Task, state: ServerState) -> ServerState:
        return self.method.evaluated(task, state)

    def client_models(
        self, task: Task, state: ServerState, clients: np.ndarray
    ) -> tuple[Tensors, Tensors] | None:
        return self.method.client_models(task, state, clients)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        """The method's round, with B_t, H_t in seconds and H_t / H_max in its report."""
        found = self.method.apply(task, state, cohort)
        if not is_played(found):
            return found  # the round loop refuses it
        after, report = found
        report.check_shapes(self.class_name, len(cohort.clients))
        if "latency_seconds" in report.columns:
            return after, report  # not all of its clients took part
        took_part = replace(cohort, clients=report.clients)  # the method may have chosen others
        return after, replace(report, columns={**full_costs(task, took_part), **report.columns})
