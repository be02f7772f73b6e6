"""What a group resumes as: after memory ran out, with other threads, with another width of its passes."""

import sys
from dataclasses import replace

import fake_federation
import pytest
from fake_federation import BASE, Stop

import fedlib.federation
from fedlib.experiments import runner
from fedlib.experiments.checkpoints import GroupFolder
from fedlib.experiments.progress import Progress, Silent
from fedlib.experiments.store import Store

TRIPLE = [replace(BASE, seed=seed) for seed in range(3)]


@pytest.fixture(autouse=True)
def fake(monkeypatch, tmp_path):
    fake_federation.install(monkeypatch.setattr, monkeypatch.setitem)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def compute(store, runs=TRIPLE, progress=None, **options):
    return runner.run_runs(runs, device="cpu", store=store, progress=progress or Silent(), **options)


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


def resumed(store, capsys, **options):
    """What is said about a group that was begun with 7 clients per pass and 2 threads, and goes on."""
    compute(store, progress=Progress(sys.stdout), **options)
    return next(line for line in capsys.readouterr().out.splitlines() if "resumed" in line)


class SayingStop(Progress):
    update = Stop.update

    def __init__(self, after):
        super().__init__(sys.stdout)
        self.after = after


@pytest.mark.parametrize("after", [0, 3])
def test_an_interrupt_says_where_it_stopped(store, capsys, after):
    with pytest.raises(KeyboardInterrupt):
        compute(store, progress=SayingStop(after))
    told = capsys.readouterr().out.splitlines()[-1]
    assert told.endswith(f"seeds 0,1,2: stopped after round {after} of 8, checkpoint stored")


def test_an_interrupt_before_the_first_round_says_nothing(store, capsys, monkeypatch):
    def prepare(runs, *, device):
        raise KeyboardInterrupt

    monkeypatch.setattr(fedlib.federation, "prepare", prepare)
    with pytest.raises(KeyboardInterrupt):
        compute(store, progress=Progress(sys.stdout))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("asked", [None, 3, 7])
def test_passes_stay_as_wide_as_the_group_was_begun_with(store, capsys, monkeypatch, asked):
    widths = []

    def prepare(runs, *, device, max_clients_per_pass=None):
        widths.append(max_clients_per_pass)
        return fake_federation.prepare(runs, device=device, max_clients_per_pass=max_clients_per_pass)

    monkeypatch.setattr(fedlib.federation, "prepare", prepare)
    stop(store, 3, max_clients_per_pass=7)
    said = resumed(store, capsys, max_clients_per_pass=asked)
    assert widths == [7, 7]
    assert said.endswith(
        "resumed after round 3" if asked == 7 else ", with 7 clients per pass, as it was begun"
    )
    told = [s["max_clients_per_pass"] for s in store.get(TRIPLE[0]).provenance["segments"]]
    assert told == [7, 7]


def test_a_group_begun_by_the_rule_goes_on_by_the_rule(store, capsys):
    stop(store, 3)
    said = resumed(store, capsys, max_clients_per_pass=3)
    assert said.endswith(", with the rule for clients per pass, as it was begun")
    assert [s["max_clients_per_pass"] for s in store.get(TRIPLE[0]).provenance["segments"]] == [None, None]


@pytest.mark.parametrize("count", [1, 2])
def test_another_number_of_threads_is_told_in_one_line(store, capsys, monkeypatch, count):
    monkeypatch.setattr("fedlib.experiments.provenance.threads", lambda: 2)
    stop(store, 3)
    monkeypatch.setattr("fedlib.experiments.provenance.threads", lambda: count)
    said = resumed(store, capsys)
    other = "with 1 threads (before with 2: the last digits may differ)"
    assert said.endswith("resumed after round 3" + (f" {other}" if count == 1 else ""))
    assert [s["threads"] for s in store.get(TRIPLE[0]).provenance["segments"]] == [2, count]


def test_a_checkpoint_of_before_this_was_noted_resumes(store, capsys):
    stop(store, 3)
    folder = GroupFolder(store, TRIPLE)
    old = folder.load()
    for name in ("threads", "max_clients_per_pass"):
        del old.segments[0][name]
    folder.save(old)
    assert resumed(store, capsys, max_clients_per_pass=3).endswith("resumed after round 3")
    assert store.get(TRIPLE[0]).provenance["segments"][-1]["max_clients_per_pass"] == 3


def test_rows_are_the_same_bytes_after_a_resume(store, tmp_path):
    straight = Store(tmp_path / "straight")
    compute(straight)
    stop(store, 3)
    compute(store, max_clients_per_pass=3)
    assert rows(store) == rows(straight)
