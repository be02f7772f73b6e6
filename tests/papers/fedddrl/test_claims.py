"""FedDdrl's claims on rows made by hand: effects, gates, verdicts; quantities and Algorithm 1 by hand."""

import claims
import numpy as np
import pandas as pd
import pytest
from fedddrl_by_hand import ROUNDS, decided, frame

from fedlib.papers.fedddrl import estimands, quantities, supplements, weight_search
from fedlib.papers.fedddrl.claims import CLAIMS
from fedlib.papers.fedddrl.measurements import agents_cost, emd, emd_table, feature_table, utility_line
from fedlib.papers.fedddrl.weight_search import (
    PRINTED,
    choose,
    feasibility_sentence,
    search_weights,
    weights_of_traces,
    weights_shown,
)


def decide(number, rows, **given):
    return claims.decide(CLAIMS, f"FEDDDRL-C{number}", rows, **given)


def table4(**accuracies):
    """All eight settings on the three data sets, equal but for those given: name or name_ROLE."""
    base = {"fedavg": 0.5, "fedavg_mixup": 0.5, "fedprox": 0.5, "fedprox_mixup": 0.5,
            "fedmarl_a": 0.3, "fedmarl_b": 0.4, "fedmarl": 0.5, "fedddrl": 0.6}  # fmt: skip
    return frame(
        {
            (name, role): accuracies.get(f"{name}_{role.split('-')[0]}", accuracies.get(name, value))
            for name, value in base.items()
            for role in estimands.ROLES
        }
    )


@pytest.mark.parametrize(
    ("claim", "accuracies", "verdict"),
    [
        (1, {}, "supported"),
        (1, {"fedprox_mixup": 0.7}, "supported"),  # +10, -10, +10 points: pooled
        (1, {"fedprox_mixup": 0.8, "fedavg_mixup": 0.8}, "not supported"),
        (1, {"fedprox_MNIST": 0.9}, "supported"),  # MNIST is no part of C1
        (2, {"fedprox_MNIST": 0.7}, "supported"),
        (2, {"fedprox_MNIST": 0.3}, "partly supported"),
        (2, {"fedprox_MNIST": 0.59}, "partly supported"),  # above the mean of the others, behind FedDdrl
        (3, {}, "supported"),
        (3, {"fedmarl_MNIST": 0.3}, "supported, smaller than printed"),  # C - B: -10, +10, +10
        (3, {"fedmarl": 0.35}, "partly supported"),
        (4, {}, "supported"),
        (4, {"fedmarl_a": 0.6, "fedmarl_b": 0.6}, "not supported"),
        (15, {}, "supported"),
        (15, {"fedmarl_a": 0.39}, "supported, smaller than printed"),  # 1 of the printed 3.3 points
        (15, {"fedmarl_a": 0.4}, "not supported"),
    ],
)
def test_claims_about_accuracy(claim, accuracies, verdict):
    assert decide(claim, table4(**accuracies)).verdict == verdict


def test_cells_are_described_and_printed_over_the_same_cells():
    """Three rivals on two data sets; without CrisisIBD: 78.2 - (76.5 + 77.8 + 75.0) / 3 on CIFAR-10."""
    rows = table4()
    (both,) = decide(1, rows).effects
    assert (len(both.cells), both.missing) == (6, 0)
    (one,) = decide(1, rows[rows.dataset != "standin-crisis"]).effects
    assert (len(one.cells), one.missing) == (3, 3)
    assert one.printed == pytest.approx(78.2 - (76.5 + 77.8 + 75.0) / 3)
    assert one.margin == pytest.approx(one.printed / 2)


def test_printed_effects_by_hand():
    expected = {
        1: [(78.2 * 3 - 76.5 - 77.8 - 75.0 + 64.2 * 3 - 60.2 - 60.7 - 63.3) / 6],
        2: [
            95.6 - 94.9,
            94.9 - (94.6 + 93.2 + 91.5 + 93.2 + 93.3) / 5,
        ],
        3: [(1.7 + 6.2 + 2.0) / 3, (0.1 + 3.3 + 18.9) / 3, (1.6 + 3.2 + 0.9) / 3],
        7: [(6 + 22 / 3 + 26 / 3 + 10 + 9 * 5) / 13 - 3],
        10: [(6.7 + 10.9 + 3.7 + 17.0) / 4],
        14: [0.279 / 2 - 0.0273],
        15: [(1.7 + 6.2 + 2.0) / 3],
        16: [30, 30, (1.7 + 1.7 + 4.0) / 3],
    }
    for number, values in expected.items():
        found = claims.printed(CLAIMS, f"FEDDDRL-C{number}")[: len(values)]
        assert found == pytest.approx(values), number


