"""FedDdrl's claims on rows made by hand: every one comes out each way; quantities and Algorithm 1 by hand."""

import numpy as np
import pandas as pd
import pytest
from fedddrl_by_hand import ROUNDS, decided, frame

from fedlib.papers import fedddrl_claims as claims
from fedlib.papers import fedddrl_rows as quantities
from fedlib.papers.fedddrl_computed import agents_cost, emd, emd_table, feature_table, utility_line
from fedlib.papers.fedddrl_weights import PRINTED, choose, search_weights, weights_of_traces


def decide(number, rows):
    return next(c for c in claims.CLAIMS if c.id == f"FEDDDRL-C{number}").decide(rows)


def table4(**accuracies):
    """All eight settings on the three data sets, equal but for those given: name or name_ROLE."""
    base = {"fedavg": 0.5, "fedavg_mixup": 0.5, "fedprox": 0.5, "fedprox_mixup": 0.5,
            "fedmarl_a": 0.3, "fedmarl_b": 0.4, "fedmarl": 0.45, "fedddrl": 0.6}  # fmt: skip
    return frame(
        {
            (name, role): accuracies.get(f"{name}_{role.split('-')[0]}", accuracies.get(name, value))
            for name, value in base.items()
            for role in claims.ROLES
        }
    )


@pytest.mark.parametrize(
    ("claim", "accuracies", "verdict"),
    [
        (1, {}, "supported"),
        (1, {"fedprox_mixup_CIFAR": 0.7}, "not supported"),
        (1, {"fedprox_mixup_CIFAR": 0.6}, "mixed"),
        (1, {"fedprox_MNIST": 0.9}, "supported"),  # MNIST is no part of C1
        (2, {"fedprox_MNIST": 0.7}, "supported"),
        (2, {}, "not supported"),
        (3, {}, "supported"),
        (3, {"fedmarl_MNIST": 0.395}, "supported"),  # within the point that <= allows
        (3, {"fedmarl_MNIST": 0.3}, "not supported"),
        (3, {"fedmarl_b_MNIST": 0.3}, "mixed"),
        (4, {}, "supported"),
        (4, {"fedmarl_b_CrisisIBD": 0.7}, "not supported"),
        (15, {}, "supported"),
        (15, {"fedmarl_a": 0.4}, "mixed"),
        (15, {"fedmarl_a_CIFAR": 0.45}, "not supported"),
    ],
)
def test_claims_about_accuracy(claim, accuracies, verdict):
    assert decide(claim, table4(**accuracies)).verdict == verdict


def test_evidence_counts_the_comparisons_that_were_made():
    """Seven rivals on two data sets; without CIFAR-10 on one."""
    rows = table4()
    assert decide(1, rows).evidence.endswith("the 2 weakest of 14 shown")
    assert decide(1, rows[rows.dataset != "cifar10-jpeg"]).evidence.endswith("the 2 weakest of 7 shown")
    assert decide(2, rows).evidence.endswith("the 3 weakest of 11 shown")


def test_methods_that_do_the_same_are_no_better_than_each_other():
    """Whoever keeps everyone is FedAvg to the last bit: the interval is [0, 0]."""
    same = {("fedavg_mixup", "CIFAR-10"): 0.5, ("fedddrl", "CIFAR-10"): 0.5, ("fedmarl", "CIFAR-10"): 0.5}
    assert decide(1, frame(same)).verdict == "mixed"
    assert decide(6, frame(same)).verdict == "not supported"  # no upload saved, 10 % claimed


def test_one_seed_or_no_cell_decides_nothing():
    rows = table4()
    assert decide(1, rows[rows.seed == 0]).verdict == "not testable at this scale"
    assert decide(3, rows[rows.method == "fedavg"]).verdict == "not testable at this scale"


def costs(ours, marl, roles=claims.ROLES):
    """latency and kept of FedDdrl and of FedMarl C beside FedAvg's 100 s and 10 clients."""
    cells = {}
    for role in roles:
        for name in ("fedavg_mixup", "fedprox_mixup"):
            cells[name, role] = {}
        cells["fedddrl", role] = {"latency": 100.0 * ours, "kept": 10 * ours}
        cells["fedmarl", role] = {"latency": 100.0 * marl, "kept": 10 * marl}
    return frame(cells)


@pytest.mark.parametrize(
    ("ours", "marl", "latency", "uploads"),
    [
        (0.5, 0.7, "supported", "supported"),
        (0.7, 0.5, "not supported", "not supported"),
        (0.5, 0.95, "supported", "not supported"),  # not clearly less
        (0.5, 1.1, "not supported", "not supported"),
        (0.5, 0.5, "mixed", "mixed"),
    ],
)
def test_latency_and_uploads_normalised_by_fedavg(ours, marl, latency, uploads):
    rows = costs(ours, marl)
    assert decide(5, rows).verdict == latency
    assert decide(6, rows).verdict == uploads
    share = quantities.cell(claims.normalised(rows, "latency_seconds"), "MNIST", "fedddrl")
    np.testing.assert_allclose(share, 100 * ours)


