"""The run store and its checkpoints: whole or absent, never half; damage is noticed, named and survived."""

import contextlib
import errno
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from fake_federation import BASE

from fedlib.errors import DataError, UsageError, WriteError
from fedlib.experiments import checkpoints
from fedlib.experiments import store as store_module
from fedlib.experiments.checkpoints import Checkpoint, GroupFolder, unfinished_groups
from fedlib.experiments.store import (
    FAILED,
    FORMAT,
    Store,
    StoreWarning,
    final_metrics,
    plain,
    to_csv,
    to_json,
)
from fedlib.files import write_atomically

PROVENANCE = {"dataset": {"name": "made up"}, "device": "cpu"}
ROWS = [{"round": 0, "loss": 0.1}, {"round": 1, "loss": 1 / 3, "clients": [1, 2], "status": "ok"}]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def stored(store):
    store.put(BASE, rows=ROWS, provenance=PROVENANCE)
    return store


def test_a_stored_run_comes_back_exactly(stored):
    found = stored.get(BASE)
    assert found.run.describe() == BASE.describe()
    assert found.status == "finished"
    assert found.final == {"round": 1, "loss": 1 / 3}
    assert found.provenance == PROVENANCE
    rows = found.rows()
    assert rows["loss"].tolist() == [0.1, 1 / 3]  # to the last bit
    assert rows["clients"].tolist()[1] == "[1, 2]"


def test_csv_written_by_hand():
    assert to_csv(ROWS) == (b'round,loss,clients,status\n0,0.1,,\n1,0.3333333333333333,"[1, 2]",ok\n')
    assert to_csv([]) == b"round\n"


def test_final_metrics_take_the_last_number_of_each_column():
    rows = [{"round": 0, "acc": 0.5, "ok": True}, {"round": 1, "loss": 2.0, "status": "ok"}, {"round": 2}]
    assert final_metrics(rows) == {"round": 2, "acc": 0.5, "loss": 2.0}


def test_plain_unwraps_numpy():
    import numpy as np

    assert plain({"a": np.float64(0.5), "b": (1, np.arange(2))}) == {"a": 0.5, "b": [1, [0, 1]]}


@pytest.mark.parametrize("paper", ["../elsewhere", "a/b", "", "."])
def test_no_run_is_stored_outside_of_its_papers_folder(store, paper):
    with pytest.raises(UsageError, match="given; allowed: letters, digits, _, "):
        store.folder(replace(BASE, paper=paper))


def test_an_absent_run_is_none(store):
    assert store.get(BASE) is None
    assert list(store.scan("fake/grid")) == []


def test_without_its_summary_a_run_is_not_done(stored):
    (stored.folder(BASE) / "summary.json").unlink()
    assert stored.get(BASE) is None


def _flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("name", ["run.json", "rows.csv", "provenance.json", "summary.json"])
@pytest.mark.parametrize("harm", ["flip", "truncate", "delete"])
def test_damage_to_any_file_is_named_and_set_aside(stored, name, harm):
    path = stored.folder(BASE) / name
    if harm == "flip":
        _flip_a_byte(path)
    elif harm == "truncate":
        path.write_bytes(path.read_bytes()[:10])
    elif name == "summary.json":
        pytest.skip("without a summary the run is simply not done")
    else:
        path.unlink()
    with pytest.warns(StoreWarning, match=str(path)):
        assert stored.get(BASE) is None
    with pytest.warns(StoreWarning, match=str(path)):
        assert stored.get_or_repair(BASE) is None
    assert path.with_name(f"{name}.damaged-1").exists() == (harm != "delete")
    assert stored.get(BASE) is None  # and no second warning
    stored.put(BASE, rows=ROWS, provenance=PROVENANCE)
    assert stored.get(BASE).final["loss"] == 1 / 3


def test_damage_is_numbered(stored):
    for number in (1, 2):
        _flip_a_byte(stored.folder(BASE) / "rows.csv")
        with pytest.warns(StoreWarning, match=rf"rows.csv.damaged-{number}"):
            stored.get_or_repair(BASE)
        stored.put(BASE, rows=ROWS, provenance=PROVENANCE)


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_that_is_stored_again_meanwhile_is_no_damaged_one(stored, monkeypatch, finished):
    """A reader has read the summary when another process forgets the run and writes other rows."""
    read = store_module._as_summarised

    def meanwhile(folder, written):
        monkeypatch.setattr(store_module, "_as_summarised", read)
        stored.forget(BASE)
        (folder / "rows.csv").write_bytes(b"round\n")
        if finished:
            stored.put(BASE, rows=ROWS[:1], provenance=PROVENANCE)
        return read(folder, written)

    monkeypatch.setattr(store_module, "_as_summarised", meanwhile)
    found = stored.get(BASE)
    assert len(found.rows()) == 1 if finished else found is None


