"""EvaluatorFL at the report's scale: the episodes that its runs have whole, by hand."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from fedlib.experiments.checkpoints import Checkpoint, GroupFolder
from fedlib.experiments.provenance import code
from fedlib.experiments.store import Store
from fedlib.papers.frl import full_scale, runs

KEPT, OTHER = [0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]  # two of four workers decided otherwise


def rounds(reached, *, settles=2):
    """Rows of runs {seed: rounds} in episodes of three rounds; the selection is kept from `settles` on.

    Accuracy 0.5 + 0.1 * episode after an episode's last round, 0.01 * episode more with seed 1. The first
    reward of an episode is 0.9, the others alternate around 0.
    """
    rows = []
    for seed, last in reached.items():
        for number in range(1, last + 1):
            episode, turn = (number - 1) // 3 + 1, (number - 1) % 3 + 1
            changes = episode < settles and turn == 2
            rows.append(
                {
                    "method": "evaluatorfl", "method_options": "{}", "seed": seed, "round": number,
                    "rounds": 200, "episode_rounds": 3, "episode": episode, "episode_round": turn,
                    "num_clients": 4, "model": "cnn-frl", "local_epochs": 3, "selected": 2,
                    "weights": json.dumps(OTHER if changes else KEPT),
                    "test_accuracy": 0.5 + (0.1 + 0.01 * seed) * episode if turn == 3 else 0.4,
                    "reward": 0.9 if turn == 1 else 0.02 * (-1) ** turn,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def test_an_episode_is_the_mean_over_the_seeds_that_have_it_whole():
    table = full_scale.by_episode(rounds({0: 9, 1: 7}))
    assert table["episode"].tolist() == [1, 2, 3]
    assert table["seeds"].tolist() == [2, 2, 1]
    assert table["accuracy at its end (%)"].tolist() == pytest.approx([60.5, 71.0, 80.0])
    assert table["selected (%)"].tolist() == [50, 50, 50]
    assert table["decided as before (%)"].tolist() == [50, 100, 100]
    assert table["|R|: first round"].tolist() == pytest.approx([0.9] * 3)
    assert table["|R|: others"].tolist() == pytest.approx([0.02] * 3)


def test_the_sentence_speaks_of_the_last_episode_that_all_have():
    told = full_scale.full_scale_sentence(rounds({0: 9, 1: 7}))
    assert "7 to 9 of 200 rounds of approach 1 are run with 2 seeds among 4 workers" in told
    assert "2 of 2 runs keep their selection in episode 2" in told
    assert told.endswith("at its end is +10.5 [+4.1, +16.9] points (higher) against that of episode 1.")
    still = full_scale.full_scale_sentence(rounds({0: 3, 1: 4}))
    assert "0 of 2 runs keep their selection in episode 1," in still
    assert "against that" not in still
    assert full_scale.full_scale_sentence(rounds({0: 2})) == ""
    assert full_scale.full_scale_sentence(rounds({0: 9}).assign(model="mlp")) == ""
    assert full_scale.full_scale_sentence(pd.DataFrame()) == ""


def test_fedavg_stands_beside_it_once_all_seeds_have_its_rounds():
    """It ends at 74 and 77 %, the agent's second episode at 70 and 72 %."""
    agent = rounds({0: 9, 1: 7})
    fedavg = pd.DataFrame(
        {"method": "fedavg", "seed": [0, 1], "round": 3, "rounds": 3, "test_accuracy": [0.74, 0.77]}
    )
    told = full_scale.full_scale_sentence(pd.concat([agent, fedavg]))
    assert "It is −4.5 [−10.9, +1.9] points (no clear difference) against FedAvg's after as many" in told
    begun = fedavg.assign(rounds=[3, 10])
    assert "FedAvg" not in full_scale.full_scale_sentence(pd.concat([agent, begun]))


def test_the_runs_are_those_of_figure_14_in_bfloat16_at_paper():
    for profile, precision in (("paper", "bf16"), ("reduced", "float32")):
        agent, fedavg = full_scale.full_scale_runs(profile)
        assert agent == replace(runs.evaluator_runs(profile, "fig14")[0], precision=precision)
        assert (fedavg.method, fedavg.num_clients, fedavg.rounds) == ("fedavg", 20, 10)
        assert fedavg.precision == precision


def test_a_run_that_is_not_finished_has_its_rows_with_machine_and_code(tmp_path):
    store, (agent, _) = Store(tmp_path), full_scale.full_scale_runs("smoke")
    rows = [[{"round": r, "episode": 1, "episode_round": r, "test_accuracy": 0.1 * r} for r in (1, 2)]]
    segment = {"device": "cpu", "device_name": "a CPU", **code()}
    GroupFolder(store, [replace(agent, seed=4)]).save(Checkpoint(2, rows, {}, [segment], {}))
    found = full_scale.as_far_as_run("smoke", store)
    assert found[["seed", "round", "test_accuracy", "device_name"]].to_numpy().tolist() == [
        [4, 1, 0.1, "a CPU"], [4, 2, 0.2, "a CPU"]
    ]  # fmt: skip
    assert full_scale.as_far_as_run("smoke", Store(tmp_path / "empty")).empty
