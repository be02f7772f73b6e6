"""The suite on the fake round loop: nothing stored is computed twice, what is killed resumes exactly."""

import math
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import fake_federation
import filelock
import pandas as pd
import pytest
from fake_federation import BASE, Stop, grid_runs
from processes import PATIENCE, deaf_to_interrupts, has_ended, usual_signals, wait_for

import fedlib.federation
from fedlib.errors import MemoryShortage, UsageError, WriteError
from fedlib.experiments import group_training, result_files, results, runner
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.budget import Budget, BudgetExhausted
from fedlib.experiments.progress import Progress, Silent
from fedlib.experiments.result_files import read_details, read_rows, write_rows
from fedlib.experiments.results import export_results, load_rows
from fedlib.experiments.store import Store, StoreWarning
from fedlib.experiments.worker_processes import Companions, at_most_cores, cores, started_at
from fedlib.papers import find_artifact
from fedlib.reporting.verdicts import decide_claims

FAKE = Path(fake_federation.__file__)
needs_two_cores = pytest.mark.skipif(cores() < 2, reason="two processes need two cores")
TRIPLE = [replace(BASE, seed=seed) for seed in range(3)]
SECOND = [replace(run, method="fedprox", method_options={"mu": 0.1}) for run in TRIPLE]


@pytest.fixture(autouse=True)
def fake(monkeypatch, tmp_path):
    fake_federation.install_for(monkeypatch, tmp_path)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def compute(runs, **options):
    return runner.run_runs(runs, device="cpu", progress=Silent(), **options)


def logged(tmp_path):
    """Rounds computed so far, as `method seeds round process`."""
    log = tmp_path / "log"
    return log.read_text().splitlines() if log.exists() else []


def files(store, run):
    return (store.folder(run) / "rows.csv").read_bytes()


def held(tmp_path):
    """The processes that stay in the round that FAKE_HOLD names."""
    path = tmp_path / "log.held"
    return {int(line) for line in path.read_text().split()} if path.exists() else set()


def command(*arguments, signals=usual_signals, **environment):
    """The command line in a process of its own, on the fake round loop."""
    words = ["run", "fake/grid", "--checkpoint-seconds", "0", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(FAKE), *words],
        env={**os.environ, **environment},
        preexec_fn=signals,
        **pipes,
    )


@pytest.fixture
def straight(tmp_path):
    """Rows of TRIPLE trained in one go, in a store of their own."""
    store = Store(tmp_path / "straight")
    compute(TRIPLE, store=store)
    (tmp_path / "log").unlink()
    return [files(store, run) for run in TRIPLE]


def test_seeds_of_one_description_train_as_one_group(store, tmp_path):
    outcome = compute([*TRIPLE, replace(BASE, method="fedprox")])
    assert (len(outcome.runs), outcome.computed, outcome.status) == (4, 4, 0)
    assert len(logged(tmp_path)) == 2 * 9  # two groups, rounds 0 to 8
    assert outcome.runs[0].provenance["group"] == [run.key for run in TRIPLE]
    assert list((store.root / "fake/grid").glob("groups/*")) == []


def test_a_finished_run_is_never_computed_twice(tmp_path):
    compute(TRIPLE[:2])
    (tmp_path / "log").unlink()
    outcome = compute(TRIPLE)
    assert (len(outcome.runs), outcome.computed) == (3, 1)
    assert {line.split()[1] for line in logged(tmp_path)} == {"2"}


def test_a_second_gpu_is_the_current_device_while_runs_train(monkeypatch, store):
    """Streams and graphs belong to the current device: on another one nothing would be trained."""
    import torch

    entered, inside = [], []

    @contextmanager
    def on_device(device):
        entered.append(str(device))
        yield
        entered.pop()

    def rounds(*arguments):
        inside.append(list(entered))
        return fake_federation.rounds(*arguments)

    monkeypatch.setattr(fedlib.federation, "rounds", rounds)
    monkeypatch.setattr(torch.cuda, "device", on_device)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 1)
    monkeypatch.setattr(runner, "resolve_device", lambda name: torch.device(name))
    assert runner.run_runs(TRIPLE[:1], device="cuda:1", store=store, progress=Silent()).computed == 1
    assert inside == [["cuda:1"]]
    assert entered == []


