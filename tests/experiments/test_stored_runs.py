"""Rows of runs that are not finished, out of their checkpoints."""

from dataclasses import replace

import pandas as pd
import pytest

from fedlib.experiments import provenance, runner
from fedlib.experiments.checkpoints import Checkpoint, GroupFolder
from fedlib.experiments.measurements import Measurement, compute_measurement, load_measurement
from fedlib.experiments.progress import Silent
from fedlib.experiments.store import Store, StoreWarning
from fedlib.experiments.stored_runs import rows_as_far_as_run
from fedlib.papers.feddrl import runs

KEPT = ["method", "seed", "rounds", "round", "test_accuracy", *provenance.ORIGIN]


def so_far(profile: str, store: Store) -> pd.DataFrame:
    return rows_as_far_as_run(runs.exact_cell(profile), store).reindex(columns=KEPT)


def test_a_run_shows_its_curve_before_it_is_finished(tmp_path, monkeypatch):
    """FedAvg finished, FedProx interrupted after a checkpoint of round 1, FedDRL not begun."""
    monkeypatch.setenv("FEDLIB_STORE", str(tmp_path / "empty"))
    store = Store(tmp_path / "other")  # as `--store` names it
    fedavg, fedprox, *_ = runs.exact_cell("smoke")
    runner.run_runs([fedavg], store=store, device="cpu", progress=Silent())
    folder = GroupFolder(store, [fedprox])
    rows = [[{"round": r, "status": "ok", "test_accuracy": 0.1 * r} for r in (0, 1)]]
    gpu = {"device": "cuda", "device_name": "a GPU", **provenance.code(), "commit": "before"}
    cpu = {"device": "cpu", "device_name": "a CPU", **provenance.code(), "commit": "after"}
    folder.save(Checkpoint(1, rows, {}, [gpu, cpu, cpu], {}))
    measurement = Measurement("feddrl/so_far", so_far, reads_store=True)
    found = compute_measurement(measurement, "smoke", store)
    assert found.groupby("method")["round"].max().to_dict() == {"fedavg": 2, "fedprox": 1}
    assert found[found.method == "fedprox"].test_accuracy.tolist() == [0.0, 0.1]
    assert set(found.rounds) == {2}
    origin = found.drop_duplicates("method").set_index("method")
    assert origin.device.to_dict() == {"fedavg": "cpu", "fedprox": "cuda then cpu"}
    assert origin.device_name["fedprox"] == "a GPU then a CPU"
    assert origin.commit["fedprox"] == "before then after"
    being_written = folder.path / ".checkpoint-2.pt.99.tmp"
    being_written.touch()
    (folder.path / "checkpoint-2.pt").write_bytes(b"damaged")
    with pytest.warns(StoreWarning, match=r"checkpoint-2\.pt has no readable header; left out"):
        assert so_far("smoke", store).equals(found[KEPT])
    assert being_written.exists()
    assert (folder.path / "checkpoint-2.pt").exists(), "it may be another process's; who reads has no lock"
    again = load_measurement(measurement, "smoke", store)
    assert set(again.commit) == set(found.commit)


def test_a_joined_group_gives_each_method_its_own_members(tmp_path):
    """FedAvg and FedProx trained as one computation, as on a GPU, and were interrupted."""
    fedavg, fedprox, *_ = runs.exact_cell("smoke")
    members = [replace(run, seed=seed) for run in (fedavg, fedprox) for seed in (0, 1)]
    rows = [[{"round": 0, "status": "ok", "test_accuracy": 0.1 * n}] for n in range(4)]
    segment = {"device": "cuda", "device_name": "a GPU", **provenance.code()}
    GroupFolder(Store(tmp_path), members).save(Checkpoint(0, rows, {}, [segment], {}))
    found = so_far("smoke", Store(tmp_path)).set_index(["method", "seed"])
    assert found.test_accuracy.to_dict() == pytest.approx(
        {("fedavg", 0): 0.0, ("fedavg", 1): 0.1, ("fedprox", 0): 0.2, ("fedprox", 1): 0.3}
    )
