"""What a client minimises: per-sample losses of the model's outputs, and nothing else.

An objective sees leading row axes [*C] (none for one client), so that the same few lines
serve the loop, vmap and stacked backends. The engine averages over real samples and adds
FedProx's term. A method extends it without touching the engine:

- sample weights (FedDisk): `losses` multiplies by `alpha[batch.replica, batch.index]`;
- mixed inputs (Balanced-MixUp): `inputs` gathers two samples and returns soft targets;
- two heads (FedROD): the model returns both logits and `losses` adds two terms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from fedlib.local.batches import Batch, Samples

Losses = Callable[[Any, Batch], Tensor]
Inputs = Callable[[Samples, Batch], tuple[Tensor, Batch]]


def cross_entropy(outputs: Tensor, batch: Batch) -> Tensor:
    """[*C, B] cross-entropy in nats of logits [*C, B, classes] with hard or soft targets."""
    targets = batch.targets
    if targets.is_floating_point():
        return -(targets * F.log_softmax(outputs, dim=-1)).sum(dim=-1)
    losses = F.cross_entropy(outputs.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view(targets.shape)


@dataclass(frozen=True)
class Objective:
    """losses(outputs, batch) -> [*C, B]; inputs(samples, batch) -> (x [*C, B, ...], batch)."""

    losses: Losses = cross_entropy
    inputs: Inputs | None = None


def batch_mean(losses: Tensor, mask: Tensor) -> Tensor:
    """[*C] mean of per-sample losses [*C, B] over the real samples."""
    return (losses * mask).sum(dim=-1) / mask.sum(dim=-1)
