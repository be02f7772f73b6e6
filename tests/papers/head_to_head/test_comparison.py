"""The head to head: who plays, with which settings, and how rows become numbers."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from fedlib import papers
from fedlib.errors import UsageError
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.selection import expand
from fedlib.papers.head_to_head import (
    claims,
    figures,
    headline,
    numbers,
    quantities,
    runs,
    scale,
    tables,
    tuned,
)
from fedlib.papers.head_to_head.artifacts import ARTIFACTS


def lines(contestant, seed, accuracies, *, rate=0.1, options=None, clients=None, cell="cluster skew"):
    """Rows of one run, an accuracy a round."""
    one = runs.CONTESTANTS[contestant]
    partition, wanted = runs.CELLS[cell]
    frame = pd.DataFrame({"round": range(1, len(accuracies) + 1), "test_accuracy": accuracies})
    return frame.assign(
        run=f"{contestant}-{cell}-{seed}-{rate}-{options}", dataset="fmnist", seed=seed, method=one.method,
        method_options=json.dumps({**one.options, **(options or {})}), partition=partition,
        partition_options=json.dumps(wanted), local_learning_rate=rate, uplink_bytes=3e6, downlink_bytes=1e6,
        client_test_accuracy_mean=accuracies, status="ok",
        client_test_accuracies=json.dumps(clients or [0.5] * 10), num_clients=40, batch_size=10,
        rounds=len(accuracies), cohort_size=10,
        dataset_options=json.dumps(
            {"train_per_class": 120, "test_per_class": 20, "local_test": 0.1, "server_share": 0.1}
        ),
    )  # fmt: skip


def table_of(**levels):
    """Twenty rounds each, flat at the level; contestant -> one level per seed."""
    return pd.concat(
        [lines(name, seed, [v] * 20) for name, values in levels.items() for seed, v in enumerate(values)]
    )


@pytest.mark.parametrize("profile", PROFILES)
def test_every_contestant_has_as_many_trials_and_meets_all_settings(profile):
    tried = Counter(
        quantities.contestant_of(run.method, json.dumps(run.method_options)) for run in runs.tuning(profile)
    )
    assert len(set(tried.values())) == 1
    assert set(tried) == {name for name, one in runs.CONTESTANTS.items() if not one.twin_of}
    cells = Counter((run.dataset, run.partition) for run in runs.comparison(profile))
    assert set(cells.values()) == {len(runs.CONTESTANTS)}


def test_runs_of_the_comparison_differ_in_method_and_rate_only():
    for one in runs.comparison("reduced"):
        twin = runs.base_run("reduced", "comparison", one.dataset, quantities.cell_of(
            one.partition, json.dumps(one.partition_options)))  # fmt: skip
        left = {k: v for k, v in one.describe().items() if v != twin.describe()[k]}
        assert set(left) <= {"method", "method_options", "local_learning_rate"}


def test_every_smoke_run_is_valid():
    for name in ("benchmark", "tuning", "comparison"):
        assert expand(papers.find_artifact(f"head_to_head/{name}"), "smoke")


def test_settings_are_those_of_a_trial():
    for name, setting in runs.chosen().items():
        tried = [(rate, dict(options)) for rate, options in runs.CONTESTANTS[name].trials]
        assert (setting["rate"], setting["options"]) in tried


def test_twins_take_the_settings_of_their_original():
    for run in runs.comparison("reduced"):
        if run.method == "feddrl":
            assert run.local_learning_rate == runs.chosen()["feddrl"]["rate"]


def test_level_is_the_mean_of_the_last_tenth():
    rows = lines("fedavg", 0, [0.1] * 18 + [0.4, 0.6], clients=[0.9] * 18 + [0.1, 0.3])
    (run,) = quantities.per_run(rows).to_dict("records")
    assert run["level"] == pytest.approx(50)
    assert run["best"] == pytest.approx(60)
    assert run["worst_tenth"] == pytest.approx(20)
    assert run["megabytes"] == pytest.approx(4)


def test_the_best_trial_is_chosen_by_validation_and_divergence_counts_as_nothing():
    parts = []
    for name, one in runs.CONTESTANTS.items():
        if one.twin_of:
            continue
        for place, (rate, options) in enumerate(one.trials):
            parts += [
                lines(name, seed, [0.5 + place / 100] * 10, rate=rate, options=options) for seed in (0, 1)
            ]
    rows = pd.concat(parts)
    best = {name: one.trials[-1] for name, one in runs.CONTESTANTS.items() if not one.twin_of}
    assert tuned.choose(rows) == {n: {"rate": r, "options": dict(o)} for n, (r, o) in best.items()}
    last = rows["run"] == f"fedavg-cluster skew-0-{runs.RATES[-1]}-{{}}"
    rows = rows.assign(status=rows.status.where(~last, "failed: nan"))
    assert tuned.choose(rows)["fedavg"]["rate"] == runs.RATES[-2]


def test_runs_that_diverged_are_seen_where_settings_are_chosen():
    """With the survivors alone a rate at which every other run diverges would look as good as any."""
    (search,) = (one for one in ARTIFACTS if one.name == "tuning")
    assert search.counts_failed
    rows = pd.concat([lines("fedavg", seed, [0.8] * 10) for seed in (0, 1)])
    rows = rows.assign(status=rows.status.where(rows.seed == 0, "failed: test_loss is nan"))
    (trial,) = tables.trials(rows).to_dict("records")
    assert (trial["validation"], trial["runs"], trial["diverged"]) == (40, 2, 1)


def test_the_search_is_read_by_option_and_rate():
    trials = ((0.03, [0.8] * 10), (0.1, [0.6] * 10))
    rows = pd.concat([lines("fedavgm", 0, a, rate=rate, options={"beta": 0.9}) for rate, a in trials])
    (line,) = tables.search(rows).to_dict("records")
    held = "accuracy on held-back images (%)"
    assert line == {
        "contestant": "fedavgm",
        "option": "beta 0.9",
        f"{held}: rate 0.03": 80,
        f"{held}: rate 0.1": 60,
    }


def failing(rows, contestant, seed):
    """The rows with this run failed in its 15th round, at the accuracy of a guess."""
    run = rows["run"].str.startswith(f"{contestant}-") & (rows.seed == seed)
    last = run & (rows["round"] == 15)
    rows = rows.assign(
        status=rows.status.where(~last, "failed: test_loss is nan in round 15"),
        test_accuracy=rows.test_accuracy.where(~last, 0.1),
    )
    return rows[~(run & (rows["round"] > 15))].reset_index(drop=True)


def test_the_comparison_counts_runs_that_diverged():
    """Of the survivors alone FedNova would be 10 points ahead; with its diverged run it is 25 behind."""
    (comparison,) = (one for one in ARTIFACTS if one.name == "comparison")
    assert comparison.counts_failed
    assert "diverged" in [table.path.rpartition(".")[2] for table in comparison.tables]
    rows = failing(table_of(fedavg=[0.6, 0.6], fednova=[0.7, 0.7]), "fednova", 1)
    shown = tables.levels(rows).set_index("contestant")
    assert shown["fmnist, cluster skew (%): level"].to_dict() == {"fedavg": 60, "fednova": 35}
    assert shown["fmnist, cluster skew (%): best"].to_dict() == {"fedavg": 60, "fednova": 70}
    (line,) = tables.differences(rows).to_dict("records")
    assert (line["mean"], line["n"]) == (pytest.approx(-25), 2)
    found = tables.aggregates(rows).set_index("contestant")
    assert found.diverged.to_dict() == {"fedavg": 0, "fednova": 1}
    assert found.loc["fednova", "worst tenth (%)"] == pytest.approx(25)
    assert found.loc["fednova", "P(> FedAvg)"] == pytest.approx(0.5)
    (told,) = tables.diverged(rows).to_dict("records")
    assert told == {
        "contestant": "fednova", "dataset": "fmnist", "cell": "cluster skew", "seed": 1, "round": 15,
        "level before": 70, "best": 70,
    }  # fmt: skip
    assert tables.diverged(table_of(fedavg=[0.6, 0.6])).empty


def test_captions_and_claims_say_what_diverged():
    rows = failing(table_of(fedavg=[0.6, 0.6], feddrl=[0.7, 0.7]), "feddrl", 0).assign(profile="smoke")
    words = "Diverged runs count as zero: 1 of 4 (FedDRL 1)."
    for plot in (figures.plot_differences, figures.plot_curves):
        assert words in " ".join(plot(rows)._supxlabel.get_text().split())
    assert words in headline.comparison_answer(
        lambda artifact: rows if artifact == headline.ROWS else rows[:0]
    )
    assert claims.less(rows, "feddrl", "fedavg").to_numpy().ravel().tolist() == pytest.approx([-60, 10])
    (line,) = (one for one in figures.plot_curves(rows).axes[0].lines if one.get_label() == "FedDRL")
    assert line.get_ydata()[[13, -1]] == pytest.approx([70, 35])
    lost = failing(rows, "feddrl", 1)  # no run of FedDRL is left: its curve still ends in the last round
    (line,) = (one for one in figures.plot_curves(lost).axes[0].lines if one.get_label() == "FedDRL")
    assert line.get_xdata()[-1] == 20
    assert line.get_ydata()[-1] == 0


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
    assert found["less FedAvg (points)"].tolist()[:2] == [11, 0]
    assert found.standing.tolist() == ["ahead", "undecided", ""]
    assert found["MB a round"].tolist() == [4, 4, 4]
    assert found["median rounds to 95 %"].tolist() == [1, 1, 1]
    assert found.reached.tolist() == ["3 of 3"] * 3
    assert tables.ahead_words(rows) == (
        "Ahead of FedAvg: FedProx (+11.0 [+8.5, +13.5] points); none of them by reinforcement learning."
    )
    assert tables.ahead_words(table_of(fedavg=[0.5, 0.6], feddrl=[0.5, 0.6])) == "Nobody is ahead of FedAvg."


def test_local_trainings_before_round_1_are_a_cost():
    """Two workers, 20 rounds, 10 clients each: 400. FAVOR's row has its own, an untrained agent none."""
    names = ("fedavg", "feddrl", "repaired", "repaired_untrained", "favor")
    rows = table_of(**{name: [0.5, 0.6] for name in names})
    rows["local_trainings"] = np.where((rows.method == "favor") & (rows["round"] == 1), 310.0, np.nan)
    found = tables.ahead_of_fedavg(rows).set_index("contestant")["local trainings before round 1"]
    assert found.to_dict() == {
        "fedavg": 0, "feddrl": 0, "repaired": 400, "repaired_untrained": 0, "favor": 310
    }  # fmt: skip


