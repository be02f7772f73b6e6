"""Tables of the comparison, from rows made by hand."""

import numpy as np
import pandas as pd
import pytest

from fedlib.methods.fedddrl.devices import draw_devices
from fedlib.papers.head_to_head import leads, quantities, tables
from fedlib.papers.head_to_head.artifacts import ARTIFACTS
from fedlib.papers.head_to_head.clients import client_sizes, reach_words
from tests.support.head_to_head_rows import failing, lines, table_of


def test_level_is_the_mean_of_the_last_tenth():
    rows = lines("fedavg", 0, [0.1] * 18 + [0.4, 0.6], clients=[0.9] * 18 + [0.1, 0.3])
    (run,) = quantities.per_run(rows).to_dict("records")
    assert run["level"] == pytest.approx(50)
    assert run["best"] == pytest.approx(60)
    assert run["worst_tenth"] == pytest.approx(20)
    assert run["megabytes"] == pytest.approx(4)


def test_the_comparison_counts_runs_that_diverged():
    """Of the survivors alone FedNova would be 10 points ahead; with its diverged run it is 25 behind."""
    (comparison,) = (one for one in ARTIFACTS if one.name == "comparison")
    assert comparison.counts_failed
    assert "diverged" in [table.path.rpartition(".")[2] for table in comparison.tables]
    rows = failing(table_of(fedavg=[0.6, 0.6], fednova=[0.7, 0.7]), "fednova", 1)
    shown = tables.levels(rows).set_index("contestant")
    assert shown["Fashion-MNIST, cluster skew (%): level"].to_dict() == {"fedavg": 60, "fednova": 35}
    assert shown["Fashion-MNIST, cluster skew (%): best"].to_dict() == {"fedavg": 60, "fednova": 70}
    (line,) = tables.differences(rows).to_dict("records")
    assert (line["mean"], line["n"]) == (pytest.approx(-25), 2)
    found = tables.aggregates(rows).set_index("contestant")
    assert found.diverged.to_dict() == {"fedavg": 0, "fednova": 1}
    assert found.loc["fednova", "worst tenth (%)"] == pytest.approx(25)
    assert found.loc["fednova", "P(> FedAvg)"] == pytest.approx(0.5)
    (told,) = tables.diverged(rows).to_dict("records")
    assert told == {
        "contestant": "fednova", "dataset": "Fashion-MNIST", "cell": "cluster skew", "seed": 1,
        "round": 15, "level before (%)": 70, "best (%)": 70,
    }  # fmt: skip
    assert tables.diverged(table_of(fedavg=[0.6, 0.6])).empty
    more = table_of(scaffold=[0.6] * 3, fedprox=[0.6] * 3)
    for name, seed in (("scaffold", 2), ("scaffold", 0), ("fedprox", 1)):
        more = failing(more, name, seed)
    found = tables.diverged(more.sort_values("seed", ascending=False, kind="stable"))
    assert list(zip(found.contestant, found.seed, strict=True)) == [
        ("fedprox", 1), ("scaffold", 0), ("scaffold", 2)
    ]  # fmt: skip


def test_a_cell_that_not_everybody_ran_in_yet_is_left_out():
    """The rows of another set while a further division is under way, and where no cell is whole."""
    whole = table_of(fedavg=[0.6, 0.6], feddrl=[0.7, 0.7]).reset_index(drop=True)
    begun = table_of("two labels", fedavg=[0.4, 0.4])
    (other,) = (one for one in ARTIFACTS if one.name == "second_set")
    assert other.keep(pd.concat([whole, begun], ignore_index=True)).equals(whole)
    assert other.keep(whole) is whole
    apart = pd.concat([whole[whole.method == "feddrl"], begun], ignore_index=True)
    assert other.keep(apart) is apart
    both = pd.concat([whole, table_of("two labels", fedavg=[0.4, 0.4], feddrl=[0.5, 0.5])], ignore_index=True)
    further = table_of("two labels", feddyn=[0.4, 0.4])
    assert other.keep(pd.concat([both, further], ignore_index=True)).equals(both)
    further = pd.concat([further, table_of(feddyn=[0.6, 0.6])])
    everybody = pd.concat([both, further], ignore_index=True)
    assert other.keep(everybody) is everybody


def test_the_seeds_without_a_diverged_run_are_told_apart():
    """FedNova 10 and 12 points ahead in two seeds, diverged in the third; SCAFFOLD is left with one seed."""
    rows = table_of(fedavg=[0.5] * 3, fednova=[0.6, 0.62, 0.9], scaffold=[0.9] * 3, fedprox=[0.5] * 3)
    rows = failing(rows, "fednova", 2)
    for seed in (0, 1):
        rows = failing(rows, "scaffold", seed)
    told = leads.undiverged_words(rows)
    assert told.endswith("diverged, in points: FedNova +11 [−2, +24] (2 seeds).")  # t: 12.7
    assert leads.undiverged_words(table_of(fedavg=[0.5, 0.5], fednova=[0.6, 0.6])) == ""
    gone = failing(failing(table_of(fedavg=[0.5, 0.5], fednova=[0.6, 0.6]), "fednova", 0), "fednova", 1)
    assert leads.undiverged_words(gone) == ""