@pytest.mark.parametrize("most", [2, 0])
def test_replicas_that_do_not_fit_are_halved_and_at_last_one_line(monkeypatch, store, most):
    widths = []

    def rounds(task, method, state=None):
        widths.append(len(task.runs))
        if len(task.runs) > most:
            raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
        return fake_federation.rounds(task, method, state)

    monkeypatch.setattr(fedlib.federation, "rounds", rounds)
    if most:
        assert compute(TRIPLE, store=store).computed == 3
        assert widths == [3, 1, 2]
        return
    with pytest.raises(
        MemoryShortage, match=r"seed 0: does not fit in the memory of cpu \(CUDA error: CUBLAS"
    ):
        compute(TRIPLE, store=store)
    assert widths == [3, 1]


def test_max_clients_per_pass_reaches_the_engine_and_no_key(store):
    outcome = compute(TRIPLE[:1], store=store, max_clients_per_pass=7)
    assert outcome.runs[0].provenance["facts"]["asked"] == 7
    assert compute(TRIPLE[:1], store=store, max_clients_per_pass=3).computed == 0


def test_max_replicas_splits_a_group(tmp_path):
    compute(TRIPLE, max_replicas=2)
    assert {line.split()[1] for line in logged(tmp_path)} == {"0,1", "2"}


@pytest.mark.parametrize("after", [0, 3, 8])
@pytest.mark.parametrize("cadence", [0.0, 1e9])
def test_ctrl_c_then_resume_gives_the_same_bytes(store, tmp_path, straight, after, cadence):
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs(TRIPLE, device="cpu", progress=Stop(after), checkpoint_seconds=cadence)
    assert compute(TRIPLE).computed == 3
    assert [files(store, run) for run in TRIPLE] == straight
    assert len(logged(tmp_path)) == 9  # no round was computed twice


def test_asking_for_one_member_resumes_the_whole_group(store, straight, capsys):
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs(TRIPLE, device="cpu", progress=Stop(3))
    outcome = runner.run_runs(TRIPLE[1:2], device="cpu", progress=Progress(sys.stdout))
    assert outcome.computed == 3
    assert [files(store, run) for run in TRIPLE] == straight
    assert (
        "resumed with all 3 runs it was begun with, 2 of them beside those asked for"
        in capsys.readouterr().out
    )


def test_new_seeds_do_not_disturb_an_interrupted_group(store, tmp_path, straight):
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs(TRIPLE, device="cpu", progress=Stop(3))
    compute([replace(BASE, seed=7), *TRIPLE])
    assert [files(store, run) for run in TRIPLE] == straight
    assert {line.split()[1] for line in logged(tmp_path)} == {"0,1,2", "7"}


@pytest.mark.parametrize("wait", [True, False])
def test_a_kill_between_two_members_stores_is_no_other_process(store, straight, monkeypatch, capsys, wait):
    with monkeypatch.context() as patch:
        patch.setattr(group_training._Session, "_store", killed_after_first(group_training._Session._store))
        with pytest.raises(KeyboardInterrupt):
            compute(TRIPLE)
    assert [store.has(run) for run in TRIPLE] == [True, False, False]
    runner.run_runs(TRIPLE, device="cpu", progress=Progress(sys.stdout), wait=wait)
    assert [files(store, run) for run in TRIPLE] == straight
    told = capsys.readouterr().out
    assert "waiting" not in told
    assert "beside those asked for" not in told


def killed_after_first(write):
    def stop(session, member):
        if member:
            raise KeyboardInterrupt
        write(session, member)

    return stop


