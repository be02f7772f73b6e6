"""Read picture files into uint8 arrays; a damaged one is a DataError that names it."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from fedlib.errors import DataError

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp"}


def read_pictures(paths: Sequence[Path], size: int, *, mode: str) -> np.ndarray:
    """[n, size, size] (mode `L`) or [n, size, size, 3] (mode `RGB`), bilinear, aspect not kept."""
    shape = (len(paths), size, size, 3) if mode == "RGB" else (len(paths), size, size)
    images = np.empty(shape, dtype=np.uint8)
    for index, path in enumerate(paths):
        images[index] = read_picture(path, size, mode=mode)
    return images


def read_picture(path: Path, size: int, *, mode: str) -> np.ndarray:
    """Read a picture as uint8 [size, size] or [size, size, 3]."""
    try:
        with Image.open(path) as picture:
            return _to_array(picture, size, mode)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is damaged or no picture ({error}); put an intact copy there") from error


def decode_picture(data: bytes, size: int, *, where: str) -> np.ndarray:
    """A grey picture from encoded bytes, uint8 [size, size]. `where` names the file in errors."""
    try:
        with Image.open(BytesIO(data)) as picture:
            return _to_array(picture, size, "L")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{where} holds a damaged picture ({error})") from error


def _to_array(picture: Image.Image, size: int, mode: str) -> np.ndarray:
    converted = picture.convert(mode)
    if converted.size != (size, size):
        converted = converted.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(converted)
