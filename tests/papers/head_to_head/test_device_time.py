"""Accuracy in simulated time: one clock for all methods, and numbers worked out by hand."""

import json

import numpy as np
import pandas as pd
import pytest

from fedlib.experiments.artifact import PROFILES
from fedlib.papers.head_to_head import (
    claims,
    device_quantities,
    device_runs,
    device_time,
    device_training,
    headline,
)
from fedlib.papers.head_to_head.device_corrections import corrected, corrected_on_training


def rows_of(**curves):
    """Rows of the smoke runs: contestant -> seconds a round, accuracies, status at the end."""
    parts = []
    for name, run in zip(device_runs.CONTESTANTS, device_runs.runs("smoke"), strict=True):
        for seed, (seconds, accuracies, status) in enumerate(curves.get(name.replace(", ", "_"), ())):
            frame = pd.DataFrame({"round": range(len(accuracies) + 1), "test_accuracy": [0.1, *accuracies]})
            frame["latency_seconds"], frame["uploads"] = float(seconds), 4.0
            frame.loc[0, ["latency_seconds", "uploads"]] = None  # before round 1
            frame[["kept", "epochs", "probing_seconds", "upload_seconds"]] = None
            frame["client_test_accuracies"], frame["uplink_bytes"], frame["downlink_bytes"] = None, 2e6, 1e6
            frame["status"] = ["ok"] * len(accuracies) + [status]
            parts.append(frame.assign(run=f"{name}{seed}", group=run.group_key, seed=seed, profile="smoke"))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("profile", PROFILES)
def test_all_contestants_differ_in_method_and_options_only(profile):
    runs = device_runs.runs(profile)
    assert len({run.group_key for run in runs}) == len(device_runs.CONTESTANTS)
    for run in runs:
        left = {key for key, value in run.describe().items() if value != runs[0].describe()[key]}
        assert left <= {"method", "method_options"}
    assert all(name in device_time.COLOURS for name in ("FedAvg", "SchedulerFL"))


def test_time_to_the_target_by_hand():
    """FedAvg: 0.5 after two rounds of an hour each. The target is 0.475."""
    rows = rows_of(
        FedAvg=[(3600, [0.2, 0.5, 0.5], "ok"), (3600, [0.2, 0.2, 0.4], "ok")],
        FedDdrl=[(1800, [0.3, 0.4, 0.49], "ok"), (1800, [0.3, 0.3, 0.3], "ok")],
    )
    found = device_time.time_to_target(rows).set_index("contestant")
    columns = ["level (%)", "to the target: hours", "to the target: reached"]
    assert found.loc["FedAvg", columns].tolist() == [45, 2.5, "2 of 2"]
    assert found.loc["FedDdrl", columns[::2]].tolist() == [39.5, "1 of 2"]
    assert np.isnan(found.loc["FedDdrl", columns[1]])  # one of two never gets there: no median
    assert np.isnan(found.loc["FedDdrl", "to the target: over FedAvg's"])  # of its quicker seed alone
    both = device_time.time_to_target(rows[rows.seed == 0]).set_index("contestant")
    assert both.loc["FedDdrl", "to the target: over FedAvg's"] == 0.75  # 1.5 of 2 hours
    assert found["minutes a round"].to_dict() == {"FedAvg": 60, "FedDdrl": 30}
    assert found["uploads a round"].tolist() == [4, 4]
    assert found.failed.tolist() == [0, 0]


