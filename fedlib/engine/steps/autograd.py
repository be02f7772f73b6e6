"""A training step by autograd, for the lanes that still have steps to do.

It touches tensors that stay where they are, so the same few lines run eagerly (`fedlib.engine.eager`)
and are recorded as CUDA graphs (`fedlib.engine.cuda_graphs`).
"""

import torch
from torch import Tensor

from fedlib.engine.batches import Batch
from fedlib.engine.hardware.precision import type_of_products
from fedlib.engine.local_rule import LocalRule
from fedlib.engine.objective import batch_mean
from fedlib.engine.state import LocalState
from fedlib.engine.trainer import Trainer


class PrefixStep:
    """A step of SGD (or another local optimiser) for the lanes of `part`, changed in place.

    rule: what is added to the gradients. rate: a float, or [C] where lanes differ.
    """

    def __init__(
        self, trainer: Trainer, part: LocalState, rule: LocalRule | None, rate: float | Tensor
    ) -> None:
        self.trainer, self.part, self.rule, self.rate = trainer, part, rule, rate
        self.params = {name: tensor.detach() for name, tensor in part.params.items()}
        self.fused = trainer.fused_updates(self.params, rule, rate)
        self.names = [name for name in self.params if name not in self.fused]
        self.leaves = [self.params[name].requires_grad_() for name in self.names]
        self.ones = torch.ones(len(part.steps), device=part.steps.device)
        self.bind()

    def bind(self) -> None:
        """Put this step's tensors into the model (evaluation and other steps bind their own)."""
        self.trainer.forward.bind(
            self.params, self.part.buffers, training=True, updates=self.fused,
            products_in=type_of_products(self.trainer.precision),
        )  # fmt: skip

    def __call__(self, x: Tensor, batch: Batch, share: Tensor, full: bool) -> Tensor:
        """The lanes' mean losses [C] before the step. share [C, B]: mask over the number of real samples."""
        outputs = self.trainer.forward.outputs(x, batch, full)
        losses = batch_mean(self.trainer.objective.losses(outputs, batch), share)
        found = torch.autograd.grad(losses, self.leaves, self.ones, allow_unused=True)
        with torch.no_grad():
            self._descend(found)
        return losses.detach()

    def _descend(self, found: tuple[Tensor | None, ...]) -> None:
        """Update the leaves; a gradient is None where a user's forward pass leaves a parameter unused."""
        pairs = list(zip(self.leaves, found, strict=True))
        grads = [torch.zeros_like(leaf) if grad is None else grad for leaf, grad in pairs]
        if self.rule is not None:
            self.rule.add_to(dict(zip(self.names, grads, strict=True)), self.params)
        optimizer = self.trainer.optimizer
        if decay := optimizer.options.get("weight_decay", 0.0):
            used = [at for at, grad in enumerate(found) if grad is not None]  # as torch.optim has it
            torch._foreach_add_([grads[at] for at in used], [self.leaves[at] for at in used], alpha=decay)
        self.part.steps.add_(1)
        optimizer.update(self.leaves, grads, self.part.optimizer, self.rate, self.part.steps)