def test_savings_of_the_abstract():
    for accuracy, kept, verdict in (
        (0.6, 7, "supported"),
        (0.4, 7, "not supported"),
        (0.6, 9, "not supported"),
    ):
        cells = {("fedavg_mixup", "MNIST"): 0.5, ("fedmarl_b", "MNIST"): 0.5}
        cells["fedddrl", "MNIST"] = {"accuracy": accuracy, "kept": kept, "latency": 10.0 * kept}
        assert decide(16, frame(cells)).verdict == verdict
        cells["fedavg_mixup", "CrisisIBD"] = 0.1  # FedDdrl was not run there: it does not count
        assert decide(16, frame(cells)).verdict == verdict


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [([3, 3, *[6] * 13], "supported"), ([8, 8, *[6] * 13], "not supported"), ([6] * 15, "mixed")],
)
def test_fewer_kept_in_the_first_rounds(kept, verdict):
    assert decide(7, frame({("fedddrl", "CIFAR-10"): {"kept": kept}})).verdict == verdict


def test_whom_the_agents_keep_and_for_how_long():
    fast_first = [5.0, 5.0, 15.0, 15.0]
    rows = decided([1, 1, 0, 0], [7, 7, 1, 1], [1.0] * 4, fast_first)
    assert decide(8, rows).verdict == "mixed"  # the losses tell nothing
    rows = decided([1, 0, 1, 0], [7, 1, 3, 1], [1.0, 2.0, 1.0, 2.0], [5.0, 10.0, 5.0, 15.0])
    assert decide(8, rows).verdict == "supported"
    rows = decided([1, 0, 1, 0], [7, 1, 3, 1], [2.0, 1.0, 2.0, 1.0], [5.0, 10.0, 5.0, 15.0])
    assert decide(8, rows).verdict == "not supported"
    rows = decided([1, 1, 1, 1], [7, 7, 3, 3], [1.0] * 4, fast_first)
    assert decide(8, rows).verdict == "not testable at this scale"  # nobody was dropped


def test_decisions_come_one_by_one():
    table = quantities.decisions(
        decided([1, 0, 1, 0], [7, 1, 3, 1], [1.0, 2.0, 1.0, 2.0], [5.0, 10.0, 5.0, 15.0])
    )
    assert len(table) == 3 * ROUNDS * 4
    one = table[(table.seed == 1) & (table.t == 4)]
    assert one.kept.tolist() == [True, False, True, False]
    assert one.epochs.tolist() == [7, 1, 3, 1]
    assert one.slot.tolist() == [0, 1, 2, 3]


def test_epochs_by_speed():
    for epochs, verdict in (([7, 7, 3, 3], "supported"), ([3, 3, 7, 7], "not supported"), ([5] * 4, "mixed")):
        rows = decided([1] * 4, epochs, [1.0] * 4, [5.0, 5.0, 15.0, 15.0])
        found = claims.epochs_against_latency(rows)
        assert set(found) == {float(epochs[0] - epochs[2])}
        assert decide(9, rows).verdict == verdict


def test_balanced_mixup_and_more_clients():
    def rows(gain, more, wobble):
        parts = [
            frame({(name, role): {"accuracy": 0.4 + gain * (name == "fedavg_mixup") + more * (c == 10),
                                  "wobble": wobble if c == 5 else 0.0}
                   for role in claims.ROLES for name in ("fedavg", "fedavg_mixup")}, cohort=c)
            for c in (5, 10)
        ]  # fmt: skip
        return pd.concat(parts, ignore_index=True)

    assert decide(10, rows(0.1, 0.1, 0.05)).verdict == "supported"
    assert "largest gain +10.0 points" in decide(10, rows(0.1, 0.1, 0.05)).evidence
    assert decide(10, rows(-0.1, 0.1, 0.05)).verdict == "not supported"
    assert decide(11, rows(0.1, 0.1, 0.05)).verdict == "supported"
    assert decide(11, rows(0.1, -0.1, 0.05)).verdict == "not supported"
    assert decide(11, frame({("fedavg", "MNIST"): 0.5})).verdict == "not testable at this scale"


def test_the_bias_of_the_reward():
    def rows(accuracy, late, with_b):
        early_then = lambda last: [9] * 10 + [last] * 5  # noqa: E731
        return frame({
            ("fedmarl_b", "MNIST"): {"accuracy": accuracy, "kept": early_then(late)},
            ("fedmarl_bias", "MNIST"): {"accuracy": accuracy, "kept": early_then(with_b)},
        })  # fmt: skip

    assert decide(14, rows(0.15, 3, 8)).verdict == "supported"
    assert decide(14, rows(0.15, 3, 2)).verdict == "not supported"
    assert decide(14, rows(0.95, 3, 8)).verdict == "not supported"  # the gain outweighs the penalty
    assert decide(14, rows(0.15, 9, 9)).verdict == "mixed"


