"""Hand-written impact factors: their rules by hand, and that the agent could have chosen them."""

import json

import pytest
import torch
from worlds import make_world

from fedlib.errors import UsageError
from fedlib.federation import rounds
from fedlib.methods import make_method
from fedlib.methods.feddrl.heuristics import RULES, HeuristicWeights
from tests.methods.feddrl.test_constant_weights import grouped_world

E = torch.e
LOSSES = torch.tensor([[2.0, 1.0, 4.0, 0.5]])


def weights_of(task, **options):
    """The weights [K] of each round of the first replica."""
    played = list(rounds(task, make_method("heuristic_weights", options)))
    return [torch.tensor(json.loads(result.rows[0][0]["weights"])) for result in played[1:]]


@pytest.mark.parametrize(
    ("rule", "mu"), [("largest_losses", [1.0, 0.0, 1.0, 0.0]), ("proportional", [0.5, 0.25, 1.0, 0.125])]
)
def test_rules_on_the_losses_by_hand(rule, mu):
    assert HeuristicWeights(rule=rule, largest=2).by_losses(LOSSES).tolist() == [mu]


@pytest.mark.parametrize(("rule", "main", "other"), [("small_groups", 1, E), ("main_group", E, 1)])
def test_groups_by_hand(rule, main, other):
    """Clients 0 and 2 hold the same labels; factors e and 1 over 2 + 2 e."""
    expected = torch.tensor([main, other, main, other]) / (2 + 2 * E)
    for weights in weights_of(grouped_world(), rule=rule):
        torch.testing.assert_close(weights, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("rule", RULES)
def test_factors_are_within_the_agents_reach(rule):
    for weights in weights_of(make_world(rounds=2), rule=rule):
        assert weights.sum() == pytest.approx(1, abs=1e-5)
        assert weights.max() / weights.min() <= E + 1e-4


def test_a_rule_on_losses_has_them_sent():
    sent = {
        rule: list(rounds(make_world(rounds=1), make_method("heuristic_weights", {"rule": rule})))[1].rows[0][
            0
        ]["uplink_bytes"]
        for rule in RULES
    }
    assert sent["small_groups"] == sent["main_group"]
    assert sent["proportional"] == sent["largest_losses"] == sent["small_groups"] + 4 * 4


@pytest.mark.parametrize(
    ("options", "words"), [({"rule": "best"}, "allowed: small_groups"), ({"largest": 0}, "largest=0 given")]
)
def test_bad_options_give_one_line(options, words):
    with pytest.raises(UsageError, match=words):
        make_method("heuristic_weights", options)
