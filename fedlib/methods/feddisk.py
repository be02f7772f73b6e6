"""FedDisk: density ratios as sample weights.

H. Nguyen, P. Wu, J. M. Chang, "Federated Learning for distribution skewed data using sample
weights", IEEE TAI, manuscript TAI-2023-May-A-00417, section IV.

Clients differ in q_k(x) and share p(y|x), so the global risk is the sum of client risks in which a
sample counts `alpha(x) = p(x) / q_k(x)`, eqs. (2) to (9).

* Phase 1 (`init`): local and global MADEs (`densities`), ratio classifiers and weights (`ratio`). It
  ends before round 1; its traffic and its course are in the row of round 0.
* Phase 2 (`apply`): FedAvg with the weights in the local loss, eqs. (9) and (16).

Departures and readings
1. p is the mixture sum_i c_i q_i; eq. (10) drops c_i (FEDDISK-A1, A2; option `density`).
2. h gets the local MADE's output, as the paper says, although its odds are then no density ratio
   (FEDDISK-A3, A4; option `feed`). Rows tell the spread of h, of alpha and the effective sample size.
3. h is clipped and alpha divided by the client's mean (FEDDISK-A5; options `clip`, `scale`).
4. `control` puts the weights in question: `shuffled` over a client's samples, or its `mean` for all.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from fedlib.errors import check, check_name
from fedlib.federation import (
    Cohort,
    Diagnostics,
    ServerState,
    Task,
    finish_round,
    initial_state,
    method_rng,
    model_bytes,
    sample_shares,
    train_cohort,
    uniform_shares,
)
from fedlib.federation.cohort import sample_cohort
from fedlib.local import Batch, Objective, cross_entropy
from fedlib.methods.densities import Fitted, MadeSettings, fit_global_made, fit_local_mades
from fedlib.methods.ratio import (
    FEEDS,
    SCALES,
    RatioSettings,
    effective_sample_size,
    fit_ratio,
    made_outputs,
    odds,
)

DENSITIES = {"mixture": sample_shares, "sum": uniform_shares}  # how the global MADE is averaged
_CHOICES = {
    "made_optimizer": ("adagrad", "sgd"), "density": DENSITIES, "feed": FEEDS, "scale": SCALES,
    "control": ("none", "shuffled", "mean"),
}  # fmt: skip
_COUNTS = (
    "made_max_rounds", "made_patience", "made_batch_size", "ratio_hidden", "ratio_max_epochs",
    "ratio_patience", "ratio_batch_size",
)  # fmt: skip
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class FedDisk:
    """FedAvg whose clients weight their samples by estimated density ratios.

    State: `memory["alpha"]` and `memory["h"]` [R, n], for every position in `task.train` (1 and NaN
    where a replica does not use the sample).
    """

    made_hidden: int = 30  # 50, 400 and 30 for Chest X-ray, FEMNIST and MNIST (sec. VI.B.3)
    made_optimizer: str = "adagrad"  # or "sgd" (FEDDISK-A9)
    made_learning_rate: float = 0.01
    made_batch_size: int = 100
    made_max_rounds: int = 500  # of the global MADE, and epochs of the local ones (sec. VI.B.3)
    made_patience: int = 5  # rounds or epochs without a new minimum (FEDDISK-A11)
    mask_seed: int = 0  # one ordering and mask for clients, server and seeds (FEDDISK-A7)
    binarize: bool = False  # pixels rounded to 0 or 1 for the MADEs (FEDDISK-A6)
    ratio_hidden: int = 100  # sec. VI.B.4
    ratio_learning_rate: float = 0.01
    ratio_batch_size: int = 32
    ratio_max_epochs: int = 200  # FEDDISK-A27, as the next two
    ratio_patience: int = 5
    ratio_least: float = 1e-3
    density: str = "mixture"  # or "sum": p = sum_i q_i as printed (FEDDISK-A1)
    feed: str = "local"  # or "global", "mean": which MADE output h weighs (FEDDISK-A3)
    scale: str = "mean1"  # or "raw", "minmax" (FEDDISK-A5)
    clip: float = 0.01  # h is kept within [clip, 1 - clip]
    control: str = "none"  # or "shuffled", "mean"

    def __post_init__(self) -> None:
        for option, allowed in _CHOICES.items():
            check_name(f"{option} of method 'feddisk'", getattr(self, option), allowed)
        check(0 < self.clip < 0.5, f"clip={self.clip} given for method 'feddisk'; allowed: in (0, 0.5)")
        for option in _COUNTS:
            value = getattr(self, option)
            check(value >= 1, f"{option}={value} given for method 'feddisk'; allowed: 1 or more")
        for option in ("made_learning_rate", "ratio_learning_rate"):
            value = getattr(self, option)
            check(value > 0, f"{option}={value} given for method 'feddisk'; allowed: above 0")

    def init(self, task: Task) -> ServerState:
        everyone = sample_cohort(task.seeds, 0, task.run.num_clients, task.run.num_clients)
        local = fit_local_mades(task, self.made)  # ld_k
        shared = fit_global_made(task, self.made, DENSITIES[self.density](task, everyone))  # gd
        h, epochs = self._ratios(task, local, shared)
        alpha = self.sample_weights(task, h)
        report = _report(task, local, shared, epochs, h, alpha)
        return replace(initial_state(task), memory={"alpha": alpha, "h": h, "phase1": report})

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, Diagnostics]:
        alpha = state.memory["alpha"]

        def losses(outputs: Tensor, batch: Batch) -> Tensor:
            return alpha[batch.replica[..., None], batch.index] * cross_entropy(outputs, batch)  # eq. (9)

        weighted = replace(task, trainer=replace(task.trainer, objective=Objective(losses)))
        trained = train_cohort(weighted, state, cohort)
        return finish_round(task, state, cohort, trained, sample_shares(task, cohort))  # eq. (16)

    def initial_columns(self, task: Task, state: ServerState) -> dict[str, list[Any]]:
        """Phase 1 for the row of round 0; lists and tables are JSON.

        made_rounds: ECR of the global MADE, its best round; uplink_bytes, downlink_bytes: all
        rounds run, those of the patience too. Per client: epochs of the local MADE and of h,
        quantiles (0, 1/4, 1/2, 3/4, 1) of h and alpha, effective sample size.
        """
        return state.memory["phase1"]

    @property
    def made(self) -> MadeSettings:
        """The settings of the density models."""
        return MadeSettings(
            self.made_hidden, self.made_optimizer, self.made_learning_rate, self.made_batch_size,
            self.made_max_rounds, self.made_patience, self.mask_seed, self.binarize,
        )  # fmt: skip

    @property
    def ratio(self) -> RatioSettings:
        """The settings of the ratio classifiers."""
        return RatioSettings(
            self.ratio_hidden, self.ratio_learning_rate, self.ratio_batch_size, self.ratio_max_epochs,
            self.ratio_patience, self.ratio_least, self.feed,
        )  # fmt: skip

    def _ratios(self, task: Task, local: Fitted, shared: Fitted) -> tuple[Tensor, list[list[int]]]:
        """h [R, n] of every sample, and the classifiers' epochs; replica by replica, to bound memory."""
        h = torch.full((len(task.runs), len(task.train.labels)), torch.nan, device=task.device)
        epochs = []
        for replica, lists in enumerate(task.clients):
            outputs = made_outputs(task, self.made, local, shared, replica)
            values, taken = fit_ratio(task, self.ratio, outputs, replica)
            for client, index in enumerate(lists):
                at = torch.from_numpy(index).to(task.device)
                h[replica, at] = values[outputs.starts[client] : outputs.starts[client + 1]]
            epochs.append(taken.tolist())
        return h, epochs

    def sample_weights(self, task: Task, h: Tensor) -> Tensor:
        """alpha [R, n] from h [R, n] (step 5); 1 where a replica does not use the sample."""
        alpha = torch.ones_like(h)
        for replica, lists in enumerate(task.clients):
            for client, index in enumerate(lists):
                at = torch.from_numpy(index).to(h.device)
                ratio = odds(h[replica, at], self.clip)  # p / q_k, eq. (15)
                if self.density == "sum":
                    ratio = ratio * len(lists)  # the uniform mixture times K is sum_i q_i
                ratio = SCALES[self.scale](ratio)
                if self.control == "shuffled":
                    rng = method_rng(task, replica, "alpha-shuffle", client)
                    ratio = ratio[torch.from_numpy(rng.permutation(len(index))).to(h.device)]
                elif self.control == "mean":
                    ratio = ratio.mean().expand_as(ratio)
                alpha[replica, at] = ratio
        return alpha