def test_reward_terms_by_hand():
    """w1 1.7324 dA = 2.9 * 1.7324 * 0.02 = 0.1005; 0.1 * 5 / 10 + 0.2 * 0.5 = 0.15."""
    rows = frame({("fedmarl_b", "MNIST"): {"accuracy": 0.4, "kept": 5, "latency": 50.0, "sway": 0}})
    terms = quantities.reward_terms(quantities.evaluations(rows))
    np.testing.assert_allclose(terms.gain, 0.1005, atol=1e-4)
    np.testing.assert_allclose(terms.penalty, 0.15)


def test_training_episodes_count_nowhere():
    rows = frame({("fedddrl", "MNIST"): {"accuracy": 0.5, "kept": 4, "sway": 0}})
    np.testing.assert_allclose(quantities.final_accuracy(rows), 50)
    np.testing.assert_allclose(quantities.totals(rows, "uploads"), 60)


def test_steadiness_is_the_spread_of_the_last_five_rounds():
    """A straight line from 0.1 to 0.25: steps of 1 point, standard deviation of five of them 1.5811."""
    rows = frame({("fedavg", "MNIST"): {"accuracy": 0.25, "sway": 0}})
    np.testing.assert_allclose(quantities.unsteadiness(rows), 1.5811, atol=1e-3)


def test_algorithm_1_by_hand():
    """H = 0.33, B = 1 and a total gain of 0.53: A5's thin set, where the printed point is the minimiser."""
    table = search_weights(np.full(15, 0.53 / 15), np.ones(15), np.full(15, 0.33))
    assert len(table) == 31 * 11 * 11
    assert choose(table) == PRINTED
    assert choose(table, largest=True) == (3.0, 0.1, 0.1)
    at = table[np.isclose(table[["w1", "w2", "w3"]], PRINTED).all(axis=1)].iloc[0]
    assert pytest.approx(2.9 * 1.7324 * 0.53 - 15 * (0.1 + 0.2 * 0.33), abs=1e-3) == at.R
    # (10c) 0.2 * 4.95 > 0.2 * 0.1 * 15; (10d) 0.05024 > 0.3 * 0.166 = 0.0498; (10e) 2.663 > 2.49
    assert at.feasible
    high = search_weights(np.full(15, 0.53 / 15), np.ones(15), np.full(15, 0.9))
    assert not high[np.isclose(high[["w1", "w2", "w3"]], PRINTED).all(axis=1)].iloc[0].c10d
    assert choose(search_weights(np.full(15, -0.01), np.ones(15), np.ones(15))) is None


def test_traces_start_at_the_initial_model():
    rows = frame({("fedavg", "MNIST"): {"accuracy": 0.4, "latency": 33.0, "sway": 0}})
    found = quantities.traces(rows)
    np.testing.assert_allclose(found.dA, 0.02)
    assert set(found.B) == {1.0}
    summary = weights_of_traces(rows)
    np.testing.assert_allclose(summary.total_gain, 0.3)
    assert summary.mean_H.tolist() == [0.33] * 3
    assert summary.printed_fails.tolist() == ["(10e)"] * 3  # 2.9 * 1.7324 * 0.3 = 1.507 < 2.49


def test_emd_and_utility():
    """|0.8 - 0.1| + 9 |0.2 / 9 - 0.1| = 1.4 and |0.5 - 0.1| + 9 |0.5 / 9 - 0.1| = 0.8."""
    assert emd(0.8, 10) == pytest.approx(1.4)
    assert emd(0.5, 10) == pytest.approx(0.8)
    table = emd_table("smoke")
    np.testing.assert_allclose(table.emd_drawn, table.emd, atol=0.02)
    assert decide(12, table).verdict == "supported"
    assert decide(12, table.assign(emd_drawn=[1.4, 1.3, 0.7])).verdict == "not supported"
    assert decide(13, utility_line("smoke")).verdict == "supported"
    assert decide(13, utility_line("smoke").assign(deviation=0.1)).verdict == "not supported"


def test_table_1_agrees_with_what_our_methods_do():
    table = feature_table("smoke").set_index("method")
    for method in ("FedAvg", "FedProx", "FedMarl", "FedDdrl"):
        for name in ("resource_optimization", "client_selection", "local_epoch_adjustment"):
            assert table.loc[method, f"our_{name}"] == table.loc[method, name]
    assert set(table.loc["FAVOR", [c for c in table if c.startswith("our_")]]) == {""}


def test_cost_of_the_agents_by_the_formula():
    """10 * 256 + 256 * 256 + 256 * 2 = 68,608 products a decision, times 40 * 15 * 32 in training."""
    table = agents_cost("smoke").set_index("part")
    assert table.loc["VDN 1", "products_per_decision"] == 68_608
    assert table.loc["VDN 1", "products_of_training"] == 40 * 15 * 32 * 68_608
    assert table.loc["VDN 2", "parameters"] == 69_379
    assert table.loc["VDN 1", "network_bytes"] == 4 * 4 * 69_122  # network, target, two moments
    assert (table.loc[["VDN 1", "VDN 2"], ["decision_seconds", "learning_step_seconds"]] > 0).all(axis=None)
    assert table.loc["FedProx step over FedAvg step", "factor"] > 0
