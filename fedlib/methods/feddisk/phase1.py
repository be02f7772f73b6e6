"""FedDisk, phase 1 as a whole: from a task to h of every sample, and what is told about it.

It goes in steps of a few epochs or rounds, each a function of a task and of plain values (`progress`):
local MADEs, then the global one, then the ratio classifiers of one replica after the other. The round
loop counts these steps as rounds before round 1 and can leave a checkpoint after each; a resumed run
ends bit for bit where the uninterrupted one does.

Runs of a grid that differ in phase 2 only (scale, control, feed, rounds) have the same phase 1,
which a process does once (`fedlib.methods.pretraining_cache`).
"""

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.federation import Task, model_bytes, sample_shares
from fedlib.federation.cohort import sample_cohort
from fedlib.methods.feddisk.density_models import (
    DIVERGED,
    MadeSettings,
    start_global,
    start_local,
    train_global,
    train_local,
)
from fedlib.methods.feddisk.density_ratio import (
    FEEDS,
    RatioSettings,
    effective_sample_size,
    epochs_taken,
    made_outputs,
    probabilities,
    start_ratio,
    train_ratio,
)
from fedlib.methods.feddisk.early_stopping import FitState, Fitted, fitted, steps_taken
from fedlib.methods.pretraining_cache import LruCache, cache_key

STEP = 10  # epochs or rounds from one possible checkpoint to the next
Progress = dict[str, Any]  # plain values and tensors; "failed": replica -> reason
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Plan:
    """Settings of phase 1 beside the task."""

    made: MadeSettings
    ratio: RatioSettings


@dataclass(frozen=True)
class PhaseOne:
    """h[feed], log_ratio: [R, n], NaN where a replica does not use the sample. columns: [R] values each."""

    h: dict[str, Tensor]
    log_ratio: Tensor
    columns: dict[str, list[Any]]


_remembered = LruCache()


def recall(task: Task, plan: Plan) -> PhaseOne | None:
    """A phase 1 that this process has done already, if it is among the last ones."""
    return _remembered.get(_cache_key(task, plan))


def _cache_key(task: Task, plan: Plan) -> Hashable | None:
    return cache_key(task, task.run.local_epochs, task.run.local_steps, plan)


def begin(task: Task, plan: Plan) -> Progress:
    """Before the first epoch of the local MADEs; UsageError for images or clients that cannot be used."""
    return {"stage": "local", "course": vars(start_local(task, plan.made)), "failed": {}}


