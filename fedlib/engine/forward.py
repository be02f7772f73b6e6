"""The three ways to compute the outputs of C models on C batches, and which one to take.

| backend | how | for |
|---|---|---|
| loop | one client after the other, plain PyTorch | the reference; large networks on a CPU |
| vmap | `torch.vmap` over `functional_call` | any module without data-dependent control flow |
| stacked | client-stacked layers (`fedlib.engine.layers.stacked`) | models of known layers: the fastest |

All give the same numbers up to float32 rounding; tests hold them together. One batch is an exception: that
which leaves batch normalisation a single value a channel. The loop then raises torch's error, the others
take a variance of 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

from fedlib.engine.batches import Batch, Samples
from fedlib.engine.hardware.precision import has_tiles, in_float32, multiplies_bfloat16, reduced
from fedlib.engine.layers.stackable import unstackable_layers
from fedlib.engine.layers.stacked import StackedModel, fold_lanes
from fedlib.engine.objective import Objective
from fedlib.errors import check, check_name
from fedlib.models import count_parameters
from fedlib.models.layers import BatchNorm2d, sample_mask, step_key

BACKENDS = ("auto", "loop", "vmap", "stacked")

# Above this size ten stacked copies are bound by memory; one client at a time stays in the cache
# (benchmarks/NOTES.md).
LOOP_FROM_PARAMETERS_ON_CPU = 4_000_000
BF16_LOOP_FROM_PARAMETERS = 500_000
OWN_RANDOMNESS = (
    "the model draws random numbers of its own in training; allowed: torch.nn.Dropout layers, which repeat "
    "bit for bit (a torch.nn.MultiheadAttention draws its own unless it has dropout=0)"
)
BF16_CHANNELS_WITHOUT_TILES = 16  # of the widest input of a convolution


def choose_precision(asked: str, model: nn.Module, device: torch.device, backend: str = "auto") -> str:
    """The precision that a model trains in: the one that is asked for, but float32 where bf16 gains nothing.

    A fixed rule for CPUs (benchmarks/NOTES.md, notes 33 and 41). Fully connected networks, depthwise
    convolutions and vmap take longer in bfloat16, the loop does with small networks, and without AMX networks
    whose convolutions have few channels.
    """
    if asked != "bf16" or device.type != "cpu":
        return asked
    convolutions = [layer for layer in model.modules() if isinstance(layer, nn.Conv2d)]
    dense = convolutions and all(layer.groups == 1 for layer in convolutions)
    if not multiplies_bfloat16() or not dense:
        return "float32"
    if max(layer.in_channels for layer in convolutions) < BF16_CHANNELS_WITHOUT_TILES and not has_tiles():
        return "float32"
    if backend == "loop":
        return "bf16" if count_parameters(model) >= BF16_LOOP_FROM_PARAMETERS else "float32"
    return "float32" if backend == "vmap" or unstackable_layers(model) else "bf16"


def choose_backend(
    model: nn.Module,
    device: torch.device,
    asked: str = "auto",
    *,
    lanes: int | None = None,
    precision: str = "float32",
    sample: Tensor | None = None,
) -> str:
    """The backend for a model on a device: a fixed rule, so that repeats are bit for bit.

    lanes: replicas times clients of a round, where that is known; on a CPU a single convolutional
    network gains nothing from stacked layers (the growth table: 0.94 times the plain loop).
    precision: as `choose_precision` gives it; in bf16 stacked layers are faster than the loop at any size.
    sample: an input [1, ...], where other inputs than vectors and images are to be told apart.
    """
    check_name("backend", asked, BACKENDS)
    unknown = unstackable_layers(model, sample)
    check(
        asked != "stacked" or not unknown,
        f"backend 'stacked' asked for a model with {', '.join(unknown)}; allowed for it: auto, loop, vmap",
    )
    alone = _only_in_the_loop(model)
    check(
        asked in ("auto", "loop") or not alone,
        f"backend {asked!r} asked for a model with {', '.join(alone[:3])}; allowed for it: auto, loop",
    )
    if alone:
        return "loop"
    if asked != "auto":
        return asked
    if precision == "bf16" and not unknown:
        return "stacked"
    if device.type == "cpu" and count_parameters(model) >= LOOP_FROM_PARAMETERS_ON_CPU:
        return "loop"
    if device.type == "cpu" and lanes == 1 and any(isinstance(m, nn.Conv2d) for m in model.modules()):
        return "loop"
    return "vmap" if unknown else "stacked"


def _only_in_the_loop(model: nn.Module) -> list[str]:
    """Frozen parameters, recurrent layers, batch norms that would see padded samples or lack a vmap."""
    return [
        *(f"frozen {name}" for name, p in model.named_parameters() if not p.requires_grad),
        *(
            f"{type(layer).__name__} {name}"
            for name, layer in model.named_modules()
            if isinstance(layer, nn.RNNBase)
        ),
        *(
            f"{type(layer).__name__} {name}"
            for name, layer in model.named_modules()
            if isinstance(layer, _BatchNorm) and (type(layer) is not BatchNorm2d or layer.momentum is None)
        ),
    ]


class Forward(ABC):
    """Outputs [C, B, ...] of the bound lanes on a batch, and the batch as the objective sees it."""

    @abstractmethod
    def bind(self, params: dict[str, Tensor], buffers: dict[str, Tensor], **settings: Any) -> None:
        """Use these [C, ...] tensors; settings: as in `StackedModel.bind`."""

    @abstractmethod
    def fetch(self, samples: Samples, index: Tensor) -> Tensor:
        """Inputs of several steps, index [S, C, B], in this forward pass's layout: [S, ...]."""

    @abstractmethod
    def arrange(self, x: Tensor) -> Tensor:
        """x [C, B, ...] in this forward pass's layout."""

    @abstractmethod
    def outputs(self, x: Tensor, batch: Batch, full: bool) -> Tensor:
        """Outputs [C, B, ...] of the bound lanes."""

    def __call__(
        self, samples: Samples, batch: Batch, objective: Objective, full: bool
    ) -> tuple[Tensor, Batch]:
        x, batch = self.inputs(samples, batch, objective)
        return self.outputs(x, batch, full), batch

    def inputs(self, samples: Samples, batch: Batch, objective: Objective) -> tuple[Tensor, Batch]:
        """Inputs of one step in this forward pass's layout, made by the objective if it makes its own."""
        if objective.inputs is None:
            return self.fetch(samples, batch.index[None])[0], batch
        x, batch = objective.inputs(samples, batch)
        return self.arrange(x), batch


