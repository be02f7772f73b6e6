"""The return (15) against numbers worked out by hand, and against the rewards that stored runs report."""

import json

import numpy as np
import pandas as pd
import pytest
from fedddrl_by_hand import ROUNDS, frame

import fedlib
from fedlib.papers.fedddrl import quantities, return_tables, returns, tables

SLOPE = 2.9 * (10 - 20 / (1 + np.exp(0.35)))  # w1 (U(1) - U(0)), U(1) = 0


def policies():
    """FedAvg+: 10 -> 40 % in 15 equal steps, everybody. Fastest 20 %: 10 -> 25 %, two clients, 40 s."""
    full = {"accuracy": 0.4, "kept": 10, "latency": 100.0, "sway": 0}
    few = {"accuracy": 0.25, "kept": 2, "latency": 40.0, "sway": 0}
    mixup, fast = ("fedavg_mixup", "MNIST"), ("drop_slowest_20%", "MNIST")
    return frame({mixup: full, fast: few})


def test_the_return_of_fedavg_and_of_a_rule_by_hand():
    """b = 0.3 (0.1 + 0.2) = 0.09; FedAvg pays 15 (0.1 + 0.2), the rule 15 (0.1 * 0.2 + 0.2 * 0.4)."""
    found = returns.returns(policies()).groupby("variant").mean()
    assert found["fedavg_mixup"] == pytest.approx(0.3 * SLOPE - 4.5 + 15 * 0.09)
    assert found["fedavg_mixup"] == pytest.approx(-1.64285, abs=1e-5)
    assert found["drop_slowest_20%"] == pytest.approx(0.15 * SLOPE - 1.5 + 15 * 0.09)
    assert found["drop_slowest_20%"] == pytest.approx(0.60358, abs=1e-5)


def test_a_gain_that_is_lost_again_is_paid_by_the_bonus_only():
    """A see-saw of 5 points rises in the 7 even rounds: same gain of the episode, 7 bonuses, not 15."""
    wobbly = frame({("fedavg_mixup", "MNIST"): {"accuracy": 0.4, "wobble": 0.05, "sway": 0}})
    terms = returns.episode_terms(wobbly).iloc[0]
    assert terms.gain == pytest.approx(0.3 * SLOPE)
    assert terms.bonus == pytest.approx(7 * 0.09)
    straight = returns.episode_terms(policies()).xs("fedavg_mixup", level="variant").iloc[0]
    assert straight.bonus == pytest.approx(15 * 0.09)
    assert straight.gain == pytest.approx(terms.gain)


def test_the_rewards_of_stored_runs_are_recomputed():
    """FedDdrl's rows report r^1 as the agents got it; accuracies, uploads and latencies give the same."""
    rows = fedlib.load_results("fedddrl/table4", "reduced")
    terms = returns.reward_terms(rows)
    own = terms[terms.variant == "fedddrl"]
    stored = rows.reward_1.astype(float).reindex(own.index)
    assert len(own) == 3 * 3 * 5 * 15
    np.testing.assert_allclose(own.reward, stored, atol=1e-5)


def test_training_episodes_are_returns_and_not_means():
    """A mean reward of 0.1 a round is a return of 1.5 in an episode of 15."""
    rows = frame({("fedddrl", "MNIST"): 0.4})
    rows["training_reward_1"] = np.where(rows["round"] == 0, json.dumps([0.1, -0.2]), None)
    found = returns.training_returns(rows)
    assert found["return"].tolist() == pytest.approx([1.5, -3.0] * 3)
    assert found.episode.tolist() == [1, 2] * 3
    gain = returns.learning_gain(rows, few=1)
    assert gain.gain.tolist() == pytest.approx([-4.5] * 3)


def test_the_return_beside_a_rule_is_at_the_learned_rate():
    """The rule earns x with 2 kept and y with 10: a policy that keeps 6 is held to (x + y) / 2."""
    policy = frame({("fedddrl", "MNIST"): {"accuracy": 0.4, "kept": 6, "latency": 100.0, "sway": 0}})
    rows = pd.concat([policies(), policy], ignore_index=True)
    table = tables.at_learned_rate(rows)
    by = returns.returns(rows).groupby("variant").mean()
    between = (by["fedavg_mixup"] + by["drop_slowest_20%"]) / 2
    np.testing.assert_allclose(table["return - drop_slowest"], by["fedddrl"] - between)
    assert table["return - random_drop"].isna().all(), "that rule was not run"


def test_tables_and_sentences_of_the_return():
    table = return_tables.return_table(policies())
    assert table.method.tolist() == ["fastest 20%", "FedAvg + Balanced-MixUp"], "by falling return"
    assert pytest.approx(0.050238, abs=1e-6) == return_tables.POINT
    words = return_tables.price_sentence(policies())
    assert "costs 0.15 in uploads alone, as much as 3.0 points" in words
    assert "saves 3.00 of uploads and latency and gives up 0.75 of accuracy gain" in words


def test_traces_keep_methods_apart():
    """Two methods of one seed: each starts from its own accuracy of w_0."""
    found = quantities.traces(policies())
    gains = found.groupby(["variant", "seed"]).dA.sum().groupby("variant").mean()
    assert gains["fedavg_mixup"] == pytest.approx(0.3)
    assert gains["drop_slowest_20%"] == pytest.approx(0.15)
    assert len(found) == 2 * 3 * ROUNDS
