"""Injected faults: a full disk, a folder that cannot be written, a kill in the middle of a write."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fake_federation
import filelock
import limited
import numpy as np
import pandas as pd
import pytest
import torch
from bad_files import npz
from fake_federation import BASE, Stop
from matplotlib.figure import Figure

import fedlib.federation
from fedlib import data, plotting
from fedlib.cli.main import main
from fedlib.data import cache, torchvision_sets
from fedlib.errors import DataError, WriteError
from fedlib.experiments import runner
from fedlib.experiments.progress import Silent
from fedlib.experiments.store import Store, StoreWarning
from fedlib.reporting import figure_files, notebook_runner, reproduce, site

REAL = {name: getattr(fedlib.federation, name) for name in ("prepare", "rounds")}


@pytest.fixture(autouse=True)
def fake(monkeypatch, tmp_path):
    fake_federation.install_for(monkeypatch, tmp_path)


@pytest.fixture
def full_disk(monkeypatch):
    """Every synced write ends like one on a full disk, its first bytes being there."""

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: monkeypatch.setattr(os, "fsync", full)


def _figure(folder):
    figure = Figure()
    figure.subplots().plot([0, 1])
    return plotting.save_figure(figure, "paper/fig1", folder)


def _report(folder):
    artifacts = pd.DataFrame({"artifact": ["a/b"], "title": ["a table"]})
    return site.write_site(folder, found=[], effects=pd.DataFrame(), artifacts=artifacts, notebooks=[])


def _results(folder):
    ended = notebook_runner.NotebookResult(
        name="01_a", profile="smoke", status="ok", seconds=1.0, peak_memory_mib=1.0
    )
    return notebook_runner.save_results([ended], folder)


WRITERS = {"figure": _figure, "report": _report, "results of notebooks": _results}


@pytest.mark.parametrize("what", WRITERS)
def test_a_full_disk_keeps_the_file_that_was_there(tmp_path, full_disk, what):
    path = WRITERS[what](tmp_path)
    path.write_bytes(b"of before" if path.suffix != ".json" else b"[]")
    before = path.read_bytes()
    full_disk()
    with pytest.raises(WriteError, match=rf"cannot write .*{path.name}: No space left on device"):
        WRITERS[what](tmp_path)
    assert path.read_bytes() == before
    assert not [*path.parent.glob(".*")]


@pytest.mark.parametrize("what", WRITERS)
def test_a_file_in_the_place_of_the_folder_is_one_line(tmp_path, what):
    (tmp_path / "out").touch()
    with pytest.raises(WriteError, match=r"cannot write .*: (Not a directory|File exists)"):
        WRITERS[what](tmp_path / "out")


_BUILD = """
import os, signal, sys
import numpy as np
from fedlib import data
saved = np.save
np.save = lambda path, *rest, **options: (saved(path, *rest, **options), os.kill(os.getpid(), signal.SIGKILL))
data.load_dataset("tiny")
"""


def test_what_a_killed_cache_build_leaves_is_removed_by_the_next(tmp_path):
    (tmp_path / "data").mkdir()
    labels = np.arange(4) % 2
    arrays = {f"{part}_images": np.zeros((4, 3, 3), np.uint8) for part in ("train", "test")}
    np.savez(tmp_path / "data" / "tiny.npz", **arrays, train_labels=labels, test_labels=labels)
    killed = subprocess.run([sys.executable, "-c", _BUILD], check=False)
    assert killed.returncode == -signal.SIGKILL
    folder = cache.cache_path("tiny").parent
    assert [*folder.glob(".tiny-*")]
    data.load_dataset("tiny")
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "tiny"]


def test_a_report_on_a_full_disk_is_one_line_and_status_1(tmp_path, monkeypatch, full_disk, capsys):
    for module in (site, notebook_runner):
        monkeypatch.setattr(module, "project_root", lambda: tmp_path)
    full_disk()
    assert main(["report", "--paper", "fake"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("fedlib: error: cannot write ")
    assert error.count("\n") == 1


@pytest.mark.parametrize("most", [3, 0])
def test_torchs_own_shortage_on_a_cpu_halves_the_replicas_and_at_last_is_one_line(monkeypatch, capsys, most):
    widths = []

    def rounds(task, method, state=None):
        widths.append(len(task.runs))
        if len(task.runs) > most:
            torch.empty(1 << 48, dtype=torch.uint8)
        return fake_federation.rounds(task, method, state)

    monkeypatch.setattr(fedlib.federation, "rounds", rounds)
    if most:
        runs = [replace(BASE, seed=seed) for seed in range(8)]
        assert runner.run_runs(runs, device="cpu", progress=Silent()).computed == 8
        assert widths == [8, 4, 2, 2, 4, 2, 2]
        return
    assert main(["run", "fake/grid", "--device", "cpu"]) == 1
    error = capsys.readouterr().err
    assert (
        "does not fit in the memory of cpu (can't allocate memory: you tried to allocate 281474976710656"
        in error
    )
    assert error.count("\n") == 1


def test_eight_seeds_under_a_real_limit_finish_by_halving(tmp_path):
    """All eight need about 350 MiB; here the allocator, and oneDNN in its own words, refuse it.

    How much one seed needs after that depends on how the address space lies: now and then a process
    finds 100 MiB too few even for one, and says so.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for mib in ("100", "150", "200"):
        command = [sys.executable, limited.__file__, str(tmp_path / mib), mib]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode == 0:
            break
        assert "does not fit in the memory of cpu" in done.stderr
    assert (done.returncode, done.stderr) == (0, "")
    assert "fedavg seed 0: 8 replicas do not fit in memory, trying 4\n" in done.stdout
    store = Store(tmp_path / mib)
    assert [store.get(run).status for run in limited.EIGHT] == ["finished"] * 8