def test_what_stands_beside_fedavg_by_hand():
    """FedDdrl is 1 and 3 points ahead in the best round, reaches the target one round sooner, or as soon."""
    rows = rows_of(
        FedAvg=[(60, [0.2, 0.5, 0.5], "ok"), (60, [0.2, 0.4, 0.4], "ok")],
        FedDdrl=[(60, [0.51, 0.4, 0.49], "ok"), (60, [0.2, 0.43, 0.41], "ok")],
    )
    worst = {"FedAvg": (0.3, 0.2), "FedDdrl": (0.35, 0.25)}
    for name, values in worst.items():
        for seed, value in enumerate(values):
            own = (rows.run == f"{name}{seed}") & (rows["round"] == 3)
            rows.loc[own, "client_test_accuracies"] = json.dumps([value, *[0.9] * 9])
    found = device_time.beside_fedavg(rows).set_index("contestant")
    own = found.loc["FedDdrl"]
    assert own["less FedAvg (points): best round"] == pytest.approx(2)
    assert own["less FedAvg (points): worst tenth"] == pytest.approx(5)
    assert own["level: P(> FedAvg)"] == 0.5  # 49 and 41 against 50 and 40
    assert (own["level: mean rank"], own["MB a round"], own["rounds to the target"]) == (1.5, 3, 1.5)
    assert np.isnan(found.loc["FedAvg", "level: P(> FedAvg)"])
    assert found.loc["FedAvg", "rounds to the target"] == 2
    assert device_time.best_baseline_words(rows) == ""
    halves = rows_of(FedAvg=[(60, [0.5], "ok")], **{"faster half alone": [(60, [0.4], "ok")]})
    assert device_time.best_baseline_words(halves) == (
        "Of the baselines FedAvg ends highest, at 50.0 % against 40.0 (faster half alone)."
    )


def test_leads_over_as_many_at_random_are_corrected_for_all_comparisons():
    """FedDdrl +1, +2, +3 points in three seeds: p = 0.037, one-sided, no lead; +2 in each: a lead."""
    none = [(3600, [0.4], "ok")] * 3
    level = {name.replace(", ", "_"): none for name in device_runs.CONTESTANTS}

    def told(gains):
        return corrected(rows_of(**level | {"FedDdrl": [(3600, [0.4 + x], "ok") for x in gains]}))

    first, second = "Corrected for 4 comparisons (Holm), ", " over as many clients at random. If the server "
    assert told((0.01, 0.02, 0.03)).startswith(f"{first}no lead shows{second}")
    assert told((0.02, 0.0201, 0.0199)).startswith(f"{first}FedDdrl leads{second}")
    assert told((0.01, 0.02, 0.03)).endswith("less FedAvg's is +0.00 [+0.00, +0.00] points, uncorrected.")
    assert "does, the same holds: a rule that was added when the rows were known" in told((0.01, 0.02, 0.03))
    assert corrected(rows_of(FedAvg=none)) == ""


def test_the_brief_says_who_is_ahead_and_how_many_runs_failed():
    """FedDdrl 10 points ahead in both seeds; SchedulerFL level in one, a failed run in the other."""
    even = [(3600, [0.4, 0.4], "ok")] * 2
    ahead = [(3600, [0.5, 0.5], "ok")] * 2
    rows = rows_of(FedAvg=even, FedDdrl=ahead, SchedulerFL=[even[0], (3600, [0.4], "failed: nobody")])
    first, *_ = headline.devices_in_brief(lambda _: rows.assign(rounds=device_runs.ROUNDS["reduced"]))
    who = (
        "After equal simulated time (2 seeds) FedDdrl is ahead of FedAvg. Less FedAvg's accuracy, in points: "
    )
    assert first.startswith(f"{who}FedDdrl +10.00 [+10.00, +10.00], SchedulerFL −20")
    assert first.endswith(" (1 failed run as 0).")


def test_leads_at_random_are_corrected_beside_the_claims_whose_clients_probe():
    """C17 and C18 are FedDdrl's and FedMarl's, C19 and C20 of methods without a probing epoch."""
    beside = {one.id: [each.tell for each in one.supplements] for one in claims.CLAIMS}
    assert [corrected in beside[f"HEAD-C{n}"] for n in range(17, 21)] == [True, True, False, False]
    assert all(corrected_on_training in beside[f"HEAD-C{n}"] for n in range(21, 25))


def test_leads_over_twins_are_corrected_apart_for_each_kind():
    """FedDdrl is +2 points ahead of its untrained policy in each seed; SchedulerFL of permuted rewards."""
    even = [(3600, [0.4], "ok")] * 3
    ahead = [(3600, [0.38 + x], "ok") for x in (0, 0.0001, -0.0001)]
    level = {name.replace(", ", "_"): even for name in device_runs.CONTESTANTS}
    found = rows_of(**level | {"FedDdrl_untrained": ahead, "SchedulerFL_permuted rewards": ahead})
    assert corrected_on_training(found) == (
        "Corrected for 4 methods (Holm), FedDdrl leads over the untrained policy. SchedulerFL leads over the "
        "policy that was taught on rewards of other decisions."
    )
    assert corrected_on_training(rows_of(FedAvg=even)) == ""


