"""Rows as scalars of TensorBoard: read back by its own reader; the stored rows are as without it."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fedlib.cli.main import main
from fedlib.errors import UsageError
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import ROWS, Store
from fedlib.experiments.tracking import TensorBoard, make_tracker
from fedlib.run import Run

RUN = Run(
    paper="start", artifact="tracking", profile="smoke", dataset="fmnist-embedded", partition="iid",
    model="mlp", method="fedavg", num_clients=3, rounds=2,
    dataset_options={"train_per_class": 4, "test_per_class": 4},
)  # fmt: skip


def test_every_rounds_rows_reach_the_tracker(tmp_path):
    seen = []
    store = Store(tmp_path)
    run_runs([RUN], store=store, device="cpu", tracker=lambda runs, rows: seen.append((runs, rows)))
    assert [rows[0][0]["round"] for _, rows in seen] == [0, 1, 2]
    assert all(runs == [RUN] for runs, _ in seen)


def test_no_tracker_without_a_name_and_an_unknown_one_is_refused(tmp_path, monkeypatch):
    assert make_tracker(None, tmp_path) is None
    with pytest.raises(UsageError, match="unknown tracker 'wandb'"):
        make_tracker("wandb", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pip install tensorboard"):
        make_tracker("tensorboard", tmp_path)


def test_a_run_has_one_file_that_is_flushed_each_round_and_closed_after_its_group(tmp_path, monkeypatch):
    calls = []

    class Writer:
        def __init__(self, folder):
            self.note = lambda *what: calls.append((folder, *what))
            self.note("open")

        def add_scalar(self, name, value, step):
            if name == "test_accuracy":
                self.note("round", step)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

        def flush(self):
            self.note("flush")

        def close(self):
            self.note("close")

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    runs = [RUN, replace(RUN, seed=1), replace(RUN, local_epochs=2)]  # two groups
    run_runs(runs, store=Store(tmp_path), device="cpu", tracker=TensorBoard(tmp_path))
    rounds = [step for n in range(3) for step in (("round", n), ("flush",))]
    for run in runs:
        own = [what for folder, *what in calls if folder == str(tmp_path / run.id / run.key)]
        assert [*map(tuple, own)] == [("open",), *rounds, ("close",)]
    last = str(tmp_path / RUN.id / runs[2].key)
    assert {folder for folder, *_ in calls[-8:]} == {last}  # the first group's are closed by then


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of tensorboard itself
def test_the_command_line_writes_scalars_beside_the_runs(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is an extra: make extras")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    chosen = ["start/curves", "--method", "fedavg", "--partition", "iid", "--seeds", "1", "--set", "rounds=2"]
    assert main(["run", *chosen, "--log", "tensorboard", "--store", str(tmp_path)]) == 0
    (stored,) = Store(tmp_path).scan("start/curves")
    found = EventAccumulator(str(tmp_path / "tensorboard" / "start/curves" / stored.run.key)).Reload()
    assert [scalar.step for scalar in found.Scalars("test_accuracy")] == [0, 1, 2]
    assert found.Scalars("test_accuracy")[-1].value == pytest.approx(stored.final["test_accuracy"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of tensorboard itself
def test_scalars_are_the_rows(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is an extra: make extras")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    plain, tracked = Store(tmp_path / "plain"), Store(tmp_path / "tracked")
    run_runs([RUN], store=plain, device="cpu")
    run_runs([RUN], store=tracked, device="cpu", tracker=make_tracker("tensorboard", tmp_path / "logs"))
    assert (plain.folder(RUN) / ROWS).read_bytes() == (tracked.folder(RUN) / ROWS).read_bytes()
    found = EventAccumulator(str(tmp_path / "logs" / RUN.id / RUN.key)).Reload().Scalars("test_accuracy")
    rows = tracked.get(RUN).rows()
    assert [scalar.step for scalar in found] == [0, 1, 2]
    assert [scalar.value for scalar in found] == pytest.approx(rows["test_accuracy"].tolist())