def test_rounds_to_the_level_of_fedavg():
    rows = pd.concat([lines("fedavg", 0, [0.1, 0.2] + [0.5] * 18), lines("fedprox", 0, [0.1] * 20)])
    found = tables.costs(rows).set_index("contestant")
    assert found.loc["fedavg"].tolist() == [3.0, 1, 1]
    assert np.isnan(found.loc["fedprox", "median_rounds"])
    assert found.loc["fedprox", "reached"] == 0


def benchmark_rows(method, accuracies, rounds=50):
    run = next(r for r in runs.benchmark("extended") if r.method == method)
    return pd.concat(
        [
            pd.DataFrame({"round": [1, rounds], "test_accuracy": [0.1, value]}).assign(
                run=f"{method}{seed}", dataset="fmnist", partition=run.partition, method=method, seed=seed,
                status="ok", rounds=rounds,
                partition_options=json.dumps(run.partition_options),
            )
            for seed, value in enumerate(accuracies)
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("accuracies", "rounds", "verdict"),
    [
        ([0.879, 0.881, 0.882], 50, "supported"),  # 88.09 public, margin 1
        ([0.80, 0.81, 0.80], 50, "not supported"),
        ([0.86, 0.88, 0.88], 50, "inconclusive"),
        ([0.879, 0.881, 0.882], 5, "not testable here"),
        ([0.881], 50, "not testable here"),
    ],
)
def test_equivalence_with_the_public_benchmark(accuracies, rounds, verdict):
    rows = benchmark_rows("fedavg", accuracies, rounds)
    (line,) = quantities.benchmark_cells(rows).to_dict("records")
    assert (line["public"], line["margin"], line["verdict"]) == (88.09, 1.0, verdict)
    assert line["difference"].mean == pytest.approx(100 * np.mean(accuracies) - 88.09)
    (shown,) = tables.benchmark(rows).to_dict("records")
    assert shown["method"] == "FedAvg"
    assert shown["public (%)"] == "88.09 ± 0.29"
    assert shown["verdict"] == tables.AGREEMENT[verdict]


def test_the_benchmark_counts_runs_that_diverged():
    """One of three diverges in round 3 at its best, 30 %: the mean is (88 + 88 + 30) / 3 = 68.67."""
    (benchmark,) = (one for one in ARTIFACTS if one.name == "benchmark")
    assert benchmark.counts_failed
    rows = benchmark_rows("scaffold", [0.88, 0.88, 0.3])
    last = (rows["run"] == "scaffold2") & (rows["round"] == 50)
    rows = rows.assign(
        status=rows.status.where(~last, "failed: test_loss is nan in round 3"),
        round=rows["round"].where(~last, 3),
    )
    (line,) = quantities.benchmark_cells(rows).to_dict("records")
    assert line["ours"] == pytest.approx(68.67, abs=0.01)
    assert (line["rounds"], line["seeds"], line["diverged"]) == (50, 3, 1)
    assert line["verdict"] == "inconclusive"  # of three runs: were it dropped, two would agree
    (shown,) = tables.benchmark(rows).to_dict("records")
    assert shown["diverged"] == 1


def test_the_benchmark_is_told_in_words():
    rows = pd.concat(
        [benchmark_rows("fedavg", [0.879, 0.881, 0.882]), benchmark_rows("fedprox", [0.7, 0.7, 0.71])]
    )
    (told,) = headline.benchmark_answer(lambda artifact: rows)
    head = "Ours agree with the public benchmark in 1 of 2 cells run for all 50 rounds. On Fashion-MNIST "
    assert told.startswith(head)
    assert "; differs: FedProx (−17.8 [" in told
    (brief,) = headline.benchmark_in_brief(lambda artifact: rows)
    assert brief.endswith("On Fashion-MNIST in Dirichlet shares, agrees: FedAvg; differs: FedProx.")
    (told,) = headline.benchmark_answer(lambda artifact: benchmark_rows("fedavg", [0.8, 0.8], rounds=2))
    assert told == "The public benchmark needs 50 rounds and two seeds; ours stand at 2 rounds."


def test_figures_draw():
    rows = table_of(fedavg=[0.5, 0.6], fedprox=[0.6, 0.6], feddrl=[0.4, 0.7]).assign(profile="smoke")
    assert len(figures.plot_differences(rows).axes[0].get_yticklabels()) == 2
    assert len(figures.plot_curves(rows).axes) == 1
    drawn = figures.plot_benchmark(benchmark_rows("fedavg", [0.88, 0.88]).assign(profile="smoke"))
    assert [t.get_text() for t in drawn.axes[0].get_yticklabels()] == [
        "FedAvg, Fashion-MNIST, Dirichlet shares"
    ]


def test_a_contestant_far_below_the_others_is_an_arrow_with_its_numbers():
    """Means 1, 2, 3, 4 and -40: quartiles 1 and 3, so that the fence stands at 1 - 3 x 2 = -5."""
    near = {"fedprox": [0.61] * 2, "fednova": [0.62] * 2, "fedadam": [0.63] * 2, "fedyogi": [0.64] * 2}
    rows = table_of(fedavg=[0.6] * 2, favor=[0.1, 0.3], **near).assign(profile="smoke")
    axes = figures.plot_differences(rows).axes[0]
    assert axes.get_xlim() == pytest.approx((-0.06 * 4, 1.06 * 4))
    assert [text.get_text().strip() for text in axes.texts] == ["−40 [−167, +87]"]
    arrows = [line.get_marker() for line in axes.lines if line.get_marker() in "<>"]
    assert arrows == ["<", ">"]


def test_a_contestant_without_rows_leaves_its_claims_not_run():
    """As after a run of the comparison that was interrupted."""
    rows = table_of(fedavg=[0.5, 0.6], feddrl=[0.5, 0.7])
    with pytest.raises(UsageError, match="no rows of favor"):
        claims.less(rows, "favor", "fedavg")


def test_questions_without_rows_beyond_smoke_are_called_open():
    """The benchmark has rows at `reduced`, the devices at `smoke` only: the second stays open."""
    rows = {
        headline.BENCHMARK: pd.DataFrame({"profile": ["smoke", "reduced"]}),
        headline.DEVICES: pd.DataFrame({"profile": ["smoke"]}),
    }
    assert headline.open_questions(rows.get) == [
        "Still open, for want of runs longer than smoke: who gets there first in simulated time?"
    ]
    assert headline.open_questions(lambda name: rows[headline.BENCHMARK]) == []


def test_the_limits_name_the_scale_and_who_is_missing():
    """Two contestants of 25, two seeds, 20 flat rounds of the protocol's 300."""
    told = scale.scale_words(lambda name: table_of(fedavg=[0.5, 0.6], feddrl=[0.4, 0.5]))
    head, missing = told.split(" No rows at this length: ")
    assert head == (
        "The comparison has 1 data set, 1 division, 2 seeds, 20 rounds. Curves flat: up to 0.0 points in the "
        "last quarter of 20 rounds (protocol: 300)."
    )
    assert len(missing.split("; ")) == len(runs.CONTESTANTS) - 2
    assert "FAVOR" in missing.split("; ")


def test_the_best_baseline_is_chosen_among_those_with_rows():
    rows = table_of(fedavg=[0.5, 0.6], fedadam=[0.6, 0.7], feddrl=[0.4, 0.5])
    told = " ".join(
        headline.comparison_answer(lambda name: rows if name.endswith("comparison") else pd.DataFrame())
    )
    assert "The best baseline, FedAdam, is chosen among 2 on held-back images; " in told


def test_the_answer_is_a_sentence_for_each_method():
    """FedDRL 10 points ahead of FedAvg in three seeds, its untrained policy level with it; FAVOR behind."""
    rows = table_of(
        fedavg=[0.50, 0.51, 0.52], feddrl=[0.60, 0.612, 0.621], feddrl_untrained=[0.60, 0.611, 0.623],
        favor=[0.40, 0.412, 0.421],
    )  # fmt: skip
    told = headline.comparison_answer(lambda name: rows)
    assert told[0].startswith("Over 1 setting (3 seeds) FedDRL (online) is ahead of FedAvg (+10.1")
    assert " points) and the best baseline, FedAvg (+10.1" in told[0]
    assert " It is equal within half a point to its untrained policy (−0.03 [−0.41, +0.35] points)" in told[0]
    assert told[0].endswith(". It is without rows against itself with clients shuffled (no rows).")
    assert told[1].startswith("Over 1 setting (3 seeds) FAVOR is behind FedAvg (−9.9")
    assert not any("less itself with permuted" in sentence for sentence in told)
    (brief,) = headline.comparison_in_brief(lambda name: rows)
    assert brief == (
        "Over 1 setting (3 seeds) FedDRL (online) is ahead of FedAvg (behind: FAVOR). "
        "None is ahead of its untrained policy (equal within half a point: FedDRL (online); not run: "
        "FAVOR). FedDRL (online) is ahead of the best baseline (FedAvg, chosen on held-back images) "
        "(behind: FAVOR)."
    )


def test_the_later_control_stands_beside_the_registered_one():
    """FedDRL 1 point ahead of itself with clients shuffled, 3 and 4 ahead of itself on permuted rewards."""
    own = {"feddrl": [0.60, 0.62], "feddrl_shuffled": [0.59, 0.61], "feddrl_permuted": [0.57, 0.58]}
    rows = table_of(fedavg=[0.6, 0.6], **own)
    assert numbers.control_of("feddrl") == ("itself with clients shuffled", "feddrl_shuffled")
    number = numbers.LESS["feddrl"]["itself with clients shuffled"]
    assert number.value(lambda _: rows).mean == pytest.approx(1)
    claim = next(one for one in claims.CLAIMS if one.id == "HEAD-C3")
    assert claims.less(rows, "feddrl", "feddrl_shuffled").to_numpy().ravel() == pytest.approx([1, 1])
    told = claim.supplements[0].tell(rows)
    assert "permuted rewards: +3.5 [-2.9, +9.9] points (a control" in told
    assert f"{told}.".replace("-", "−") in headline.comparison_answer(lambda _: rows)
    assert claim.supplements[0].tell(rows[rows["run"].str.startswith("feddrl-")]) == ""


def test_a_rival_that_all_methods_trail_is_told_at_once():
    rows = table_of(fedavg=[0.50, 0.51, 0.52], feddrl=[0.40, 0.412, 0.421], favor=[0.30, 0.312, 0.321])
    (brief,) = headline.comparison_in_brief(lambda name: rows)
    assert brief.startswith("Over 1 setting (3 seeds) all 2 are behind FedAvg. ")
    assert brief.endswith("All 2 are behind the best baseline (FedAvg, chosen on held-back images).")


def test_the_search_is_answered_in_words():
    """FedAvg's trials: at 0.3 one of two runs diverges; FedProx's one trial is sound."""
    rows = pd.concat(
        [lines("fedavg", seed, [0.5] * 20, rate=rate) for seed in (0, 1) for rate in (0.1, 0.3)]
        + [lines("fedprox", 0, [0.5] * 20, options={"mu": 0.01})]
    )
    lost = (rows["run"] == "fedavg-cluster skew-1-0.3-None") & (rows["round"] == 20)
    rows = rows.assign(status=rows.status.where(~lost, "failed: nan"))
    rates, diverged = tuned.answer(rows)
    assert rates.startswith("13 of 16 methods get the rate 0.1; ")  # settings.json
    assert diverged == "1 of 3 trials had a run that diverged."


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