def _report(
    task: Task, local: Fitted, shared: Fitted, ratio_epochs: list[list[int]], h: Tensor, alpha: Tensor
) -> dict[str, list[Any]]:
    """Columns of the row of round 0, [R] values each."""
    clients, columns = task.run.num_clients, []
    for replica in range(len(task.runs)):
        train, held = (losses[:, replica] for losses in (shared.train_loss, shared.validation_loss))
        rounds = int(held.isfinite().sum())
        sent = model_bytes(shared.params, {}) * clients * rounds
        own = slice(replica * clients, (replica + 1) * clients)
        lists = [torch.from_numpy(index).to(task.device) for index in task.clients[replica]]
        columns.append(
            {
                "uplink_bytes": sent,
                "downlink_bytes": sent,
                "made_rounds": int(shared.best[replica]),
                "made_rounds_run": rounds,
                "made_train_loss": _json(train[:rounds]),
                "made_validation_loss": _json(held[:rounds]),
                "made_local_epochs": json.dumps(local.best[own].tolist()),
                "ratio_epochs": json.dumps(ratio_epochs[replica]),
                "h_quantiles": _json(torch.stack([_quantiles(h[replica, at]) for at in lists])),
                "alpha_quantiles": _json(torch.stack([_quantiles(alpha[replica, at]) for at in lists])),
                "effective_sample_size": json.dumps(
                    [round(effective_sample_size(alpha[replica, at]), 2) for at in lists]
                ),
            }
        )
    return {name: [column[name] for column in columns] for name in columns[0]}


def _quantiles(values: Tensor) -> Tensor:
    return torch.quantile(
        values.double(), torch.tensor(_QUANTILES, dtype=torch.float64, device=values.device)
    )


def _json(values: Tensor) -> str:
    """Nested lists of numbers with six digits."""
    shortened = [float(f"{value:.6g}") for value in values.flatten().tolist()]
    return json.dumps(torch.tensor(shortened, dtype=torch.float64).view(values.shape).tolist())
