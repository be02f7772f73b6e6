"""The real torchvision download and checksum path, against a server on the loopback."""

import gc
import gzip
import hashlib
import http.server
import pickle
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fedlib import data
from fedlib.data import torchvision_sets
from fedlib.errors import DataError


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def _serving(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def mirror(tmp_path, monkeypatch, idx_files):
    """A folder served over HTTP as torchvision's only mirror of MNIST, with matching checksums."""
    served = tmp_path / "mirror"
    served.mkdir()
    for name, content in idx_files.items():
        (served / name).write_bytes(content)
    reader = torchvision_sets.KNOWN["mnist"].reader
    sums = [(name, hashlib.md5(idx_files[name]).hexdigest()) for name, _ in reader.resources]
    monkeypatch.setattr(reader, "resources", sums)
    with _serving(served) as url:
        monkeypatch.setattr(reader, "mirrors", [url])
        yield served


@pytest.mark.usefixtures("mirror")
def test_fetch_downloads_checks_and_caches(folder, idx_files):
    mnist = data.fetch("mnist")
    expected = np.frombuffer(gzip.decompress(idx_files["train-images-idx3-ubyte.gz"]), np.uint8, offset=16)
    np.testing.assert_array_equal(mnist.train.images.ravel(), expected)
    np.testing.assert_array_equal(mnist.test.labels, np.arange(10))
    assert mnist.origin == "MNIST through torchvision"
    assert (mnist.mean, mnist.std) == ((0.1307,), (0.3081,))  # FEDDRL-A39
    assert not mnist.stand_in
    assert (folder / "arrays" / "mnist" / "meta.json").is_file()
    assert data.load_dataset("mnist").checksum == mnist.checksum


def test_a_truncated_download_is_refused(mirror):
    path = mirror / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match=r"could not download mnist.*train-images.*corrupted"):
        data.fetch("mnist")


def test_a_download_with_a_wrong_checksum_is_refused_and_a_repaired_mirror_is_read(mirror, idx_files):
    path = mirror / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(idx_files["train-labels-idx1-ubyte.gz"])  # intact, but another file
    with pytest.raises(DataError, match=r"could not download mnist.*t10k-labels.*corrupted"):
        data.fetch("mnist")
    path.write_bytes(idx_files[path.name])
    assert len(data.fetch("mnist").test) == 10


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_file_missing_on_the_server_is_told(mirror):
    (mirror / "t10k-images-idx3-ubyte.gz").unlink()
    with pytest.raises(DataError, match=r"could not download mnist.*t10k-images.*404"):
        data.fetch("mnist")
    gc.collect()  # torchvision keeps urllib's HTTPError, a socket open in it: let it go here


@pytest.mark.usefixtures("mirror")
def test_a_missing_local_file_names_it(folder):
    torchvision_sets.download_set("mnist")
    (folder / "MNIST" / "raw" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(
        DataError, match=r"mnist is incomplete: no file .*t10k-labels-idx1-ubyte; .*fetch mnist"
    ):
        data.load_dataset("mnist")
    assert len(data.fetch("mnist").test) == 10  # the archive is intact: unpacked again


@pytest.mark.usefixtures("mirror")
def test_a_truncated_local_file_is_damage_and_fetch_repairs_it(folder):
    torchvision_sets.download_set("mnist")
    raw = folder / "MNIST" / "raw" / "train-images-idx3-ubyte"
    raw.write_bytes(raw.read_bytes()[:5000])
    with pytest.raises(DataError, match=r"mnist: a file under .*MNIST/raw is damaged"):
        data.load_dataset("mnist")
    assert len(data.fetch("mnist").train) == 20


@pytest.mark.usefixtures("mirror")
def test_a_damaged_local_archive_names_it(folder):
    torchvision_sets.download_set("mnist")
    archive = folder / "MNIST" / "raw" / "train-labels-idx1-ubyte.gz"
    archive.write_bytes(b"\0" + archive.read_bytes()[1:])
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte.gz is damaged \(its checksum"):
        data.load_dataset("mnist")


def test_absent_data_say_where_they_looked_and_how_to_get_them(folder):
    expected = rf"cifar100 is absent: looked for the folder {folder}/cifar-100-python, .*data fetch cifar100"
    with pytest.raises(DataError, match=expected):
        data.load_dataset("cifar100")


def test_debian_files_are_read_and_held_to_their_checksums(tmp_path, monkeypatch, idx_files):
    shipped = tmp_path / "debian"
    shipped.mkdir()
    for name, content in idx_files.items():
        (shipped / name).write_bytes(content)
    sums = {name: hashlib.sha256(gzip.decompress(content)).hexdigest() for name, content in idx_files.items()}
    monkeypatch.setattr(torchvision_sets, "DEBIAN_FMNIST", shipped)
    monkeypatch.setattr(torchvision_sets, "DEBIAN_SHA256", sums)
    assert data.load_dataset("fmnist").origin == "Fashion-MNIST from Debian's package dataset-fashion-mnist"
    path = shipped / "train-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(b"another content"))
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte.gz is damaged"):
        data.load_dataset("fmnist")
    path.write_bytes(idx_files[path.name][:-20])
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte.gz is damaged"):
        data.load_dataset("fmnist")


def test_cifar_in_the_official_layout(folder, monkeypatch):
    reader = torchvision_sets.KNOWN["cifar100"].reader
    root = folder / reader.base_folder
    root.mkdir()
    pixels = np.arange(4 * 3072, dtype=np.uint32).astype(np.uint8).reshape(4, 3072)  # planes R, G, B
    contents = {
        "train": {"data": pixels, "fine_labels": [0, 1, 2, 2]},
        "test": {"data": pixels[:2], "fine_labels": [1, 0]},
        "meta": {"fine_label_names": ["apple", "bear", "cloud"]},
    }
    sums = {}
    for name, content in contents.items():
        blob = pickle.dumps(content)
        (root / name).write_bytes(blob)
        sums[name] = hashlib.md5(blob).hexdigest()
    monkeypatch.setattr(reader, "train_list", [["train", sums["train"]]])
    monkeypatch.setattr(reader, "test_list", [["test", sums["test"]]])
    monkeypatch.setattr(reader, "meta", {**reader.meta, "md5": sums["meta"]})
    cifar = data.load_dataset("cifar100")
    assert cifar.image_shape == (3, 32, 32)
    assert cifar.class_names == ("apple", "bear", "cloud")
    assert cifar.train.images[1, 0, 1].tolist() == pixels[1, [1, 1025, 2049]].tolist()
    (root / "test").write_bytes(b"other")
    with pytest.raises(DataError, match=r"cifar100: a file under .*cifar-100-python is damaged"):
        data.load_dataset("cifar100")


@pytest.mark.parametrize("name", torchvision_sets.KNOWN)
def test_folders_and_files_are_those_of_torchvision(name):
    known = torchvision_sets.KNOWN[name]
    reader = known.reader
    if known.is_idx:
        assert known.folder == f"{reader.__name__}/raw"
        assert [*known.files] == [Path(file).stem for file, _ in reader.resources]
    else:
        assert known.folder == reader.base_folder
        batches = [file for file, _ in reader.train_list + reader.test_list]
        assert [*known.files] == [*batches, reader.meta["filename"]]