def steps_left(task: Task, plan: Plan, progress: Progress) -> int:
    """Most calls of `advance` until phase 1 is done; falls with every call, 0 at the end."""
    made, ratio = (-(-most // STEP) for most in (plan.made.max_rounds, plan.ratio.max_epochs))
    done = progress["course"]["step"] // STEP if progress["course"] else 0
    stage, replicas = progress["stage"], len(task.runs)
    if stage == "ratio":
        return (replicas - len(progress["epochs"])) * ratio - done
    return made * (2 if stage == "local" else 1) - done + replicas * ratio


def advance(task: Task, plan: Plan, progress: Progress) -> Progress:
    """The next `STEP` epochs or rounds of the stage that `progress` is in."""
    return _STAGES[progress["stage"]](task, plan, progress)


def _advance_local(task: Task, plan: Plan, progress: Progress) -> Progress:
    course = train_local(task, plan.made, FitState(**progress["course"]), STEP)  # ld_k
    if not course.is_over(plan.made.max_rounds):
        return {**progress, "course": vars(course)}
    failed = progress["failed"] | _without_model(task, course)
    local, course = fitted(course), start_global(task, plan.made)
    return {"stage": "global", "local": vars(local), "course": vars(course), "failed": failed}


def _advance_global(task: Task, plan: Plan, progress: Progress) -> Progress:
    course = train_global(task, plan.made, mixture(task), FitState(**progress["course"]), STEP)  # gd
    if not course.is_over(plan.made.max_rounds):
        return {**progress, "course": vars(course)}
    shape = (len(task.runs), len(task.train.labels))
    tables = {name: torch.full(shape, torch.nan, device=task.device) for name in (*FEEDS, "log_ratio")}
    failed = progress["failed"] | _without_model(task, course)
    found = {"local": progress["local"], "shared": vars(fitted(course)), "tables": tables}
    return _next_replica(task, plan, {"stage": "ratio", **found, "epochs": [], "failed": failed})


def _without_model(task: Task, course: FitState) -> dict[int, str]:
    """Replica -> reason, of those with a density model that never had a finite validation loss."""
    never = (course.patience["at"] == 0).view(len(task.runs), -1).any(dim=1).tolist()
    return {replica: f"failed: {DIVERGED}" for replica, is_without in enumerate(never) if is_without}


def mixture(task: Task) -> Tensor:
    """[R, N] parts c_i = N_i / N of the clients in p, by which the global MADE is averaged (FEDDISK-A1)."""
    return sample_shares(task, sample_cohort(task.seeds, 0, task.run.num_clients, task.run.num_clients))


def _next_replica(task: Task, plan: Plan, progress: Progress) -> Progress:
    """The classifiers of the next replica before their first epoch, if there is one."""
    replica = len(progress["epochs"])
    if replica == len(task.runs):
        return {**progress, "course": {}}
    outputs = made_outputs(task, plan.made, *_fitted(progress), replica)
    return {**progress, "course": vars(start_ratio(task, plan.ratio, outputs, replica))}


def _advance_ratio(task: Task, plan: Plan, progress: Progress) -> Progress:
    """Advance the density ratios, a replica at a time to bound memory."""
    replica = len(progress["epochs"])
    outputs = made_outputs(task, plan.made, *_fitted(progress), replica)
    course = train_ratio(task, plan.ratio, outputs, replica, FitState(**progress["course"]), STEP)
    if not course.is_over(plan.ratio.max_epochs):
        return {**progress, "course": vars(course)}
    found = probabilities(task, plan.ratio, outputs, replica, course)
    tables = {name: table.clone() for name, table in progress["tables"].items()}
    at = torch.from_numpy(np.concatenate(task.clients[replica])).to(task.device)
    for name, values in {**found, "log_ratio": outputs.log_ratio}.items():
        tables[name][replica, at] = values
    failed = dict(progress["failed"])
    if not all(bool(h.isfinite().all()) for h in found.values()):
        why = "failed: a ratio classifier's output is no number; a smaller ratio_learning_rate may help"
        failed.setdefault(replica, why)
    epochs = [*progress["epochs"], epochs_taken(course, plan.ratio).tolist()]
    after = {**progress, "tables": tables, "epochs": epochs, "failed": failed}
    return _next_replica(task, plan, after)


_STAGES = {"local": _advance_local, "global": _advance_global, "ratio": _advance_ratio}


def _fitted(progress: Progress) -> tuple[Fitted, Fitted]:
    return Fitted(**progress["local"]), Fitted(**progress["shared"])


def finish(task: Task, plan: Plan, progress: Progress) -> PhaseOne:
    """Result of phase 1, once no step is left; cached for later runs of this process if no replica failed."""
    h = dict(progress["tables"])
    log_ratio = h.pop("log_ratio")
    found = PhaseOne(h, log_ratio, _course(task, plan, *_fitted(progress), progress["epochs"]))
    if not progress["failed"]:
        _remembered.keep(_cache_key(task, plan), found)
    return found


def _course(
    task: Task, plan: Plan, local: Fitted, shared: Fitted, ratio_epochs: list[list[int]]
) -> dict[str, list[Any]]:
    """Columns of phase 1: bytes sent, losses and epochs.

    A round is a download and an upload per client, as in eq. (19). Each average reaches the clients, who
    validate it, with the next round's download; the one more that the last one needs is not counted.
    """
    clients, columns = task.run.num_clients, []
    taken = steps_taken(shared.best, plan.made.patience, len(shared.train_loss)).tolist()
    for replica in range(len(task.runs)):
        train, held = (losses[:, replica] for losses in (shared.train_loss, shared.validation_loss))
        rounds = taken[replica]
        sent = model_bytes(shared.params, {}) * clients * rounds
        own = slice(replica * clients, (replica + 1) * clients)
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
            }
        )
    return {name: [column[name] for column in columns] for name in columns[0]}


def weight_columns(task: Task, h: Tensor, alpha: Tensor, log_ratio: Tensor) -> dict[str, list[Any]]:
    """Per client: quantiles of h and alpha, effective sample size, and how alpha follows the MADEs' ratio.

    alpha_agreement: Spearman's rank correlation of alpha with `log gd(x) - log ld_k(x)` over the
    client's samples, 0 where all its weights are equal.
    """
    columns = []
    for replica, lists in enumerate(task.clients):
        own = [torch.from_numpy(index).to(task.device) for index in lists]
        columns.append(
            {
                "h_quantiles": _json(torch.stack([_quantiles(h[replica, at]) for at in own])),
                "alpha_quantiles": _json(torch.stack([_quantiles(alpha[replica, at]) for at in own])),
                "effective_sample_size": json.dumps(
                    [round(effective_sample_size(alpha[replica, at]), 2) for at in own]
                ),
                "alpha_agreement": json.dumps(
                    [round(_rank_correlation(alpha[replica, at], log_ratio[replica, at]), 4) for at in own]
                ),
            }
        )
    return {name: [column[name] for column in columns] for name in columns[0]}


def _rank_correlation(one: Tensor, other: Tensor) -> float:
    if float(one.max() - one.min()) == 0 or float(other.max() - other.min()) == 0:
        return 0.0
    from scipy import stats  # slow: a third of the time that a process takes to start

    return float(stats.spearmanr(one.cpu().numpy(), other.cpu().numpy()).statistic)


def _quantiles(values: Tensor) -> Tensor:
    levels = torch.tensor(_QUANTILES, dtype=torch.float64, device=values.device)
    return torch.quantile(values.double(), levels)


def _json(values: Tensor) -> str:
    """Nested lists of numbers with six digits."""
    shortened = [float(f"{value:.6g}") for value in values.flatten().tolist()]
    return json.dumps(torch.tensor(shortened, dtype=torch.float64).view(values.shape).tolist())