def test_rounds_to_a_level_that_fedavg_lost():
    rows = failing(table_of(fedavg=[0.6], fedprox=[0.6]), "fedavg", 0)
    assert tables.costs(rows).reached.tolist() == [0, 0]


def test_differences_are_paired_by_seed():
    rows = table_of(fedavg=[0.5, 0.7], fedprox=[0.52, 0.72], feddrl=[0.4, 0.7])
    found = tables.differences(rows).set_index("contestant")
    assert found.loc["fedprox", "mean"] == pytest.approx(2)
    assert found.loc["fedprox", "low"] == pytest.approx(2)
    assert found.loc["feddrl", "mean"] == pytest.approx(-5)
    assert found.loc["feddrl", "low"] < -60  # two seeds, 0 and -10: a wide interval


def test_aggregates_of_one_setting():
    rows = table_of(fedavg=[0.5, 0.6, 0.7], fedprox=[0.6, 0.6, 0.8])
    found = tables.aggregates(rows).set_index("contestant")
    assert found.loc["fedprox", "P(> FedAvg)"] == pytest.approx((1.5 + 1.5 + 3) / 9)
    assert found.loc["fedprox", "mean rank"] < found.loc["fedavg", "mean rank"]
    assert np.isnan(found.loc["fedavg", "P(> FedAvg)"])
    for column in ("IQM (%)", "P(> FedAvg)", "mean rank"):
        low, value, high = found.loc["fedprox", [f"{column} low", column, f"{column} high"]]
        assert low <= value <= high


def test_who_is_ahead_at_what_cost():
    """FedProx 10, 11 and 12 points ahead at 4 MB a round; FedDRL 1, -1 and 0; all reach the target."""
    rows = table_of(fedavg=[0.5, 0.6, 0.7], fedprox=[0.6, 0.71, 0.82], feddrl=[0.51, 0.59, 0.7])
    found = tables.ahead_of_fedavg(rows)
    assert found.contestant.tolist() == ["fedprox", "feddrl", "fedavg"]
    assert found["less FedAvg (points): level"].tolist()[:2] == [11, 0]
    assert found["less FedAvg (points): best round"].tolist()[:2] == [11, 0]  # of one round
    assert found.standing.tolist() == ["ahead", "undecided", ""]
    assert found["MB a round"].tolist() == [4, 4, 4]
    assert found["to the target: rounds"].tolist() == [1, 1, 1]
    assert found["to the target: hours"].nunique() == 1
    assert found["to the target: reached"].tolist() == ["3 of 3"] * 3
    assert leads.ahead_words(rows) == (
        "Ahead of FedAvg: FedProx (+11.0 [+8.5, +13.5] points); none of them by reinforcement learning. "
        "Corrected for 2 comparisons with FedAvg (Holm), the lead of FedProx holds."
    )
    assert leads.ahead_words(table_of(fedavg=[0.5, 0.6], feddrl=[0.5, 0.6])) == "Nobody is ahead of FedAvg."
    behind = table_of(fedavg=[0.5, 0.6], fedlaw=[0.4, 0.5], fedexp=[0.3, 0.7], favor=[0.1, 0.2])
    assert leads.ahead_words(behind) == (
        "Nobody is ahead of FedAvg. Baselines behind FedAvg, uncorrected: FedLAW (−10.00 [−10.00, −10.00] "
        "points)."
    )


def test_who_leads_where_fewer_comparisons_are_counted():
    """FedYogi's one-sided p is 0.018 in three seeds: below 0.05 / 2, above 0.05 / 3. FedDRL's is 0.23."""
    rivals = {"fedyogi": [0.51, 0.512, 0.516], "feddrl": [0.50, 0.52, 0.51], "feddrl_untrained": [0.5] * 3}
    rows = table_of(fedavg=[0.5] * 3, **rivals)
    assert leads.at_once_words(rows) == (
        "Corrected for 3 comparisons with FedAvg (Holm), no lead holds; of 2, without controls, that of "
        "FedYogi does."
    )
    rows = table_of(fedavg=[0.5] * 3, **rivals, fedavgm=[0.55, 0.551, 0.549], favor=[0.4] * 3)
    assert leads.at_once_words(rows) == (
        "Corrected for 5 comparisons with FedAvg (Holm), the lead of FedAvgM holds; of 2, baselines alone, "
        "that of FedYogi does, too."
    )


