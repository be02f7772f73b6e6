"""FedAvg and FedProx as one computation: equal to separate runs, resumed bit for bit, grouped by rule."""

from dataclasses import replace

import pandas as pd
import pytest
import torch
from worlds import make_world

from fedlib.errors import UsageError
from fedlib.experiments import labels, selection
from fedlib.experiments.runner import run_runs
from fedlib.experiments.store import Store
from fedlib.federation import prepare, rounds
from fedlib.methods import make_method, method_of
from fedlib.methods.baselines.fedprox import JoinedFedProx
from fedlib.run import Run

METHODS = [("fedavg", {}), ("fedprox", {"mu": 0.1}), ("fedprox", {"mu": 1.0, "weights": "uniform"})]
BASE = Run(
    paper="start", artifact="curves", profile="smoke", dataset="fmnist-embedded", method="fedavg",
    dataset_options={"train_per_class": 20, "test_per_class": 5}, partition="iid", model="mlp",
    num_clients=4, cohort_size=3, rounds=4, batch_size=10, local_learning_rate=0.05,
)  # fmt: skip


def grid_of(base=BASE):
    runs = [replace(base, method=name, method_options=options) for name, options in METHODS]
    shards = replace(base, partition="equal_shards")
    return [replace(run, seed=seed) for run in [*runs, shards] for seed in (0, 1)]


def play(runs, method):
    return list(rounds(prepare(runs), method))


def test_joined_runs_equal_separate_runs():
    runs = grid_of()
    methods = [make_method(run.method, run.method_options) for run in runs]
    together = play(runs, method_of(runs))
    for place, (run, method) in enumerate(zip(runs, methods, strict=True)):
        alone = play([run], method)
        for name, tensor in alone[-1].state["params"].items():
            torch.testing.assert_close(
                together[-1].state["params"][name][place], tensor[0], rtol=1e-5, atol=1e-6
            )
        for ours, theirs in zip(together, alone, strict=True):
            assert ours.rows[place][0].keys() == theirs.rows[0][0].keys()
            assert ours.rows[place][0].get("clients") == theirs.rows[0][0].get("clients")
            assert ours.rows[place][0].get("weights") == theirs.rows[0][0].get("weights")
            assert ours.rows[place][0]["test_loss"] == pytest.approx(theirs.rows[0][0]["test_loss"], rel=1e-4)


def test_one_method_is_not_joined():
    fedprox = replace(BASE, method="fedprox", method_options={"mu": 0.1})
    assert method_of([fedprox, replace(fedprox, seed=1)]) == make_method("fedprox", {"mu": 0.1})
    assert isinstance(method_of([fedprox, BASE]), JoinedFedProx)


def test_what_shares_a_group():
    runs = grid_of()
    others = [replace(BASE, method="fedsgd"), replace(BASE, rounds=5), replace(BASE, batch_size=5)]
    groups = selection.group([*runs, *others], joined=True)
    assert [len(members) for members in groups] == [8, 1, 1, 1]
    assert [len(members) for members in selection.group(runs)] == [2, 2, 2, 2]
    assert "4 descriptions joined" in labels.group_label(groups[0])
    episodes = [replace(run, episode_rounds=2) for run in runs]
    assert [len(members) for members in selection.group([*runs, *episodes], joined=True)] == [8, 8]
    with pytest.raises(UsageError, match="may differ in their seed only, those of fedavg and fedprox also"):
        prepare([BASE, others[0]])


def test_fewer_steps_are_a_group_of_their_own():
    limited = replace(BASE, method="fedprox", method_options={"mu": 0.1}, local_steps=2)
    assert limited.joint_key != BASE.joint_key
    assert replace(limited, local_steps=None).joint_key == BASE.joint_key


def test_the_suite_joins_and_a_resumed_group_ends_bit_for_bit_the_same(tmp_path, monkeypatch):
    runs = grid_of()
    monkeypatch.setattr(selection, "joins_methods", lambda device: True)  # as on a GPU
    whole = run_runs(runs, device="cpu", store=tmp_path / "whole")
    assert all(stored.provenance["group"] == [run.key for run in runs] for stored in whole.runs)

    import fedlib.federation

    def interrupted(task, method, state=None):
        for result in rounds(task, method, state):
            yield result
            if result.round == 2:
                raise KeyboardInterrupt

    store = Store(tmp_path / "cut")
    monkeypatch.setattr(fedlib.federation, "rounds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_runs(runs, device="cpu", store=store)
    monkeypatch.undo()
    resumed = run_runs(runs[:2], device="cpu", store=store)  # FedAvg alone is asked for, and not joined
    assert resumed.runs[0].provenance["group"] == [run.key for run in runs]
    everything = run_runs(runs, device="cpu", store=store)
    assert everything.computed == 0
    for ours, theirs in zip(everything.runs, whole.runs, strict=True):
        pd.testing.assert_frame_equal(ours.rows(), theirs.rows(), check_exact=True)


def test_the_cpu_does_not_join_by_itself(tmp_path):
    outcome = run_runs(grid_of()[:4], device="cpu", store=tmp_path)
    assert [len(stored.provenance["group"]) for stored in outcome.runs] == [2] * 4


def play_world(name, **options):
    return list(rounds(make_world(seeds=(0, 1)), make_method(name, options)))
