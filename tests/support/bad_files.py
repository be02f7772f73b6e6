"""Makers of bad files: each takes the folder of a test and writes what its name says."""

import io
import json
import struct
import zipfile
from hashlib import sha256

import fake_federation
import numpy as np
import pandas as pd
from nbformat import v4, writes

from fedlib.cli.main import main
from fedlib.experiments.store import Store, to_json

XRAYS = "pneumoniamnist-subset"  # known by name, never downloaded
DEEP = "[" * 100_000


def npz(folder, name="tiny", **changes):
    """A small data set as one .npz file, some of its arrays changed."""
    arrays = {
        "train_images": np.zeros((4, 4, 4), np.uint8),
        "train_labels": np.arange(4) % 2,
        "test_images": np.zeros((4, 4, 4), np.uint8),
        "test_labels": np.arange(4) % 2,
    }
    path = folder / "data" / f"{name}.npz"
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **{key: value for key, value in {**arrays, **changes}.items() if value is not None})
    return path


def array(**changes):
    return lambda folder: npz(folder, **changes)


def forged_shape(folder):
    """The header of the images promises 2^60 bytes."""
    path = npz(folder)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (1 << 50, 32, 32)}
    )
    members["train_images.npy"] = header.getvalue() + b"\0" * 64
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def encrypted(folder):
    """The flag of an encrypted member in every header of the archive."""
    path = npz(folder)
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = content.find(signature)
        while at >= 0:
            (flags,) = struct.unpack_from("<H", content, at + offset)
            struct.pack_into("<H", content, at + offset, flags | 1)
            at = content.find(signature, at + 4)
    path.write_bytes(content)


def cut(make, *parts):
    """What `make` writes, its file (or the one that `parts` name) cut in half."""

    def maker(folder):
        path = make(folder) if not parts else (make(folder), folder.joinpath(*parts))[1]
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return maker


def text(*parts):
    """A file with this content: the last of `parts`."""

    def maker(folder):
        path = folder.joinpath(*parts[:-1])
        path.parent.mkdir(parents=True, exist_ok=True)
        content = parts[-1]
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return maker


def parquet(**columns):
    def maker(folder):
        path = folder / "data" / "femnist" / "part.parquet"
        path.parent.mkdir(parents=True)
        pd.DataFrame(columns).to_parquet(path)

    return maker


def leaf(**changes):
    user = {"x": [[0.5] * 784] * 4, "y": [0, 1, 2, 3]} | changes
    shard = {"users": ["a"], "num_samples": [4], "user_data": {"a": user}}
    return text("data", "femnist", "all.json", json.dumps(shard))


TSV = (
    "data/crisis_vision_benchmarks/tasks/disaster_types/consolidated/consolidated_disaster_types_{}_final.tsv"
)


def crisis(path="a.jpg", label="fire", raw=None):
    """Both tables of CrisisIBD with one picture each, which is not there."""

    def maker(folder):
        table = f"image_path\tclass_label\n{path}\t{label}\n".encode() if raw is None else raw
        for split in ("train", "test"):
            text(TSV.format(split), table)(folder)

    return maker


def cached(**changes):
    """A cached data set with other fields in its meta.json, and without its source."""

    def maker(folder):
        source = npz(folder, XRAYS)
        assert main(["data", "fetch", XRAYS]) == 0
        source.unlink()
        path = folder / "data" / "arrays" / XRAYS / "meta.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return maker


def stored(change):
    """Two stored runs of the fake grid; `change` gets the folder of the first."""

    def maker(folder):
        store = Store(folder / "runs")
        store_runs(store)
        change(store.folder(fake_federation.BASE))

    return maker


def store_runs(store):
    for run in fake_federation.grid_runs("smoke"):
        provenance = {
            "dataset": {"name": "a", "origin": "b", "checksum": "c", "stand_in": True},
            "device": "cpu",
            "device_name": "a CPU",
            "commit": None,
            "dirty": None,
            "versions": {"torch": "2", "fedlib": "0"},
        }
        store.put(run, rows=[{"round": 0, "status": "ok", "test_accuracy": 0.5}], provenance=provenance)


def rewritten(name, change):
    """A stored file with other bytes that its summary vouches for."""

    def maker(folder):
        (folder / name).write_bytes(change((folder / name).read_bytes()))
        summary = json.loads((folder / "summary.json").read_bytes())
        del summary["sha256"]
        summary["files"][name] = sha256((folder / name).read_bytes()).hexdigest()
        digest = sha256(to_json(summary)).hexdigest()
        (folder / "summary.json").write_bytes(to_json(summary | {"sha256": digest}))

    return stored(maker)


def newer_field(data):
    return json.dumps(json.loads(data) | {"colour": "red"}).encode()


def folder_at(name):
    def maker(folder):
        (folder / name).unlink()
        (folder / name).mkdir()

    return stored(maker)


def committed(change):
    """Committed rows of the fake grid at reduced; `change` gets the folder that holds them."""

    def maker(folder):
        assert main(["run", "fake/grid", "--profile", "reduced", "--seeds", "1", "--device", "cpu"]) == 0
        assert main(["export", "fake/grid", "--profile", "reduced"]) == 0
        (folder / "runs").rename(folder / "moved")
        change(folder / "results" / "fake")

    return maker


def over(pattern, content):
    """Another content for the one file of a folder that the pattern matches: bytes, or a share of its own."""

    def change(folder):
        (path,) = folder.glob(pattern)
        old = path.read_bytes()
        path.write_bytes(old[: int(len(old) * content)] if isinstance(content, float) else content)

    return change


def notebook(content=None):
    cells = [v4.new_code_cell('profile = "smoke"', metadata={"tags": ["parameters"]})]
    whole = v4.new_notebook(cells=cells)
    return text("01_a.ipynb", writes(whole) if content is None else content)


def link(name, target):
    def maker(folder):
        (folder / name).symlink_to(folder / target)

    return maker
