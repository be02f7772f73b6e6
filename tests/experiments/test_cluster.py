"""Jobs on submitit's local executor: six groups, three workers, one of them interrupted and queued again."""

import json
import os
import re
import signal
import time

import psutil
import pytest
import torch
from held import ROUND
from project_files import ROOT

from fedlib.cli.main import main
from fedlib.errors import UsageError, WriteError
from fedlib.experiments import cluster
from fedlib.experiments.cluster import missing_groups, shares_of, submit
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import ROWS, Store, StoreWarning
from fedlib.experiments.submissions import exit_status, task_states
from fedlib.run import Run

RUNS = [
    Run(
        paper="start", artifact="cluster", profile="smoke", dataset="fmnist-embedded", partition="iid",
        model="mlp", method="held:Held" if rounds == 8 else "fedavg", num_clients=4, rounds=rounds, seed=seed,
        dataset_options={"train_per_class": 10, "test_per_class": 10},
    )
    for rounds in (8, 2, 3, 4, 5, 6)
    for seed in (0, 1)
]  # fmt: skip
OPTIONS = {"device": "cpu", "checkpoint_seconds": 0.0}


def submitit():
    return pytest.importorskip("submitit", reason="submitit is an extra: make extras")


def test_a_submission_has_a_folder_of_its_own_or_one_line(tmp_path):
    assert [cluster._new_folder(Store(tmp_path)).name for _ in range(2)] == ["1", "2"]
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "jobs").touch()
    with pytest.raises(WriteError, match="cannot write"):
        cluster._new_folder(Store(tmp_path / "store"))


def test_groups_that_are_stored_are_not_submitted(tmp_path):
    store = Store(tmp_path)
    assert [len(members) for members in missing_groups(RUNS, store)] == [2] * 6
    run_runs(RUNS[2:4], store=store, device="cpu")
    assert [members[0].rounds for members in missing_groups(RUNS, store)] == [8, 3, 4, 5, 6]


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


@pytest.mark.parametrize(
    ("executor", "parameters", "message"),
    [
        ("slurm", {}, "executor 'slurm' cannot be used: Could not detect"),
        ("local", {"foo": 1}, "executor 'local' cannot be used: Parameter 'foo'"),
        ("local", {"timeout_min": "a"}, "executor 'local' cannot be used: "),
    ],
)
def test_what_submitit_refuses_is_one_line_and_leaves_no_folder(
    tmp_path, monkeypatch, executor, parameters, message
):
    submitit()
    monkeypatch.setenv("PATH", "")  # no srun
    with pytest.raises(UsageError, match=message):
        submit(RUNS, Store(tmp_path), executor=executor, array=3, parameters=parameters)
    assert list((tmp_path / "jobs").iterdir()) == []


def test_local_processes_share_all_groups_and_retried_ones_have_one_process_each():
    assert shares_of("abc", 2, retries=False) == [["a", "b", "c"], ["b", "c", "a"]]
    assert shares_of("abc", 2, retries=True) == [["a", "c"], ["b"]]
    assert shares_of("a", 4, retries=True) == [["a"]]


def test_without_submitit_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pip install submitit"):
        submit(RUNS, Store(tmp_path), executor="local", array=3)


def test_a_status_without_submissions_and_no_artifact(tmp_path, capsys):
    assert main(["submit", "--status", "--store", str(tmp_path)]) == 0
    assert "nothing was submitted" in capsys.readouterr().out
    assert main(["submit", "--store", str(tmp_path)]) == 2


