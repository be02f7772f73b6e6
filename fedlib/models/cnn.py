"""The small networks of the suite: MLP, a LeNet-size CNN, and the task CNNs of three of the papers.

Every model is an `nn.Sequential` of standard layers, so that the engine can stack its clients. ReLU
follows the max-pool: max and ReLU commute bit for bit, and the pooled map has a quarter of the pixels. For
the same reason dropout stands behind the flattening.

References
* H. B. McMahan et al., "Communication-efficient learning of deep networks from decentralized data",
  AISTATS 2017, https://arxiv.org/abs/1602.05629: `mlp`-like networks and `cnn-mcmahan`.
* FedDRL (ICPP 2022), section 4.1: `cnn-feddrl`.
* FedDisk (IEEE TAI), section VI.B.2: `cnn-feddisk`.
* Federated Reinforcement Learning (report, 2023), task model: `cnn-frl`.
* `cnn-small` is ours.
"""

import itertools
from collections import OrderedDict

from torch import nn

from fedlib.errors import check
from fedlib.models.layers import BatchNorm2d, Dropout

ImageShape = tuple[int, int, int]  # channels, height, width


def check_whole(model: str, option: str, value: int) -> int:
    """Return `value` if it is a whole number of at least 1, else raise a UsageError."""
    valid = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    check(valid, f"model {model}: {option} must be a whole number of at least 1, not {value!r}")
    return value


def check_dropout(model: str, value: float) -> None:
    """UsageError unless `value` is a number in [0, 1)."""
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1
    check(valid, f"model {model}: dropout must be a number in [0, 1), not {value!r}")