def test_methods_that_do_the_same_are_no_better_than_each_other():
    """Whoever keeps everyone is FedAvg to the last bit: the interval is [0, 0], below any margin."""
    same = {(name, "CIFAR-10"): 0.5 for name in ("fedavg_mixup", "fedprox_mixup", "fedddrl", "fedmarl")}
    assert decide(1, frame(same)).verdict == "not supported"
    assert decide(6, frame(same)).verdict == "not supported"


def test_one_seed_no_cell_or_a_short_training_decides_nothing():
    rows = table4()
    assert decide(1, rows[rows.seed == 0]).verdict == "not testable here"
    assert decide(3, rows[rows.method == "fedavg"]).verdict == "not testable here"
    short = decide(1, rows, gates=True)  # one episode of 40
    assert short.verdict == "not testable here"
    assert "agents made 0 of the paper's 569 updates (1 episodes)" in short.evidence
    assert decide(10, with_mixup(0.1, 0.1, 0.05), gates=True).verdict == "supported"  # no agent in it


def costs(ours, marl, roles=estimands.ROLES):
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
        (0.7, 0.5, "partly supported", "partly supported"),
        (1.1, 1.2, "partly supported", "partly supported"),
        (1.2, 1.1, "not supported", "not supported"),
    ],
)
def test_latency_and_uploads_normalised_by_fedavg(ours, marl, latency, uploads):
    rows = costs(ours, marl)
    assert decide(5, rows).verdict == latency
    assert decide(6, rows).verdict == uploads
    share = quantities.cell(estimands.SECONDS(rows), "MNIST", "fedddrl")
    np.testing.assert_allclose(share, 100 * ours)


@pytest.mark.parametrize(
    ("accuracy", "kept", "verdict"),
    [
        (0.6, 7, "supported"),
        (0.4, 7, "partly supported"),
        (0.6, 9, "supported, smaller than printed"),  # 10 % of the printed 30
        (0.4, 10, "not supported"),
    ],
)
def test_savings_of_the_abstract(accuracy, kept, verdict):
    cells = {("fedavg_mixup", "MNIST"): 0.5}
    cells["fedddrl", "MNIST"] = {"accuracy": accuracy, "kept": kept, "latency": 10.0 * kept}
    assert decide(16, frame(cells)).verdict == verdict
    cells["fedavg_mixup", "CrisisIBD"] = 0.1  # FedDdrl was not run there: it does not count
    assert decide(16, frame(cells)).verdict == verdict


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ([3, 3, *[6] * 13], "supported"),
        ([5, 5, *[6] * 13], "supported, smaller than printed"),
        ([8, 8, *[6] * 13], "not supported"),
    ],
)
def test_fewer_kept_in_the_first_rounds(kept, verdict):
    assert decide(7, frame({("fedddrl", "CIFAR-10"): {"kept": kept}})).verdict == verdict


def test_whom_the_agents_keep():
    lower = decided([1, 0, 1, 0], [7, 1, 3, 1], [1.0, 2.0, 1.0, 2.0], [5.0, 10.0, 5.0, 15.0])
    assert decide(8, lower).verdict == "supported"
    (loss, seconds) = decide(8, lower).effects
    assert loss.interval.mean == pytest.approx(100 * np.log(2), abs=0.5)
    assert seconds.interval.mean == pytest.approx(100 * np.log(2.5))
    higher = decided([1, 0, 1, 0], [7, 1, 3, 1], [2.0, 1.0, 2.0, 1.0], [5.0, 10.0, 5.0, 15.0])
    assert decide(8, higher).verdict == "partly supported"
    everyone = decided([1, 1, 1, 1], [7, 7, 3, 3], [1.0] * 4, [5.0, 5.0, 15.0, 15.0])
    assert decide(8, everyone).verdict == "not testable here"  # nobody was dropped


