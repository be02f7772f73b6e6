"""Clients per training pass: a rule for the CPU's cache, a search for the GPU's memory."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch

from fedlib.engine.hardware.device import first_line
from fedlib.errors import MemoryShortage

# On a CPU the stacked parameters of a pass should stay in the last cache, but a pass of fewer than
# ten lanes pays more for its operations than it gains (benchmarks/NOTES.md, note 11).
STACKED_PARAMETERS_ON_CPU = 6_000_000
LEAST_LANES_ON_CPU, MOST_LANES_ON_CPU = 10, 20


class MemoryWarning(UserWarning):
    """A pass did not fit in the device's memory and is split."""


def pass_lanes(parameters: int, backend: str, device: torch.device) -> int | None:
    """The most lanes in one pass for a network of so many parameters; None for no limit.

    A fixed rule, since lanes that train in narrower passes may differ in their last digits.
    """
    if device.type != "cpu" or backend == "loop":
        return None
    return min(max(STACKED_PARAMETERS_ON_CPU // parameters, LEAST_LANES_ON_CPU), MOST_LANES_ON_CPU)


@dataclass
class PassLimit:
    """Bounds on the lanes of a pass: too many for the memory, and few enough.

    lanes: passes are no wider than this, None while nothing was too wide. images: likewise of one
    forward pass of an evaluation. proven: the widest pass that was carried through, per batch size.
    """

    lanes: int | None = None
    images: int | None = None
    proven: dict[int, int] = field(default_factory=dict)

    def width(self, wanted: int) -> int:
        """Lanes of the next pass, of `wanted` ones that are left."""
        return wanted if self.lanes is None else min(wanted, self.lanes)

    def too_wide(self, lanes: int, device: torch.device) -> None:
        """`lanes` lanes ran out of memory: half of them from now on, with a warning."""
        self.lanes = lanes // 2
        warnings.warn(
            MemoryWarning(
                f"training {lanes} clients in one pass does not fit in the memory of {device}; "
                f"going on with {self.lanes}"
            ),
            stacklevel=2,
        )

    def too_many_images(self, images: int, device: torch.device, error: BaseException) -> None:
        """`images` images ran out of memory: half of them from now on, with a warning.

        Raises MemoryShortage where a single one does.
        """
        if images <= 1:
            raise MemoryShortage(
                f"evaluating a single image does not fit in the memory of {device} ({first_line(error)}); "
                "take a smaller model, fewer clients or seeds at once, or another device"
            ) from error
        self.images = images // 2
        warnings.warn(
            MemoryWarning(
                f"evaluating {images} images in one pass does not fit in the memory of {device}; "
                f"going on with {self.images}"
            ),
            stacklevel=2,
        )


def by_falling_steps(steps: np.ndarray) -> np.ndarray:
    """Lane numbers by falling number of steps; lanes without work are left out."""
    order = np.argsort(-steps, kind="stable")
    return order[: int((steps > 0).sum())]


def cut(lanes: np.ndarray, widest: int | None) -> Iterator[np.ndarray]:
    """`lanes` in parts of at most `widest`, none of them much narrower than the others."""
    if len(lanes) == 0:
        return
    parts = 1 if widest is None else -(-len(lanes) // widest)
    yield from np.array_split(lanes, parts)
