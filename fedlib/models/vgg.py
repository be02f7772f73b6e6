"""VGG-11 for 32x32 images, the CIFAR-100 model of FedDRL.

Reference: K. Simonyan, A. Zisserman, "Very deep convolutional networks for large-scale image
recognition", ICLR 2015, https://arxiv.org/abs/1409.1556, configuration A.

* Full width, no batch normalisation, head 512-512-C with dropout (FEDDRL-A38).
* He initialisation of the convolutions, as is usual for VGG on CIFAR (FEDDRL-A38). With torch's default
  the signal fades on its way: the logits of two noise images differ by about 2e-5 and the gradient of
  the first convolution has norm 6e-5 at the start, 100 and 200 times less than with He's.
"""

from collections import OrderedDict
from collections.abc import Iterable

from torch import nn

from fedlib.errors import check
from fedlib.models.cnn import ImageShape, check_dropout
from fedlib.models.layers import Dropout

_STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))  # widths; a 2x2 pool ends each stage


def make_vgg11(image_shape: ImageShape, num_classes: int, *, dropout: float = 0.5) -> nn.Sequential:
    """VGG-11, 9,797,092 parameters for 100 classes, 9,750,922 for 10; 32x32 colour images."""
    channels, height, width = image_shape
    check((height, width) == (32, 32), f"model vgg11 takes 32x32 images, not {height}x{width}")
    check_dropout("vgg11", dropout)
    layers = _convolutions(channels)
    layers["flatten"] = nn.Flatten()
    for number in (1, 2):
        layers[f"fc{number}"] = nn.Linear(512, 512)
        layers[f"fc_relu{number}"] = nn.ReLU()
        layers[f"dropout{number}"] = Dropout(dropout)
    layers["fc3"] = nn.Linear(512, num_classes)
    _initialise_he(layers.values())
    return nn.Sequential(layers)


def _convolutions(channels: int) -> OrderedDict[str, nn.Module]:
    """Eight 3x3 convolutions in five stages, from 32x32 to 1x1."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    number = 0
    for stage, widths in enumerate(_STAGES, start=1):
        for width in widths:
            number += 1
            layers[f"conv{number}"] = nn.Conv2d(channels, width, 3, padding=1)
            layers[f"relu{number}"] = nn.ReLU()
            channels = width
        layers[f"pool{stage}"] = nn.MaxPool2d(2)
    return layers


def _initialise_he(layers: Iterable[nn.Module]) -> None:
    """Convolutions: normal weights by fan out, biases 0."""
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(layer.bias)