def test_local_trainings_before_round_1_are_a_cost():
    """Two workers, 20 rounds, 10 clients each: 400. FAVOR's row has its own, an untrained agent none."""
    names = ("fedavg", "feddrl", "repaired", "repaired_untrained", "favor")
    rows = table_of(**{name: [0.5, 0.6] for name in names})
    rows["local_trainings"] = np.where((rows.method == "favor") & (rows["round"] == 1), 310.0, np.nan)
    found = tables.ahead_of_fedavg(rows).set_index("contestant")["trainings before round 1"]
    assert found.to_dict() == {
        "fedavg": 0, "feddrl": 0, "repaired": 400, "repaired_untrained": 0, "favor": 310
    }  # fmt: skip


def test_rounds_to_the_level_of_fedavg():
    rows = pd.concat([lines("fedavg", 0, [0.1, 0.2] + [0.5] * 18), lines("fedprox", 0, [0.1] * 20)])
    found = tables.costs(rows).set_index("contestant")
    assert found.loc["fedavg", ["median_rounds", "reached", "runs"]].tolist() == [3.0, 1, 1]
    assert found.loc["fedprox", ["median_rounds", "median_hours"]].isna().all()
    assert found.loc["fedprox", "reached"] == 0


def test_simulated_time_by_hand():
    """Ten of 40 clients with 10 images, of which 9 train: the slowest of them decides each of three rounds.

    SCAFFOLD's clients send two models.
    """
    rows = pd.concat([lines("fedavg", 0, [0.1, 0.2] + [0.5] * 18), lines("scaffold", 0, [0.5] * 20)])
    rows.loc[rows.method == "scaffold", "uplink_bytes"] *= 2
    devices = draw_devices(0, 40)
    trained = 9 * devices.compute_seconds[:10]
    slowest = [(trained + models * devices.upload_seconds[:10]).max() for models in (1, 2)]
    assert client_sizes(rows)["cluster skew"].trained[:10] == (9,) * 10
    found = tables.costs(rows).set_index("contestant")
    assert found.loc["fedavg", "median_hours"] == pytest.approx(3 * slowest[0] / 3600)
    assert found.loc["scaffold", "median_hours"] == pytest.approx(slowest[1] / 3600)
    ratio = f"{slowest[1] / slowest[0]:.2f} (SCAFFOLD)"
    assert f"FedAvg's {slowest[0]:.1f} s on average, the others' {ratio} to {ratio} times" in (
        tables.round_words(rows)
    )
    assert tables.round_words(rows[rows.method == "fedavg"]) == ""


def test_contestants_are_compared_on_common_seeds(monkeypatch):
    """FedProx has seeds 2 and 3, FedAvg 0 to 2: one pair, 3 points. All three have seed 2 alone."""
    seeds = {"fedavg": (0, 1, 2), "fedprox": (2, 3), "fedexp": (0, 2)}
    runs = pd.DataFrame(
        [
            {
                "dataset": "fmnist", "cell": "cluster skew", "contestant": name, "seed": seed,
                "level": 50.0 + seed + 3 * (name == "fedprox"), "worst_tenth": 1.0, "megabytes": 1.0,
                "diverged": False,
            }
            for name, own in seeds.items()
            for seed in own
        ]
    )  # fmt: skip
    monkeypatch.setattr(tables, "per_run", lambda rows: rows)
    found = tables.differences(runs).set_index("contestant")
    assert found["mean"].to_dict() == {"fedprox": 3.0, "fedexp": 0.0}
    assert found.n.to_dict() == {"fedprox": 1, "fedexp": 2}
    assert tables.aggregates(runs).set_index("contestant")["runs"].to_dict() == dict.fromkeys(seeds, 1)


def test_how_many_clients_favor_ever_trains():
    """FAVOR takes clients 0 and 1, then 1 and 2; its untrained policy four; FedAvg all ten of a hundred."""
    lists = {
        "favor": ("[0, 1]", "[1, 2]"), "favor_untrained": ("[0, 1]", "[2, 3]"),
        "fedavg": ("[0, 1, 2, 3, 4]", "[5, 6, 7, 8, 9]"),
    }  # fmt: skip
    rows = pd.concat(
        own[own["round"].isin((1, 2))].assign(clients=list(cohorts), num_clients=100)
        for name, cohorts in lists.items()
        for own in [table_of(**{name: [0.5]})]
    )
    assert reach_words(rows).startswith(
        "Of 100 clients those that are ever trained are 3 with FAVOR, 4 with its untrained policy and 10 "
        "with FedAvg: FAVOR takes the clients of the highest values"
    )
    assert reach_words(rows[rows.method == "fedavg"]) == ""
