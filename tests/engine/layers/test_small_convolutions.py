"""Convolutions of images of a few pixels, written out, against PyTorch's grouped ones."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fedlib.engine.layers.small_convolutions import depthwise, pointwise
from fedlib.engine.layers.stacked import StackedConv2d, StackedModel
from fedlib.models import make_model


def both(ours, theirs, *leaves):
    """Outputs and gradients of two functions of the same leaves, held together."""
    leaves = [leaf.requires_grad_() for leaf in leaves]
    mine, expected = ours(*leaves), theirs(*leaves)
    torch.testing.assert_close(mine, expected)
    out = torch.rand(expected.shape, generator=torch.Generator().manual_seed(1))
    for a, b in zip(
        torch.autograd.grad(mine, leaves, out), torch.autograd.grad(expected, leaves, out), strict=True
    ):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("side", [(1, 1), (2, 2), (1, 3), (3, 4)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("kernel", "padding"), [(3, 1), (5, 2), (1, 0)])
def test_depthwise_is_the_grouped_convolution(side, stride, kernel, padding):
    g = torch.Generator().manual_seed(0)
    x = torch.rand(5, 12, *side, generator=g).to(memory_format=torch.channels_last)
    weight, bias = torch.rand(12, 1, kernel, kernel, generator=g), torch.rand(12, generator=g)
    ways = (stride, stride), (padding, padding)
    both(
        lambda x, w, b: depthwise(x, w, b, *ways),
        lambda x, w, b: F.conv2d(x, w, b, *ways, groups=12),
        x, weight, bias,
    )  # fmt: skip


@pytest.mark.parametrize("side", [(1, 1), (2, 2), (3, 4)])
def test_pointwise_is_the_grouped_convolution(side):
    g = torch.Generator().manual_seed(0)
    x = torch.rand(5, 3 * 4, *side, generator=g).to(memory_format=torch.channels_last)
    weight, bias = torch.rand(3, 6, 4, 1, 1, generator=g), torch.rand(3, 6, generator=g)
    both(
        pointwise,
        lambda x, w, b: F.conv2d(x, w.flatten(0, 1), b.flatten(), groups=3),
        x, weight, bias,
    )  # fmt: skip


def test_mobilenetv2_takes_them(monkeypatch):
    """Its last stages, and gradients equal to those without them."""
    model = make_model("mobilenetv2", image_shape=(3, 32, 32), num_classes=4, generator_seed=0).eval()
    grouped, asked = [], StackedConv2d._grouped
    monkeypatch.setattr(
        StackedConv2d, "_grouped", lambda self, x, *w: grouped.append(x.shape[2]) or asked(self, x, *w)
    )
    x = torch.rand(3, 2 * 3, 32, 32, generator=torch.Generator().manual_seed(0))
    found = []
    for by_products in (None, False):
        stacked = StackedModel(model)
        for layer in stacked.module.modules():
            if isinstance(layer, nn.Conv2d):
                layer.by_products = by_products
        params = {n: p.detach().expand(2, *p.shape).clone() for n, p in model.named_parameters()}
        buffers = {n: b.expand(2, *b.shape).clone() for n, b in model.named_buffers()}
        leaves = {n: p.requires_grad_() for n, p in params.items()}
        stacked.bind(leaves, buffers, training=False)
        found.append(torch.autograd.grad(stacked(x).sum(), list(leaves.values())))
        assert (min(grouped) > 2) == (by_products is None)
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