def test_checkpoints_left_by_a_kill_after_the_last_member_are_removed(store, tmp_path):
    compute(TRIPLE)
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs(TRIPLE, store=tmp_path / "other", device="cpu", progress=Stop(3))
    (tmp_path / "other/fake/grid/groups").rename(store.root / "fake/grid/groups")
    assert compute(TRIPLE).computed == 0
    assert list((store.root / "fake/grid/groups").iterdir()) == []


def test_sigkill_in_the_middle_then_resume_gives_the_same_bytes(store, tmp_path, straight):
    process = command("--seeds", "3", "--method", "fedavg", FAKE_HOLD="6")
    wait_for(lambda: held(tmp_path), process)
    assert list(store.root.glob("fake/grid/groups/*/checkpoint-5.pt"))
    process.kill()
    process.communicate()
    assert all(store.get(run) is None for run in TRIPLE)
    assert compute(TRIPLE).computed == 3
    assert [files(store, run) for run in TRIPLE] == straight
    assert len(logged(tmp_path)) == 9  # it did resume
    assert not list(store.root.rglob(".*.tmp"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_and_sighup_exit_130_and_keep_finished_runs(store, straight, tmp_path, number):
    """As SIGTERM does, below."""
    process = command("--seeds", "3", "--checkpoint-seconds", "1000", FAKE_HOLD="fedprox 4")
    wait_for(lambda: held(tmp_path), process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors == "fedlib: interrupted; what was finished is stored, the rest resumes\n"
    assert [files(store, run) for run in TRIPLE] == straight
    assert compute(TRIPLE + SECOND).computed == 3
    assert len(logged(tmp_path)) == 2 * 9  # no round was lost


def test_two_processes_divide_a_grid(store, tmp_path):
    both = [command("--seeds", "2", "--max-replicas", "1", FAKE_TOGETHER="2") for _ in range(2)]
    outputs = [process.communicate(timeout=PATIENCE) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    lines = [line.rsplit(" ", 1) for line in logged(tmp_path)]
    assert len(lines) == len({work for work, _ in lines}) == 4 * 9  # nothing was computed twice
    assert len({who for _, who in lines}) == 2
    assert all("fake/grid: 4 runs" in out for out, _ in outputs)  # both saw everything finished
    assert not list(store.root.rglob("*.damaged-*"))


@needs_two_cores
@pytest.mark.parametrize("again", [(), ("--retry-failed",)])
def test_further_processes_of_one_command_divide_what_is_not_stored(monkeypatch, tmp_path, again):
    """Seed 1 of both methods is stored, as failed; seed 0 is missing. No stored run counts as computed."""
    with monkeypatch.context() as patch:
        patch.setenv("FAKE_NAN_SEED", "1")
        assert len(compute([TRIPLE[1], SECOND[1]]).failed) == 2
    (tmp_path / "log").unlink()
    words = ("--seeds", "2", "--max-replicas", "1", "--processes", "2", *again)
    process = command(*words, FAKE_TOGETHER="2")
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == (0 if again else 1), errors
    lines = [line.rsplit(" ", 1) for line in logged(tmp_path)]
    computed, failed = (4, 0) if again else (2, 2)
    assert len(lines) == len({work for work, _ in lines}) == computed * 9  # nothing was computed twice
    assert len({who for _, who in lines}) == 2
    assert f"fake/grid: 4 runs, {computed} computed now, {failed} failed" in out


def test_a_second_process_begins_at_the_other_end(store, tmp_path):
    """So that runs which follow each other, and share what comes before round 1, stay in one process."""
    runs = [run for seed in range(2) for run in (replace(one, seed=seed) for one in grid_runs("smoke"))]
    compute(runs, from_the_end=True)
    begun = [line.split()[:2] for line in logged(tmp_path) if line.split()[2] == "0"]
    assert begun == [["fedprox", "0,1"], ["fedavg", "0,1"]]  # whole groups, their seeds as ever


@needs_two_cores
def test_interrupted_with_its_further_processes(store, straight, tmp_path):
    """Both leave a checkpoint and let their locks go, also where a shell's `&` made them ignore SIGINT."""
    words = ("--seeds", "3", "--checkpoint-seconds", "1000", "--processes", "2")
    process = command(*words, signals=deaf_to_interrupts, FAKE_HOLD="4")
    wait_for(lambda: len(held(tmp_path)) == 2, process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors.count("\n")) == (130, 1)
    assert all(map(has_ended, held(tmp_path)))
    assert len(logged(tmp_path)) == 2 * 4
    assert compute(TRIPLE + SECOND).computed == 6
    assert [files(store, run) for run in TRIPLE] == straight
    assert len(logged(tmp_path)) == 2 * 9  # no round was lost


@needs_two_cores
def test_further_processes_end_with_a_first_one_that_is_killed(store, straight, tmp_path):
    """As SIGTERM ends them: with a checkpoint, and without their locks."""
    words = ("--seeds", "3", "--checkpoint-seconds", "1000", "--processes", "2")
    process = command(*words, FAKE_HOLD="4")
    wait_for(lambda: len(held(tmp_path)) == 2, process)
    process.kill()
    process.communicate()
    (second,) = held(tmp_path) - {process.pid}
    wait_for(lambda: has_ended(second))
    assert len([*store.root.glob("fake/grid/groups/*/checkpoint-3.pt")]) == 1
    assert compute(TRIPLE + SECOND).computed == 6
    assert [files(store, run) for run in TRIPLE] == straight


def test_more_processes_than_cores_are_bounded_with_a_word():
    with pytest.warns(UserWarning, match=rf"--processes 1000 given; working with {cores()}, one per core"):
        assert at_most_cores(1000) == cores()
    assert at_most_cores(1) == 1


def test_further_process_that_crashes_is_told(capsys):
    with Companions(1, ["-c", "raise SystemExit(7)"], threads=1, started=0.0):
        pass
    assert capsys.readouterr().err.startswith("fedlib: a further process ended with status 7; what it left")


def test_the_time_of_a_command_counts_for_all_its_processes(tmp_path):
    """A companion takes the time at which the first process began for its own."""
    told = tmp_path / "told"
    code = "from fedlib.experiments.worker_processes import started_at; "
    code += f"open({str(told)!r}, 'w').write(str(started_at(7.0)))"
    with Companions(1, ["-c", code], threads=1, started=2.5):
        pass
    assert told.read_text() == "2.5"
    assert started_at(7.0) == 7.0


def test_a_locked_run_is_left_out_and_then_waited_for(store, tmp_path, monkeypatch):
    monkeypatch.setattr("fedlib.experiments.budget._POLL_SECONDS", 0.01)
    lock = store.try_lock(TRIPLE[0])
    clock = iter(range(100))
    with pytest.raises(BudgetExhausted, match=r"time budget of 0\.1 minutes is used up"):
        compute(TRIPLE, store=Store(store.root), budget=Budget(0.1, clock=lambda: next(clock) / 10))
    lock.release()
    assert {line.split()[1] for line in logged(tmp_path)} == {"1,2"}
    assert compute(TRIPLE).computed == 1


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("rounds", "3", "rounds='3' given; allowed: a whole number"),
        ("local_learning_rate", math.nan, "local_learning_rate=NaN given; allowed: a number"),
        ("method", BASE, 'method="Run('),
        ("seed", True, "seed=true given; allowed: a whole number"),
    ],
)
def test_a_run_of_ones_own_with_a_field_of_a_wrong_type_is_refused_in_words(field, value, told):
    with pytest.raises(UsageError) as error:
        compute([replace(BASE, **{field: value})])
    assert str(error.value).startswith(f"Run: {told}")


def test_waiting_names_how_many_runs_are_still_held_elsewhere(store, monkeypatch, capsys):
    locks = [store.try_lock(run) for run in TRIPLE[:2]]
    turns = iter(range(100))
    sleep = "fedlib.experiments.budget.time.sleep"
    monkeypatch.setattr(sleep, lambda _: next(turns) % 2 or locks.pop().release())
    other = Store(store.root)
    assert runner.run_runs(TRIPLE, device="cpu", store=other, progress=Progress(sys.stdout)).computed == 3
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("waiting")]
    assert told == [f"waiting for another process at work on {count}" for count in ("2 runs", "1 run")]


def test_a_run_with_nan_is_failed_and_the_others_go_on(store, straight, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    outcome = compute(TRIPLE)
    assert [found.status for found in outcome.runs] == ["finished", "failed", "finished"]
    assert outcome.status == 1
    assert outcome.failed[0].reason == "failed: loss is nan"
    rows = outcome.failed[0].rows()
    assert rows["round"].max() == 3
    assert rows["status"].iloc[-1] == "failed: loss is nan"
    assert [files(store, TRIPLE[0]), files(store, TRIPLE[2])] == [straight[0], straight[2]]
    assert compute(TRIPLE).computed == 0  # it would fail again
    monkeypatch.delenv("FAKE_NAN_SEED")
    assert compute(TRIPLE, retry_failed=True).status == 0


def test_a_failure_survives_an_interrupt(monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs(TRIPLE, device="cpu", progress=Stop(5))
    assert [found.status for found in compute(TRIPLE).runs] == ["finished", "failed", "finished"]


def test_a_failed_member_of_an_interrupted_group_is_tried_again_at_once(monkeypatch):
    monkeypatch.setenv("FAKE_NAN_SEED", "1")
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs(TRIPLE, device="cpu", progress=Stop(5))
    monkeypatch.delenv("FAKE_NAN_SEED")
    outcome = compute(TRIPLE, retry_failed=True)
    assert [found.status for found in outcome.runs] == ["finished"] * 3


def test_a_damaged_result_is_computed_again(store):
    compute(TRIPLE[:1])
    before = files(store, TRIPLE[0])
    path = store.folder(TRIPLE[0]) / "rows.csv"
    path.write_bytes(before[:-5])
    with pytest.warns(StoreWarning) as told:
        assert compute(TRIPLE[:1]).computed == 1
    assert "rows.csv does not match its sha256; set aside (rows.csv.damaged-1)" in str(told[-1].message)
    assert files(store, TRIPLE[0]) == before


def test_a_damaged_checkpoint_costs_the_rounds_since_the_one_before(store, straight, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        runner.run_runs(TRIPLE, device="cpu", progress=Stop(5), checkpoint_seconds=0)
    (path,) = store.root.rglob("checkpoint-5.pt")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(StoreWarning, match=r"checkpoint-5.pt does not match"):
        compute(TRIPLE)
    assert [files(store, run) for run in TRIPLE] == straight
    assert len(logged(tmp_path)) == 9 + 1


def test_a_full_disk_keeps_what_was_finished(store, monkeypatch):
    second = replace(BASE, method="fedprox")
    write = group_training.Store.put

    def full(self, run, **content):
        if run.method == "fedprox":
            monkeypatch.setattr(os, "fsync", _no_space)
        write(self, run, **content)

    monkeypatch.setattr(group_training.Store, "put", full)
    with pytest.raises(WriteError, match=r"cannot write .*: No space left on device"):
        compute([BASE, second])
    assert store.get(BASE).status == "finished"
    assert store.get(second) is None


def _no_space(descriptor):
    raise OSError(28, "No space left on device")


def test_the_budget_stops_with_a_checkpoint_and_status_3(store, straight):
    clock = iter(range(10_000))  # every look at the clock costs a second
    with pytest.raises(BudgetExhausted) as caught:
        compute(TRIPLE, budget=Budget(0.1, clock=lambda: next(clock)))
    assert caught.value.status == 3
    assert list(store.root.rglob("checkpoint-*.pt"))
    compute(TRIPLE)
    assert [files(store, run) for run in TRIPLE] == straight


@pytest.mark.parametrize(("last", "failing"), [(8, ""), (3, "0")])
def test_time_that_ends_with_the_last_round_stores_the_run(monkeypatch, last, failing):
    """0.5 of 60 s are left after round 8 of 8, or after round 3, in which the only run fails."""
    monkeypatch.setenv("FAKE_NAN_SEED", failing)
    now = [0.0]

    class Slow(Silent):
        def update(self, done_rounds, metrics):
            if done_rounds == last:
                now[0] = 59.5

    outcome = runner.run_runs([BASE], device="cpu", progress=Slow(), budget=Budget(1.0, clock=lambda: now[0]))
    assert [one.status for one in outcome.runs] == ["failed" if failing else "finished"]


def test_the_budget_counts_the_slowest_recent_round():
    now = [0.0]
    budget = Budget(1.0, clock=lambda: now[0])
    budget.took(2.0)
    budget.took(8.0)
    now[0] = 48.9
    assert budget.allows_step()  # 11.1 s left, 1.25 * 8 + 1 needed
    now[0] = 49.0
    assert not budget.allows_step()
    assert Budget(None).allows_step()
    with pytest.raises(UsageError, match="budget of 0 minutes given; allowed: above 0"):
        Budget(0)


def test_rows_carry_their_provenance():
    compute(TRIPLE)
    rows = load_rows(find_artifact("fake/grid"), profile="smoke")
    assert len(rows) == 3 * 9
    first = rows.iloc[0]
    assert (first.paper, first.artifact, first.profile, first.dataset) == (
        "fake",
        "grid",
        "smoke",
        BASE.dataset,
    )
    assert (first.dataset_origin, first.dataset_checksum, bool(first.stand_in)) == ("made up", "0" * 64, True)
    assert (first.device, first.source, first.run, first.group) == (
        "cpu",
        "store",
        rows.run[0],
        BASE.group_key,
    )
    assert first.partition_options == "{}"


def test_runs_beside_the_grid_never_slip_into_its_rows():
    compute([BASE, replace(BASE, rounds=5)])
    assert load_rows(find_artifact("fake/grid"), profile="smoke")["round"].max() == 8
    assert set(load_rows(find_artifact("fake/grid"), profile="smoke")["rounds"]) == {8}


def test_no_rows_is_an_empty_frame():
    assert load_rows(find_artifact("fake/grid"), profile="paper").empty


@pytest.fixture
def exported(tmp_path, store):
    runs = [replace(run, seed=seed) for run in grid_runs("reduced") for seed in range(2)]
    compute(runs, store=store)
    path = export_results(find_artifact("fake/grid"), "reduced", store=store, every=5)
    return path


def test_export_thins_rounds_and_keeps_the_last(exported):
    rows = load_rows(find_artifact("fake/grid"), profile="reduced", source="results")
    assert sorted(set(rows["round"])) == [0, 5, 10, 12]
    assert exported.name == "grid-reduced.parquet"
    assert len(read_details(exported)["runs"]) == 4


def test_export_has_6_digits_and_is_stable(exported, store):
    before = exported.read_bytes()
    rows = load_rows(find_artifact("fake/grid"), profile="reduced", source="results")
    value = rows["test_accuracy"].iloc[0]
    assert value == float(f"{value:.6g}")
    export_results(find_artifact("fake/grid"), "reduced", store=store, every=5)
    assert exported.read_bytes() == before


def test_committed_rows_serve_without_a_store_and_give_way_to_it(exported, tmp_path):
    empty = load_rows(find_artifact("fake/grid"), profile="reduced", store=tmp_path / "empty")
    assert set(empty["source"]) == {"results"}
    assert empty["seed"].nunique() == 2
    assert set(load_rows(find_artifact("fake/grid"), profile="reduced")["source"]) == {"store"}


def test_export_of_an_empty_store_leaves_the_committed_rows_alone(exported, tmp_path):
    before = exported.read_bytes()
    with pytest.raises(UsageError, match="nothing stored for fake/grid at profile 'reduced'; run it first"):
        export_results(find_artifact("fake/grid"), "reduced", store=tmp_path / "empty")
    assert exported.read_bytes() == before


def test_export_tells_of_runs_that_are_not_the_artifacts_own(store):
    mine = replace(grid_runs("reduced")[0], local_epochs=2)
    compute([mine, replace(mine, seed=1), replace(mine, profile="paper")], store=store)
    with pytest.raises(UsageError) as told:
        export_results(find_artifact("fake/grid"), "reduced", store=store)
    text = str(told.value)
    assert "'reduced' with its own settings; 2 runs with other settings (a method, data or --set" in text
    (call,) = re.findall(r"fedlib\.load_results\(.*\)", text)
    assert call == f"fedlib.load_results('fake/grid', 'reduced', store='{store.root}')"
    assert eval(call)["run"].nunique() == 2
    with pytest.raises(UsageError, match=r"nothing stored for fake/grid at profile 'extended'; run it first"):
        export_results(replace(find_artifact("fake/grid"), profiles=PROFILES), "extended", store=store)


def test_columns_of_mixed_values_are_committed_as_text(tmp_path):
    rows = pd.DataFrame(
        {"epochs": [5, "[5, 7]", None], "ok": [True, None, False], "bytes": [1234567.0, None, 2]}
    )
    path = write_rows(tmp_path / "rows.parquet", rows, {"runs": {}})
    read = read_rows(path)
    assert read["epochs"].dropna().tolist() == ["5", "[5, 7]"]
    assert read["ok"].tolist() == [True, None, False]
    assert read["bytes"].dropna().tolist() == [1234567, 2]


def test_a_damaged_results_file_is_named(exported):
    exported.write_bytes(exported.read_bytes()[:-20])
    for read in (read_rows, read_details):
        with pytest.raises(UsageError, match=r"grid-reduced.parquet cannot be read .*restore it with"):
            read(exported)


@pytest.mark.parametrize("details", [[], {}, {"runs": []}, {"runs": {"a": {"description": {}}}}])
def test_damaged_details_are_named(exported, details):
    write_rows(exported, read_rows(exported), details)
    with pytest.raises(UsageError, match=r"grid-reduced.parquet (cannot be read|is damaged)"):
        read_details(exported)


def test_an_export_adds_to_what_is_committed(exported, tmp_path):
    other = Store(tmp_path / "other")
    compute([replace(grid_runs("reduced")[0], seed=9)], store=other)
    export_results(find_artifact("fake/grid"), "reduced", store=other, every=10)
    rows = load_rows(find_artifact("fake/grid"), profile="reduced", store=tmp_path / "empty")
    assert sorted(set(rows["seed"])) == [0, 1, 9]
    rounds = rows.groupby("seed")["round"].unique().map(sorted).to_dict()
    assert rounds == {0: [0, 5, 10, 12], 1: [0, 5, 10, 12], 9: [0, 10, 12]}, "committed rows stay whole"
    assert len(read_details(exported)["runs"]) == 5


def test_of_two_exports_at_once_neither_loses_the_others_rows(exported, tmp_path, monkeypatch):
    """The second begins when the first has read the committed rows, and gets as far as it can."""
    stores = [Store(tmp_path / f"other {seed}") for seed in (8, 9)]
    for seed, other in zip((8, 9), stores, strict=True):
        compute([replace(grid_runs("reduced")[0], seed=seed)], store=other)
    grid, write, asked = find_artifact("fake/grid"), results.write_rows, threading.Event()

    class Telling(filelock.FileLock):
        def acquire(self, *given, **options):
            if threading.current_thread() is second:
                asked.set()
            return super().acquire(*given, **options)

    def write_after_the_second_began(*given):
        if threading.current_thread() is not second:
            second.start()
            asked.wait()
        return write(*given)

    second = threading.Thread(target=export_results, args=(grid, "reduced"), kwargs={"store": stores[1]})
    monkeypatch.setattr(result_files.filelock, "FileLock", Telling)
    monkeypatch.setattr(results, "write_rows", write_after_the_second_began)
    result_files._lock.cache_clear()
    export_results(grid, "reduced", store=stores[0])
    second.join()
    rows = load_rows(grid, profile="reduced", source="results")
    assert sorted(set(rows["seed"])) == [0, 1, 8, 9]
    assert len(read_details(exported)["runs"]) == 6


def test_committed_rows_of_an_old_grid_are_left_out_with_a_warning(exported, tmp_path, monkeypatch):
    changed = replace(fake_federation.ARTIFACTS[0], runs=lambda profile: grid_runs(profile)[:1])
    monkeypatch.setattr(fake_federation, "ARTIFACTS", (changed,))
    with pytest.warns(StoreWarning, match="2 runs are not in the present grid"):
        rows = load_rows(find_artifact("fake/grid"), profile="reduced", store=tmp_path / "empty")
    assert set(rows["method"]) == {"fedavg"}


def test_smoke_rows_are_never_exported():
    compute([BASE])
    with pytest.raises(UsageError, match="allowed for export: reduced, extended, paper"):
        export_results(find_artifact("fake/grid"), "smoke")


def test_verdicts_name_their_profile_and_data():
    (claim, verdict), *_ = decide_claims("fake", profile="smoke")
    assert (claim.id, verdict.verdict) == ("FAKE-C1", "not run")
    compute(TRIPLE[:2])
    ((_, verdict),) = decide_claims("fake", profile="smoke")
    assert (verdict.verdict, verdict.evidence, verdict.profile) == ("supported", "2 seeds", "smoke")
    assert verdict.data == "fmnist-embedded (stand-in)"


def seen_by_verdicts():
    ((_, verdict),) = decide_claims("fake")
    return verdict.profile, verdict.evidence


def test_a_cell_of_a_larger_grid_does_not_speak_for_the_whole():
    compute([replace(run, seed=seed) for run in grid_runs("reduced") for seed in (0, 1)])
    compute([grid_runs("paper")[0]])
    assert seen_by_verdicts() == ("reduced", "2 seeds")
    compute([grid_runs("paper")[1]])
    assert seen_by_verdicts() == ("paper", "1 seeds")


def test_smoke_rows_decide_nothing_unless_asked_for():
    compute([replace(run, seed=seed) for run in grid_runs("smoke") for seed in (0, 1)])
    assert decide_claims("fake")[0][1].verdict == "not run"
    assert decide_claims("fake", profile="smoke")[0][1].verdict == "supported"
    compute([grid_runs("reduced")[0]])
    assert seen_by_verdicts() == ("reduced", "1 seeds")


def test_an_incomplete_grid_that_lacks_what_a_claim_compares_decides_nothing(monkeypatch):
    def needs_both(rows):
        if rows.method.nunique() < 2:
            raise UsageError("no seed in common")
        return True, "both"

    claim = replace(fake_federation.CLAIMS[0], recompute=needs_both)
    monkeypatch.setattr(fake_federation, "CLAIMS", (claim,))
    compute([grid_runs("reduced")[0]])
    ((_, verdict),) = decide_claims("fake")
    assert verdict.verdict == "not run"
    assert "no seed in common" in verdict.evidence
    compute([replace(run, seed=seed) for run in grid_runs("reduced") for seed in (0, 1)])
    assert decide_claims("fake")[0][1].verdict == "supported"


def test_round_seconds_stay_out_of_the_stored_rows_and_come_back_as_a_column(tmp_path):
    provenance = {"segments": [{"round_seconds": {"0": 0.5, "1": 2.0}}, {"round_seconds": {"1": 3.0}}, {}]}
    assert results.round_seconds(provenance) == {0: 0.5, 1: 3.0}
    (stored,) = compute([BASE]).runs
    assert "seconds" not in stored.rows()
    assert results.round_seconds(stored.provenance).keys() == set(stored.rows()["round"])
