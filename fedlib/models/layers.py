"""The layers that need care when many clients train as one computation.

Dropout and batch normalisation are the two layers whose result depends on more than the sample and
the weights: on random numbers, and on the other samples of the mini-batch. Here both are pure
functions of values that the training loop hands over in a context, so that a plain loop, vmap and
hand-stacked clients give the same numbers on every device, and padded samples change nothing.

* `step_key`: the integer key of the training step; dropout masks are hashed from it.
* `sample_mask`: which samples of the mini-batch are real; batch statistics leave the others out.

Reference: S. Ioffe, C. Szegedy, "Batch Normalization", ICML 2015, https://arxiv.org/abs/1502.03167.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.dropout import _DropoutNd

from fedlib.errors import check
from fedlib.seeds import counter

_STEP_KEY: ContextVar[Tensor | None] = ContextVar("step_key", default=None)
_SAMPLE_MASK: ContextVar[Tensor | None] = ContextVar("sample_mask", default=None)


@contextmanager
def step_key(key: Tensor) -> Iterator[None]:
    """Within this context, dropout masks are drawn from `key`: integer, [] or [clients]."""
    token = _STEP_KEY.set(key)
    try:
        yield
    finally:
        _STEP_KEY.reset(token)


@contextmanager
def sample_mask(mask: Tensor | None) -> Iterator[None]:
    """Within this context, batch statistics see only samples with mask 1; [batch] float, None for all."""
    token = _SAMPLE_MASK.set(mask)
    try:
        yield
    finally:
        _SAMPLE_MASK.reset(token)


def current_step_key() -> Tensor:
    """The key of the enclosing `step_key`; RuntimeError outside of one."""
    key = _STEP_KEY.get()
    if key is None:
        raise RuntimeError("dropout in training mode needs a key: run the model under `with step_key(key):`")
    return key


def current_sample_mask() -> Tensor | None:
    """The mask of the enclosing `sample_mask`, or None: all samples are real."""
    return _SAMPLE_MASK.get()


def dropout_mask(key: Tensor, layer_id: int, batch: int, features: int, p: float) -> Tensor:
    """Which activations stay: bool [*key.shape, batch, features], True with probability 1 - p.

    key: integer tensor of any shape, one key per client. An element depends on its own key, the
    layer, its position in the batch and its flattened feature index, and on nothing else.
    """
    position = torch.arange(batch, device=key.device)[:, None]
    feature = torch.arange(features, device=key.device)
    return counter.at_least(p, key[..., None, None], layer_id, position, feature)


class Dropout(nn.Module):
    """Dropout with counter-based masks: a function of the step's key, not of a generator's state.

    Input [batch, ...] under a key of shape [], or [clients, batch, features] under one of shape
    [clients]. `layer_id` tells the layers of a model apart; `number_dropouts` sets it.
    """

    def __init__(self, p: float = 0.5, layer_id: int = 0) -> None:
        super().__init__()
        self.p = p
        self.layer_id = layer_id

    @property
    def active(self) -> bool:
        """Whether values are dropped now."""
        return self.p > 0 and self.training

    def forward(self, x: Tensor) -> Tensor:
        if not self.active:
            return x
        key = current_step_key()
        batch = x.shape[key.dim()]
        features = x.shape[1:].numel() if key.dim() == 0 else x.shape[-1]
        mask = dropout_mask(key, self.layer_id, batch, features, self.p).view(x.shape)
        return x * (mask.to(x.dtype) / (1 - self.p))

    def extra_repr(self) -> str:
        return f"p={self.p}, layer_id={self.layer_id}"


class BatchNorm2d(nn.BatchNorm2d):
    """nn.BatchNorm2d that can leave padded samples out of its statistics.

    Without a `sample_mask` it is nn.BatchNorm2d. With one, outputs of the real samples, gradients
    and running statistics are those of a batch of the real samples alone; a batch without any real
    sample leaves the running statistics as they are. No host synchronisation, and works under
    vmap with stacked buffers.
    """

    def forward(self, x: Tensor) -> Tensor:
        mask = current_sample_mask()
        if mask is None or not (self.training or self.running_mean is None):
            return super().forward(x)
        self._check_input_dim(x)
        weight = mask.to(x.dtype)[:, None, None, None]
        count = mask.to(x.dtype).sum() * (x.shape[2] * x.shape[3])
        mean = (x * weight).sum((0, 2, 3)) / count.clamp(min=1)
        centred = x - mean[:, None, None]
        variance = (centred.square() * weight).sum((0, 2, 3)) / count.clamp(min=1)
        if self.training and self.running_mean is not None:
            self._update_running(mean.detach(), variance.detach(), count)
        normal = centred * torch.rsqrt(variance + self.eps)[:, None, None]
        if self.weight is None:
            return normal
        return normal * self.weight[:, None, None] + self.bias[:, None, None]

    def _update_running(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        """Move the running statistics towards this batch, with the unbiased variance as torch does."""
        seen = count > 0
        self.num_batches_tracked.add_(seen.to(self.num_batches_tracked.dtype))
        # Without a momentum the running statistics are the plain average over the batches so far.
        momentum = 1 / self.num_batches_tracked.clamp(min=1) if self.momentum is None else self.momentum
        rate = (seen * momentum).to(mean.dtype)
        unbiased = variance * (count / (count - 1).clamp(min=1))
        self.running_mean.add_(rate * (mean - self.running_mean))
        self.running_var.add_(rate * (unbiased - self.running_var))


class RepeatChannels(nn.Module):
    """Every channel `times` times in a row: [batch, ch, h, w] to [batch, ch * times, h, w].

    Copies of one channel lie side by side, so clients stacked along the channels stay apart.
    """

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def forward(self, x: Tensor) -> Tensor:
        return x.repeat_interleave(self.times, dim=1)

    def extra_repr(self) -> str:
        return f"times={self.times}"


class Resize(nn.Module):
    """Bilinear resize of [batch, ch, h, w] to size x size pixels, channel by channel."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        return functional.interpolate(x, size=(self.size, self.size), mode="bilinear", align_corners=False)

    def extra_repr(self) -> str:
        return f"size={self.size}"


def number_dropouts(model: nn.Module) -> nn.Module:
    """Give the dropout layers of `model` the ids 0, 1, … in the order of `modules()`; returns it."""
    layers = (module for module in model.modules() if isinstance(module, Dropout))
    for number, layer in enumerate(layers):
        layer.layer_id = number
    return model


def replace_layers(module: nn.Module) -> nn.Module:
    """Swap nn.BatchNorm2d and nn.Dropout for the layers of this file, in place; returns `module`.

    Weights, buffers and settings are taken over. UsageError for dropout of another kind, whose masks would
    come from torch's global generator.
    """
    children = [(name, child) for name, child in module._modules.items() if child is not None]
    for name, child in children:  # a layer that stands at two places too
        check(
            not isinstance(child, _DropoutNd) or type(child) is nn.Dropout,
            f"model with {type(child).__name__} given; allowed: nn.Dropout",
        )
        if type(child) is nn.BatchNorm2d:
            child.__class__ = BatchNorm2d
        elif type(child) is nn.Dropout:
            setattr(module, name, Dropout(child.p))
        else:
            replace_layers(child)
    return module
