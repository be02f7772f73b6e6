"""Estimands beside the report's verdicts, on rows made by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from fedlib.analysis.claims import Part
from fedlib.papers.frl import estimands, supplements
from fedlib.papers.frl.claims import CLAIMS
from fedlib.papers.frl.supplements import ADDED

SKEWED = json.dumps({"label_skew": "balanced", "volume_skew": True})


def episodes(workers, *, shuffled=False, artifact="fig14", **columns):
    """20 episodes of 10 rounds, 3 seeds; a column is a function of episode, round of it and seed."""
    options = {"approach": 1} | ({"agent": "shuffled"} if shuffled else {})
    rows = [
        {
            "artifact": artifact, "seed": seed, "round": 10 * episode + turn - 10, "episode": episode,
            "episode_round": turn, "num_clients": workers, "method": "evaluatorfl",
            "method_options": json.dumps(options), "partition_options": SKEWED,
            **{name: value(episode, turn, seed) for name, value in columns.items()},
        }
        for seed in range(3) for episode in range(1, 21) for turn in range(1, 11)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def policies(seconds, accuracy=lambda name, turn, seed: 0.9 if turn >= 3 else 0.3, **columns):
    """Rounds 0 to 20 of the scheduler and of random selection, three seeds; values by policy and round."""
    return pd.DataFrame(
        {
            "method": "schedulerfl", "method_options": options, "seed": seed, "round": turn,
            "partition_options": "{}", "num_clients": 100, "selected": 10,
            "test_accuracy": accuracy(name, turn, seed), "max_seconds": seconds(name, turn),
            "participation_variance": 1.0, "never_selected": 5,
            **{column: value(name, turn, seed) for column, value in columns.items()},
        }
        for name, options in (("scheduler", "{}"), ("random", '{"policy": "random"}'))
        for seed in range(3) for turn in range(21)
    )  # fmt: skip


def test_a_supplement_tells_the_verdict_by_the_parts_rule():
    """Three values about 3 points above 0, margin 0.5."""
    part = Part("difference", lambda rows: rows.set_index("seed")["value"])
    rows = pd.DataFrame({"seed": range(3), "value": [2.9, 3.0, 3.1]})
    told = supplements.decided("frl/fig16", part, where="elsewhere").tell(rows)
    assert told.startswith("elsewhere: difference: +3.0")
    assert told.endswith("3 seeds (by its rule supported)")
    assert supplements.decided("frl/fig16", part, where="elsewhere").tell(rows.iloc[:0]) == ""


def test_spread_of_later_rounds():
    """Rewards of 100 workers are +-0.01 from round 3 on, of 20 workers 0; round 2 has 0.1 at both."""

    def reward(size):
        return lambda episode, turn, seed: 0.1 if turn <= 2 else size * (-1) ** turn

    rows = pd.concat([episodes(20, reward=reward(0.0)), episodes(100, reward=reward(0.01))])
    ones = np.array([1, -1] * 40)  # 10 episodes of 8 rounds
    assert estimands.spread_difference(10, 2)(rows).tolist() == pytest.approx([ones.std(ddof=1)] * 3)
    assert estimands.spread_difference(10, 2)(rows[rows.num_clients == 20]).isna().all()
    assert (estimands.spread_difference(15, 1)(rows) < 1).all(), "round 2 dominates at both sizes"


def test_early_rounds_rise_net_of_the_control():
    """Rounds 1 to 5 rise by a point an episode (15 between the ends), the control's by half of that."""

    def rising(slope):
        return lambda episode, turn, seed: slope * episode if turn <= 5 else 0.9

    agent = episodes(20, test_accuracy=rising(0.01))
    rows = pd.concat([agent, episodes(20, shuffled=True, test_accuracy=rising(0.005))])
    assert supplements.early_rise(agent) == pytest.approx(-15)
    assert supplements.early_rise_net(rows)["20 workers"].tolist() == pytest.approx([-7.5] * 3)


def test_workers_used_in_some_round_of_an_episode():
    """Two of four alternate with the others in the last five episodes, before that two alone: 100 - 80 %."""

    def weights(episode, turn, seed):
        return json.dumps([0.5, 0.5, 0, 0] if episode <= 15 or turn % 2 else [0, 0, 0.5, 0.5])

    rows = episodes(20, weights=weights)
    assert supplements.used_in_some_round(rows) == pytest.approx(20)
    assert supplements.used_in_some_round(rows[rows.episode <= 10]) == pytest.approx(-30)


