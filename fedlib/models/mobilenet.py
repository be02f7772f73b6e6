"""MobileNetV2 for small images, the task model of FedDdrl.

Reference: M. Sandler et al., "MobileNetV2: Inverted residuals and linear bottlenecks", CVPR 2018,
https://arxiv.org/abs/1801.04381.

* torchvision's layers and initialisation, in an `nn.Sequential` that the engine can stack.
* Grey images are repeated to three channels (FEDDDRL-A35).
* ImageNet weights come from a local file; nothing is downloaded.
"""

import pickle
from collections import OrderedDict
from pathlib import Path

import torch
from torch import Tensor, nn

from fedlib._torchvision import load_torchvision
from fedlib.errors import DataError, check
from fedlib.models.cnn import ImageShape, check_dropout, check_whole
from fedlib.models.layers import Dropout, RepeatChannels, Resize

WEIGHTS_URL = "https://download.pytorch.org/models/mobilenet_v2-7ebf99e0.pth"


def make_mobilenetv2(
    image_shape: ImageShape,
    num_classes: int,
    *,
    dropout: float = 0.2,
    resize: int | None = None,
    weights_file: str | None = None,
) -> nn.Sequential:
    """torchvision's MobileNetV2: 2,236,682 parameters with 10 classes, 2,232,839 with 7.

    resize: side in pixels that images are brought to first (FEDDDRL-A35: 96). weights_file: a torchvision
    state dict of ImageNet weights for all layers but the head. Raises DataError if that file is absent
    or no such state dict.
    """
    channels = image_shape[0]
    check(channels in (1, 3), f"model mobilenetv2 takes images of 1 or 3 channels, not {channels}")
    check_dropout("mobilenetv2", dropout)
    named = weights_file is None or isinstance(weights_file, str)
    check(named, f"model mobilenetv2: weights_file must be a path, not {weights_file!r}")
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    if resize is not None:
        layers["resize"] = Resize(check_whole("mobilenetv2", "resize", resize))
    if channels == 1:
        layers["repeat"] = RepeatChannels(3)
    layers["features"] = _make_features(weights_file)
    layers["pool"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["dropout"] = Dropout(dropout)
    layers["fc"] = _make_head(num_classes)
    return nn.Sequential(layers)


def _make_features(weights_file: str | None) -> nn.Module:
    """torchvision's convolutional part; `make_model` gives it our batch normalisation."""
    features = load_torchvision().models.mobilenet_v2(weights=None, num_classes=1).features
    if weights_file is not None:
        _load_features(features, Path(weights_file))
    return features


def _make_head(num_classes: int) -> nn.Linear:
    head = nn.Linear(1280, num_classes)
    nn.init.normal_(head.weight, 0, 0.01)
    nn.init.zeros_(head.bias)
    return head


def _load_features(features: nn.Module, path: Path) -> None:
    """Load the entries `features.*` of a torchvision state dict; a head in it is left out."""
    if not path.is_file():
        raise DataError(f"no ImageNet weights at {path}; get them from {WEIGHTS_URL}")
    try:
        features.load_state_dict(_feature_entries(torch.load(path, map_location="cpu", weights_only=True)))
    except (RuntimeError, OSError, EOFError, AttributeError, pickle.UnpicklingError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{path} is not a MobileNetV2 state dict ({reason}); get one from {WEIGHTS_URL}"
        ) from error


def _feature_entries(state: dict[str, Tensor]) -> dict[str, Tensor]:
    prefix = "features."
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
