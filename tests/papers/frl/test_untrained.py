"""The report's agents beside their twins, on rows made by hand."""

import json
import math

import claims
import pandas as pd
import pytest

from fedlib.papers.frl import quantities, runs, untrained
from fedlib.papers.frl.claims import CLAIMS

EVALUATORS = {
    "evaluatorfl": {"approach": 1},
    "untrained": {"approach": 1, "agent": "untrained"},
    "redrawn": {"approach": 1, "agent": "redrawn"},
}
SCHEDULERS = {
    "schedulerfl": {}, "untrained": {"policy": "untrained"}, "permuted": {"reward_order": "permuted"},
}  # fmt: skip


def decide(claim, rows):
    return claims.decide(CLAIMS, f"FRL-{claim}", rows)


def evaluators(**levels):
    """Two episodes of two rounds, three seeds a thousandth apart: accuracy rises by 0.1 in each episode.

    What is rewarded is twice the accuracy.
    """
    return pd.DataFrame(
        {
            "method": "evaluatorfl", "method_options": json.dumps(EVALUATORS[name]),
            "partition_options": "{}", "dataset": "mnist", "num_clients": 20, "seed": seed,
            "round": 2 * episode + turn, "episode": 1 + episode, "test_accuracy": accuracy,
            "value": 2 * accuracy,
        }
        for name, level in levels.items()
        for seed in range(3)
        for episode in range(2)
        for turn in (1, 2)
        for accuracy in [level + 0.1 * (turn - 1) + 0.001 * seed]
    )  # fmt: skip


def test_gains_of_evaluatorfl_by_hand():
    """0.05 of accuracy, twice as much of what is rewarded, over the untrained; 0.01 behind the redrawn."""
    rows = evaluators(evaluatorfl=0.55, untrained=0.5, redrawn=0.56)
    table = untrained.evaluator_table(rows)
    assert table["EvaluatorFL less"].tolist() == list(untrained.EVALUATOR_TWINS.values())
    assert table["final accuracy (points)"].tolist() == pytest.approx([5.0, -1.0])
    assert table["rewarded (points)"].tolist() == pytest.approx([10.0, -2.0])
    assert set(table.cell) == {"approach 1, 20 workers"}


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ({"evaluatorfl": 0.55, "untrained": 0.5, "redrawn": 0.5}, "supported"),
        ({"evaluatorfl": 0.5, "untrained": 0.55, "redrawn": 0.55}, "not supported"),
        ({"evaluatorfl": 0.52, "untrained": 0.5, "redrawn": 0.55}, "partly supported"),
    ],
)
def test_claims_on_evaluatorfl_follow_from_the_rows(levels, verdict):
    rows = evaluators(**levels)
    assert decide("R1", rows).verdict == verdict
    assert decide("R2", rows).verdict == verdict


def schedulers(**seconds):
    """Two rounds, three seeds, IID and not: rounds of so many seconds, and a hundredth more a seed."""
    return pd.DataFrame(
        {
            "method": "schedulerfl", "method_options": json.dumps(SCHEDULERS[name]),
            "partition_options": json.dumps(case), "dataset": "mnist", "num_clients": 100, "seed": seed,
            "round": turn, "max_seconds": time * (1 + 0.01 * seed), "selected": 5, "test_accuracy": 0.5,
        }
        for name, time in seconds.items()
        for case in ({}, runs.SKEWED)
        for seed in range(3)
        for turn in (1, 2)
    )  # fmt: skip


def test_claim_on_schedulerfl_by_hand():
    """Half the time of its untrained policy, 100 log 2; as long as itself with permuted rewards, 0."""
    rows = schedulers(schedulerfl=100.0, untrained=200.0, permuted=100.0)
    verdict = decide("R3", rows)
    assert [one.interval.mean for one in verdict.effects] == pytest.approx([100 * math.log(2), 0.0], abs=1e-9)
    assert [one.verdict for one in verdict.effects] == ["supported", "not supported"]
    assert len(verdict.effects[0].cells) == 2
    table = untrained.scheduler_table(rows).set_index(["case", "variant"])
    lower = rows.assign(
        test_accuracy=rows.test_accuracy - 0.1 * (quantities.named(rows).variant == "untrained")
    )
    gains = untrained.final_less_untrained(lower, "IID")
    assert gains.tolist() == pytest.approx([10.0] * len(gains))
    assert table["maximum time (s)"]["IID", "untrained"] == pytest.approx(202.0)


def test_the_answer_names_every_twin():
    rows = {
        "frl/evaluatorfl_untrained": evaluators(evaluatorfl=0.55, untrained=0.5, redrawn=0.56),
        "frl/schedulerfl_untrained": schedulers(schedulerfl=100.0, untrained=200.0, permuted=50.0),
    }
    accuracy, rewarded, time = untrained.does_training_pay(lambda name: rows[name])
    assert accuracy.startswith("EvaluatorFL's final accuracy is +5.00")
    assert "] points against its untrained policy (its own is higher) and −1.00" in accuracy
    assert accuracy.endswith(
        "] points against itself taught on redrawn selections (its own is lower) (3 seeds)."
    )
    assert rewarded.startswith("The accuracy that it is rewarded for is +10.00")
    assert "× 2.00 [2.00, 2.00] for its untrained policy (its own are shorter) and × 0.50" in time
    assert untrained.does_training_pay(lambda name: pd.DataFrame()) == [
        "Open: no twin of either agent was run."
    ]


def test_twins_differ_from_the_reports_runs_in_their_agent_alone():
    for found, names in ((runs.evaluator_twins("reduced"), "agent"), (runs.scheduler_twins("reduced"), "")):
        plain = [run for run in found if not run.artifact.endswith("_untrained")]
        twins = [run for run in found if run.artifact.endswith("_untrained")]
        assert len(twins) == 2 * len(plain)
        for run, twin in zip([one for one in plain for _ in range(2)], twins, strict=True):
            changed = dict(twin.method_options.items() - run.method_options.items())
            assert len(changed) == 1
            assert set(changed) <= ({names} if names else {"policy", "reward_order"})
