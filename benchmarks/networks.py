"""The networks of the benchmarks, each with images, mini-batch and local optimiser as its paper trains it.

Plain Python, so that interpreters without torch or fedlib can read it too.
"""

from dataclasses import dataclass, field
from typing import Any

GREY, COLOUR = (1, 28, 28), (3, 32, 32)


@dataclass(frozen=True)
class Network:
    """shape: channels, height, width. steps: mini-batches a client in one repeat with 10 clients."""

    shape: tuple[int, int, int]
    steps: int
    batch: int = 10
    optimizer: str = "sgd"  # of `fedlib.engine.make_optimizer`, with its options
    options: dict[str, Any] = field(default_factory=dict)
    rate: float = 0.01


NETWORKS = {
    "mlp": Network(GREY, 60),
    "lenet": Network(GREY, 20),
    "lenet5": Network(GREY, 6, 64, options={"momentum": 0.9, "weight_decay": 1e-5}),  # NIID-Bench
    "cnn-feddrl": Network(GREY, 10),
    "cnn-feddisk": Network(GREY, 10, 32),
    "cnn-frl": Network(GREY, 2, 64, "adadelta", rate=1.0),
    "vgg11": Network(COLOUR, 4),
    "mobilenetv2": Network(COLOUR, 4),
}
