"""Client-stacked layers: one module call computes the outputs of C models on C batches.

A model made of known layers is copied once and the class of each layer is replaced by a
stacked one, whose parameters have a leading row axis. Activations are [B, C * channels,
height, width] up to `Flatten` (so that a grouped convolution serves all rows and pooling
needs no change) and [C, B, features] after it. The model's own `forward` runs unchanged.
"""

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlib.models.layers import (
    BatchNorm2d,
    Dropout,
    RepeatChannels,
    Resize,
    current_sample_mask,
    current_step_key,
    dropout_mask,
)
from fedlib.models.made import MaskedLinear


class _StackedLinearFunction(torch.autograd.Function):
    """The product with a weight gradient in the weight's own layout.

    Autograd's would be a transposed view, and adding that to a 1024 x 512 weight takes ten
    times as long as adding a contiguous one (benchmarks/NOTES.md).
    """

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        product = weight.transpose(1, 2)
        return torch.bmm(x, product) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, product)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad_x = torch.bmm(grad, weight) if ctx.needs_input_grad[0] else None
        grad_bias = grad.sum(dim=1) if ctx.needs_input_grad[2] else None
        return grad_x, torch.bmm(grad.transpose(1, 2), x), grad_bias


class StackedLinear(nn.Linear):
    """x [C, B, in], weight [C, out, in], bias [C, out] -> [C, B, out]."""

    def forward(self, x: Tensor) -> Tensor:
        return _StackedLinearFunction.apply(x, self.weight, self.bias)


class StackedMaskedLinear(MaskedLinear):
    """StackedLinear with the weight entries outside of the layer's mask, the same for all rows, at 0."""

    def forward(self, x: Tensor) -> Tensor:
        return _StackedLinearFunction.apply(x, self.weight * self.mask, self.bias)


class StackedConv2d(nn.Conv2d):
    """x [B, C * in, H, W], weight [C, out, in / groups, k, k] -> [B, C * out, H', W']."""

    def forward(self, x: Tensor) -> Tensor:
        rows = self.weight.shape[0]
        bias = None if self.bias is None else self.bias.flatten()
        return F.conv2d(
            x, self.weight.flatten(0, 1), bias, self.stride, self.padding, self.dilation, self.groups * rows
        )


class StackedBatchNorm2d(BatchNorm2d):
    """x [B, C * channels, H, W]; weight, bias and running statistics [C, channels]."""

    def forward(self, x: Tensor) -> Tensor:
        rows = self.running_mean.shape[0]
        mask = current_sample_mask() if self.training else None
        if self.training:
            self.num_batches_tracked.add_(1)
        if mask is None:
            running = self.running_mean.view(-1), self.running_var.view(-1)
            affine = self.weight.flatten(), self.bias.flatten()
            return F.batch_norm(x, *running, *affine, self.training, self.momentum, self.eps)
        by_row = x.view(x.shape[0], rows, -1, *x.shape[2:])
        weights = mask.t()[:, :, None, None, None]
        count = weights.sum(dim=0) * x.shape[2] * x.shape[3]  # [C, 1, 1, 1]
        mean = (by_row * weights).sum(dim=(0, 3, 4), keepdim=True) / count
        centred = by_row - mean
        variance = (centred.square() * weights).sum(dim=(0, 3, 4), keepdim=True) / count
        with torch.no_grad():
            unbiased = variance * (count / (count - 1).clamp(min=1))
            self.running_mean.lerp_(mean.view(rows, -1), self.momentum)
            self.running_var.lerp_(unbiased.view(rows, -1), self.momentum)
        scale = self.weight[None, :, :, None, None] * (variance + self.eps).rsqrt()
        return (centred * scale + self.bias[None, :, :, None, None]).view(x.shape)


class StackedFlatten(nn.Flatten):
    """x [B, C * channels, H, W] -> [C, B, channels * H * W]; [C, B, features] stays."""

    rows: int

    def forward(self, x: Tensor) -> Tensor:
        return x if x.ndim == 3 else unfold_rows(x, self.rows).flatten(2)


