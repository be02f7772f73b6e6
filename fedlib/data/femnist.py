"""FEMNIST, 62 glyphs by writer: LEAF's JSON shards, or the parquet layout with `writer_id`.

    <data folder>/femnist/**/*.json      LEAF: {"users", "num_samples", "user_data": {user: {"x", "y"}}},
                                         x lists of 784 numbers in [0, 1]; folders train/ and test/ are kept
    <data folder>/femnist/**/*.parquet   columns writer_id, image (encoded bytes, or numbers in 0..255),
                                         character or label (0..61, or the glyph itself)

Without a split of its own 15 % of every writer's images are held out, drawn by a named stream.
Groups are writers, sorted by name. Glyphs are dark on white, as LEAF has them.

Caldas et al.: LEAF, a benchmark for federated settings, 2018, https://arxiv.org/abs/1812.01097.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from fedlib.data.build import hold_out, make_dataset
from fedlib.data.class_names import CENTRED_GREY, GLYPHS
from fedlib.data.dataset import Dataset, Split
from fedlib.data.image_files import decode_picture
from fedlib.errors import DataError
from fedlib.paths import data_folder

SIZE = 28
TEST_FRACTION = 0.15

Part = tuple[str, np.ndarray, np.ndarray]  # writer, images [n, 28, 28] uint8, labels [n] int64


def femnist_folder() -> Path:
    return data_folder() / "femnist"


def find_femnist() -> list[Path]:
    """LEAF's shards that hold images; else the parquet files."""
    shards = sorted(path for path in femnist_folder().glob("**/*.json") if path.parent.name != "keys")
    return shards or sorted(femnist_folder().glob("**/*.parquet"))


def build_femnist() -> Dataset:
    """Read all shards."""
    parts: dict[str, list[Part]] = {"train": [], "test": [], "all": []}
    for path in find_femnist():
        folder = path.parent.name if path.suffix == ".json" else "all"
        read = _read_leaf if path.suffix == ".json" else _read_parquet
        parts[folder if folder in parts else "all"].extend(read(path))
    if parts["train"] and parts["test"]:
        parts["all"] = []  # LEAF's split folders repeat what all_data holds
    elif parts["train"] or parts["test"]:
        present, missing = ("train", "test") if parts["train"] else ("test", "train")
        raise DataError(
            f"femnist is incomplete: {femnist_folder()} has shards in {present}/ but none in {missing}/"
        )
    if not any(parts.values()):
        raise DataError(f"femnist is empty: no image in the files of {femnist_folder()}")
    writers = sorted({writer for part in parts.values() for writer, _, _ in part})
    splits = (
        [_join(parts[name], writers) for name in ("train", "test")]
        if parts["train"]
        else _hold_out(parts, writers)
    )
    return make_dataset(
        "femnist",
        *splits,
        class_names=GLYPHS,
        origin=f"FEMNIST, {len(writers)} writers, from {'LEAF' if _is_leaf() else 'parquet'} files",
        licence="BSD-2-Clause (LEAF); images of NIST Special Database 19",
        group_names=writers,
        **CENTRED_GREY,
    )


def _is_leaf() -> bool:
    return find_femnist()[0].suffix == ".json"


def _hold_out(parts: dict[str, list[Part]], writers: list[str]) -> list[Split]:
    whole = _join(parts["all"], writers)
    test = hold_out(whole.groups, TEST_FRACTION, "femnist")
    return [Split(whole.images[part], whole.labels[part], whole.groups[part]) for part in (~test, test)]


def _join(parts: list[Part], writers: list[str]) -> Split:
    index = {writer: number for number, writer in enumerate(writers)}
    groups = [np.full(len(labels), index[writer], dtype=np.int64) for writer, _, labels in parts]
    images, labels = ([part[i] for part in parts] for i in (1, 2))
    return Split(np.concatenate(images), np.concatenate(labels), np.concatenate(groups))


def _read_leaf(path: Path) -> Iterator[Part]:
    try:
        shard = json.loads(path.read_text(encoding="utf-8"))
        for writer in shard["users"]:
            data = shard["user_data"][writer]
            pixels = np.asarray(data["x"], dtype=np.float64).reshape(-1, SIZE, SIZE)
            labels = np.asarray(data["y"])
            yield writer, _to_uint8(path, pixels * 255), _labels(path, labels, len(pixels))
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise DataError(
            f"{path} is damaged or no LEAF shard ({error!r}); put an intact copy there"
        ) from error


def _to_uint8(path: Path, pixels: np.ndarray) -> np.ndarray:
    if pixels.size and not (pixels.min() >= 0 and pixels.max() <= 255):
        raise DataError(f"{path}: pixels range over {pixels.min():g}..{pixels.max():g} of 0..255")
    return np.rint(pixels).astype(np.uint8)


def _labels(path: Path, labels: np.ndarray, count: int) -> np.ndarray:
    """int64 [count] in 0..61, from numbers or from the glyphs themselves."""
    if labels.dtype.kind in "UO":
        if unknown := [label for label in labels.tolist() if label not in GLYPHS]:
            raise DataError(f"{path}: label {unknown[0]!r}; allowed: one of {''.join(GLYPHS)}")
        labels = np.array([GLYPHS.index(glyph) for glyph in labels])
    if labels.shape != (count,):
        raise DataError(f"{path}: {labels.size} labels for {count} images")
    if labels.dtype.kind == "f" and not (labels == np.floor(labels)).all():
        wrong = labels[labels != np.floor(labels)][0]
        raise DataError(f"{path}: label {wrong}; allowed: whole numbers")
    if count and not (labels.min() >= 0 and labels.max() < len(GLYPHS)):
        raise DataError(
            f"{path}: labels range over {labels.min()}..{labels.max()}; allowed: 0..{len(GLYPHS) - 1}"
        )
    return labels.astype(np.int64)


def _read_parquet(path: Path) -> Iterator[Part]:
    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path} is damaged or no parquet file ({error}); put an intact copy there"
        ) from error
    label = "character" if "character" in table.column_names else "label"
    if missing := [name for name in ("writer_id", "image", label) if name not in table.column_names]:
        raise DataError(f"{path}: no column {missing[0]!r}; found: {', '.join(table.column_names)}")
    writers = np.array(table["writer_id"].to_pylist(), dtype=str)
    labels = _labels(path, np.array(table[label].to_pylist()), len(writers))
    images = _pictures(path, table["image"].to_pylist())
    for writer in np.unique(writers):
        chosen = writers == writer
        yield str(writer), images[chosen], labels[chosen]


def _pictures(path: Path, cells: list) -> np.ndarray:
    images = np.empty((len(cells), SIZE, SIZE), dtype=np.uint8)
    for index, cell in enumerate(cells):
        data = cell.get("bytes") if isinstance(cell, dict) else cell
        if isinstance(data, bytes):
            images[index] = decode_picture(data, SIZE, where=str(path))
        else:
            images[index] = _to_uint8(path, _square(path, data))
    return images


def _square(path: Path, values: list) -> np.ndarray:
    try:
        pixels = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: an image is neither encoded bytes nor numbers ({error})") from error
    if pixels.size != SIZE * SIZE:
        raise DataError(f"{path}: an image has {pixels.size} pixels; allowed: {SIZE * SIZE}")
    return pixels.reshape(SIZE, SIZE)