def test_a_failed_run_keeps_its_reason(store):
    store.put(BASE, rows=ROWS, provenance=PROVENANCE, status=FAILED, reason="loss is nan")
    assert (store.get(BASE).status, store.get(BASE).reason) == ("failed", "loss is nan")
    store.forget(BASE)
    assert store.get(BASE) is None


def test_scan_finds_every_run_of_an_artifact(stored):
    other = replace(BASE, seed=1)
    stored.put(other, rows=ROWS, provenance=PROVENANCE)
    stored.put(replace(BASE, artifact="other"), rows=ROWS, provenance=PROVENANCE)
    assert {found.run.key for found in stored.scan("fake/grid")} == {BASE.key, other.key}


def test_a_full_disk_is_one_line_and_keeps_the_old_file(stored, monkeypatch):
    path = stored.folder(BASE) / "rows.csv"
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match=r"cannot write .*rows.csv: No space left on device") as caught:
        write_atomically(path, b"new")
    assert caught.value.status == 1
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.tmp")) + list(path.parent.glob(".*.tmp"))


def test_a_real_size_limit_is_one_line(tmp_path):
    """The kernel refuses the write (RLIMIT_FSIZE), as it would on a full quota."""
    code = "import sys; from pathlib import Path; from fedlib.files import write_atomically as w\n"
    code += "from fedlib.errors import FedlibError\n"
    code += "try: w(Path(sys.argv[1]), b'x' * 100_000)\nexcept FedlibError as e: print(e)"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # noqa: E731
    path = tmp_path / "rows.csv"
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, preexec_fn=limit
    )
    assert done.stdout.startswith(f"cannot write {path}: File too large")
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_a_file_is_refused(tmp_path):
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(UsageError, match="is not a folder"):
        Store(path)


def test_a_lock_keeps_others_out_until_it_is_released(store):
    lock = store.try_lock(BASE)
    assert Store(store.root).try_lock(BASE) is None
    lock.release()
    again = store.try_lock(BASE)
    assert again is not None
    again.release()


def test_left_overs_of_a_killed_process_are_removed(stored):
    stale = stored.folder(BASE) / ".rows.csv.1.tmp"
    stale.touch()
    stored.try_lock(BASE).release()
    assert not stale.exists()


RUNS = [BASE, replace(BASE, seed=1)]


def _checkpoint(number):
    rows = [[{"round": number}], [{"round": number, "loss": 0.1}]]
    return Checkpoint(number, rows, {1: "nan"}, [{"device": "cpu"}], {"x": torch.arange(3) + number})


def test_a_checkpoint_comes_back_exactly(store):
    folder = GroupFolder(store, RUNS)
    assert folder.load() is None
    folder.save(_checkpoint(4))
    found = folder.load()
    assert (found.round, found.rows, found.failed) == (4, _checkpoint(4).rows, {1: "nan"})
    assert torch.equal(found.state["x"], torch.tensor([4, 5, 6]))


def test_the_newest_two_checkpoints_are_kept(store):
    folder = GroupFolder(store, RUNS)
    for number in (8, 9, 10):  # 10 sorts before 8 as text
        folder.save(_checkpoint(number))
    assert sorted(path.name for path in folder.path.iterdir()) == ["checkpoint-10.pt", "checkpoint-9.pt"]
    assert folder.load().round == 10