class StackedDropout(Dropout):
    """x [C, B, features] or [B, C * channels, H, W]; the masks of `Dropout`, row by row."""

    rows: int

    def forward(self, x: Tensor) -> Tensor:
        if not self.active:
            return x
        by_row = x if x.ndim == 3 else unfold_rows(x, self.rows)
        mask = dropout_mask(current_step_key(), self.layer_id, by_row.shape[1], by_row[0, 0].numel(), self.p)
        scaled = mask.view(by_row.shape).to(x.dtype) / (1 - self.p)
        return x * (scaled if x.ndim == 3 else scaled.transpose(0, 1).reshape(x.shape))


def fold_rows(x: Tensor) -> Tensor:
    """[C, B, channels, H, W] -> [B, C * channels, H, W]."""
    return x.transpose(0, 1).flatten(1, 2)


def unfold_rows(x: Tensor, rows: int) -> Tensor:
    """[B, C * channels, H, W] -> [C, B, channels, H, W]."""
    return x.view(x.shape[0], rows, -1, *x.shape[2:]).transpose(0, 1)


_STACKED: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: StackedLinear,
    MaskedLinear: StackedMaskedLinear,
    nn.Conv2d: StackedConv2d,
    BatchNorm2d: StackedBatchNorm2d,
    nn.Flatten: StackedFlatten,
    Dropout: StackedDropout,
}
_UNCHANGED = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.MaxPool2d, nn.AvgPool2d,
    nn.AdaptiveAvgPool2d, nn.Identity, RepeatChannels, Resize,
)  # fmt: skip
_ELEMENTWISE_CONTAINERS = {
    "torchvision.models.mobilenetv2.InvertedResidual"
}  # x + layers(x); by name: no import


def unstackable_layers(model: nn.Module) -> list[str]:
    """Class names of the layers without a stacked form; empty: the model can be stacked.

    A container class of one's own is taken if it sets `stackable = True`: its `forward` must
    then treat activations elementwise or through its layers only.
    """
    return sorted({type(module).__name__ for module in model.modules() if not _knows(module)})


def _knows(module: nn.Module) -> bool:
    kind = type(module)
    if kind is nn.Flatten:
        return module.start_dim == 1 and module.end_dim == -1
    if kind is nn.Softmax:
        return module.dim == -1
    if kind is nn.Conv2d and module.padding_mode != "zeros":
        return False
    if kind in _STACKED or kind in _UNCHANGED or isinstance(module, nn.Sequential):
        return True
    return (
        getattr(kind, "stackable", False) or f"{kind.__module__}.{kind.__name__}" in _ELEMENTWISE_CONTAINERS
    )


class StackedModel:
    """The stacked form of a model. `bind` gives it the parameters and buffers of C rows."""

    def __init__(self, model: nn.Module) -> None:
        self.module = copy.deepcopy(model)
        for layer in self.module.modules():
            layer.__class__ = _STACKED.get(type(layer), type(layer))
        self.convolves = any(isinstance(layer, StackedConv2d) for layer in self.module.modules())
        self._owners = {name: _owner(self.module, name) for name, _ in _named_tensors(self.module)}
        self._row_layers = [
            m for m in self.module.modules() if isinstance(m, (StackedFlatten, StackedDropout))
        ]

    def bind(self, params: dict[str, Tensor], buffers: dict[str, Tensor], *, training: bool) -> None:
        """Use these [C, ...] tensors, by reference: buffers are updated in place."""
        for tensors, registry in ((params, "_parameters"), (buffers, "_buffers")):
            for name, tensor in tensors.items():
                owner, local_name = self._owners[name]
                getattr(owner, registry)[local_name] = tensor
        rows = len(next(iter(params.values())))
        for layer in self._row_layers:
            layer.rows = rows
        self.module.train(training)

    def __call__(self, x: Tensor) -> Tensor:
        """x [B, C * channels, H, W] images or [C, B, features] vectors."""
        return self.module(x)


def _named_tensors(module: nn.Module) -> list[tuple[str, Tensor]]:
    return [*module.named_parameters(), *module.named_buffers()]


def _owner(module: nn.Module, name: str) -> tuple[nn.Module, str]:
    path, _, local_name = name.rpartition(".")
    return module.get_submodule(path), local_name
