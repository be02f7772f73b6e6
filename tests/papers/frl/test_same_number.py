"""Fig. 30's control beside its exact expectation, by hand and against the times of the committed rows."""

import json

import numpy as np
import pandas as pd
import pytest

from fedlib import load_results
from fedlib.analysis.claims import effects_of
from fedlib.papers.frl import quantities, same_number

POLICIES = {"schedulerfl": "{}", "learned_rate": '{"policy": "shuffled"}', "keep_all": '{"policy": "all"}'}
SHARES = json.dumps([0.25, 0.25, 0.5])


def rounds(**columns):
    """Two rounds of three workers, two seeds, of the agent, its control and keep-all; columns by policy."""
    return pd.DataFrame(
        {
            "method": "schedulerfl", "method_options": options, "partition_options": "{}", "seed": seed,
            "dataset": "mnist", "round": turn, "weights": SHARES if name == "keep_all" else "[1.0]",
            **{column: values.get(name, 1)[turn - 1] for column, values in columns.items()},
        }
        for name, options in POLICIES.items() for seed in range(2) for turn in (1, 2)
    )  # fmt: skip


@pytest.fixture
def times(monkeypatch):
    """Workers that take 100, 200 and 400 s in round 1, 100 s each in round 2."""
    seconds = {1: np.array([100.0, 400.0, 200.0]), 2: np.full(3, 100.0)}
    monkeypatch.setattr(same_number, "all_seconds", lambda seed, turn, shares: seconds[turn])


def told(rows):
    return [effect.interval.mean for effect in effects_of(same_number.EXPECTED, rows)]


def test_the_control_by_its_expectation_by_hand(times):
    """Two of three in round 1: pairs with maxima 200, 400, 400 s, mean 1000 / 3; one of three: 700 / 3.

    The agent draws two, then one, and takes 300 + 100 s; the control one in both, and takes 200 + 100 s.
    """
    rows = rounds(
        selected={"schedulerfl": (2, 1), "learned_rate": (1, 1), "keep_all": (3, 3)},
        max_seconds={
            "schedulerfl": (300.0, 100.0),
            "learned_rate": (200.0, 100.0),
            "keep_all": (400.0, 100.0),
        },
    )
    expected, at_its_number, drawn = told(rows)
    assert expected == pytest.approx(100 * np.log((1000 / 3 + 100) / 400))
    assert at_its_number == pytest.approx(100 * np.log((700 / 3 + 100) / (1000 / 3 + 100)))
    assert drawn == pytest.approx(100 * np.log(300 / (700 / 3 + 100)))
    assert expected + at_its_number + drawn == pytest.approx(100 * np.log(300 / 400))


def test_no_expectation_without_the_shares_of_mnist_or_the_control(times):
    rows = rounds(
        selected=dict.fromkeys(POLICIES, (1, 1)), max_seconds=dict.fromkeys(POLICIES, (100.0, 100.0))
    )
    assert len(told(rows)) == 3
    assert told(rows[rows["method_options"] != POLICIES["keep_all"]]) == []
    assert told(rows.assign(dataset="fmnist-embedded")) == []
    assert (
        len(told(rows[rows["method_options"] != POLICIES["learned_rate"]])) == 3
    )  # two of them without rows


def test_the_times_of_all_workers_are_those_of_the_committed_rounds():
    """Seed 0, rounds 1 to 5 of every policy: the largest time of those with a weight is the stored one."""
    rows = quantities.named(load_results("frl/fig30", "reduced"))
    rows = rows[(rows["seed"] == 0) & rows["round"].between(1, 5)]
    shares = rows[rows["variant"] == "keep_all"].groupby("case")["weights"].first()
    assert len(rows) == 5 * 2 * 8  # rounds, cases and policies
    for one in rows.itertuples():
        took = np.array(json.loads(one.clients))[np.array(json.loads(one.weights)) > 0]
        seconds = same_number.all_seconds(0, one.round, shares[one.case])
        assert seconds[took].max() == pytest.approx(one.max_seconds, rel=1e-5)