class StackedForward(Forward):
    """Forward pass through client-stacked layers."""

    def __init__(self, model: nn.Module) -> None:
        self.model = StackedModel(model)

    def bind(self, params, buffers, **settings):
        self.model.bind(params, buffers, **settings)

    def arrange(self, x):
        if self.model.starts_flat:
            return x.flatten(2)
        return fold_lanes(x) if x.ndim == 5 else x

    def fetch(self, samples, index):
        if self.model.starts_flat:
            return samples.fetch(index).flatten(3)
        if samples.inputs.ndim != 4:
            return samples.fetch(index)
        return samples.fetch(index.transpose(1, 2)).flatten(2, 3)  # straight into the folded layout

    def outputs(self, x, batch, full):
        if x.ndim == 4 and x.device.type == "cpu" and self.model.convolves:
            x = channels_last(x)
        with step_key(batch.key), sample_mask(None if full else batch.mask):
            return in_float32(self.model(x))


def single_layout(model: nn.Module, device: torch.device) -> Callable[[Tensor], Tensor]:
    """Return the memory layout of a client's images [B, ...] for the plain model: channels last on a CPU.

    Not for large networks, whose wide layers are slower so (benchmarks/NOTES.md, note 30).
    """
    convolves = any(isinstance(m, nn.Conv2d) for m in model.modules())
    small = count_parameters(model) < LOOP_FROM_PARAMETERS_ON_CPU
    if device.type == "cpu" and convolves and small:
        return lambda x: channels_last(x) if x.ndim == 4 else x
    return lambda x: x


def channels_last(x: Tensor) -> Tensor:
    """The layout in which a CPU pools and convolves fast (benchmarks/NOTES.md, note 2)."""
    if x.shape[1] > 1:
        return x.contiguous(memory_format=torch.channels_last)
    _, _, height, width = x.shape  # one channel: the same memory, but with strides that say so
    return x.contiguous().as_strided(x.shape, (height * width, 1, width, 1))


class VmapForward(Forward):
    """Forward pass through `torch.vmap`: any module, one call."""

    def __init__(self, model: nn.Module) -> None:
        self.module = model
        self.params: dict[str, Tensor] = {}
        self.buffers: dict[str, Tensor] = {}
        self.products_in: torch.dtype | None = None

    def bind(self, params, buffers, *, training, updates=None, products_in=None):
        self.params, self.buffers, self.products_in = params, buffers, products_in
        self.module.train(training)

    def arrange(self, x):
        return x

    def fetch(self, samples, index):
        return samples.fetch(index)

    def outputs(self, x, batch, full):
        def one(params, buffers, x, key, mask):
            with step_key(key), sample_mask(None if full else mask):
                outputs = functional_call(self.module, (params, buffers), (x,))
            return outputs, buffers

        run = torch.vmap(one, randomness="error")
        # Batch normalisation saves its statistics for the backward pass: let it change copies.
        copies = {n: b.clone() for n, b in self.buffers.items()}
        with reduced(self.products_in, x.device):
            try:
                outputs, copies = run(self.params, copies, x, batch.key, batch.mask)
            except RuntimeError as error:
                check("random operation" not in str(error), OWN_RANDOMNESS)
                raise
        for name, value in copies.items():
            self.buffers[name].copy_(value)
        return in_float32(outputs)


def make_forward(model: nn.Module, backend: str) -> Forward:
    """The vectorised forward pass of a backend ('vmap' or 'stacked')."""
    return {"vmap": VmapForward, "stacked": StackedForward}[backend](model)
