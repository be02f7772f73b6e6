"""Stacked convolutions of images of a few pixels on a CPU, as MobileNetV2 ends with for 32x32 images.

There PyTorch's grouped convolution takes most of a step: its weight gradient of a depthwise layer on 1x1
and 2x2 images is 10 to 60 times slower than the sum written out here, and a 1x1 convolution is a matrix
product (benchmarks/NOTES.md, note 31). Both give the same numbers up to float32 rounding.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MOST_PIXELS = 4  # of an input image; from 4x4 on the grouped convolution is as fast or faster


def is_small(x: Tensor) -> bool:
    """Whether x [B, channels, H, W] is one of these images."""
    return x.is_cpu and x.shape[2] * x.shape[3] <= MOST_PIXELS


def is_pointwise(layer: nn.Conv2d) -> bool:
    """Whether a layer mixes the channels of single pixels: 1x1, stride 1, no padding, one group."""
    plain = layer.kernel_size == layer.stride == layer.dilation == (1, 1)
    return plain and layer.padding == (0, 0) and layer.groups == 1


def is_depthwise(layer: nn.Conv2d) -> bool:
    """Whether every channel has a filter of its own, with its padding in numbers."""
    own = 1 < layer.groups == layer.in_channels == layer.out_channels
    return own and layer.dilation == (1, 1) and not isinstance(layer.padding, str)


def pointwise(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x [B, C * in, H, W], weight [C, out, in, 1, 1], bias [C, out] -> [B, C * out, H, W]."""
    lanes, out = weight.shape[:2]
    batch, _, height, width = x.shape
    pixels = x.permute(0, 2, 3, 1).reshape(batch * height * width, lanes, -1).transpose(0, 1)
    product = torch.bmm(pixels, weight.view(lanes, out, -1).transpose(1, 2))  # [C, B * H * W, out]
    if bias is not None:
        product = product + bias.unsqueeze(1)
    return product.transpose(0, 1).reshape(batch, height, width, lanes * out).permute(0, 3, 1, 2)


def depthwise(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: tuple[int, int], padding: tuple[int, int]
) -> Tensor:
    """x [B, G, H, W], weight [G, 1, k, k], bias [G] -> [B, G, H', W']."""
    y = _Depthwise.apply(x, weight, stride, padding)
    return y if bias is None else y + bias[:, None, None]


class _Depthwise(torch.autograd.Function):
    """The grouped convolution, whose weight gradient is summed place by place of the kernel."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, stride: tuple, padding: tuple) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.padding = stride, padding
        return F.conv2d(x, weight, None, stride, padding, 1, x.shape[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        by_weight, by_x = torch.zeros_like(weight), None
        for i, rows, from_rows in _overlaps(0, weight, x, gradient, ctx):
            for j, columns, from_columns in _overlaps(1, weight, x, gradient, ctx):
                products = gradient[:, :, rows, columns] * x[:, :, from_rows, from_columns]
                by_weight[:, 0, i, j] = products.sum(dim=(0, 2, 3))
        if ctx.needs_input_grad[0]:
            by_x = torch.ops.aten.convolution_backward(
                gradient, x, weight, None, ctx.stride, ctx.padding, (1, 1), False, (0, 0), x.shape[1],
                (True, False, False),
            )[0]  # fmt: skip
        return by_x, by_weight, None, None


def _overlaps(
    side: int, weight: Tensor, x: Tensor, y: Tensor, ctx: Any
) -> Iterator[tuple[int, slice, slice]]:
    """For each place k of the kernel along a side: where it meets the image, in outputs and in inputs.

    Output p reads input p * stride + k - padding.
    """
    step, pad = ctx.stride[side], ctx.padding[side]
    inputs, outputs = x.shape[2 + side], y.shape[2 + side]
    for k in range(weight.shape[2 + side]):
        first = max(0, -(-(pad - k) // step))
        last = min(outputs - 1, (inputs - 1 + pad - k) // step)
        if first <= last:
            begin = first * step + k - pad
            yield k, slice(first, last + 1), slice(begin, last * step + k - pad + 1, step)
