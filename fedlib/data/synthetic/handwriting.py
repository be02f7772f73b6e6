"""Generated handwriting: 62 glyphs in the style of a writer, what `standin-femnist` is made of.

The glyphs are drawn once with the font that Pillow carries. A writer has a slant, proportions, a
pen width, a wobble, ink and paper; each image then deforms and moves the writer's glyph a little.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIZE = 28
_ATLAS = 64  # side of the drawn glyphs, pixels


def draw_atlas(glyphs: tuple[str, ...]) -> np.ndarray:
    """Softened ink in [0, 1], [glyph, 64, 64], each glyph on the same base line."""
    font = ImageFont.load_default(48)
    atlas = np.empty((len(glyphs), _ATLAS, _ATLAS))
    for index, glyph in enumerate(glyphs):
        picture = Image.new("L", (_ATLAS, _ATLAS), 0)
        ImageDraw.Draw(picture).text((_ATLAS / 2, 46), glyph, fill=255, font=font, anchor="ms")
        atlas[index] = np.asarray(picture.filter(ImageFilter.GaussianBlur(2.0))) / 255
    return atlas


@dataclass(frozen=True)
class Style:
    """Handwriting style of a writer."""

    matrix: np.ndarray  # [2, 2] from image to glyph coordinates: slant, turn, proportions
    wobble: np.ndarray  # [4] amplitude (pixels of 28) and waves per side, along y and x
    threshold: float  # soft ink above it is pen: a low one is a wide pen
    ink: float  # darkness of the pen, 0..1
    paper: float  # darkness of the paper, 0..1
    noise: float


def draw_style(rng: np.random.Generator) -> Style:
    """A writer's style."""
    slant, turn = rng.normal(0, 0.3), rng.normal(0, 0.15)
    wide, high = np.exp(rng.normal(0, 0.18, 2))
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return Style(
        matrix=np.array([[wide, slant], [0.0, high]]) @ rotation,
        wobble=np.concatenate([rng.uniform(0.2, 1.6, 2), rng.uniform(0.6, 1.8, 2)]),
        threshold=rng.uniform(0.2, 0.6),
        ink=rng.uniform(0.55, 1.0),
        paper=rng.uniform(0.0, 0.15),
        noise=rng.uniform(0.02, 0.12),
    )


def write(atlas: np.ndarray, labels: np.ndarray, style: Style, rng: np.random.Generator) -> np.ndarray:
    """The glyphs of `labels` in that style, uint8 [n, 28, 28], dark on white."""
    count = len(labels)
    matrix = style.matrix + rng.normal(0, 0.12, (count, 2, 2))
    axis = np.arange(SIZE) - (SIZE - 1) / 2
    x, y = axis[None, None, :], axis[None, :, None]
    phase = rng.uniform(0, 2 * np.pi, (2, count, 1, 1))
    waves = 2 * np.pi * style.wobble[2:] / SIZE
    x = x + style.wobble[0] * np.sin(waves[0] * y + phase[0]) - rng.normal(0, 1.2, (count, 1, 1))
    y = y + style.wobble[1] * np.sin(waves[1] * x + phase[1]) - rng.normal(0, 1.2, (count, 1, 1))
    scale = 1.9  # glyph pixels per image pixel
    column = scale * (matrix[:, 0, 0, None, None] * x + matrix[:, 0, 1, None, None] * y) + _ATLAS / 2
    row = scale * (matrix[:, 1, 0, None, None] * x + matrix[:, 1, 1, None, None] * y) + _ATLAS / 2
    soft = _sample(atlas, labels, row, column)
    pen = 1 / (1 + np.exp(-(soft - style.threshold) / 0.07))
    dark = style.paper + (style.ink - style.paper) * pen + rng.normal(0, style.noise, pen.shape)
    return np.rint(255 * (1 - np.clip(dark, 0, 1))).astype(np.uint8)


def _sample(atlas: np.ndarray, labels: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Bilinear values of the labels' glyphs at (row, column), each [n, 28, 28]; 0 outside."""
    row, column = (np.clip(place, 0, _ATLAS - 1.001) for place in (row, column))
    top, left = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    down, right = row - top, column - left
    glyph = labels[:, None, None]
    upper = atlas[glyph, top, left] * (1 - right) + atlas[glyph, top, left + 1] * right
    lower = atlas[glyph, top + 1, left] * (1 - right) + atlas[glyph, top + 1, left + 1] * right
    return upper * (1 - down) + lower * down
