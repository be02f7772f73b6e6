"""Which models can be stacked, and which layers say all about themselves when printed."""

import torch
from torch import Tensor, nn

from fedlib.engine.layers.stacked import ELEMENTWISE_CONTAINERS, STACKED, UNCHANGED, first_layer
from fedlib.models.layers import BatchNorm2d
from fedlib.models.made import MaskedLinear

# Layers whose printed form says all that decides what they compute (nn.AvgPool2d: see `prints_all`)
KNOWN_LAYERS = {*STACKED, *UNCHANGED, nn.Sequential} - {MaskedLinear}
_PRINTED_CONTAINERS = {*ELEMENTWISE_CONTAINERS, "torchvision.ops.misc.Conv2dNormActivation"}


def prints_all(module: nn.Module) -> bool:
    """Whether a layer's printed form says all that decides what it computes.

    An InvertedResidual's too: it adds its input where the layers it prints keep the shape.
    """
    kind = type(module)
    if kind is nn.AvgPool2d:  # prints its kernel, stride and padding only
        return (module.ceil_mode, module.count_include_pad, module.divisor_override) == (False, True, None)
    return kind in KNOWN_LAYERS or f"{kind.__module__}.{kind.__name__}" in _PRINTED_CONTAINERS


def unstackable_layers(model: nn.Module, sample: Tensor | None = None) -> list[str]:
    """Names of what has no stacked form: classes of layers, shared weights; empty: it can be stacked.

    A container class of one's own is taken if it sets `stackable = True`: its `forward` must
    then treat activations elementwise or through its layers only. sample: an input [1, ...]; with it layers
    count that get neither a vector nor an image of it (the first may flatten any shape).
    """
    names = {type(module).__name__ for module in model.modules() if not _knows(module)}
    if _shares_tensors(model):
        names.add("shared weights")
    return sorted(names if names or sample is None else _misfits(model, sample))


def _shares_tensors(model: nn.Module) -> bool:
    """Whether two layers have the same tensor; the same layer used twice has not."""
    own = [t for layer in model.modules() for t in (*layer._parameters.values(), *layer._buffers.values())]
    known = [id(tensor) for tensor in own if tensor is not None]
    return len(known) > len(set(known))


def _misfits(model: nn.Module, sample: Tensor) -> set[str]:
    """Layers, with the shape, that get of a sample [1, ...] what the stacked layout does not know."""
    found = set()

    def look(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        allowed = (2,) if isinstance(layer, (nn.Linear, MaskedLinear)) else (2, 4)
        if inputs and inputs[0].ndim not in allowed:
            found.add(f"{type(layer).__name__} on inputs {tuple(inputs[0].shape[1:])}")

    first = first_layer(model)
    layers = [m for m in model.modules() if not [*m.children()]]
    hooks = [m.register_forward_pre_hook(look) for m in layers if m is not first or type(m) is not nn.Flatten]
    training = model.training
    try:
        with torch.no_grad():
            model.eval()(sample)
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    return found


def _knows(module: nn.Module) -> bool:
    kind = type(module)
    if kind is nn.Flatten:
        return module.start_dim == 1 and module.end_dim == -1
    if kind is nn.Softmax:
        return module.dim == -1
    if kind is nn.Conv2d and (module.padding_mode != "zeros" or isinstance(module.padding, str)):
        return False
    if kind is BatchNorm2d and not (module.affine and module.track_running_stats):
        return False
    if kind in STACKED or kind in UNCHANGED or _runs_in_order(module):
        return True
    return getattr(kind, "stackable", False) or f"{kind.__module__}.{kind.__name__}" in ELEMENTWISE_CONTAINERS


def _runs_in_order(module: nn.Module) -> bool:
    """A Sequential whose class has no `forward` of its own."""
    return isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward
