"""Timings of the server's work: which rounds are compared, and what is told of them."""

import numpy as np
import pandas as pd
import pytest
import torch

from fedlib.federation import prepare
from fedlib.methods import make_method
from fedlib.papers.head_to_head import runs, server_time
from fedlib.processors import torch_threads


def rows_of(timed_on: str = "cpu", **over: tuple[float, float]) -> pd.DataFrame:
    """Rows with a median and a late median (ms) over FedAvg's, by contestant."""
    return pd.DataFrame(
        [
            {"contestant": name, "rounds": 30, "timed_on": timed_on, "over_ms": median, "over_late_ms": late,
             "over_p25_ms": median - 0.1, "over_p75_ms": median + 0.1}
            for name, (median, late) in over.items()
        ]
    )  # fmt: skip


def test_every_contestant_but_the_controls_is_timed_with_its_chosen_settings():
    found = server_time.timed_runs("extended")
    assert set(found) == {name for name, one in runs.CONTESTANTS.items() if not one.twin_of}
    assert all(run.rounds == 300 for run in found.values())
    chosen = runs.chosen()["fedlaw"]
    assert found["fedlaw"].local_learning_rate == chosen["rate"]
    assert found["fedlaw"].method_options.items() >= chosen["options"].items()


def test_nothing_is_trained_before_round_1_and_a_client_has_one_mini_batch():
    for run in server_time.timed_runs("smoke").values():
        task = prepare([run])
        assert make_method(run.method, run.method_options).init(task).round == 0
        assert set(map(len, task.clients[0])) == {run.batch_size}


def test_a_round_is_compared_with_fedavgs_of_the_same_turn(monkeypatch):
    """FedAvg's rounds take 1, 2, .. ms, FedProx's 3 ms more, FedLAW's twice as long."""
    rounds = 1e-3 * np.arange(1, 21)
    own = {name: rounds for name in server_time.timed_runs("smoke")}
    own |= {"fedprox": rounds + 3e-3, "fedlaw": 2 * rounds}
    threads, within = torch.get_num_threads(), []
    monkeypatch.setattr(
        server_time, "_seconds", lambda runs, device: within.append(torch.get_num_threads()) or own
    )
    with torch_threads(threads + 1):
        found = server_time.server_time("smoke").set_index("contestant")
        assert torch.get_num_threads() == threads + 1
    assert within == [1]
    assert found.round_ms["fedavg"] == pytest.approx(10.5)
    assert found.over_ms["fedavg"] == 0
    assert found.over_ms["fedprox"] == found.over_late_ms["fedprox"] == pytest.approx(3)
    assert found.over_ms["fedlaw"] == pytest.approx(10.5)
    assert found.over_p25_ms["fedlaw"] == pytest.approx(5.75)
    assert found.over_late_ms["fedlaw"] == pytest.approx(19.5)  # of 19 and 20 ms


def test_contestants_take_turns_and_all_play_the_whole_run(monkeypatch):
    """Two warm-ups of 3 rounds at smoke."""
    played: list[str] = []
    some = {
        name: run for name, run in server_time.timed_runs("smoke").items() if name in ("fedavg", "fedexp")
    }
    monkeypatch.setattr(
        server_time, "round_player", lambda task, method, state: lambda: played.append(type(method).__name__)
    )
    found = server_time._seconds(some, "cpu")
    assert played == ["FedAvg", "FedExP"] * 3
    assert {name: len(seconds) for name, seconds in found.items()} == {"fedavg": 1, "fedexp": 1}


def test_the_table_begins_with_the_most_expensive_and_ends_with_fedavg():
    shown = server_time.table(rows_of(uniform=(-0.01, 0.0), fedavg=(0.0, 0.0), feddrl=(4.0, 9.0)))
    assert list(shown.contestant) == ["feddrl", "uniform", "fedavg"]


def test_the_answer_names_the_learned_methods_and_the_expensive_baselines():
    rows = rows_of(fedavg=(0.0, 0.0), fedavgm=(0.2, 0.2), fedlaw=(31.25, 31.0), feddrl=(4.0, 9.0))
    learned, baselines = server_time.answer(rows)
    assert learned.startswith("The server's own work a round, over FedAvg's, on one CPU core (medians of ")
    assert learned.endswith("(medians of 30 rounds): FedDRL 4 ms (9 in the last tenth of the rounds).")
    assert baselines == "Of the baselines: FedLAW 31.2 ms; each other less than 1 ms."
    on_gpu = server_time.answer(rows_of(timed_on="cuda", fedavg=(0.0, 0.0), feddrl=(4.0, 9.0)))
    assert "on one CPU core and a GPU (" in on_gpu[0]
    assert server_time.answer(rows_of(fedavg=(0.0, 0.0), fedavgm=(0.2, 0.2), feddrl=(4.0, 9.0)))[1] == (
        "Every baseline adds less than 1 ms."
    )
    assert server_time.answer(pd.DataFrame()) == []
