"""Chest X-rays: one folder per source, in it `normal` and `abnormal`; 32×32 grey (FEDDISK-A23).

    <data folder>/chest-xray/<source>/normal/**.png, abnormal/**.png

FedDisk's three sources are COVID-19 Radiography (classes normal and lung opacity), Shenzhen
(tuberculosis) and UCSD/Kermany (pneumonia). Their own folder names for the abnormal class are
understood, masks are left out, and Shenzhen's pictures are inverted, as the authors do. The
group of an image is its source. No common split exists: 15 % of each source and class is held
out, drawn by a named stream.
"""

from pathlib import Path

import numpy as np

from fedlib.data.build import hold_out, make_dataset
from fedlib.data.class_names import CENTRED_GREY, XRAY_CLASSES
from fedlib.data.dataset import Dataset, Split
from fedlib.data.image_files import SUFFIXES, read_pictures
from fedlib.errors import DataError
from fedlib.paths import data_folder

LABEL_OF_FOLDER = {"normal": 0, "abnormal": 1, "lung_opacity": 1, "pneumonia": 1, "tuberculosis": 1}
TEST_FRACTION = 0.15


def xray_folder() -> Path:
    return data_folder() / "chest-xray"


def find_xray() -> list[Path]:
    """All pictures under a source's class folders."""
    return [path for path in sorted(xray_folder().glob("*/**/*")) if _label(path) is not None]


def _label(path: Path) -> int | None:
    """The class that the folders below the source's name tell; None for anything else."""
    folders = [part.lower() for part in path.relative_to(xray_folder()).parts[1:-1]]
    if path.suffix.lower() not in SUFFIXES or "masks" in folders:
        return None
    labels = [LABEL_OF_FOLDER[folder] for folder in folders if folder in LABEL_OF_FOLDER]
    return labels[-1] if labels else None


def _source(path: Path) -> str:
    return path.relative_to(xray_folder()).parts[0]


def build_xray(size: int = 32) -> Dataset:
    """Read all sources; DataError if a source lacks one of the two classes."""
    paths = find_xray()
    sources = sorted({_source(path) for path in paths})
    labels = np.array([_label(path) for path in paths], dtype=np.int64)
    groups = np.array([sources.index(_source(path)) for path in paths], dtype=np.int64)
    for index, source in enumerate(sources):
        for label, name in enumerate(XRAY_CLASSES):
            if not np.any((groups == index) & (labels == label)):
                folder = xray_folder() / source / name
                raise DataError(
                    f"chest-xray is incomplete: no picture in {folder}; put the source's pictures there"
                )
    images = read_pictures(paths, size, mode="L")
    inverted = np.array([["shenzhen" in source.lower() for source in sources][group] for group in groups])
    images[inverted] = 255 - images[inverted]
    test = hold_out(groups * 2 + labels, TEST_FRACTION, "chest-xray")
    return make_dataset(
        "chest-xray",
        *(Split(images[part], labels[part], groups[part]) for part in (~test, test)),
        class_names=XRAY_CLASSES,
        origin=f"chest X-rays of the sources {', '.join(sources)}",
        licence="as the sources say",
        group_names=sources,
        **CENTRED_GREY,
    )
