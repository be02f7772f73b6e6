"""Generated colour pictures whose classes differ in structure: what `standin-cifar100` and
`standin-crisis` are made of.

A class is a few *scenes*; a scene is a fixed arrangement of soft, oriented, striped patches, each
with its place, size, orientation, stripe width and colour. A picture shows one scene of its class
shifted, turned and recoloured a little, over a random background, beside patches that belong to
no class, with noise. No label is wrong: what makes the task hard is deformation and clutter.
"""

from dataclasses import dataclass

import numpy as np

CHUNK = 250  # pictures rendered at a time, which bounds the memory


@dataclass(frozen=True)
class Look:
    """Difficulty of recognising a scene; lengths in units of the picture's side."""

    scenes: int  # scenes per class
    patches: int  # patches per scene
    clutter: int  # patches of no class per picture
    shift: float  # standard deviation of a patch's place
    turn: float  # standard deviation of its orientation, radians
    recolour: float  # standard deviation of its colour
    noise: float  # standard deviation of the pixel noise, pixels in [0, 1]


# place x, y, radius, orientation, stripes across the side, three colours
_PARAMETERS = 8


def make_scenes(look: Look, num_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Scenes [class, scene, patch, parameter] that define the classes."""
    return _draw_patches((num_classes, look.scenes, look.patches), rng)


def _draw_patches(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    patches = np.empty((*shape, _PARAMETERS))
    patches[..., 0:2] = rng.uniform(0.2, 0.8, (*shape, 2))
    patches[..., 2] = rng.uniform(0.1, 0.24, shape)
    patches[..., 3] = rng.uniform(0, np.pi, shape)
    patches[..., 4] = rng.uniform(1, 7, shape)
    patches[..., 5:8] = rng.uniform(-0.5, 0.5, (*shape, 3))
    return patches


def draw_scenes(
    scenes: np.ndarray, labels: np.ndarray, look: Look, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw a uint8 picture for each label, [n, size, size, 3]."""
    images = np.empty((len(labels), size, size, 3), dtype=np.uint8)
    for start in range(0, len(labels), CHUNK):
        part = labels[start : start + CHUNK]
        patches = _deform(scenes[part, rng.integers(look.scenes, size=len(part))], look, rng)
        clutter = _draw_patches((len(part), look.clutter), rng)
        images[start : start + CHUNK] = _render(np.concatenate([patches, clutter], axis=1), look, size, rng)
    return images


def _deform(patches: np.ndarray, look: Look, rng: np.random.Generator) -> np.ndarray:
    """Shift, turn, resize and recolour each patch of the scenes; shift each scene as a whole."""
    count, number = patches.shape[:2]
    patches = patches.copy()
    patches[..., 0:2] += rng.normal(0, look.shift, (count, number, 2)) + rng.normal(
        0, look.shift, (count, 1, 2)
    )
    patches[..., 2] *= np.exp(rng.normal(0, 0.2, (count, number)))
    patches[..., 3] += rng.normal(0, look.turn, (count, number))
    patches[..., 4] *= np.exp(rng.normal(0, 0.15, (count, number)))
    patches[..., 5:8] += rng.normal(0, look.recolour, (count, number, 3))
    return patches


def _render(patches: np.ndarray, look: Look, size: int, rng: np.random.Generator) -> np.ndarray:
    """patches: [n, patch, parameter]. Returns uint8 [n, size, size, 3]."""
    count = len(patches)
    grid = (np.arange(size) + 0.5) / size
    x = grid[None, None, None, :] - patches[..., 0, None, None]
    y = grid[None, None, :, None] - patches[..., 1, None, None]
    angle, radius = patches[..., 3, None, None], patches[..., 2, None, None]
    phase = rng.uniform(0, 2 * np.pi, (*patches.shape[:2], 1, 1))
    along = x * np.cos(angle) + y * np.sin(angle)
    stripes = 0.6 + 0.4 * np.cos(2 * np.pi * patches[..., 4, None, None] * along + phase)
    soft = np.exp(-(x**2 + y**2) / (2 * radius**2)) * stripes
    picture = np.einsum("nphw,npc->nhwc", soft, patches[..., 5:8])
    slope = rng.normal(0, 0.15, (count, 1, 1, 3, 2))
    picture += slope[..., 0] * (grid[:, None, None] - 0.5) + slope[..., 1] * (grid[None, :, None] - 0.5)
    picture += rng.uniform(0.3, 0.7, (count, 1, 1, 3))
    picture += rng.normal(0, look.noise, picture.shape)
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
