"""What a group resumes as: after memory ran out, with other threads, with another width of its passes."""

from dataclasses import replace

import fake_federation
import pytest
from fake_federation import BASE

import fedlib.federation
from fedlib import suite
from fedlib.progress import Silent
from fedlib.store import Store

TRIPLE = [replace(BASE, seed=seed) for seed in range(3)]


@pytest.fixture(autouse=True)
def fake(monkeypatch, tmp_path):
    fake_federation.install(monkeypatch.setattr, monkeypatch.setitem)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


class Stop(Silent):
    """Ctrl-C after a round."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def update(self, done_rounds, metrics):
        if done_rounds == self.after:
            raise KeyboardInterrupt


def compute(store, runs=TRIPLE, progress=None, **options):
    return suite.run_runs(runs, device="cpu", store=store, progress=progress or Silent(), **options)


def stop(store, after, **options):
    with pytest.raises(KeyboardInterrupt):
        compute(store, progress=Stop(after), checkpoint_seconds=0.0, **options)


def rows(store):
    return [(store.folder(run) / "rows.csv").read_bytes() for run in TRIPLE]


def test_a_group_that_ran_out_of_memory_late_is_not_resumed_as_that_group(store, tmp_path, monkeypatch):
    """Memory holds three replicas up to round 4, where a checkpoint has been written already."""

    def rounds(task, method, state=None):
        for result in fake_federation.rounds(task, method, state):
            if len(task.runs) == 3 and result.round == 4:
                raise RuntimeError("CUDA error: out of memory")
            yield result

    monkeypatch.setattr(fedlib.federation, "rounds", rounds)
    stop(store, after=6)  # the first half, of seed 0 alone: three replicas get to round 3 only
    assert compute(store).computed == 3
    computed = [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()]
    assert [computed.count(group) for group in ("0,1,2", "0", "1,2")] == [5, 9, 9]
    assert not [*(store.root / "fake/grid/groups").iterdir()]
