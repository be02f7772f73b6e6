"""Client-stacked layers: one module call computes the outputs of C models on C batches.

A model made of known layers is copied once and the class of each layer is replaced by a
stacked one, whose parameters have a leading lane axis. Activations are [B, C * channels,
height, width] up to `Flatten` (so that a grouped convolution serves all lanes and pooling
needs no change) and [C, B, features] after it. The model's own `forward` runs unchanged.
"""

import copy
from collections.abc import Iterator, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlib.engine.layers.fused_sgd import Update
from fedlib.engine.layers.max_pooling import MaxPool2d
from fedlib.engine.layers.reduced import reduced_linear
from fedlib.engine.layers.small_convolutions import depthwise, is_depthwise, is_pointwise, is_small, pointwise
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
    times as long as adding a contiguous one (benchmarks/NOTES.md, note 1). With `update` the
    gradient is never made: the backward pass adds it to the weight (note 8).
    """

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor | None, update: Update | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.update = update
        product = weight.transpose(1, 2)
        return torch.bmm(x, product) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, product)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad_x = torch.bmm(grad, weight) if ctx.needs_input_grad[0] else None
        grad_bias = grad.sum(dim=1) if ctx.needs_input_grad[2] else None
        if ctx.update is None:
            return grad_x, torch.bmm(grad.transpose(1, 2), x), grad_bias, None
        ctx.update(weight, grad, x)  # behind grad_x, which is taken at the old weight
        return grad_x, None, grad_bias, None


def _linear(layer: nn.Module, x: Tensor, weight: Tensor, update: Update | None = None) -> Tensor:
    if layer.products_in is not None:
        return reduced_linear(x, weight, layer.bias, update, layer.products_in)
    return _StackedLinearFunction.apply(x, weight, layer.bias, update)


class StackedLinear(nn.Linear):
    """x [C, B, in], weight [C, out, in], bias [C, out] -> [C, B, out]."""

    update: Update | None = None
    products_in: torch.dtype | None = None  # None: as the weights

    def forward(self, x: Tensor) -> Tensor:
        return _linear(self, x, self.weight, self.update)


class StackedMaskedLinear(MaskedLinear):
    """StackedLinear with the weight entries outside of the layer's mask, the same for all lanes, at 0."""

    products_in: torch.dtype | None = None

    def forward(self, x: Tensor) -> Tensor:
        return _linear(self, x, self.weight * self.mask)