def test_a_control_that_training_left_behind_the_untrained_policy_is_named():
    """Permuted rewards leave FedDdrl at 30 %, untrained it has 40; SchedulerFL's control is ahead."""
    even = [(3600, [0.4], "ok")] * 3
    behind, ahead = ([(3600, [level + x], "ok") for x in (0, 0.001, -0.001)] for level in (0.3, 0.5))
    level = {name.replace(", ", "_"): even for name in device_runs.CONTESTANTS}
    found = rows_of(**level | {"FedDdrl_permuted rewards": behind, "SchedulerFL_permuted rewards": ahead})
    told = device_training.weak_control_words(found)
    assert told.startswith(
        "Taught on rewards of other decisions, a policy is behind the untrained one: FedDdrl (−10."
    )
    assert "SchedulerFL" not in told
    assert device_training.weak_control_words(rows_of(**level)) == ""


def test_seeds_without_a_failed_run_are_told_apart():
    """SchedulerFL fails in the last of three seeds; in the others it is 10 points behind FedAvg."""
    runs = [(3600, [0.3], "ok"), (3600, [0.3], "ok"), (3600, [0.3], "failed: nobody")]
    rows = rows_of(FedAvg=[(3600, [0.4], "ok")] * 3, SchedulerFL=runs)
    told = device_training.without_failures_words(rows)
    assert told.startswith("In the seeds in which neither run failed, in points: SchedulerFL is −10.00")
    assert told.endswith("from FedAvg (2 seeds).")
    assert device_training.without_failures_words(rows_of(FedAvg=[(3600, [0.4], "ok")] * 3)) == ""


def test_training_before_round_1_is_told_in_runs_of_fedavg():
    """Two episodes of 4 rounds of 1800 and 5400 s in the mean: 8 h, twice FedAvg's 4 h. FedDdrl gets there
    after 2 h less: it pays after 4 runs."""
    curve = [0.1, 0.2, 0.4, 0.4]
    rows = rows_of(
        FedAvg=[(3600, curve, "ok")] * 2, FedDdrl=[(1200, curve, "ok")] * 2,
        FedMarl=[(3600, curve, "ok")] * 2,
    )  # fmt: skip
    texts = json.dumps([1800.0, 5400.0])
    rows["rounds"], rows["training_latency_seconds"] = 4, None
    trained = rows.run.str.startswith("FedDdrl") & (rows["round"] == 0)
    rows.loc[trained, "training_latency_seconds"] = texts
    assert device_training.training_hours(rows).to_dict() == {"FedDdrl": 8.0}
    assert device_training.cost_words(rows) == (
        "Training before round 1, which no time here counts, lasts 8 simulated hours (FedDdrl), 2 times a "
        "run of FedAvg. By the median time saved to the target it pays, if it is trained once for many runs: "
        "FedDdrl's after 4 (of 2.0 h each)."
    )
    assert device_training.cost_words(rows.drop(columns="training_latency_seconds")) == ""


def test_the_half_that_is_not_slowest_is_held_against_fedavg():
    rows = rows_of(FedAvg=[(60, [0.5], "ok")] * 2, **{"faster half alone": [(60, [0.4], "ok")] * 2})
    told = device_time.rival_words(rows)
    assert told.endswith(" says little: FedAvg is by +10.00 [+10.00, +10.00] points.")
    even = rows_of(FedAvg=[(60, [0.5], "ok")] * 2, **{"faster half alone": [(60, [0.5], "ok")] * 2})
    assert device_time.rival_words(even) == ""
    assert device_time.rival_words(rows_of(FedAvg=[(60, [0.5], "ok")] * 2)) == ""


