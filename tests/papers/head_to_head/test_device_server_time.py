"""Timings of the decisions of the methods that choose by time: which runs they are, and what is told."""

import numpy as np
import pandas as pd
import pytest

from fedlib.federation import prepare
from fedlib.methods import make_method
from fedlib.papers.head_to_head import device_runs, device_server_time, server_time


def test_every_method_that_chooses_by_time_has_a_reference_that_is_timed():
    found = device_server_time.timed_runs("extended")
    assert set(device_server_time.REFERENCES) == set(device_runs.TIMED)
    assert set(found) == {*device_runs.TIMED, *device_server_time.REFERENCES.values()}
    assert {run.rounds for run in found.values()} == {200}


def test_nothing_is_trained_before_round_1_and_clients_train_for_one_mini_batch():
    for run in device_server_time.timed_runs("smoke").values():
        task = prepare([run])
        assert make_method(run.method, run.method_options).init(task).round == 0
        assert set(map(len, task.clients[0])) == {run.batch_size}
        assert run.local_epochs == 1


def test_the_reference_of_schedulerfl_lets_its_share_of_the_clients_train():
    found = device_server_time.timed_runs("extended")
    half = found[device_server_time.HALF]
    assert half.cohort_size == found["SchedulerFL"].method_options["share"] * half.num_clients
    assert half.method == "fedavg"


def test_each_round_is_compared_with_its_references_of_the_same_turn(monkeypatch):
    """References take 1, 2, .. ms; FedDdrl 5 ms more than its own, EvaluatorFL twice FedAvg's."""
    ms = 1e-3 * np.arange(1, 21)
    own = dict.fromkeys(device_server_time.timed_runs("smoke"), ms)
    own |= {device_server_time.STOPPING: 10 * ms, "FedDdrl": 10 * ms + 5e-3, "EvaluatorFL": 2 * ms}
    monkeypatch.setattr(server_time, "_seconds", lambda runs, device: own)
    found = device_server_time.device_server_time("smoke").set_index("contestant")
    assert list(found.index) == list(device_runs.TIMED)
    assert found.over_ms["FedDdrl"] == pytest.approx(5)
    assert found.over_ms["EvaluatorFL"] == pytest.approx(10.5)
    assert found.over_ms["SchedulerFL"] == 0
    assert found.over_late_ms["EvaluatorFL"] == pytest.approx(19.5)  # of 19 and 20 ms


def test_the_table_and_the_sentence_name_the_methods():
    rows = pd.DataFrame(
        [
            {"contestant": name, "rounds": 30, "timed_on": "cpu", "over_ms": ms, "over_late_ms": ms,
             "over_p25_ms": ms - 0.1, "over_p75_ms": ms + 0.1}
            for name, ms in (("FedDdrl", 7.361), ("FedMarl", 0.6), ("EvaluatorFL", 10.0))
        ]
    )  # fmt: skip
    shown = device_server_time.table(rows)
    assert list(shown.contestant) == ["EvaluatorFL", "FedDdrl", "FedMarl"]
    assert list(shown.reference) == ["FedAvg", *["faster half alone, random"] * 2]
    (told,) = device_server_time.answer(rows)
    assert told.endswith(
        "on one CPU core (medians of 30 rounds): FedDdrl 7.36 ms, FedMarl 0.6 ms and EvaluatorFL 10 ms."
    )
    assert device_server_time.answer(pd.DataFrame()) == []
