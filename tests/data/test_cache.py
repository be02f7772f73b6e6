"""The cached array format: what is written comes back, and damage is never read silently."""

import errno
import json
import threading

import numpy as np
import pytest

from fedlib import data
from fedlib.data import cache
from fedlib.data.source import fingerprint
from fedlib.errors import DataError


@pytest.fixture
def cached(folder):
    """A small data set in the cache; returns (cache folder, its source file)."""
    source = folder / "tiny.npz"
    images = np.arange(4 * 9, dtype=np.uint8).reshape(4, 3, 3)
    labels = np.array([0, 1, 0, 1])
    np.savez(source, train_images=images, train_labels=labels, test_images=images, test_labels=labels)
    data.load_dataset("tiny")
    return folder / "arrays" / "tiny", source


def test_the_cache_serves_without_the_source(cached):
    folder, source = cached
    before = data.load_dataset("tiny")
    source.rename(source.with_name("mnist.npz"))  # `tiny` is now an unknown name, `mnist` is at hand
    meta = cache.read_meta("tiny")
    after = cache.load("tiny", meta)
    assert after.checksum == before.checksum == meta["checksum"]
    assert after.class_names == ("0", "1")
    np.testing.assert_array_equal(after.test.images, before.test.images)
    assert sorted(path.name for path in folder.iterdir()) == [
        "meta.json",
        "test_images.npy",
        "test_labels.npy",
        "train_images.npy",
        "train_labels.npy",
    ]


def test_no_temporary_folder_is_left(cached):
    folder, _ = cached
    assert {path.name for path in folder.parent.iterdir()} == {".lock", "tiny"}


def _damage(folder, how):
    path = folder / "train_images.npy"
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-5])
    elif how == "missing":
        path.unlink()
    elif how == "labels":
        np.save(folder / "train_labels.npy", np.array([0, 1, 0, 7]))
    elif how == "meta":
        (folder / "meta.json").write_text('{"name": "tiny"')
    elif how == "fields":
        (folder / "meta.json").write_text('{"name": "tiny"}')


@pytest.mark.parametrize("how", ["truncated", "missing", "labels", "meta", "fields"])
def test_a_damaged_cache_is_built_again_with_a_warning_that_names_the_file(cached, how):
    folder, _ = cached
    _damage(folder, how)
    with pytest.warns(UserWarning, match=r"arrays/tiny/.* is damaged; building tiny again"):
        data.load_dataset("tiny")
    assert data.load_dataset("tiny").train.labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("how", ["truncated", "missing", "labels", "meta", "fields"])
def test_a_damaged_cache_without_its_source_is_an_error_that_names_the_file(folder, how):
    images = np.zeros((4, 3, 3), np.uint8)
    labels = np.array([0, 1, 0, 1])
    name = "pneumoniamnist-subset"  # whose classes are known, however many images there are
    path = folder / "pneumoniamnist_subset.npz"
    np.savez(path, train_images=images, train_labels=labels, test_images=images, test_labels=labels)
    data.load_dataset(name)
    path.unlink()
    assert data.load_dataset(name).num_classes == 2
    _damage(folder / "arrays" / name, "labels" if how == "labels" else how)
    if how == "labels":
        np.save(folder / "arrays" / name / "train_labels.npy", np.array([0, 1, 1, 10]))
    with pytest.raises(DataError, match=rf"arrays/{name}/\w+.(npy|json) is damaged \("):
        data.load_dataset(name)


def test_check_finds_a_single_changed_byte(cached):
    folder, _ = cached
    assert {row.verdict for row in data.check("tiny")} == {"checksum ok"}
    path = folder / "test_images.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    verdicts = {row.file: row.verdict for row in data.check("tiny")}
    assert verdicts.pop(str(path)) == "damaged"
    assert set(verdicts.values()) == {"checksum ok"}
    (folder / "train_labels.npy").unlink()
    verdicts = {row.file: row.verdict for row in data.check("tiny")}
    assert verdicts[str(folder / "train_labels.npy")] == "absent"


def test_check_of_absent_and_embedded_data():
    (row,) = data.check("cifar10")
    assert row.verdict == "absent"
    assert "data fetch cifar10" in row.file
    (row,) = data.check("fmnist-embedded")
    assert row.verdict == "checksum ok"


def test_check_tells_a_damaged_source(folder):
    (folder / "mnist.npz").write_bytes(b"PK")
    (row,) = data.check("mnist")
    assert row.verdict == "damaged"
    assert "mnist.npz" in row.file


def test_two_writers_at_once_leave_one_whole_copy(cached):
    tiny = data.load_dataset("tiny")
    fingerprint = cache.read_meta("tiny")["fingerprint"]
    errors = []

    def write():
        try:
            for _ in range(5):
                with cache.building("tiny"):
                    cache.save("tiny", tiny, fingerprint)
        except (OSError, DataError) as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert {row.verdict for row in data.check("tiny")} == {"checksum ok"}
    assert {path.name for path in cached[0].parent.iterdir()} == {".lock", "tiny"}


def test_an_older_format_is_told(cached):
    path = cached[0] / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 0}))
    with pytest.raises(cache.CacheDamaged, match="format 0, this code reads 1"):
        cache.read_meta("tiny")


def test_a_data_folder_that_cannot_be_written_is_told(folder, monkeypatch):
    images = np.zeros((2, 3, 3), np.uint8)
    np.savez(
        folder / "tiny.npz", train_images=images, train_labels=[0, 1], test_images=images, test_labels=[0, 1]
    )
    (folder / "arrays").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"cannot write the data folder .*FEDLIB_DATA names another"):
        data.load_dataset("tiny")


def test_the_list_tells_every_state(cached):
    cached[0].parent.parent.joinpath("fmnist.npz").write_bytes(b"")
    rows = {row.name: row for row in data.describe_datasets()}
    assert list(rows) == data.dataset_names()
    assert rows["fmnist-embedded"].state == "ready"
    assert rows["tiny"].state == "ready"
    assert rows["tiny"].origin == "tiny, from the file tiny.npz"
    assert rows["cifar100"].state == "absent"
    assert "data fetch cifar100" in rows["cifar100"].how
    stand_ins = {name for name, row in rows.items() if row.stand_in}
    assert stand_ins == {name for name in rows if name.startswith("standin-")}
    assert {rows[name].state for name in stand_ins} == {"generated"}
    (cached[0] / "meta.json").write_text("")
    rows = {row.name: row for row in data.describe_datasets()}
    assert rows["tiny"].state == "damaged"


def test_fetch_of_manual_data_gives_the_steps():
    with pytest.raises(DataError, match=r"femnist is absent: .*put LEAF's JSON shards"):
        data.fetch("femnist")


def test_a_renamed_folder_is_another_source(folder):
    """Folders name classes and sources: the same files below another name are other data."""
    (folder / "china").mkdir()
    (folder / "china" / "1.png").write_bytes(b"1")
    before = fingerprint([folder / "china" / "1.png"])
    (folder / "china").rename(folder / "shenzhen")
    assert fingerprint([folder / "shenzhen" / "1.png"]) != before


def test_a_disk_without_room_for_a_folder_is_one_line(cached, monkeypatch):
    tiny, meta = data.load_dataset("tiny"), cache.read_meta("tiny")

    def full(**where):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache.tempfile, "mkdtemp", full)
    with cache.building("tiny"), pytest.raises(DataError, match=r"cannot write .*No space left on device"):
        cache.save("tiny", tiny, meta["fingerprint"])
