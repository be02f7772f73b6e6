"""A grid of images as one picture."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from fedlib.errors import check


def plot_images(
    images: np.ndarray, ax: Axes, *, columns: int = 10, row_names: Sequence[str] | None = None
) -> Axes:
    """Lay the images out in rows of `columns`, with a thin gap between them.

    images: [n, height, width] or [n, height, width, 3], uint8 or float in [0, 1]. row_names:
    written beside the rows from the top.
    """
    check(
        images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3),
        f"images of shape {images.shape}; allowed: [n, height, width] or [n, height, width, 3]",
    )
    check(columns >= 1 and len(images) > 0, f"{len(images)} images in {columns} columns; allowed: from 1 up")
    mosaic, pitch = _mosaic(images, columns)
    ax.imshow(mosaic, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set_xticks([])
    rows = (np.arange(len(row_names)) + 0.5) * pitch - 1 if row_names else []
    ax.set_yticks(rows, list(row_names) if row_names else [])
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _mosaic(images: np.ndarray, columns: int) -> tuple[np.ndarray, int]:
    """White canvas with the images on it, floats in [0, 1], and the distance between rows."""
    pixels = images / 255 if images.dtype == np.uint8 else np.clip(images, 0, 1)
    height, width = pixels.shape[1:3]
    gap = max(1, height // 14)
    rows = -(-len(pixels) // columns)
    columns = min(columns, len(pixels))
    shape = (rows * (height + gap) - gap, columns * (width + gap) - gap, *pixels.shape[3:])
    canvas = np.ones(shape)
    for place, image in enumerate(pixels):
        top, left = (place // columns) * (height + gap), (place % columns) * (width + gap)
        canvas[top : top + height, left : left + width] = image
    return canvas, height + gap