def test_behind_fedavg_by_mean_best_round_and_last_episode():
    """FedAvg has 0.61 to 0.7; the agent 0.5 in odd rounds, 0.6 in even ones, 0.1 less in its last episode."""

    def level(episode, turn, seed):
        return (0.5 if turn % 2 else 0.6) - 0.1 * (episode == 20)

    agent = episodes(20, test_accuracy=level)
    fedavg = agent[agent.episode == 1].assign(
        method="fedavg", method_options="{}", episode=float("nan"), artifact="sec5",
        test_accuracy=lambda own: 0.6 + own["round"] / 100,
    )  # fmt: skip
    rows, cell = pd.concat([agent, fedavg]), "approach 1, 20 workers"
    assert estimands.behind_fedavg(pd.Series.mean)(rows)[cell].tolist() == pytest.approx([65.5 - 53] * 3)
    assert estimands.behind_fedavg(pd.Series.max)(rows)[cell].tolist() == pytest.approx([70 - 58] * 3)
    last = estimands.behind_fedavg(lambda own: own.iloc[-1], 1)(rows)
    assert last[cell].tolist() == pytest.approx([70 - 50] * 3)
    assert list(last) == [cell]


def test_reward_and_fastest_tenth_to_the_end_of_the_training():
    """Four experiments, the stop after the first. |reward| is 2, 2, 1, 1; the lead ends at 0.3 - 5 / 10."""
    rows = pd.DataFrame(
        {
            "method": "schedulerfl", "seed": seed, "experiment": e, "round": e, "before_stop": e == 1,
            "reward": (-1) ** e * (2.0 if e <= 2 else 1.0), "chance_fastest_tenth": 0.9 if e < 4 else 0.3,
            "expected_selected": 5.0, "drawn": "x" * 10,
        }
        for seed in range(2) for e in range(1, 5)
    )  # fmt: skip
    assert supplements.reward_shrinks_to_the_end(rows).tolist() == pytest.approx([100 * np.log(2)] * 2)
    assert supplements.ahead_at_the_end(rows).tolist() == pytest.approx([-20] * 2)


def test_the_lead_in_a_reading_is_that_of_changing_times():
    rows = pd.DataFrame(
        {
            "method": ["literal", "literal", "unit", "literal"],
            "world": ["changing times"] * 3 + ["10 static"],
            "seed": [1, 0, 0, 0],
            "fastest_ahead": [2.0, 1.0, 7.0, 9.0],
        }
    )
    assert supplements.ahead_in_reading("literal", rows).to_dict() == {0: 1, 1: 2}


def test_median_times_up_to_the_arrival():
    """Both arrive in round 3: medians of 10, 20, 90 and of 40, 40, 40 s; later rounds do not count."""

    def seconds(name, turn):
        return (
            40.0 if name == "random" and turn <= 3 else {0: float("nan"), 1: 10, 2: 20, 3: 90}.get(turn, 1.0)
        )

    assert supplements.median_time_ratio(policies(seconds)).tolist() == pytest.approx([100 * np.log(2)] * 3)
    assert estimands.printed_time_ratio("table2", "median") == pytest.approx(18.2, abs=0.05)


def test_the_authors_criterion_and_the_decisions_before_the_stop():
    """One of three seeds of random selection ends at 96 %; training took 5, 6 and 7 decisions."""
    rows = policies(
        lambda name, turn: 1.0,
        lambda name, turn, seed: 0.96 if (name, turn, seed) == ("random", 20, 1) else 0.9,
        training_rounds=lambda name, turn, seed: (
            5 + seed if (name, turn) == ("scheduler", 0) else float("nan")
        ),
    )
    assert supplements.tell_code_accuracy(rows) == (
        "test accuracy of 95 % reached in 1 of 3 runs of random selection, 0 of 3 runs of the scheduler"
    )
    assert supplements.tell_training(rows) == "training stopped after 5 to 7 decisions, median 6"
    assert supplements.tell_training(rows.drop(columns="training_rounds")) == ""


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14])
def test_claims_name_the_day_of_their_supplements_once(number):
    (claim,) = (one for one in CLAIMS if one.id == f"FRL-C{number}")
    assert claim.how.count(ADDED) == 1
    assert "depends on" in claim.how
