"""Local objectives: per-sample losses of the model's outputs.

An objective sees leading lane axes [*C] (none for one client), so that the same few lines
serve the loop, vmap and stacked backends. The engine averages over real samples and adds
what a `LocalRule` adds. A method extends it without touching the engine:

- sample weights (FedDisk): `losses` multiplies by `alpha[batch.replica, batch.index]`;
- mixed inputs (Balanced-MixUp): `inputs` gathers two samples and returns soft targets;
- two heads (FedROD): the model returns both logits and `losses` adds two terms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from fedlib.engine.batches import Batch, Samples

Losses = Callable[[Any, Batch], Tensor]
Inputs = Callable[[Samples, Batch], tuple[Tensor, Batch]]


def cross_entropy(outputs: Tensor, batch: Batch) -> Tensor:
    """[*C, B] cross-entropy in nats of logits [*C, B, classes] with hard or soft targets."""
    targets = batch.targets
    if targets.is_floating_point():
        return -(targets * F.log_softmax(outputs, dim=-1)).sum(dim=-1)
    if outputs.ndim == 3:
        return _StackedCrossEntropy.apply(outputs, targets)
    return F.cross_entropy(outputs, targets, reduction="none")


class _StackedCrossEntropy(torch.autograd.Function):
    """-log softmax(logits)[target], whose gradient is softmax - one-hot.

    The same numbers as PyTorch's with half of its operations: for small networks these cost as much
    as the products (benchmarks/NOTES.md, note 9).
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        logs, targets = F.log_softmax(logits, dim=-1), targets.unsqueeze(-1)
        ctx.save_for_backward(logs, targets)
        return logs.gather(-1, targets).squeeze(-1).neg_()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        logs, targets = ctx.saved_tensors
        grad = grad.unsqueeze(-1)
        return logs.exp().mul_(grad).scatter_add_(-1, targets, -grad), None


@dataclass(frozen=True)
class Objective:
    """losses(outputs, batch) -> [*C, B]; inputs(samples, batch) -> (x [*C, B, ...], batch)."""

    losses: Losses = cross_entropy
    inputs: Inputs | None = None


def batch_mean(losses: Tensor, share: Tensor) -> Tensor:
    """[*C] mean of per-sample losses [*C, B] over the real samples; share: mask over their number."""
    return (losses * share).sum(dim=-1)
