"""FedDisk: density ratios as sample weights.

H. Nguyen, P. Wu, J. M. Chang, "Federated Learning for distribution skewed data using sample
weights", IEEE TAI, manuscript TAI-2023-May-A-00417, section IV.

Clients differ in q_k(x) and share p(y|x), so the global risk is the sum of client risks in which a
sample counts `alpha(x) = p(x) / q_k(x)`, eqs. (2) to (9).

* Phase 1 (`pretrain`): local and global MADEs (`density_models`), ratio classifiers and weights
  (`density_ratio`), put together in `phase1`. The state's round counts up to 0 meanwhile; its traffic and
  its course are in the row of round 0.
* Phase 2 (`apply`): FedAvg with the weights in the local loss, eqs. (9) and (16).

Departures and readings
1. p is the mixture sum_i c_i q_i; eq. (10) drops c_i (FEDDISK-A1, A2).
2. h gets the local MADE's output, as the paper says, although its odds are then no density ratio
   (FEDDISK-A3, A4; option `feed`). Rows tell the spread of h, of alpha and the effective sample size.
3. h is clipped and alpha divided by the client's mean (FEDDISK-A5; option `scale`).
4. All models are averaged with N_k / N, BatchNorm statistics too, as eq. (16) has it (FEDDISK-A16).
5. `control` puts the weights in question: `shuffled` over a client's samples, or its `mean` for all.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from fedlib import seeds
from fedlib.engine import Batch, Objective, cross_entropy
from fedlib.errors import check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, refuse_mixup
from fedlib.federation.client_updates import (
    finish_round,
    initial_state,
    restarted,
    sample_shares,
    train_cohort,
)
from fedlib.methods.feddisk import phase1
from fedlib.methods.feddisk.density_models import MadeSettings
from fedlib.methods.feddisk.density_ratio import FEEDS, SCALES, RatioSettings, odds
from fedlib.run import Run

_CHOICES = {
    "made_optimizer": ("adagrad", "sgd"), "feed": FEEDS, "scale": SCALES,
    "control": ("none", "shuffled", "mean"),
}  # fmt: skip
_COUNTS = (
    "made_max_rounds", "made_patience", "made_batch_size", "ratio_hidden", "ratio_max_epochs",
    "ratio_patience", "ratio_batch_size",
)  # fmt: skip


@dataclass(frozen=True)
class FedDisk(Method):
    """FedAvg whose clients weight their samples by estimated density ratios.

    State: `memory["alpha"]` and `memory["h"]` [R, n], for every position in `task.train` (1 and NaN
    where a replica does not use the sample); before round 0 the progress of phase 1.
    """

    made_hidden: int = 30  # 50, 400 and 30 for Chest X-ray, FEMNIST and MNIST (sec. VI.B.3)
    made_optimizer: str = "adagrad"  # or "sgd" (FEDDISK-A9)
    made_learning_rate: float = 0.01
    made_batch_size: int = 100
    made_max_rounds: int = 500  # of the global MADE, and epochs of the local ones (sec. VI.B.3)
    made_patience: int = 5  # rounds or epochs without a new minimum (FEDDISK-A11)
    ratio_hidden: int = 100  # sec. VI.B.4
    ratio_learning_rate: float = 0.01
    ratio_batch_size: int = 32
    ratio_max_epochs: int = 200  # FEDDISK-A27, as the next two
    ratio_patience: int = 5
    ratio_least: float = 1e-3
    feed: str = "local"  # or "global": which MADE output h weighs (FEDDISK-A3)
    scale: str = "mean1"  # or "raw", "minmax" (FEDDISK-A5)
    control: str = "none"  # or "shuffled", "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, allowed in _CHOICES.items():
            check_name(f"{option} of method 'feddisk'", getattr(self, option), allowed)
        for option in _COUNTS:
            value = getattr(self, option)
            check(value >= 1, f"{option}={value} given for method 'feddisk'; allowed: 1 or more")
        for option in ("made_learning_rate", "ratio_learning_rate"):
            value = getattr(self, option)
            check(value > 0, f"{option}={value} given for method 'feddisk'; allowed: above 0")
        given = self.ratio_least
        check(given >= 0, f"ratio_least={given} given for method 'feddisk'; allowed: 0 or more")

    def check(self, run: Run) -> None:
        refuse_mixup("feddisk", run)

    def init(self, task: Task) -> ServerState:
        """The state before phase 1, or after it if this process has done it already."""
        self.check(task.run)
        state, known = initial_state(task), phase1.recall(task, self.plan)
        if known is not None:
            return self._weigh(task, state, known)
        return self._before(task, state, phase1.begin(task, self.plan))

    def pretrain(self, task: Task, state: ServerState) -> tuple[ServerState, dict[int, str]]:
        """Some epochs or rounds of phase 1; the last of them gives the weights."""
        progress = phase1.advance(task, self.plan, state.memory)
        if phase1.steps_left(task, self.plan, progress):
            return self._before(task, state, progress), progress["failed"]
        return self._weigh(task, state, phase1.finish(task, self.plan, progress)), progress["failed"]

    def start(self, task: Task) -> ServerState:
        """The state before round 1: all of phase 1 in one call; UsageError if it diverged."""
        state = self.init(task)
        while state.round < 0:
            state, failed = self.pretrain(task, state)
            check(not failed, next(iter(failed.values()), ""))
        return state

    def _before(self, task: Task, state: ServerState, progress: phase1.Progress) -> ServerState:
        return replace(state, round=-phase1.steps_left(task, self.plan, progress), memory=progress)

    def _weigh(self, task: Task, state: ServerState, found: phase1.PhaseOne) -> ServerState:
        h = found.h[self.feed]
        alpha = self.sample_weights(task, h)
        report = {**found.columns, **phase1.weight_columns(task, h, alpha, found.log_ratio)}
        return replace(state, round=0, memory={"alpha": alpha, "h": h, "phase1": report})

    def restart(self, task: Task, state: ServerState) -> ServerState:
        """The initial models; the density ratios stay."""
        return restarted(task, state)

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        alpha = state.memory["alpha"]

        def losses(outputs: Tensor, batch: Batch) -> Tensor:
            return alpha[batch.replica[..., None], batch.index] * cross_entropy(outputs, batch)  # eq. (9)

        weighted = replace(task, trainer=replace(task.trainer, objective=Objective(losses)))
        trained = train_cohort(weighted, state, cohort)
        shares = sample_shares(task, cohort)
        return finish_round(task, state, cohort, trained, shares)  # eq. (16), statistics too (A16)

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        """Phase 1 for the row of round 0; lists and tables are JSON.

        made_rounds: ECR of the global MADE, its best round; uplink_bytes, downlink_bytes: all
        rounds run, those of the patience too, each one message up and one down, as eq. (19) counts. The
        last average has to be sent once more, to be validated, and gd for u_glob is one of them: that
        download is not counted. Per client: the best epoch of the local MADE, the epochs that h took,
        quantiles (0, 1/4, 1/2, 3/4, 1) of h and alpha, effective sample size, and how alpha
        agrees with the ratio that the MADEs give (`phase1.weight_columns`).
        """
        return state.memory["phase1"]

    @property
    def plan(self) -> phase1.Plan:
        """All that decides phase 1 beside the task."""
        return phase1.Plan(self.made, self.ratio)

    @property
    def made(self) -> MadeSettings:
        """The settings of the density models."""
        return MadeSettings(
            self.made_hidden, self.made_optimizer, self.made_learning_rate, self.made_batch_size,
            self.made_max_rounds, self.made_patience,
        )  # fmt: skip

    @property
    def ratio(self) -> RatioSettings:
        """The settings of the ratio classifiers."""
        return RatioSettings(
            self.ratio_hidden, self.ratio_learning_rate, self.ratio_batch_size, self.ratio_max_epochs,
            self.ratio_patience, self.ratio_least,
        )  # fmt: skip

    def sample_weights(self, task: Task, h: Tensor) -> Tensor:
        """alpha [R, n] from h [R, n] (step 5); 1 where a replica does not use the sample."""
        alpha = torch.ones_like(h)
        for replica, lists in enumerate(task.clients):
            for client, index in enumerate(lists):
                at = torch.from_numpy(index).to(h.device)
                ratio = SCALES[self.scale](odds(h[replica, at]))  # p / q_k, eq. (15)
                if self.control == "shuffled":
                    rng = seeds.rng(task.seeds[replica], "method", "alpha-shuffle", client)
                    ratio = ratio[torch.from_numpy(rng.permutation(len(index))).to(h.device)]
                elif self.control == "mean":
                    ratio = ratio.mean().expand_as(ratio)
                alpha[replica, at] = ratio
        return alpha
