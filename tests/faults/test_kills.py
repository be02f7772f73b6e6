"""The kill drill: every method at smoke size ends where it would have ended, to the byte, after SIGKILL."""

import os
import subprocess
import sys

import killed
import pytest

from fedlib.experiments.checkpoints import unfinished_groups
from fedlib.experiments.progress import Silent
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import Store
from fedlib.methods import METHODS
from fedlib.processors import torch_threads

RUNS = killed.smallest_runs()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As in the killed processes: another number of threads may change the last digits."""
    with torch_threads(1):
        yield


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A store in which one process per method was killed half-way."""
    store = Store(tmp_path_factory.mktemp("killed"))
    command = [sys.executable, killed.__file__, str(store.root)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.splitlines() == [f"{name} killed" for name in METHODS], done.stderr
    return store


@pytest.mark.parametrize("name", METHODS)
def test_every_method_resumes_to_the_same_bytes(begun, tmp_path, name):
    run = RUNS[name]
    assert begun.get(run) is None
    assert [folder.runs for folder in unfinished_groups(begun, run.id, run.group_key)] == [[run]]
    rows = []
    for store in (begun, Store(tmp_path / "straight")):
        assert run_runs([run], device="cpu", store=store, progress=Silent()).computed == 1
        rows.append((store.folder(run) / "rows.csv").read_bytes())
    assert rows[0] == rows[1]
    segments = begun.get(run).provenance["segments"]
    assert len(segments) == 2
    assert segments[1]["from_round"] == run.rounds // 2