def test_waiting_for_probes_by_hand():
    """Kept clients train 3 and 2 epochs of 10 and 20 s and upload 1 and 2 s: as printed 42 s. The probe of a
    dropped one takes 40 s, the rest of the kept ones 21 and 22: 62 s. Other methods keep their latency."""
    rows = rows_of(FedAvg=[(50, [0.4], "ok")], FedDdrl=[(42, [0.4], "ok")])
    probed = (rows["run"] == "FedDdrl0") & (rows["round"] == 1)
    told = {
        "kept": [1, 1, 0],
        "epochs": [3, 2, 1],
        "probing_seconds": [10, 20, 40],
        "upload_seconds": [1, 2, 3],
    }
    for column, values in told.items():
        rows.loc[probed, column] = json.dumps(values)
    found = device_quantities.waiting_for_probes(rows)
    assert found[found["round"] == 1].latency_seconds.tolist() == [50, 62]


def test_the_answer_by_hand():
    """Half of FedAvg's time in one seed, a quarter in the other: sqrt(1/8) = 0.35 as a geometric mean."""
    rows = rows_of(
        FedAvg=[(3600, [0.2, 0.5], "ok"), (3600, [0.2, 0.5], "ok")],
        FedDdrl=[(1800, [0.3, 0.5], "ok"), (900, [0.3, 0.5], "ok")],
        FedDdrl_random=[(1800, [0.3, 0.4], "ok")],
    )
    assert device_time.answer(rows.assign(rounds=2))[0].startswith("Open: ")
    assert device_time.answer(rows.assign(rounds=60)) == [
        "Who gets there first? By a sign test, corrected for 1 method (Holm), none is sooner or later than "
        "FedAvg.",
        "The simulated time to 95 % of FedAvg's level is compared with FedAvg's own; a method that "
        "never gets there is later. Seeds are counted by an exact sign test, ties left out. Undecided: "
        "FedDdrl (sooner in 2 of 2 seeds, p = 0.5; 0.35 [0.00, 28.90] times FedAvg's time). "
        "Not run, or no seed reaches it: FedMarl, SchedulerFL, EvaluatorFL.",
        "As many clients at random are sooner than FedAvg in so many seeds: 0 of 2 (FedDdrl's number).",
    ]


@pytest.mark.parametrize(
    ("runs", "side"),
    [
        ([(1800, 0.5)] * 6, "Sooner, uncorrected: FedDdrl (sooner in 6 of 6 seeds, p = 0.031; 0.50"),
        ([(5400, 0.5)] * 6, "Later, uncorrected: FedDdrl (sooner in 0 of 6 seeds, p = 0.031; 1.50"),
        # Sooner where it gets there, which is in one seed of nine
        (
            [(1800, 0.5)] + [(1800, 0.3)] * 8,
            "Later, uncorrected: FedDdrl (sooner in 1 of 9 seeds, p = 0.039).",
        ),
    ],
)
def test_the_answer_names_the_side_of_fedavgs_time(runs, side):
    """Half of FedAvg's time, or half as long again; a run that never gets there is later."""
    own = [(seconds, [0.3, last], "ok") for seconds, last in runs]
    rows = rows_of(FedAvg=[(3600, [0.2, 0.5], "ok")] * len(runs), FedDdrl=own)
    first, told = device_time.answer(rows.assign(rounds=60))
    assert f"ties left out. {side}" in told
    word = side.partition(",")[0].lower()
    assert first.endswith(f"corrected for 1 method (Holm), only these differ from FedAvg: FedDdrl {word}.")


@pytest.mark.parametrize("never", [0, 1])
def test_a_gain_that_the_sign_test_ignores_is_told_where_no_run_is_left_out(never):
    """Sooner in three seeds of three: p = 0.25, while the ratio is 0.50 or just above in each."""
    gains = [(1800 + more, [0.3, 0.5], "ok") for more in (0, 1, 2)]
    rows = rows_of(
        FedAvg=[(3600, [0.2, 0.5], "ok")] * (3 + never), FedDdrl=[*gains, *[(1, [0.2, 0.2], "ok")] * never]
    )
    first, told = device_time.answer(rows.assign(rounds=60))
    assert f"Undecided: FedDdrl (sooner in 3 of {3 + never} seeds, p = " in told
    words = "By the size of the difference, which that test ignores, FedDdrl is sooner (uncorrected)."
    assert first.endswith(words) == (not never)


