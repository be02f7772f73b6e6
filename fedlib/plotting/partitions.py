"""Plots of a partition: label x client bubbles, or stacked bars per client."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, PolyCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from fedlib.errors import check_name
from fedlib.partition.statistics import label_counts

KINDS = ("bubbles", "bars")
_FEW = 12  # up to so many labels have a colour and a name of their own
_LABEL_COLOURS = (
    *("#4E79A7", "#F28E2B", "#59A14F", "#E15759", "#B07AA1", "#9C755F"),
    *("#FF9DA7", "#79706E", "#EDC948", "#76B7B2", "#1B3A57", "#8CD17D"),
)


def partition_figsize(num_clients: int, num_classes: int, kind: str = "bubbles") -> tuple[float, float]:
    """A figure size, in inches, at which a partition is readable: larger for more clients and labels."""
    check_name("kind of partition plot", kind, KINDS)
    width = 5.0 + 5.0 * min(num_clients, 100) / 100
    return (width, 4.0 if kind == "bars" else 3.0 + 4.0 * min(num_classes, 100) / 100)


def plot_partition(
    partition: Sequence[np.ndarray],
    labels: np.ndarray,
    *,
    ax: Axes,
    kind: str = "bubbles",
    class_names: Sequence[str] | None = None,
    num_classes: int | None = None,
) -> Axes:
    """Draw any partition: `bubbles` (area = number of images) or `bars` (stacked by label).

    labels: [n] of all images. class_names: names to print where there are at most 12 labels.
    num_classes: by default as many as there are names, or the largest label + 1.
    """
    check_name("kind of partition plot", kind, KINDS)
    classes = num_classes or (len(class_names) if class_names else int(np.max(labels)) + 1)
    counts = label_counts(partition, np.asarray(labels), classes)
    names = list(class_names) if class_names else [str(label) for label in range(classes)]
    ax.set_xlabel("client")
    (_draw_bubbles if kind == "bubbles" else _draw_bars)(counts, ax, names)
    ax.set_xlim(-0.7, len(counts) - 0.3)
    ax.set_xticks(_ticks(len(counts)))
    return ax


def _ticks(number: int) -> np.ndarray:
    """Every position up to 20, every fifth up to 50, and then every tenth."""
    return np.arange(0, number, 1 if number <= 20 else 5 if number <= 50 else 10 * max(1, number // 100))


def _draw_bubbles(counts: np.ndarray, ax: Axes, names: list[str]) -> None:
    clients, classes = counts.shape
    ax.set_ylim(classes - 0.3, -0.7)
    held = np.argwhere(counts > 0)
    held = held[np.argsort(-counts[tuple(held.T)])]  # small bubbles on top
    sizes = counts[tuple(held.T)]
    diameters, units = _bubble_diameters(sizes, clients, classes, ax)
    ax.add_collection(
        EllipseCollection(
            diameters,
            diameters,
            np.zeros(len(held)),
            units=units,
            offsets=held,
            offset_transform=ax.transData,
            facecolor="#0072B2",
            edgecolor="white",
            linewidth=0.2,
            alpha=0.85,
            clip_on=False,
        ),
        autolim=False,
    )
    rows = np.arange(classes) if classes <= _FEW else _ticks(classes)
    ax.set_yticks(rows, [names[row] if classes <= _FEW else str(row) for row in rows])
    ax.set_ylabel("label")
    ax.set_xlabel(f"client (largest bubble: {sizes.max()} images)")


def _bubble_diameters(sizes: np.ndarray, clients: int, classes: int, ax: Axes) -> tuple[np.ndarray, str]:
    """Diameters in units of the narrower side of a cell, and the axis ("x" or "y") of that side.

    Area is proportional to size, but no bubble is too small to be seen (2 points). The largest
    fills the narrower side, or twice that in crowded plots whose cells are longer than wide.
    """
    box, inches = ax.get_position(), ax.figure.get_size_inches()
    width, height = 72 * box.width * inches[0] / clients, 72 * box.height * inches[1] / classes
    narrow, wide = min(width, height), max(width, height)
    largest = min(0.95 * wide / narrow, 2.0 if max(clients, classes) > 50 else 0.95)
    diameters = largest * np.sqrt(sizes / sizes.max())
    return np.maximum(diameters, min(2.0 / narrow, largest)), "x" if width < height else "y"


def _draw_bars(counts: np.ndarray, ax: Axes, names: list[str]) -> None:
    classes = counts.shape[1]
    few = classes <= _FEW
    colours = ListedColormap(
        _LABEL_COLOURS[:classes] if few else mpl.colormaps["turbo"](np.linspace(0, 1, classes))
    )
    held = np.argwhere(counts > 0)
    tops = np.cumsum(counts, axis=1)[tuple(held.T)]
    bottoms = tops - counts[tuple(held.T)]
    left, right = held[:, 0] - 0.42, held[:, 0] + 0.42
    corners = np.stack([left, bottoms, right, bottoms, right, tops, left, tops], axis=1).reshape(-1, 4, 2)
    ax.add_collection(PolyCollection(corners, facecolors=colours(held[:, 1]), linewidths=0))
    ax.set_ylim(0, 1.05 * counts.sum(axis=1).max())
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("images")
    if few:
        handles = [Patch(color=colours(label), label=names[label]) for label in range(classes)]
        ax.legend(handles=handles[::-1], loc="upper left", bbox_to_anchor=(1, 1.03))
    else:
        norm = BoundaryNorm(np.arange(classes + 1) - 0.5, classes)
        bar = ax.figure.colorbar(mpl.cm.ScalarMappable(norm, colours), ax=ax, ticks=_ticks(classes))
        bar.set_label("label")
        bar.minorticks_off()