def submitted(folder, content, number="1"):
    """A submission whose file has this content, text or an object."""
    path = folder / "jobs" / number / "submission.json"
    path.parent.mkdir(parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("content", ['{"groups": [[', "[]", {}, {"groups": None}, {"groups": [3]}])
def test_a_damaged_submission_is_one_line(tmp_path, capsys, content):
    path = submitted(tmp_path, content)
    assert main(["submit", "--status", "--store", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"fedlib: error: {path} is damaged (")
    assert told.count("\n") == 1


def test_groups_with_fields_of_another_version_are_left_out(tmp_path):
    known = [run.describe() for run in RUNS[2:4]]
    path = submitted(tmp_path, {"groups": [known, [known[0], known[1] | {"colour": "red"}], [3]]})
    submitted(tmp_path, "not a submission", number="notes")
    with pytest.warns(StoreWarning, match=f"{path}: 2 of 3 groups have fields of another version; left out"):
        states = task_states(Store(tmp_path))
    assert [(state.stored, state.missing) for state in states] == [(0, 2)]


def test_slurm_gets_an_array_of_all_groups_and_a_signal_before_the_time_limit(tmp_path, monkeypatch):
    """Through an `sbatch` that keeps the batch file: no cluster is at hand here."""
    submitit()
    programs = tmp_path / "bin"
    programs.mkdir()
    kept = tmp_path / "batch.sh"
    for name, does in (("srun", ""), ("sbatch", f'cp "$1" {kept}; echo Submitted batch job 7')):
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    jobs = submit(RUNS, Store(tmp_path), executor="slurm", array=3, minutes=10,
                  parameters={"slurm_partition": "gpu"})  # fmt: skip
    assert [job.job_id for job in jobs] == [f"7_{task}" for task in range(6)]
    directives = re.findall(r"^#SBATCH --(\S+)", kept.read_text(), re.MULTILINE)
    assert {"array=0-5%3", "time=10", "partition=gpu"} <= set(directives)
    assert any(re.fullmatch("signal=(B:)?USR2@90", one) for one in directives)
    assert [(state.stored, state.missing) for state in task_states(Store(tmp_path))] == [(0, 2)] * 6


def wait_for_checkpoint(store: Store) -> None:
    """Until the first group, which is held after this round, has its checkpoint."""
    for _ in range(3000):
        if any(store.root.glob(f"start/cluster/groups/*/checkpoint-{ROUND}.pt")):
            return
        time.sleep(0.1)
    pytest.fail("no checkpoint within 300 s")


@pytest.fixture
def hold(tmp_path, monkeypatch):
    """The file that holds the first group. Jobs find its method, and have one thread as the one process."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")]))
    path = tmp_path / "hold"
    path.touch()
    monkeypatch.setenv("FEDLIB_TEST_HOLD", str(path))
    return path


@pytest.fixture(scope="module")
def rows_of_one_process(tmp_path_factory):
    """The file of rows of every run, computed by this process alone on one thread."""
    store, threads = Store(tmp_path_factory.mktemp("alone")), torch.get_num_threads()
    torch.set_num_threads(1)
    run_runs(RUNS, store=store, device="cpu")
    torch.set_num_threads(threads)
    return {run.key: (store.folder(run) / ROWS).read_bytes() for run in RUNS}


def rows_in(store):
    return {run.key: (store.folder(run) / ROWS).read_bytes() for run in RUNS}


def segments_of(store, run):
    return json.loads((store.folder(run) / "provenance.json").read_text())["segments"]


def task_of(job):
    """The process of a job; the job's id is that of its controller."""
    (task,) = psutil.Process(int(job.job_id)).children()
    return task


def test_an_interrupted_job_resumes_and_the_rows_are_those_of_one_process(
    tmp_path, rows_of_one_process, hold
):
    submitit()
    store = Store(tmp_path / "runs")
    jobs = submit(RUNS, store, executor="local", array=3, minutes=10, options=OPTIONS)
    assert len(jobs) == 3
    wait_for_checkpoint(store)
    task_of(jobs[0]).send_signal(signal.SIGUSR2)  # as a cluster does before the time limit
    hold.unlink()
    computed = [job.result() for job in jobs]
    assert missing_groups(RUNS, store) == []
    assert sum(computed) <= len(RUNS)
    assert "Requeued" in jobs[0].stderr() + jobs[0].stdout()
    assert rows_in(store) == rows_of_one_process
    segments = segments_of(store, RUNS[0])
    assert len(segments) == 2
    assert segments[1]["from_round"] == ROUND
    states = task_states(store)
    assert [(state.stored, state.missing) for state in states] == [(2, 0)] * 6
    assert exit_status(states) == 0
    assert submit(RUNS, store, executor="local", array=3) == []


def test_a_killed_jobs_group_is_submitted_again_and_resumes(tmp_path, capsys, rows_of_one_process, hold):
    submitit()
    store, status = Store(tmp_path / "runs"), ["submit", "--status", "--store", str(tmp_path / "runs")]
    jobs = submit(RUNS, store, executor="local", array=3, minutes=10, options=OPTIONS)
    wait_for_checkpoint(store)
    assert [job.exception() for job in jobs[1:]] == [None, None]  # they left the held group alone
    task_of(jobs[0]).kill()
    assert jobs[0].exception() is not None
    assert main(status) == 3
    assert "0 runs stored, 2 missing; logs: " in capsys.readouterr().out
    hold.unlink()
    (again,) = submit(RUNS, store, executor="local", array=3, minutes=10, options=OPTIONS)
    assert again.result() == 2
    assert main(status) == 0
    assert segments_of(store, RUNS[0])[-1]["from_round"] == ROUND
    assert rows_in(store) == rows_of_one_process
