"""One training step of the rows that still work.

It touches tensors that stay where they are, so the same few lines run eagerly (`fedlib.local.steps`)
and are recorded as CUDA graphs (`fedlib.local.capture`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fedlib.local.batches import Batch
from fedlib.local.objective import batch_mean
from fedlib.local.precision import forward_in

if TYPE_CHECKING:
    from fedlib.local.train import LocalState, Tensors, Trainer


class PrefixStep:
    """A step of SGD (or another local optimiser) for the rows of `part`, changed in place.

    near: parameters w^t [C, ...] of FedProx's term, with strengths proximal [C]. rate: a float, or [C]
    where rows differ.
    """

    def __init__(
        self,
        trainer: Trainer,
        part: LocalState,
        near: Tensors | None,
        proximal: Tensor | None,
        rate: float | Tensor,
    ) -> None:
        self.trainer, self.part, self.rate = trainer, part, rate
        self.params = {name: tensor.detach() for name, tensor in part.params.items()}
        pull = None if near is None else proximal
        self.fused = trainer.fused_updates(self.params, near, pull, rate)
        self.leaves = [t.requires_grad_() for n, t in self.params.items() if n not in self.fused]
        self.near = None if near is None else [t for n, t in near.items() if n not in self.fused]
        self.proximal = proximal
        self.ones = torch.ones(len(part.steps), device=part.steps.device)
        self.device = part.steps.device
        self.bind()

    def bind(self) -> None:
        """Put this step's tensors into the model (evaluation and other steps bind their own)."""
        self.trainer.forward.bind(self.params, self.part.buffers, training=True, updates=self.fused)

    def __call__(self, x: Tensor, batch: Batch, share: Tensor, full: bool) -> Tensor:
        """The rows' mean losses [C] before the step. share [C, B]: mask over the number of real samples."""
        with forward_in(self.trainer.precision, self.device):
            outputs = self.trainer.forward.outputs(x, batch, full)
            losses = batch_mean(self.trainer.objective.losses(outputs, batch), share)
        grads = [*torch.autograd.grad(losses, self.leaves, self.ones)]
        with torch.no_grad():
            self._descend(grads)
        return losses.detach()

    def _descend(self, grads: list[Tensor]) -> None:
        if self.near is not None:  # gradient of (mu / 2) ||w - w^t||^2, FEDDRL-A40
            for grad, w, w_t in zip(grads, self.leaves, self.near, strict=True):
                grad.addcmul_(self.proximal.view(-1, *[1] * (w.ndim - 1)), w - w_t)
        optimizer = self.trainer.optimizer
        if decay := optimizer.options.get("weight_decay", 0.0):
            torch._foreach_add_(grads, self.leaves, alpha=decay)
        self.part.steps.add_(1)
        optimizer.update(self.leaves, grads, self.part.optimizer, self.rate, self.part.steps)