def _map_size(model: str, image_shape: ImageShape, *, padding: int, least: int) -> int:
    """Pixels of a feature map after twice (5x5 convolution, 2x2 pool), each side rounded down."""
    _, *sides = image_shape
    given = f"{sides[0]}x{sides[1]}"
    check(
        min(sides) >= least,
        f"model {model} takes images of at least {least}x{least} pixels, not {given}; allowed: larger "
        "images, or another model such as mlp",
    )
    for _ in range(2):
        sides = [(side + 2 * padding - 4) // 2 for side in sides]
    return sides[0] * sides[1]


def make_mlp(image_shape: ImageShape, num_classes: int, *, hidden: int = 100) -> nn.Sequential:
    """MLP with a hidden ReLU layer: 784-100-10 (79,510 parameters) for 28x28 grey images of 10 classes."""
    check_whole("mlp", "hidden", hidden)
    channels, height, width = image_shape
    layers = OrderedDict(
        flatten=nn.Flatten(),
        fc1=nn.Linear(channels * height * width, hidden),
        relu1=nn.ReLU(),
        fc2=nn.Linear(hidden, num_classes),
    )
    return nn.Sequential(layers)


def _blocks(channels: int, *maps: int, kernel: int = 5, padding: int = 0) -> dict[str, nn.Module]:
    """For each number of maps: convolution, 2x2 max-pool, ReLU."""
    layers: dict[str, nn.Module] = {}
    for number, (inputs, outputs) in enumerate(itertools.pairwise((channels, *maps)), 1):
        layers[f"conv{number}"] = nn.Conv2d(inputs, outputs, kernel, padding=padding)
        layers[f"pool{number}"] = nn.MaxPool2d(2)
        layers[f"relu{number}"] = nn.ReLU()
    return layers


def _dense(*sizes: int) -> dict[str, nn.Module]:
    """Fully connected layers with ReLU between them, which is counted on from two blocks."""
    layers: dict[str, nn.Module] = {}
    for number, (inputs, outputs) in enumerate(itertools.pairwise(sizes), 1):
        if number > 1:
            layers[f"relu{number + 1}"] = nn.ReLU()
        layers[f"fc{number}"] = nn.Linear(inputs, outputs)
    return layers


def make_lenet(image_shape: ImageShape, num_classes: int) -> nn.Sequential:
    """conv 5x5 10, pool, conv 5x5 20, pool, fc 50, fc C; valid padding.

    21,840 parameters for 28x28 grey images of 10 classes, 31,340 for 32x32 colour.
    """
    blocks = _blocks(image_shape[0], 10, 20)
    features = 20 * _map_size("lenet", image_shape, padding=0, least=16)
    return nn.Sequential(OrderedDict(**blocks, flatten=nn.Flatten(), **_dense(features, 50, num_classes)))


def make_lenet5(image_shape: ImageShape, num_classes: int) -> nn.Sequential:
    """conv 5x5 6, pool, conv 5x5 16, pool, fc 120, fc 84, fc C; valid padding.

    LeNet-5 with ReLU and max-pooling as in NIID-Bench (ICDE 2022, sec. V): 44,426 parameters for 28x28 grey
    images of 10 classes, 62,006 for 32x32 colour.
    """
    blocks = _blocks(image_shape[0], 6, 16)
    features = 16 * _map_size("lenet5", image_shape, padding=0, least=16)
    return nn.Sequential(
        OrderedDict(**blocks, flatten=nn.Flatten(), **_dense(features, 120, 84, num_classes))
    )


def _wide_cnn(
    channels: int, features: int, num_classes: int, *, padding: int, dropout: float
) -> nn.Sequential:
    """conv 5x5 32, pool, conv 5x5 64, pool, dropout, fc 512, fc C: the CNN of McMahan et al."""
    blocks = _blocks(channels, 32, 64, padding=padding)
    dense = _dense(features, 512, num_classes)
    return nn.Sequential(OrderedDict(**blocks, flatten=nn.Flatten(), dropout1=Dropout(dropout), **dense))


def make_cnn_small(image_shape: ImageShape, num_classes: int, *, width: int = 16) -> nn.Sequential:
    """Mean over 2x2 pixels, conv 3x3 w, pool, conv 3x3 2w, pool, fc C; "same" padding.

    7,690 parameters for 28x28 grey images of 10 classes, 10,218 for 32x32 colour: what stands in for
    MobileNetV2 at FedDdrl's reduced profile (FEDDDRL-A35).
    """
    check_whole("cnn-small", "width", width)
    channels, height, across = image_shape
    check(
        min(height, across) >= 8,
        f"model cnn-small takes images of at least 8x8 pixels, not {height}x{across}",
    )
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        shrink=nn.AvgPool2d(2),
        **_blocks(channels, width, 2 * width, kernel=3, padding=1),
        flatten=nn.Flatten(),
        fc=nn.Linear(2 * width * (height // 8) * (across // 8), num_classes),
    )
    return nn.Sequential(layers)


def make_cnn_feddrl(image_shape: ImageShape, num_classes: int, *, dropout: float = 0.2) -> nn.Sequential:
    """FedDRL's CNN for MNIST and Fashion-MNIST, 582,026 parameters; valid padding, dropout before fc1.

    The paper gives no layer sizes; these are the authors' code's (FEDDRL-A37).
    """
    check_dropout("cnn-feddrl", dropout)
    features = 64 * _map_size("cnn-feddrl", image_shape, padding=0, least=16)
    return _wide_cnn(image_shape[0], features, num_classes, padding=0, dropout=dropout)


def make_cnn_mcmahan(image_shape: ImageShape, num_classes: int, *, dropout: float = 0.0) -> nn.Sequential:
    """The CNN of McMahan et al. (2017): "same" padding, 1,663,370 parameters for 28x28 grey images."""
    check_dropout("cnn-mcmahan", dropout)
    features = 64 * _map_size("cnn-mcmahan", image_shape, padding=2, least=4)
    return _wide_cnn(image_shape[0], features, num_classes, padding=2, dropout=dropout)


def make_cnn_feddisk(image_shape: ImageShape, num_classes: int, *, width: int = 16) -> nn.Sequential:
    """FedDisk's CNN (section VI.B.2): twice (conv 5x5, ReLU, pool, BN), fc 16, fc C; FEDDISK-A17.

    width: 32 for Chest X-ray (39,442 parameters), 128 for FEMNIST (447,406), 16 for MNIST (11,178).
    """
    check_whole("cnn-feddisk", "width", width)
    features = width * _map_size("cnn-feddisk", image_shape, padding=0, least=16)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for number, channels in ((1, image_shape[0]), (2, width)):
        layers[f"conv{number}"] = nn.Conv2d(channels, width, 5)
        layers[f"pool{number}"] = nn.MaxPool2d(2)
        layers[f"relu{number}"] = nn.ReLU()
        layers[f"bn{number}"] = BatchNorm2d(width)
    return nn.Sequential(OrderedDict(**layers, flatten=nn.Flatten(), **_dense(features, 16, num_classes)))


def make_cnn_frl(image_shape: ImageShape, num_classes: int) -> nn.Sequential:
    """The report's task model for MNIST and Fashion-MNIST, 1,199,882 parameters.

    It ends in logits, where the authors' code has a softmax in front of its cross-entropy, which then
    applies a second one (FRL-A28).
    """
    channels, height, width = image_shape
    check(min(height, width) >= 6, f"model cnn-frl takes images of at least 6x6 pixels, not {height}x{width}")
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv1=nn.Conv2d(channels, 32, 3),
        relu1=nn.ReLU(),
        conv2=nn.Conv2d(32, 64, 3),
        pool=nn.MaxPool2d(2),
        relu2=nn.ReLU(),
        flatten=nn.Flatten(),
        dropout1=Dropout(0.25),
        fc1=nn.Linear(64 * ((height - 4) // 2) * ((width - 4) // 2), 128),
        relu3=nn.ReLU(),
        dropout2=Dropout(0.5),
        fc2=nn.Linear(128, num_classes),
    )
    return nn.Sequential(layers)
