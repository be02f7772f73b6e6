"""Jobs on submitit's local executor: six groups, three workers, one of them interrupted and queued again."""

import json
import signal
import time

import psutil
import pytest
import torch

from fedlib.cli.main import main
from fedlib.errors import UsageError
from fedlib.experiments.cluster import exit_status, missing_groups, submit, task_states
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import ROWS, Store
from fedlib.run import Run

RUNS = [
    Run(
        paper="start", artifact="cluster", profile="smoke", dataset="fmnist-embedded", partition="iid",
        model="mlp", method="fedavg", num_clients=4, rounds=rounds, seed=seed,
        dataset_options={"train_per_class": 10, "test_per_class": 10},
    )
    for rounds in (30, 2, 3, 4, 5, 6)
    for seed in (0, 1)
]  # fmt: skip
OPTIONS = {"device": "cpu", "checkpoint_seconds": 0.0}


def submitit():
    return pytest.importorskip("submitit", reason="submitit is an extra: make extras")


def test_groups_that_are_stored_are_not_submitted(tmp_path):
    store = Store(tmp_path)
    assert [len(members) for members in missing_groups(RUNS, store)] == [2] * 6
    run_runs(RUNS[2:4], store=store, device="cpu")
    assert [members[0].rounds for members in missing_groups(RUNS, store)] == [30, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"executor": "pbs"}, "unknown executor 'pbs'"),
        ({"array": 0}, "array=0"),
        ({"minutes": 0}, "minutes=0"),
    ],
)
def test_bad_settings_are_one_clear_line(tmp_path, settings, message):
    with pytest.raises(UsageError, match=message):
        submit(RUNS, Store(tmp_path), **{"executor": "local", "array": 3} | settings)


def test_without_submitit_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pip install submitit"):
        submit(RUNS, Store(tmp_path), executor="local", array=3)


def test_a_status_without_submissions_and_no_artifact(tmp_path, capsys):
    assert main(["submit", "--status", "--store", str(tmp_path)]) == 0
    assert "nothing was submitted" in capsys.readouterr().out
    assert main(["submit", "--store", str(tmp_path)]) == 2


def wait_for_checkpoint(store: Store) -> None:
    """Until the first group, whose runs are long, has one of a round behind the first models."""
    for _ in range(3000):
        if any(store.root.glob("start/cluster/groups/*/checkpoint-[1-9]*.pt")):
            return
        time.sleep(0.1)
    pytest.fail("no checkpoint within 300 s")


@pytest.fixture
def _one_thread(monkeypatch):
    """Here and in the jobs: another number of threads changes the last digits."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("_one_thread")
def test_an_interrupted_job_resumes_and_the_rows_are_those_of_one_process(tmp_path):
    submitit()
    alone, shared = Store(tmp_path / "alone"), Store(tmp_path / "shared")
    run_runs(RUNS, store=alone, device="cpu")
    jobs = submit(RUNS, shared, executor="local", array=3, minutes=10, options=OPTIONS)
    assert len(jobs) == 3
    wait_for_checkpoint(shared)
    (task,) = psutil.Process(int(jobs[0].job_id)).children()  # of the controller, whose id is the job's
    task.send_signal(signal.SIGUSR2)  # as a cluster does before the time limit
    computed = [job.result() for job in jobs]
    assert missing_groups(RUNS, shared) == []
    assert sum(computed) <= len(RUNS)
    assert "Requeued" in jobs[0].stderr() + jobs[0].stdout()
    for run in RUNS:
        assert (shared.folder(run) / ROWS).read_bytes() == (alone.folder(run) / ROWS).read_bytes()
    segments = json.loads((shared.folder(RUNS[0]) / "provenance.json").read_text())["segments"]
    assert len(segments) == 2
    assert segments[1]["from_round"] > 0
    states = task_states(shared)
    assert [(state.stored, state.missing) for state in states] == [(2, 0)] * 6
    assert exit_status(states) == 0
    assert submit(RUNS, shared, executor="local", array=3) == []


def test_killed_jobs_leave_their_groups_to_the_next_submission(tmp_path, capsys):
    submitit()
    store = Store(tmp_path)
    (job,) = submit(RUNS[:2], store, executor="local", array=1, options=OPTIONS)
    wait_for_checkpoint(store)
    job.cancel()
    assert job.exception() is not None
    assert main(["submit", "--status", "--store", str(tmp_path)]) == 3
    assert "0 runs stored, 2 missing; logs: " in capsys.readouterr().out
    (again,) = submit(RUNS[:2], store, executor="local", array=1, options=OPTIONS)
    assert again.result() == 2
    assert main(["submit", "--status", "--store", str(tmp_path)]) == 0
