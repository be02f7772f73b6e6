"""The benchmarks that a GPU is waited for: that they run, measured nowhere."""

import contextlib
import json
import sys

import pytest
import torch

from benchmarks import before, cells, common, compiled, engine, roofline, round_loop
from benchmarks.common import Clients
from benchmarks.peers.child import Child
from fedlib.engine import train
from fedlib.experiments import selection
from fedlib.papers import find_artifact

CPU = torch.device("cpu")


def test_the_cells_are_those_of_table_3():
    for profile in ("smoke", "paper"):
        runs = cells.cells(profile)
        planned = selection.expand(find_artifact("feddrl/table3"), profile, seeds=1)
        assert {run.key for run in runs} <= {run.key for run in planned}
        assert len({run.key for run in runs}) == 12
        assert {(run.num_clients, run.method) for run in runs} == {(100, "fedavg"), (100, "fedprox")}


def test_a_cell_is_timed_on_a_cpu(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cells, "PARTITIONS", ("pa",))
    monkeypatch.setattr(cells, "DATA_SETS", ("fmnist",))
    monkeypatch.setattr(
        sys,
        "argv",
        ["cells", "--profile", "smoke", "--rounds", "1", "--device", "cpu", "--out", str(tmp_path)],
    )
    cells.main()
    (record,) = json.loads(next(tmp_path.glob("cells-*.json")).read_text())["records"]
    assert (record["runs"], record["finished"], record["rounds"]) == (2, 2, 1)
    assert record["seconds"] > 0
    assert "2 of 2 runs of 1 rounds in" in capsys.readouterr().out


def test_cells_that_take_too_long_are_counted(capsys):
    record = cells.time_to_finish(cells.cells("smoke", rounds=1), minutes=1e-9, device="cpu")
    assert (record["runs"], record["finished"]) == (12, 0)
    assert "not finished: the time budget" in capsys.readouterr().out


@pytest.mark.skipif(torch.cuda.is_available(), reason="where there is no GPU")
def test_without_a_gpu_graphs_and_compilation_are_left_out_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compiled"])
    compiled.main()
    assert capsys.readouterr().out == compiled.NO_GPU + "\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's tracer itself
def test_a_compiled_step_is_traced_and_trains_as_the_eager_one(monkeypatch):
    """Traced, but not translated: a compiler is not asked for."""
    graphs, trained = [], []
    clients = Clients.of("lenet", 2, 1, 4)

    def trace(graph, _):
        graphs.append(graph)
        return graph

    def traced_model(trainer):
        return compiled.with_compiled_model(trainer, trace)

    monkeypatch.setattr(common, "train", lambda *given: trained.append(train(*given)))
    for change in (lambda trainer: trainer, traced_model):
        common.engine("lenet", clients, backend="stacked", device=CPU, capture=False, change=change)()
    eager, traced = (one.state.params for one in trained)
    assert graphs
    torch.testing.assert_close(traced, eager)


def test_the_batch_size_reaches_all_contestants_and_the_file():
    clients = Clients.of("mlp", 3, 2, 32)
    assert [len(index) for index in clients.lists] == [64] * 3
    for build in engine.builders("mlp", 3, 32).values():
        build()()
    assert engine.file_name(None) == "engine"
    assert engine.file_name(32) == "engine-batch-32"


def test_operations_and_bytes_of_a_step_are_those_of_its_layers():
    batch, weights = 10, 784 * 100 + 100 * 10
    assert roofline.count_operations("mlp") == 2 * batch * (2 * 784 * 100 + 3 * 100 * 10)
    assert roofline.count_bytes("mlp") == 8 * (weights + 110) + batch * 784
    # Adadelta keeps two moments of each of the 1,199,882 parameters
    assert roofline.count_bytes("cnn-frl") == 3 * 8 * 1_199_882 + 64 * 784
    # Linear, ReLU, Linear; flattening is a view: float32, outputs and gradients, each written and read
    assert roofline.count_activation_bytes("mlp") == 4 * 4 * batch * (100 + 100 + 10)


