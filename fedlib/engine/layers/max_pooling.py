"""Max-pooling of windows of 2x2 pixels on a CPU, where no gradient is asked for.

PyTorch's kernel goes from pixel to pixel and branches on their values: half of an evaluation of LeNet. Maxima
of slices are the same numbers, 1.5 to 13 times as fast (benchmarks/NOTES.md, note 42). Training keeps
PyTorch's kernel, whose gradient needs the places of the maxima.
"""

import torch
from torch import Tensor, nn


class MaxPool2d(nn.MaxPool2d):
    """`nn.MaxPool2d`, by slices where that is faster; lanes are channels to it."""

    def forward(self, x: Tensor) -> Tensor:
        by_slices = x.is_cpu and not torch.is_grad_enabled() and _is_two_by_two(self)
        return max_of_four(x) if by_slices else super().forward(x)


def _is_two_by_two(layer: nn.MaxPool2d) -> bool:
    side, stride, padding, dilation = layer.kernel_size, layer.stride, layer.padding, layer.dilation
    plain = padding in (0, (0, 0)) and dilation in (1, (1, 1)) and not layer.ceil_mode
    return plain and side in (2, (2, 2)) and stride in (2, (2, 2)) and not layer.return_indices


def max_of_four(x: Tensor) -> Tensor:
    """x [..., H, W] -> [..., H // 2, W // 2], maxima of windows of 2x2 pixels; an odd last line is left."""
    height, width = (side // 2 * 2 for side in x.shape[-2:])
    rows = torch.maximum(x[..., :height:2, :width], x[..., 1:height:2, :width])
    return torch.maximum(rows[..., ::2], rows[..., 1::2])
