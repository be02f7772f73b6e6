"""The networks that clients train, by name; initial weights are a function of the seed alone.

`MODELS` maps a name to its builder, `builder(image_shape, num_classes, **options)`. All models take
[batch, channels, height, width] and return logits [batch, classes]. A builder of your own goes by
`package.module:function`, or in a session by a name that you put into `MODELS`.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fedlib import seeds
from fedlib.errors import UsageError, check, check_name
from fedlib.models import cnn
from fedlib.models.layers import number_dropouts, replace_layers
from fedlib.models.mobilenet import make_mobilenetv2
from fedlib.models.vgg import make_vgg11
from fedlib.registry import Registry, check_takes, find_named
from fedlib.validation import typed_options

MODELS: Registry[Callable[..., nn.Module]] = Registry("model", {
    "mlp": cnn.make_mlp,
    "lenet": cnn.make_lenet,
    "lenet5": cnn.make_lenet5,
    "cnn-small": cnn.make_cnn_small,
    "cnn-feddrl": cnn.make_cnn_feddrl,
    "cnn-mcmahan": cnn.make_cnn_mcmahan,
    "cnn-feddisk": cnn.make_cnn_feddisk,
    "cnn-frl": cnn.make_cnn_frl,
    "vgg11": make_vgg11,
    "mobilenetv2": make_mobilenetv2,
})  # fmt: skip


def make_model(
    name: str,
    *,
    image_shape: tuple[int, int, int],
    num_classes: int,
    generator_seed: int | Sequence[int | str],
    **options: Any,
) -> nn.Module:
    """The model called `name` on the CPU, with initial weights drawn from `generator_seed`.

    image_shape: channels, height, width. generator_seed: a seed, or the names of a stream, such as
    `(run.seed, "weights")`. options: those of the builder in `MODELS`.
    Global random state is neither used nor changed. Raises UsageError for an unknown name or
    option, a value out of range, or images that do not fit the model.
    """
    builder = model_builder(name)
    check_takes(
        f"model {name!r}", builder, "image_shape", "num_classes",
        allowed="(image_shape, num_classes, *, option=default)",
    )  # fmt: skip
    options = typed_options(f"model {name}", options, builder, model_options(name))
    _check_sizes(image_shape, num_classes)
    seed = generator_seed if isinstance(generator_seed, int) else seeds.derive(*generator_seed)
    # Only the CPU's generator is set: torch.manual_seed would also reset those of the accelerators.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        model = builder(tuple(image_shape), num_classes, **options)
    check(
        isinstance(model, nn.Module),
        f"model {name!r} returned {type(model).__name__}; allowed: a torch.nn.Module",
    )
    return number_dropouts(replace_layers(model))


def check_fits(name: str, model: nn.Module, image_shape: tuple[int, int, int], num_classes: int) -> None:
    """UsageError unless the model called `name`, on the CPU, makes a logit per class of such an image."""
    found = output_shape(f"model {name!r}", model, torch.zeros(1, *image_shape))
    check(
        found == (1, num_classes),
        f"model {name!r} makes {found} of one image; allowed: (1, {num_classes}), a logit per class",
    )


def output_shape(name: str, model: nn.Module, inputs: Tensor) -> tuple[int, ...]:
    """Shape of what a model makes of these inputs in evaluation; UsageError if it does not take them."""
    training = model.training
    try:
        with torch.no_grad():
            return tuple(model.eval()(inputs).shape)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"{name} does not take inputs {tuple(inputs.shape[1:])}: {reason}") from error
    finally:
        model.train(training)


def model_builder(name: str) -> Callable[..., nn.Module]:
    """The builder of a model's name, or at `package.module:function`; UsageError for an unknown one."""
    return find_named("model", name, MODELS, "fedlib.models.MODELS")


def model_options(name: str) -> dict[str, Any]:
    """The options of a model and their defaults."""
    parameters = inspect.signature(model_builder(name)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def count_parameters(module: nn.Module) -> int:
    """Number of trainable values."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def _check_sizes(image_shape: Sequence[int], num_classes: int) -> None:
    whole = all(isinstance(size, int) and size >= 1 for size in image_shape)
    if len(image_shape) != 3 or not whole:
        raise UsageError(f"image_shape must be (channels, height, width), each at least 1, not {image_shape}")
    valid = isinstance(num_classes, int) and num_classes >= 2
    check(valid, f"num_classes must be a whole number of at least 2, not {num_classes!r}")