def test_the_ceiling_is_the_best_that_was_measured(monkeypatch, tmp_path, capsys):
    rates = {"product of 512": 2e9, "convolution 3x3": 5e9}
    monkeypatch.setattr(roofline, "arithmetic_rates", lambda device: rates)
    monkeypatch.setattr(roofline, "bandwidth", lambda device: 1e9)
    monkeypatch.setattr(roofline, "contest", lambda runs: {name: [1.0] for name in runs})
    monkeypatch.setattr(sys, "argv", ["roofline", "--models", "mlp", "--out", str(tmp_path)])
    roofline.main()
    found = json.loads(next(tmp_path.glob("roofline-*.json")).read_text())
    assert found["ceilings"]["arithmetic_by"] == "convolution 3x3"
    assert found["ceilings"]["arithmetic_gflops"] == 5
    (record,) = found["records"]
    assert record["floor_us"] == pytest.approx(1e6 * max(3_196_000 / 5e9, 643_920 / 1e9))
    assert record["uncached_floor_us"] == pytest.approx(1e6 * (643_920 + 33_600) / 1e9)
    assert "5 GFLOP/s (convolution 3x3)" in capsys.readouterr().out


def test_arithmetic_is_measured_in_several_sizes(monkeypatch):
    monkeypatch.setitem(roofline.PRODUCTS, "cpu", (8, 16))
    monkeypatch.setattr(roofline, "_convolution_rate", lambda device: 1.0)
    assert set(roofline.arithmetic_rates(CPU)) == {"product of 8", "product of 16", "convolution 3x3"}


@pytest.mark.parametrize("kind", ["none", "cohort", "all"])
def test_the_round_loop_is_measured_with_each_client_evaluation(kind):
    (record,) = round_loop.measure(2, kind, train=200, test=50)
    assert record["client_eval"] == kind
    assert 0 < record["local_seconds"] < record["round_seconds"]
    assert record["share"] == pytest.approx(1 - record["local_seconds"] / record["round_seconds"])


def test_contestants_alternate_and_ratios_are_of_the_same_repeat(monkeypatch):
    played, clock = [], iter([1.0, 2.0, 9.0, 3.0, 2.0, 5.0])
    monkeypatch.setattr(common, "seconds_of", lambda run: run() or next(clock))
    runs = {"a": lambda: played.append("a"), "b": lambda: played.append("b")}
    found = common.contest(runs, repeats=3)
    assert "".join(played) == "ab" + "ab" + "ba" + "ab"
    assert found == {"a": [1.0, 3.0, 2.0], "b": [2.0, 9.0, 5.0]}
    assert common.times_as_fast(found["a"], found["b"]) == 2.5  # of 2, 3 and 2.5


def test_another_commit_alternates_with_this_one(monkeypatch, tmp_path):
    """Ratios are the other's seconds over ours, of the same repeat; nobody always comes first."""
    asked, seconds = [], {tmp_path: iter([3.0, 2.0, 8.0]), before.ROOT: iter([1.0, 2.0, 2.0])}

    class Known(contextlib.nullcontext):
        def __init__(self, interpreter, script, arguments, python_path):
            super().__init__(self)
            self.folder = python_path

        def ask(self, what):
            asked.append(self.folder)
            return next(seconds[self.folder])

    monkeypatch.setattr(before, "Child", Known)
    record = before.compare(tmp_path, "lenet", 100, repeats=3)
    assert record["ratios"] == [3.0, 1.0, 4.0]
    assert record["times_as_fast"] == 3.0
    assert asked[:4] == [before.ROOT, tmp_path, tmp_path, before.ROOT]


def test_the_engine_of_a_checkout_answers_a_parent():
    """One repeat in a process of its own, which imports the checkout that it is given."""
    with Child(sys.executable, "commit_child.py", ["mlp", 2, 1], python_path=before.ROOT) as child:
        assert child.ask("run") > 0