def test_a_run_that_failed_counts_as_0_and_a_lost_fedavg_sets_no_target():
    rows = rows_of(
        FedAvg=[(3600, [0.5, 0.5, 0.5], "ok"), (3600, [0.5, 0.1], "failed: test_loss is nan")],
        SchedulerFL=[(60, [0.5, 0.5], "failed: no worker selected"), (60, [0.6, 0.6, 0.6], "ok")],
    )
    found = device_time.time_to_target(rows).set_index("contestant")
    assert found["level (%)"].to_dict() == {"FedAvg": 25, "SchedulerFL": 30}
    assert found.failed.to_dict() == {"FedAvg": 1, "SchedulerFL": 1}
    assert found["to the target: reached"].to_dict() == {"FedAvg": "1 of 2", "SchedulerFL": "1 of 2"}


def test_the_figure_has_simulated_time_below():
    rows = rows_of(
        FedAvg=[(3600, [0.2, 0.5, 0.5], "ok")], SchedulerFL_random=[(1800, [0.3, 0.4], "failed: nobody")]
    )
    figure = device_time.plot_accuracy_in_time(rows)
    (panel,) = (ax for ax in figure.axes if ax.get_title() == "SchedulerFL")
    lines = {line.get_label(): line for line in panel.lines}
    assert lines["FedAvg"].get_xdata().tolist() == [1, 2, 3]
    assert lines["as many at random"].get_xdata().tolist() == [0.5, 1]
    assert "; failed runs (1 of 2) count as 0 % from then on." in " ".join(
        figure._supxlabel.get_text().split()
    )


def test_the_figure_counts_a_failed_run_as_0_with_its_band():
    """0.4 in one seed after the other failed: 20 % in the mean; 30 in the first round."""
    rows = rows_of(FedAvg=[(60, [0.5, 0.5], "ok")], FedMarl=[(60, [0.3, 0.4], "ok"), (60, [0.3], "failed")])
    (panel,) = (ax for ax in device_time.plot_accuracy_in_time(rows).axes if ax.get_title() == "FedMarl")
    (line,) = (line for line in panel.lines if line.get_label() == "the method")
    assert line.get_ydata().tolist() == pytest.approx([30, 20])
    assert len(panel.collections) == 2


def test_options_of_the_scheduler_are_those_of_the_run():
    (run,) = (r for r in device_runs.runs("reduced") if r.method_options.get("policy") == "shuffled")
    assert run.method_options["time_epochs"] == run.local_epochs
    assert json.dumps(run.method_options)


def test_accuracy_at_equal_simulated_time_by_hand():
    """FedDdrl is over after 10 hours. Its last tenth of them has one round, FedAvg's none."""
    rows = rows_of(
        FedAvg=[(4 * 3600, [0.2, 0.5, 0.9, 0.9], "ok")],
        FedDdrl=[(3600, [0.1] * 9 + [0.6], "ok")],
        FedDdrl_random=[(1800, [0.4] * 18 + [0.5, 0.7], "ok")],
        FedMarl=[(3600, [0.9, 0.9], "failed: test_loss is nan")],
    )
    less = device_quantities.less_at_equal_time
    assert less(rows, "FedDdrl", "FedAvg").to_dict() == pytest.approx({0: 60 - 50})
    assert less(rows, "FedDdrl", "FedDdrl, random").to_dict() == pytest.approx({0: 60 - 60})
    assert less(rows, "FedMarl", "FedAvg").to_dict() == pytest.approx({0: 0 - 90})
    assert less(rows, "FedMarl", "FedMarl, random").empty


def test_the_agents_at_reduced_learn_as_often_as_in_the_paper():
    def fewest(profile):
        runs = device_runs.runs(profile)
        rows = pd.DataFrame(
            {
                "run": range(len(runs)), "method": [run.method for run in runs],
                "method_options": [json.dumps(run.method_options) for run in runs],
                "rounds": [run.rounds for run in runs],
            }
        )  # fmt: skip
        return device_quantities.updates(rows)

    assert fewest("smoke") < claims.UPDATES <= fewest("reduced") == 10 * 60
    smoke = pd.DataFrame(
        {"run": [0], "method": ["fedmarl"], "method_options": ['{"episodes": 1}'], "rounds": [3]}
    )
    assert claims.TRAINED.check(smoke) == (False, "agents learned in 3 of the 600 rounds of FedDdrl's paper")
