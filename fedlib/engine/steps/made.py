"""The step of a MADE, written out: no autograd, and masks that are applied to gradients only.

A chain of masked linear layers keeps its weights at `weight * mask`, so neither the forward nor the
backward pass has to make that product; the likelihood's gradient at the logits is `u - x`. For the
small batches of a client, 784-30-784 units, autograd and the products with the masks took half of a
step (benchmarks/NOTES.md, note 21). The numbers are those of `engine.steps.autograd.PrefixStep`, bit for
bit for weights inside the masks; those outside are 0. A test holds that.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fedlib.engine.batches import Batch
from fedlib.engine.layers.stacked import StackedFlatten, StackedMaskedLinear
from fedlib.engine.objective import batch_mean
from fedlib.engine.steps.autograd import PrefixStep
from fedlib.models.made import negative_log_likelihood


def density_losses(logits: Tensor, batch: Batch) -> Tensor:
    """[*C, B] negative log-likelihoods in nats of `batch.targets` [*C, B, D] under a MADE's logits."""
    return negative_log_likelihood(logits, batch.targets)


def masked_chain_of(module: nn.Module) -> list[tuple[str, Tensor]] | None:
    """(name, mask) of the layers of Flatten, MaskedLinear, ReLU, MaskedLinear …; None for other models."""
    if not isinstance(module, nn.Sequential) or len(module) % 2 or type(module[0]) is not StackedFlatten:
        return None
    kinds = [type(layer) for layer in module]
    if {*kinds[1::2]} != {StackedMaskedLinear} or {*kinds[2::2]} - {nn.ReLU}:
        return None
    names = [*module.named_children()][1::2]
    return None if any(layer.bias is None for _, layer in names) else [(n, m.mask) for n, m in names]


class DensityStep(PrefixStep):
    """`PrefixStep` for a chain of masked linear layers and `density_losses`, with any local optimiser.

    Without a local rule, whose tensors might not be 0 outside the masks.
    """

    def __init__(self, trainer, part, rule, rate) -> None:
        super().__init__(trainer, part, rule, rate)
        for leaf in self.leaves:
            leaf.requires_grad_(False)
        self.grads = {name: torch.empty_like(leaf) for name, leaf in self.params.items()}
        self.outputs: list[Tensor] = []
        self.layers = []
        for name, mask in masked_chain_of(trainer.forward.model.module):
            weight, bias = self.params[f"{name}.weight"], self.params[f"{name}.bias"]
            weight.mul_(mask)
            slopes = self.grads[f"{name}.weight"], self.grads[f"{name}.bias"]
            self.layers.append((weight, bias.unsqueeze(1), mask, *slopes))

    @torch.no_grad()
    def __call__(self, x: Tensor, batch: Batch, share: Tensor, full: bool) -> Tensor:
        if not self.outputs or self.outputs[0].shape[1] != x.shape[1]:
            self._make_room(x)
        inputs = []
        for at, (weight, bias, *_) in enumerate(self.layers):
            x = x.relu_() if at else x
            inputs.append(x)
            x = torch.baddbmm(bias, x, weight.transpose(1, 2), out=self.outputs[at])
        losses = batch_mean(self._losses(x, batch.targets), share)
        self._backward(inputs, x.sigmoid_().sub_(batch.targets).mul_(share.unsqueeze(-1)))
        self._descend([*self.grads.values()])
        return losses

    def _make_room(self, x: Tensor) -> None:
        """Memory that all steps share: for megabytes a step, asking for it anew costs a fifth of it."""
        self.outputs = [x.new_empty(*x.shape[:2], len(mask)) for _, _, mask, *_ in self.layers]
        self.terms = torch.empty_like(self.outputs[-1])

    def _losses(self, logits: Tensor, x: Tensor) -> Tensor:
        """[C, B] `sum_d log(1 + e^z_d) - x_d z_d`, which is `negative_log_likelihood` in half the time."""
        losses = torch.ops.aten.softplus(logits, out=self.terms).sum(dim=-1)
        return losses.sub_(torch.mul(logits, x, out=self.terms).sum(dim=-1))

    def _backward(self, inputs: list[Tensor], grad: Tensor) -> None:
        """Fill `grads` from the gradient [C, B, D] at the logits."""
        for at in range(len(self.layers) - 1, -1, -1):
            weight, _, mask, slope, bias_slope = self.layers[at]
            torch.bmm(grad.transpose(1, 2), inputs[at], out=slope)
            slope.mul_(mask)
            torch.sum(grad, dim=1, out=bias_slope)
            if at > 0:
                grad = torch.ops.aten.threshold_backward(torch.bmm(grad, weight), inputs[at], 0)
