"""The release archive: what it holds, its checksums, and that it repeats."""

import errno
import os
import subprocess
import zipfile

import pytest

from fedlib.cli.main import main
from fedlib.errors import DataError
from fedlib.reporting.archive import CHECKSUMS, CROISSANT, absent_parts, files_of_release, write_archive


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "checkout"
    for name in (
        "data/results/feddrl/a-reduced.csv",
        "data/agents/feddrl.pt",
        "figures/feddrl/a.png",
        "LICENSE",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "figures" / ".a.png.7.tmp").write_text("of a killed process")
    for folder in (".ipynb_checkpoints", "__pycache__"):
        (root / "figures" / folder).mkdir()
        (root / "figures" / folder / "a.png").write_text("of an editor")
    (root / "notes.txt").write_text("no part of a release")
    return root


def test_every_file_is_in_with_its_checksum(tmp_path, checkout):
    path = write_archive(tmp_path / "a.zip", checkout)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "out")
        names = archive.namelist()
    kept = ["LICENSE", "data/agents/feddrl.pt", "data/results/feddrl/a-reduced.csv", "figures/feddrl/a.png"]
    assert names == [*sorted([*kept, CROISSANT]), CHECKSUMS]
    subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=tmp_path / "out", check=True)
    (tmp_path / "out" / kept[1]).write_text("changed")
    broken = subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=tmp_path / "out", check=False)
    assert broken.returncode == 1


def test_the_same_files_give_the_same_bytes(tmp_path, checkout):
    first = write_archive(tmp_path / "1.zip", checkout).read_bytes()
    os.utime(checkout / "LICENSE", (0, 0))
    assert write_archive(tmp_path / "2.zip", checkout).read_bytes() == first


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_an_interrupted_archive_leaves_the_old_one(tmp_path, checkout, monkeypatch, error):
    path = write_archive(tmp_path / "a.zip", checkout)
    old = path.read_bytes()

    def fail(*arguments):
        raise error

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(type(error)):
        write_archive(path, checkout)
    assert path.read_bytes() == old


def test_absent_parts_are_named(checkout):
    assert {"build/report", "codemeta.json"} <= set(absent_parts(checkout))
    assert "data/results" not in absent_parts(checkout)


def test_outside_a_checkout_there_is_nothing_to_archive(tmp_path):
    with pytest.raises(DataError, match="an archive is built in a checkout"):
        write_archive(tmp_path / "a.zip", tmp_path)


def test_the_command_archives_this_checkout(tmp_path, capsys):
    path = tmp_path / "release.zip"
    assert main(["archive", "--out", str(path)]) == 0
    assert f"{path}: " in capsys.readouterr().out
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert {"CITATION.cff", "codemeta.json", "data/published/feddrl_table3.csv"} <= set(names)
    assert any(name.startswith("data/results/feddrl/table3-reduced") for name in names)
    from fedlib.paths import project_root

    assert len(names) == len(files_of_release(project_root())) + 2
