"""Pooling by slices against PyTorch's kernel, bit for bit."""

import pytest
import torch
from torch import nn

from fedlib.engine.layers import max_pooling
from fedlib.engine.layers.max_pooling import MaxPool2d
from fedlib.engine.layers.stacked import StackedModel


def images(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("sides", [(2, 2), (8, 8), (5, 7), (24, 24), (3, 2)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_maxima_are_pytorchs(sides, layout, dtype):
    x = images(3, 4, *sides).to(dtype).contiguous(memory_format=layout)
    x[0, 0, 0, 0], x[1, 1, 1, 1] = float("nan"), float("inf")
    with torch.no_grad():
        ours, theirs = MaxPool2d(2)(x), nn.MaxPool2d(2)(x)
    assert torch.equal(ours.nan_to_num(-7.0), theirs.nan_to_num(-7.0))


@pytest.fixture
def without_slices(monkeypatch):
    monkeypatch.setattr(max_pooling, "max_of_four", None)


@pytest.mark.parametrize(
    "options",
    [{"kernel_size": 3}, {"kernel_size": 2, "stride": 1}, {"kernel_size": 2, "padding": 1},
     {"kernel_size": 2, "ceil_mode": True}, {"kernel_size": 2, "dilation": 2}, {"kernel_size": (2, 1)}],
)  # fmt: skip
def test_other_windows_are_pytorchs_own(options, without_slices):
    with torch.no_grad():
        assert torch.equal(
            MaxPool2d(**options)(images(2, 3, 7, 7)), nn.MaxPool2d(**options)(images(2, 3, 7, 7))
        )


def test_a_gradient_is_pytorchs_own(without_slices):
    x = images(2, 3, 4, 4).requires_grad_()
    found = [torch.autograd.grad(layer(x).sum(), x)[0] for layer in (MaxPool2d(2), nn.MaxPool2d(2))]
    assert torch.equal(*found)


def test_a_stacked_model_pools_by_slices(monkeypatch):
    """Two rows of one channel: the second's maxima, 2 * 5 and 2 * 7, come from its own weight."""
    seen = []
    monkeypatch.setattr(
        max_pooling, "max_of_four", lambda x: seen.append(x.shape) or x.amax((2, 3), keepdim=True)
    )
    model = StackedModel(nn.Sequential(nn.Conv2d(1, 1, 1, bias=False), nn.MaxPool2d(2), nn.Flatten()))
    x = torch.tensor([[1.0, 5.0, 2.0, 3.0], [7.0, 0.0, 1.0, 2.0]]).view(2, 1, 2, 2).expand(2, 2, 2, 2)
    with torch.no_grad():
        model.bind({"0.weight": torch.tensor([1.0, 2.0]).view(2, 1, 1, 1, 1)}, {}, training=False)
        assert model(x).squeeze(2).tolist() == [[5.0, 7.0], [10.0, 14.0]]
    assert seen == [(2, 2, 2, 2)]