class StackedConv2d(nn.Conv2d):
    """x [B, C * in, H, W], weight [C, out, in / groups, k, k] -> [B, C * out, H', W'].

    by_products: unfold and batched matrix products instead of one grouped convolution; None: by rule.
    """

    by_products: bool | None = None
    products_in: torch.dtype | None = None

    def forward(self, x: Tensor) -> Tensor:
        weight, bias, products = self.weight, self.bias, self.by_products
        if self.products_in is not None:
            x, weight = x.to(self.products_in), weight.to(self.products_in)
            bias = None if bias is None else bias.to(self.products_in)
        if products is None and is_small(x):
            if is_pointwise(self):
                return pointwise(x, weight, bias)
            if is_depthwise(self):
                bias = None if bias is None else bias.flatten()
                return depthwise(x, weight.flatten(0, 1), bias, self.stride, self.padding)
        if products is None:
            pixels = x.shape[2] * x.shape[3]
            products = prefers_products(weight, self.groups, self.dilation, x.device, pixels)
        return self._products(x, weight, bias) if products else self._grouped(x, weight, bias)

    def _grouped(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        groups = self.groups * weight.shape[0]
        bias = None if bias is None else bias.flatten()
        return F.conv2d(x, weight.flatten(0, 1), bias, self.stride, self.padding, self.dilation, groups)

    def _products(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        lanes, out = weight.shape[:2]
        (high, wide), (down, right) = self.kernel_size, self.stride
        x = F.pad(x, (self.padding[1], self.padding[1], self.padding[0], self.padding[0]))
        patches = x.unfold(2, high, down).unfold(3, wide, right).unflatten(1, (lanes, -1))
        batch, sides = patches.shape[0], patches.shape[3:5]  # patches [B, C, in, H', W', k, k]
        columns = patches.permute(1, 2, 5, 6, 0, 3, 4).reshape(lanes, -1, batch * sides.numel())
        product = torch.bmm(weight.flatten(2), columns)
        if bias is not None:
            product = product + bias.unsqueeze(2)
        return product.view(lanes, out, batch, *sides).permute(2, 0, 1, 3, 4).flatten(1, 2)


MOST_PIXELS_BY_PRODUCTS = 16  # on a CPU, in bfloat16


def prefers_products(
    weight: Tensor, groups: int, dilation: tuple[int, ...], device: torch.device, pixels: int
) -> bool:
    """The fixed rule for a layer with weight [C, out, in / groups, k, k] and images of `pixels` pixels.

    On a CPU grouped convolutions win in float32 (benchmarks/NOTES.md, notes 2 and 5), products in
    bfloat16 on the small images that VGG-11 ends with (note 33). On a GPU several
    clients' dense convolutions are batched products, a depthwise one or a single client's is not.
    """
    if groups > 1 or set(dilation) != {1}:
        return False
    if device.type == "cuda":
        return weight.shape[0] > 1
    return weight.dtype == torch.bfloat16 and pixels <= MOST_PIXELS_BY_PRODUCTS


class StackedBatchNorm2d(BatchNorm2d):
    """x [B, C * channels, H, W]; weight, bias and running statistics [C, channels]."""

    def forward(self, x: Tensor) -> Tensor:
        lanes = self.running_mean.shape[0]
        mask = current_sample_mask() if self.training else None
        if self.training:
            self.num_batches_tracked.add_(1)
        if mask is None:
            running = self.running_mean.view(-1), self.running_var.view(-1)
            affine = self.weight.flatten(), self.bias.flatten()
            return F.batch_norm(x, *running, *affine, self.training, self.momentum, self.eps)
        by_lane = x.view(x.shape[0], lanes, -1, *x.shape[2:])
        weights = mask.t()[:, :, None, None, None]
        count = weights.sum(dim=0) * x.shape[2] * x.shape[3]  # [C, 1, 1, 1]
        mean = (by_lane * weights).sum(dim=(0, 3, 4), keepdim=True) / count
        centred = by_lane - mean
        variance = (centred.square() * weights).sum(dim=(0, 3, 4), keepdim=True) / count
        with torch.no_grad():
            unbiased = variance * (count / (count - 1).clamp(min=1))
            self.running_mean.lerp_(mean.view(lanes, -1), self.momentum)
            self.running_var.lerp_(unbiased.view(lanes, -1), self.momentum)
        scale = self.weight[None, :, :, None, None] * (variance + self.eps).rsqrt()
        return (centred * scale + self.bias[None, :, :, None, None]).view(x.shape).to(x.dtype)


class StackedFlatten(nn.Flatten):
    """x [B, C * channels, H, W] -> [C, B, channels * H * W]; [C, B, features] stays."""

    lanes: int

    def forward(self, x: Tensor) -> Tensor:
        return x if x.ndim == 3 else unfold_lanes(x, self.lanes).flatten(2)


class StackedDropout(Dropout):
    """x [C, B, features] or [B, C * channels, H, W]; the masks of `Dropout`, lane by lane."""

    lanes: int

    def forward(self, x: Tensor) -> Tensor:
        if not self.active:
            return x
        by_lane = x if x.ndim == 3 else unfold_lanes(x, self.lanes)
        mask = dropout_mask(
            current_step_key(), self.layer_id, by_lane.shape[1], by_lane[0, 0].numel(), self.p
        )
        scaled = mask.view(by_lane.shape).to(x.dtype) / (1 - self.p)
        return x * (scaled if x.ndim == 3 else scaled.transpose(0, 1).reshape(x.shape))


def fold_lanes(x: Tensor) -> Tensor:
    """[C, B, channels, H, W] -> [B, C * channels, H, W]."""
    return x.transpose(0, 1).flatten(1, 2)


def unfold_lanes(x: Tensor, lanes: int) -> Tensor:
    """[B, C * channels, H, W] -> [C, B, channels, H, W]."""
    return x.view(x.shape[0], lanes, -1, *x.shape[2:]).transpose(0, 1)


STACKED: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: StackedLinear,
    MaskedLinear: StackedMaskedLinear,
    nn.Conv2d: StackedConv2d,
    BatchNorm2d: StackedBatchNorm2d,
    nn.MaxPool2d: MaxPool2d,
    nn.Flatten: StackedFlatten,
    Dropout: StackedDropout,
}
UNCHANGED = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.AvgPool2d, nn.AdaptiveAvgPool2d,
    nn.Identity, RepeatChannels, Resize,
)  # fmt: skip
# By name, since importing torchvision takes seconds.
ELEMENTWISE_CONTAINERS = {"torchvision.models.mobilenetv2.InvertedResidual"}  # x + layers(x)