def test_decisions_come_one_by_one():
    table = quantities.decisions(
        decided([1, 0, 1, 0], [7, 1, 3, 1], [1.0, 2.0, 1.0, 2.0], [5.0, 10.0, 5.0, 15.0])
    )
    assert len(table) == 3 * ROUNDS * 4
    one = table[(table.seed == 1) & (table.t == 4)]
    assert one.kept.tolist() == [True, False, True, False]
    assert one.epochs.tolist() == [7, 1, 3, 1]
    assert one.slot.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("epochs", "verdict"),
    [([7, 7, 3, 3], "supported"), ([3, 3, 7, 7], "not supported"), ([5] * 4, "not supported")],
)
def test_epochs_by_speed(epochs, verdict):
    found = decide(9, decided([1] * 4, epochs, [1.0] * 4, [5.0, 5.0, 15.0, 15.0]))
    assert found.verdict == verdict
    assert found.effects[0].interval.mean == epochs[0] - epochs[2]


def test_epochs_by_speed_of_each_data_set_with_its_own_seeds():
    """MNIST: 7 - 3 in all seeds. CIFAR-10: 5 - 5, but seed 1 keeps no slow client and drops out of both."""
    seconds = [5.0, 5.0, 15.0, 15.0]
    mnist = decided([1] * 4, [7, 7, 3, 3], [1.0] * 4, seconds)
    other = decided([1] * 4, [5] * 4, [1.0] * 4, seconds).assign(dataset="cifar10-jpeg")
    none = (other.seed == 1) & (other["round"] > 0)
    rows = pd.concat([mnist, other.assign(kept=other.kept.where(~none, "[1, 1, 0, 0]"))], ignore_index=True)
    (pooled,) = decide(9, rows).effects
    assert (pooled.interval.n, pooled.interval.mean) == (2, 2)
    alone = {role: supplements.on(estimands.epochs_of_fast, role)(rows) for role in estimands.ROLES}
    assert alone["MNIST"].to_dict() == {0: 4, 1: 4, 2: 4}
    assert alone["CIFAR-10"].to_dict() == {0: 0, 2: 0}
    assert alone["CrisisIBD"].empty
    told = next(c for c in CLAIMS if c.id == "FEDDDRL-C9").supplements[0].tell(rows)
    assert "MNIST: +4 epochs in each of 3 seeds" in told
    assert "CIFAR-10: 0 epochs in each of 2 seeds" in told
    assert "CrisisIBD" not in told