RUN = ["run", "fake/grid", "--device", "cpu", "--seeds", "1", "--method", "fedavg"]
NO_REPLICA_FITS = "fedavg seed 0: does not fit in the memory of cpu (can't allocate memory: "
NOT_ENOUGH = "memory does not suffice ("


@pytest.mark.parametrize(
    ("module", "name", "command", "line"),
    [
        ("fedlib.federation.rounds", "_evaluate", RUN, NO_REPLICA_FITS),
        ("fedlib.federation.task", "load_dataset", RUN, NO_REPLICA_FITS),
        ("fedlib.data", "fetch", ["data", "fetch", "fmnist-embedded"], NOT_ENOUGH),
        ("fedlib.reporting.verdicts", "records", ["verdicts", "fake"], NOT_ENOUGH),
    ],
)
def test_a_shortage_outside_of_training_is_one_line(monkeypatch, capsys, module, name, command, line):
    for function, real in REAL.items():
        monkeypatch.setattr(fedlib.federation, function, real)
    monkeypatch.setattr(sys.modules[module], name, lambda *_, **__: torch.empty(1 << 48, dtype=torch.uint8))
    assert main(command) == 1
    error = capsys.readouterr().err
    assert error.startswith("fedlib: error: ")
    assert line in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["figures", "build"])
@pytest.mark.parametrize("how", ["a file", "read only"])
def test_an_unwritable_folder_is_one_line(tmp_path, monkeypatch, capsys, name, how):
    """A file in its place; a read-only disk, told by the system's call since root may write anywhere else."""
    for module in (figure_files, site, notebook_runner, reproduce):
        monkeypatch.setattr(module, "project_root", lambda: tmp_path)
    if how == "a file":
        (tmp_path / name).touch()
    else:
        made = os.mkdir

        def mkdir(path, *rest, **options):
            if tmp_path / name in (Path(path), *Path(path).parents):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
            made(path, *rest, **options)

        monkeypatch.setattr(os, "mkdir", mkdir)
    drawn = replace(fake_federation.ARTIFACTS[0], plot=lambda rows: Figure())
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (drawn,))
    assert main(RUN) == 0
    assert main(["figures", "fake"] if name == "figures" else ["report", "--paper", "fake"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"fedlib: error: cannot write {tmp_path / name}")
    assert error.count("\n") == 1


def test_a_store_that_holds_everything_is_only_read(monkeypatch, capsys):
    command = ["run", "fake/grid", "--device", "cpu"]
    assert main(command) == 0

    def read_only(*arguments, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(filelock.FileLock, "acquire", read_only)
    capsys.readouterr()
    assert main(command) == 0
    assert "4 runs, 0 computed now, 0 failed" in capsys.readouterr().out
    assert main([*command, "--seeds", "3"]) == 1
    assert "cannot write " in (error := capsys.readouterr().err)
    assert error.endswith("Read-only file system; everything stored before it is kept\n")


@pytest.mark.parametrize("name", ["checkpoint-1 (copy).pt", "checkpoint-x.pt", "checkpoint-99999999999.pt"])
def test_a_checkpoint_under_another_name_is_left_alone(name):
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs([BASE], device="cpu", progress=Stop(3), checkpoint_seconds=0.0)
    (path,) = Store().root.glob("fake/grid/groups/*/checkpoint-3.pt")
    shutil.copy(path, path.with_name(name))
    assert runner.run_runs([BASE], device="cpu", progress=Silent()).computed == 1


@pytest.mark.parametrize("how", ["folder", "deep"])
def test_a_checkpoint_that_is_none_is_set_aside(how):
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs([BASE], device="cpu", progress=Stop(3), checkpoint_seconds=0.0)
    (path,) = Store().root.glob("fake/grid/groups/*/checkpoint-3.pt")
    path.unlink()
    path.mkdir() if how == "folder" else path.write_text("[" * 100_000)
    with pytest.warns(StoreWarning, match=r"checkpoint-3.pt .*set aside \(checkpoint-3.pt.damaged-1\)"):
        assert runner.run_runs([BASE], device="cpu", progress=Silent()).computed == 1


def test_a_full_disk_while_data_are_cached_gives_its_reason(tmp_path, monkeypatch):
    """NumPy's own error of a short write has no error number, hence no text of the system."""
    npz(tmp_path)

    def short(path, array, **options):
        raise OSError("48 requested and 0 written")

    monkeypatch.setattr(np, "save", short)
    with pytest.raises(DataError, match=r"cannot write .*tiny \(48 requested and 0 written\)"):
        data.load_dataset("tiny")


def test_downloads_ask_https_mirrors_first():
    for name in ("mnist", "fmnist"):
        mirrors = torchvision_sets._https_first(name).mirrors
        assert mirrors[0].startswith("https://")
        assert mirrors == sorted(mirrors, key=lambda url: url.startswith("http:"))
    assert torchvision_sets.KNOWN["cifar10"].reader.url.startswith("https://")


def test_every_archive_of_torchvision_has_a_sha256():
    sums = {md5 for name in torchvision_sets.KNOWN for _, md5 in torchvision_sets._archives(name, Path())}
    assert sums == set(torchvision_sets.ARCHIVE_SHA256)


def test_an_archive_with_another_sha256_is_refused_though_its_md5_agrees(tmp_path, monkeypatch):
    path = tmp_path / "data" / "cifar-10-python.tar.gz"
    path.parent.mkdir()
    path.write_bytes(b"forged")
    utils = torchvision_sets.load_torchvision().datasets.utils
    monkeypatch.setattr(utils, "check_integrity", lambda *_: True)
    with pytest.raises(DataError, match=r"cifar-10-python.tar.gz is damaged \(its checksum is not that of"):
        torchvision_sets.build_set("cifar10")
