"""The protocol of a federated algorithm: hyper-parameters as fields, pure functions over the state."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fedlib.errors import check
from fedlib.federation.aggregate import Tensors
from fedlib.federation.cohort import Cohort
from fedlib.federation.state import RoundReport, ServerState
from fedlib.federation.task import Task
from fedlib.run import Run
from fedlib.validation import check_fields


def refuse_mixup(name: str, run: Run) -> None:
    """UsageError if clients are to mix samples, which a method with a loss of its own cannot take."""
    check(
        run.mixup_alpha is None,
        f"mixup_alpha={run.mixup_alpha} given for method {name!r}; allowed: null (it cannot mix samples)",
    )


def require_server_images(name: str, run: Run) -> None:
    """UsageError if the server has no images of its own, for a method that measures or learns on them.

    name: for a task of the caller's tensors (`task_of`), whose run names no method.
    """
    own = run.dataset == "own"
    remedy = "a data set with the option" if own else "the data-set option"
    check(
        run.dataset_options.get("server_share") is not None,
        f"method {(name if own else run.method)!r} needs images on the server, and it has none; allowed: "
        f"{remedy} server_share (e.g. dataset.server_share=0.1)",
    )


def require_all_clients(run: Run, why: str) -> None:
    """UsageError unless all clients take part in every round; why: continues "allowed: N, ..."."""
    size = run.clients_per_round
    check(size == run.num_clients, f"cohort_size={size} given; allowed: {run.num_clients}, {why}")


class Method(ABC):
    """Base of all methods. `init` and `apply` are required; the rest is what FedAvg needs of it.

    A method is a frozen dataclass: its fields are the options of a run. A part of the model that is
    not in the state's `params` and `buffers` belongs to the clients: it is neither sent nor averaged.
    """

    weights_sum_to_1: ClassVar[bool] = True  # else a run warns; False: what they sum to is meant (FedLAW)

    @property
    def class_name(self) -> str:
        """The class's name, in messages."""
        return type(self).__name__

    def __post_init__(self) -> None:
        """Raise UsageError for a field of a wrong type; a method with checks of its own calls this first."""
        check_fields(self)

    @abstractmethod
    def init(self, task: Task) -> ServerState:
        """The state before round 1; before a pre-training of n rounds its round is -n."""

    @abstractmethod
    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        """Compute a round: local training of the cohort, aggregation, report for the row."""

    def check(self, run: Run) -> None:
        """Raise UsageError for a run that the method cannot work with.

        A command calls it before anything is loaded, `rounds` before `init`.
        """
        return None

    def pretrain(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        """Compute a round of pretraining before round 1, while the state's round is below 0.

        Returns the state with its round counted up, by more than 1 where training ends early, and
        replica -> why it failed.
        """
        return replace(state, round=state.round + 1), {}

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The state that a further episode begins with (`Run.episode_rounds`): that of `init`.

        A method that learns over episodes keeps what it learned (`restarted`).
        """
        return replace(self.init(task), round=state.round)

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        """Columns of the row of round 0, one value per replica: what `init` and `pretrain` did."""
        return {}

    def evaluated(self, task: Task, state: ServerState) -> ServerState:
        """The state whose global models are evaluated, for rows alone: training goes on from `state`."""
        return state

    def client_models(
        self, task: Task, state: ServerState, clients: np.ndarray
    ) -> tuple[Tensors, Tensors] | None:
        """The models that clients [R, K] are evaluated with: parameters and buffers [R * K, ...].

        Names are `task.model`'s. None: the global model of the client's replica.
        """
        return None