@pytest.mark.parametrize("where", ["header", "payload", "empty"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(store, where):
    folder = GroupFolder(store, RUNS)
    folder.save(_checkpoint(1))
    path = folder.save(_checkpoint(2))
    data = path.read_bytes()
    path.write_bytes({"header": b"{" + data, "payload": data[:-1] + b"?", "empty": b""}[where])
    with pytest.warns(StoreWarning, match=str(path)):
        assert folder.load().round == 1
    assert path.with_name("checkpoint-2.pt.damaged-1").exists()


def test_an_interrupted_group_is_found_by_its_description(store):
    GroupFolder(store, RUNS).save(_checkpoint(1))
    (found,) = unfinished_groups(store, "fake/grid", BASE.group_key)
    assert [run.seed for run in found.runs] == [0, 1]
    assert list(unfinished_groups(store, "fake/grid", replace(BASE, rounds=9).group_key)) == []
    found.remove()
    assert list(unfinished_groups(store, "fake/grid", BASE.group_key)) == []


def with_header(path, **changes):
    """Change fields of a checkpoint's header; None drops one."""
    line, _, payload = path.read_bytes().partition(b"\n")
    header = {k: v for k, v in (json.loads(line) | changes).items() if v is not None}
    path.write_bytes(json.dumps(header).encode() + b"\n" + payload)


def test_a_checkpoint_of_a_newer_format_is_refused_with_the_version_that_wrote_it(store):
    folder = GroupFolder(store, RUNS)
    path = folder.save(_checkpoint(1))
    with_header(path, format=checkpoints.FORMAT + 1, code={"versions": {"fedlib": "9.0"}})
    with pytest.raises(DataError, match=r"written by fedlib 9\.0 in format 2; .* up to 1"):
        folder.load()
    assert path.is_file()


def test_a_checkpoint_from_before_formats_were_numbered_is_read(store):
    folder = GroupFolder(store, RUNS)
    path = folder.save(_checkpoint(1))
    assert json.loads(path.read_bytes().partition(b"\n")[0])["format"] == checkpoints.FORMAT
    with_header(path, format=None, code=None)
    assert folder.load().round == 1


@pytest.mark.parametrize("deleted", ["checkpoint-2.pt", "checkpoint-*.pt"])
def test_a_checkpoint_that_another_process_deletes_meanwhile_is_passed_over(store, monkeypatch, deleted):
    """Its own checkpoints are deleted by the process at work on a group while another one looks at them."""
    folder, listed = GroupFolder(store, RUNS), os.listdir
    for number in (1, 2):
        folder.save(_checkpoint(number))

    def listdir(path):
        names = listed(path)
        for file in path.glob(deleted):
            file.unlink()
        return names

    monkeypatch.setattr(os, "listdir", listdir)
    assert folder.other_code() == ""
    found = list(unfinished_groups(store, "fake/grid", BASE.group_key))
    assert [group.path for group in found] == [folder.path] * (deleted == "checkpoint-2.pt")
    folder.remove()
    assert (folder.load(), folder.other_code()) == (None, "")


def test_a_file_that_another_process_set_aside_meanwhile_is_no_error(tmp_path):
    assert store_module.set_aside(tmp_path / "rows.csv").name == "rows.csv.damaged-1"
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("told", ["has no readable header", "does not belong to its folder"])
@pytest.mark.parametrize("whole", [True, False])
def test_who_looks_for_begun_groups_renames_nothing_and_who_resumes_one_does(store, tmp_path, told, whole):
    folder = GroupFolder(store, RUNS)
    folder.save(_checkpoint(1))
    path = folder.save(_checkpoint(2))
    foreign = GroupFolder(Store(tmp_path / "another"), RUNS[:1]).save(_checkpoint(2))
    path.write_bytes(foreign.read_bytes() if "belong" in told else b"junk\n")
    if not whole:
        (folder.path / "checkpoint-1.pt").unlink()
    there = sorted(os.listdir(folder.path))
    with contextlib.nullcontext() if whole else pytest.warns(StoreWarning, match=f"{told}; left out"):
        found = list(unfinished_groups(store, "fake/grid", BASE.group_key))
    assert [group.path for group in found] == [folder.path] * whole
    assert (folder.other_code(), folder.own_files()) == ("", {})
    with pytest.warns(StoreWarning, match=f"{told}; left out"):
        assert (folder.load(repair=False) is not None) == whole
    assert sorted(os.listdir(folder.path)) == there
    with pytest.warns(StoreWarning, match=rf"{told}; set aside \(checkpoint-2\.pt\.damaged-1\)"):
        assert (folder.load() is not None) == whole


def test_summary_states_the_sha256_of_the_files(stored):
    import hashlib

    summary = json.loads((stored.folder(BASE) / "summary.json").read_text())
    rows = (stored.folder(BASE) / "rows.csv").read_bytes()
    assert summary["files"]["rows.csv"] == hashlib.sha256(rows).hexdigest()


def rewritten(store, **changes):
    """The summary of BASE's run with other fields, vouched for as ever."""
    import hashlib

    path = store.folder(BASE) / "summary.json"
    summary = json.loads(path.read_text())
    del summary["sha256"]
    summary = {name: value for name, value in (summary | changes).items() if value is not None}
    digest = hashlib.sha256(to_json(summary)).hexdigest()
    path.write_bytes(to_json(summary | {"sha256": digest}))


def test_a_run_of_a_newer_format_is_refused_with_the_version_that_wrote_it(stored):
    rewritten(stored, format=FORMAT + 1, fedlib="9.0")
    with pytest.raises(DataError, match=rf"written by fedlib 9\.0 in format {FORMAT + 1}; .* up to {FORMAT}"):
        stored.get(BASE)
    with pytest.raises(DataError, match=r"written by fedlib 9\.0"):
        stored.get_or_repair(BASE)
    assert not list(stored.folder(BASE).glob("*.damaged-*"))


def test_a_run_from_before_formats_were_numbered_is_read(stored):
    rewritten(stored, format=None, fedlib=None)
    assert stored.get(BASE).rows()["loss"].tolist() == [0.1, 1 / 3]