class StackedModel:
    """The stacked form of a model. `bind` gives it the parameters and buffers of C lanes.

    starts_flat: the first layer flattens, so images may come as vectors. fusable: the names of
    weights whose gradient the backward pass may add at once: of layers that are used once.
    """

    def __init__(self, model: nn.Module) -> None:
        self.module = copy.deepcopy(model)
        for layer in self.module.modules():
            layer.__class__ = STACKED.get(type(layer), type(layer))
        self.convolves = any(isinstance(layer, StackedConv2d) for layer in self.module.modules())
        self.starts_flat = isinstance(first_layer(self.module), StackedFlatten)
        self._owners = {name: _owner(self.module, name) for name, _ in _named_tensors(self.module)}
        self._lane_layers = [
            m for m in self.module.modules() if isinstance(m, (StackedFlatten, StackedDropout))
        ]
        self._product_layers = [m for m in self.module.modules() if hasattr(m, "products_in")]
        self.fusable = frozenset(self._fusable())

    def _fusable(self) -> Iterator[str]:
        layers = [m for _, m in self.module.named_modules(remove_duplicate=False)]
        repeated = len(layers) > len({id(layer) for layer in layers})
        if repeated or any([*m.children()] and not _is_chain(m) for m in layers):
            return
        for name, (owner, local_name) in self._owners.items():
            if type(owner) is StackedLinear and local_name == "weight" and owner.bias is not None:
                yield name

    def bind(
        self,
        params: dict[str, Tensor],
        buffers: dict[str, Tensor],
        *,
        training: bool,
        updates: Mapping[str, Update] | None = None,
        products_in: torch.dtype | None = None,
    ) -> None:
        """Use these [C, ...] tensors, by reference: buffers are updated in place.

        updates: for some of `fusable`, what the backward pass does instead of making their gradient.
        products_in: the type of products, convolutions and activations; None: as the parameters.
        """
        for tensors, registry in ((params, "_parameters"), (buffers, "_buffers")):
            for name, tensor in tensors.items():
                owner, local_name = self._owners[name]
                getattr(owner, registry)[local_name] = tensor
        for name in self.fusable:
            self._owners[name][0].update = (updates or {}).get(name)
        for layer in self._product_layers:
            layer.products_in = products_in
        lanes = len(next(iter(params.values())))
        for layer in self._lane_layers:
            layer.lanes = lanes
        self.module.train(training)

    def __call__(self, x: Tensor) -> Tensor:
        """x [B, C * channels, H, W] images or [C, B, features] vectors."""
        return self.module(x)


def _is_chain(module: nn.Module) -> bool:
    """A container that runs each of its layers once."""
    kind = type(module)
    return isinstance(module, nn.Sequential) or f"{kind.__module__}.{kind.__name__}" in ELEMENTWISE_CONTAINERS


def first_layer(module: nn.Module) -> nn.Module:
    """The layer that gets a model's input, of nested `Sequential`s."""
    while isinstance(module, nn.Sequential) and len(module):
        module = module[0]
    return module


def _named_tensors(module: nn.Module) -> list[tuple[str, Tensor]]:
    return [*module.named_parameters(), *module.named_buffers()]


def _owner(module: nn.Module, name: str) -> tuple[nn.Module, str]:
    path, _, local_name = name.rpartition(".")
    return module.get_submodule(path), local_name