def with_mixup(gain, more, wobble):
    """FedAvg with 5 and 10 clients a round, without and with Balanced-MixUp, which gains `gain`."""
    parts = [
        frame({(name, role): {"accuracy": 0.4 + gain * (name == "fedavg_mixup") + more * (c == 10),
                              "wobble": wobble if c == 5 else 0.0}
               for role in estimands.ROLES for name in ("fedavg", "fedavg_mixup")}, cohort=c)
        for c in (5, 10)
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def test_balanced_mixup_and_more_clients():
    assert decide(10, with_mixup(0.1, 0.1, 0.05)).verdict == "supported"
    assert len(decide(10, with_mixup(0.1, 0.1, 0.05)).effects[0].cells) == 4
    assert decide(10, with_mixup(-0.1, 0.1, 0.05)).verdict == "not supported"
    assert decide(11, with_mixup(0.1, 0.1, 0.05)).verdict == "supported"
    assert decide(11, with_mixup(0.1, -0.1, 0.05)).verdict == "partly supported"
    assert decide(11, frame({("fedavg", "MNIST"): 0.5})).verdict == "not testable here"


def with_bias(accuracy, late, with_b):
    """Clients kept in the last five rounds with reward (12) and with the bias; nine of ten before."""
    return frame({
        ("fedmarl_b", "MNIST"): {"accuracy": accuracy, "kept": [9] * 10 + [late] * 5},
        ("fedmarl_bias", "MNIST"): {"accuracy": accuracy, "kept": [9] * 10 + [with_b] * 5},
    })  # fmt: skip


@pytest.mark.parametrize(
    ("accuracy", "late", "with_b", "verdict"),
    [
        (0.15, 3, 8, "supported"),
        (0.15, 3, 2, "partly supported"),
        (0.95, 3, 8, "partly supported"),  # the gain outweighs the penalty
        (0.95, 9, 9, "not supported"),
    ],
)
def test_the_bias_of_the_reward(accuracy, late, with_b, verdict):
    assert decide(14, with_bias(accuracy, late, with_b)).verdict == verdict


def test_reward_terms_by_hand():
    """w1 1.7324 dA = 2.9 * 1.7324 * 0.02 = 0.1005; 0.1 * 5 / 10 + 0.2 * 0.5 = 0.15."""
    rows = frame({("fedmarl_b", "MNIST"): {"accuracy": 0.4, "kept": 5, "latency": 50.0, "sway": 0}})
    terms = quantities.reward_terms(quantities.evaluations(rows))
    np.testing.assert_allclose(terms.gain, 0.1005, atol=1e-4)
    np.testing.assert_allclose(terms.penalty, 0.15)


def test_final_accuracy_and_totals_of_an_episode():
    rows = frame({("fedddrl", "MNIST"): {"accuracy": 0.5, "kept": 4, "sway": 0}})
    np.testing.assert_allclose(quantities.final_accuracy(rows), 50)
    np.testing.assert_allclose(quantities.totals(rows, "uploads"), 60)


def test_steadiness_is_the_spread_of_the_last_five_rounds():
    """A straight line from 0.1 to 0.25: steps of 1 point, standard deviation of five of them 1.5811."""
    rows = frame({("fedavg", "MNIST"): {"accuracy": 0.25, "sway": 0}})
    np.testing.assert_allclose(quantities.steadiness(rows), -1.5811, atol=1e-3)


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
    by_largest = summary[summary.H_by == "its largest value"]
    assert by_largest.mean_H.tolist() == [0.33] * 3
    assert by_largest.printed_fails.tolist() == ["(10e)"] * 3  # 2.9 * 1.7324 * 0.3 = 1.507 < 2.49
    feasible = int((summary.feasible > 0).sum())
    told = feasibility_sentence(rows)
    assert told.startswith(f"No: of 3 runs of FedAvg feasible weights exist in {feasible or 'none'}")
    assert "The printed point is (2.9, 0.1, 0.2). (10e) needs a gain above " in told
    by_unit = weights_shown(rows)
    assert by_unit["H by"].tolist() == ["its largest value", "the cohort's sum"]
    assert by_unit["gain (points)"].tolist() == ["30", "30"]
    assert by_unit["printed: feasible"].iloc[0] == "0 of 3"
    assert by_unit["printed: breaks"].iloc[0] == "(10e)"


def test_feasible_weights_are_told_with_where_they_exist(monkeypatch):
    """Both runs of MNIST by one unit of two, with two points of the smallest R."""
    found = pd.DataFrame(
        {
            "H_by": ["its largest value", "its largest value", "the cohort's sum", "the cohort's sum"],
            "role": "MNIST",
            "feasible": [0, 0, 3, 4],
            "needed_gain": [0.9, 0.9, 0.4, 0.4],
            "smallest_R": [None, None, (2.3, 0.1, 0.2), (2.4, 0.1, 0.2)],
        }
    )
    monkeypatch.setattr(weight_search, "weights_of_traces", lambda rows: found)
    told = feasibility_sentence(pd.DataFrame())
    assert told.startswith(
        "No: of 2 runs of FedAvg feasible weights exist in 2, all of MNIST with H by the cohort's sum. The "
        "smallest R is there at (2.3, 0.1, 0.2); (2.4, 0.1, 0.2). The printed point"
    )
    assert "above 90 points with H by its largest value or 40 points with H by the cohort's sum." in told
    found["smallest_R"] = [None, None, weight_search.PRINTED, (2.4, 0.1, 0.2)]
    assert feasibility_sentence(pd.DataFrame()).startswith(
        "In 1 of 2 runs: of 2 runs of FedAvg feasible weights"
    )


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
