"""CrisisIBD, task disaster types: the official TSV files and image folders (FEDDDRL-A38).

    <data folder>/crisis_vision_benchmarks/
        tasks/disaster_types/consolidated/consolidated_disaster_types_{train,test}_final.tsv
        data/…                     the pictures, where the column image_path says

The official test split is the test data; the dev split is not used.

Alam, Ofli, Imran, Alam, Qazi: Deep learning benchmarks and datasets for social media image
classification for disaster response, ASONAM 2020, https://arxiv.org/abs/2011.08916.
"""

import csv
from pathlib import Path

import numpy as np

from fedlib.data.build import make_dataset
from fedlib.data.class_names import CENTRED_COLOUR, CRISIS_CLASSES
from fedlib.data.dataset import Dataset, Split
from fedlib.data.image_files import read_pictures
from fedlib.errors import DataError
from fedlib.paths import data_folder

_COLUMNS = ("image_path", "class_label")


def crisis_folder() -> Path:
    return data_folder() / "crisis_vision_benchmarks"


def tsv_file(split: str) -> Path:
    name = f"consolidated_disaster_types_{split}_final.tsv"
    return crisis_folder() / "tasks" / "disaster_types" / "consolidated" / name


def find_crisis() -> list[Path]:
    """The two TSV files; empty if neither is there, DataError if one is missing."""
    files = [tsv_file("train"), tsv_file("test")]
    present = [path for path in files if path.is_file()]
    if len(present) == 1:
        missing = next(path for path in files if path not in present)
        raise DataError(f"crisis-ibd is incomplete: no file {missing}; unpack the official archive again")
    return present


def build_crisis(size: int = 64) -> Dataset:
    """Read both splits at size × size pixels."""
    return make_dataset(
        "crisis-ibd",
        *(_read_split(tsv_file(split), size) for split in ("train", "test")),
        class_names=CRISIS_CLASSES,
        origin=f"CrisisIBD, task disaster types, official train and test splits, {size}×{size}",
        licence="terms of use of crisisnlp.qcri.org",
        **CENTRED_COLOUR,
    )


def _read_split(path: Path, size: int) -> Split:
    rows = _read_rows(path)
    pictures = [crisis_folder() / _inside(path, row["image_path"]) for row in rows]
    if missing := [picture for picture in pictures if not picture.is_file()]:
        message = (
            f"crisis-ibd is incomplete: {len(missing)} of {len(pictures)} pictures of {path.name} are missing"
        )
        raise DataError(f"{message}, the first is {missing[0]}; unpack the official archive again")
    labels = np.array([_label(path, row["class_label"]) for row in rows], dtype=np.int64)
    return Split(read_pictures(pictures, size, mode="RGB"), labels)


def _inside(table: Path, text: str) -> Path:
    """The relative path of a picture; DataError for one that leaves the folder."""
    path = Path(text)
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{table}: image_path {text!r} leaves the folder {crisis_folder()}")
    return path


def _read_rows(path: Path) -> list[dict[str, str]]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if missing := [name for name in _COLUMNS if name not in (reader.fieldnames or ())]:
                raise DataError(
                    f"{path}: no column {missing[0]!r}; found: {', '.join(reader.fieldnames or ())}"
                )
            return [row for row in reader if row["image_path"]]
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(
            f"{path} is damaged or no TSV file in UTF-8 ({error}); unpack the archive again"
        ) from error


def _label(path: Path, text: str | None) -> int:
    if text not in CRISIS_CLASSES:
        raise DataError(f"{path}: class_label {text!r}; allowed: {', '.join(CRISIS_CLASSES)}")
    return CRISIS_CLASSES.index(text)
