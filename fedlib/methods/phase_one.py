"""FedDisk, phase 1 as a whole: from a task to h of every sample, and what is told about it.

Runs of a grid that differ in phase 2 only (scale, clip, control, feed, rounds) have the same phase 1:
it is a pure function of images, clients, seeds and settings, and takes longer than some grids'
rounds. The last ones are therefore kept in the process, under the digest of all that they depend on:
as many as a grid has data sets, so that what comes after all of them finds its own.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import stats
from torch import Tensor

from fedlib.federation import Task, model_bytes, sample_shares, uniform_shares
from fedlib.federation.cohort import sample_cohort
from fedlib.methods.densities import Fitted, MadeSettings, fit_global_made, fit_local_mades
from fedlib.methods.ratio import FEEDS, RatioSettings, effective_sample_size, fit_ratio, made_outputs

DENSITIES = {"mixture": sample_shares, "sum": uniform_shares}  # how the global MADE is averaged
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class PhaseOne:
    """h[feed], log_ratio: [R, n], NaN where a replica does not use the sample. columns: [R] values each."""

    h: dict[str, Tensor]
    log_ratio: Tensor
    columns: dict[str, list[Any]]


_KEPT = 4
_last: dict[str, PhaseOne] = {}  # oldest first


def phase_one(task: Task, made: MadeSettings, ratio: RatioSettings, density: str) -> PhaseOne:
    """Steps 2 to 4 of the method for all replicas of a task, unless they are among the last asked for."""
    key = _digest(task, made, ratio, density)
    if key not in _last:
        if len(_last) >= _KEPT:
            _last.pop(next(iter(_last)))
        _last[key] = _compute(task, made, ratio, density)
    return _last[key]


def _digest(task: Task, made: MadeSettings, ratio: RatioSettings, density: str) -> str:
    parts = (task.device, task.seeds, task.run.local_epochs, made, ratio, density)
    digest = hashlib.sha256(repr(parts).encode())
    digest.update(repr([task.train.inputs.shape, task.train.inputs.dtype]).encode())
    digest.update(task.train.inputs.cpu().contiguous().numpy().data)
    for lists in task.clients:
        for index in lists:
            digest.update(index.tobytes() + b"|")
    return digest.hexdigest()


def _compute(task: Task, made: MadeSettings, ratio: RatioSettings, density: str) -> PhaseOne:
    everyone = sample_cohort(task.seeds, 0, task.run.num_clients, task.run.num_clients)
    local = fit_local_mades(task, made)  # ld_k
    shared = fit_global_made(task, made, DENSITIES[density](task, everyone))  # gd
    h, log_ratio, epochs = _ratios(task, made, ratio, local, shared)
    return PhaseOne(h, log_ratio, _course(task, local, shared, epochs))


def _ratios(
    task: Task, made: MadeSettings, ratio: RatioSettings, local: Fitted, shared: Fitted
) -> tuple[dict[str, Tensor], Tensor, list[list[int]]]:
    """h and the MADEs' log ratio, and the classifiers' epochs; replica by replica, to bound memory."""
    shape = (len(task.runs), len(task.train.labels))
    tables = {name: torch.full(shape, torch.nan, device=task.device) for name in (*FEEDS, "log_ratio")}
    epochs = []
    for replica, lists in enumerate(task.clients):
        outputs = made_outputs(task, made, local, shared, replica)
        values, taken = fit_ratio(task, ratio, outputs, replica)
        at = torch.from_numpy(np.concatenate(lists)).to(task.device)
        for name, found in {**values, "log_ratio": outputs.log_ratio}.items():
            tables[name][replica, at] = found
        epochs.append(taken.tolist())
    return tables, tables.pop("log_ratio"), epochs


def _course(task: Task, local: Fitted, shared: Fitted, ratio_epochs: list[list[int]]) -> dict[str, list[Any]]:
    """What phase 1 sent and how its training went."""
    clients, columns = task.run.num_clients, []
    for replica in range(len(task.runs)):
        train, held = (losses[:, replica] for losses in (shared.train_loss, shared.validation_loss))
        rounds = int(held.isfinite().sum())
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
    return float(stats.spearmanr(one.cpu().numpy(), other.cpu().numpy()).statistic)


def _quantiles(values: Tensor) -> Tensor:
    levels = torch.tensor(_QUANTILES, dtype=torch.float64, device=values.device)
    return torch.quantile(values.double(), levels)


def _json(values: Tensor) -> str:
    """Nested lists of numbers with six digits."""
    shortened = [float(f"{value:.6g}") for value in values.flatten().tolist()]
    return json.dumps(torch.tensor(shortened, dtype=torch.float64).view(values.shape).tolist())
