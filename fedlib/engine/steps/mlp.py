"""The step of a chain of fully connected layers, written out: no autograd, ten operations per layer.

For an MLP of 80,000 parameters half of a step's time was bookkeeping (benchmarks/NOTES.md, note 10).
The numbers are those of `fedlib.engine.steps.autograd.PrefixStep`, bit for bit; a test holds that.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlib.engine.batches import Batch
from fedlib.engine.layers.stacked import StackedFlatten, StackedLinear
from fedlib.engine.objective import batch_mean
from fedlib.engine.steps.autograd import PrefixStep


def chain_of(module: nn.Module) -> list[tuple[str, bool]] | None:
    """(name, whether ReLU follows) of the linear layers of Flatten, Linear, ReLU, Linear …; else None."""
    if type(module) is not nn.Sequential or len(module) == 0 or type(module[0]) is not StackedFlatten:
        return None
    layers = list(module.named_children())  # each layer once, also one that stands at two places
    if len(layers) < len(module):
        return None
    chain: list[tuple[str, bool]] = []
    for name, layer in layers[1:]:
        if type(layer) is StackedLinear and layer.bias is not None:
            chain.append((name, False))
        elif type(layer) is nn.ReLU and chain and not chain[-1][1]:
            chain[-1] = (chain[-1][0], True)
        else:
            return None
    return chain or None


class ChainStep(PrefixStep):
    """`PrefixStep` for a chain of linear layers, cross-entropy with hard labels and plain SGD."""

    def __init__(self, trainer, part, rule, rate) -> None:
        super().__init__(trainer, part, rule, rate)
        for leaf in self.leaves:
            leaf.requires_grad_(False)
        self.layers = []
        for name, rectified in chain_of(trainer.forward.model.module):
            weight, bias = self.params[f"{name}.weight"], self.params[f"{name}.bias"]
            views = weight.transpose(1, 2), bias.unsqueeze(1)
            self.layers.append((weight, *views, self.fused[f"{name}.weight"], rectified))

    @torch.no_grad()
    def __call__(self, x: Tensor, batch: Batch, share: Tensor, full: bool) -> Tensor:
        inputs = []
        for _, product, bias, _, rectified in self.layers:
            inputs.append(x)
            x = torch.baddbmm(bias, x, product)
            if rectified:
                x = x.relu_()
        logs, targets = F.log_softmax(x, dim=-1), batch.targets.unsqueeze(-1)
        losses = batch_mean(logs.gather(-1, targets).squeeze(-1).neg_(), share)
        scale = share.unsqueeze(-1)
        self._backward(inputs, logs.exp_().mul_(scale).scatter_add_(-1, targets, -scale))
        return losses

    def _backward(self, inputs: list[Tensor], grad: Tensor) -> None:
        """From the gradient [C, B, out] of the logits: every weight is updated as soon as it has served."""
        slopes = []
        for at in range(len(self.layers) - 1, -1, -1):
            weight, _, _, update, _ = self.layers[at]
            slopes.append(grad.sum(dim=1))
            if at > 0:
                below = torch.bmm(grad, weight)
                if self.layers[at - 1][4]:
                    below = torch.ops.aten.threshold_backward(below, inputs[at], 0)
            update(weight, grad, inputs[at])
            grad = below if at > 0 else grad
        self._descend(slopes[::-1])
