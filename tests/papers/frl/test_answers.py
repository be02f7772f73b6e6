"""Answers of notebook 04 that stand beside a table or a figure, on rows made by hand."""

import json

import pandas as pd

from fedlib.papers.frl import answers


def test_labels_and_volumes_are_compared_with_iid_data():
    """By seed 0 and 0, 9 and 11, 20 and 40 points below; of two seeds t is 12.7, the errors 1 and 10."""
    less = {"fig10": (0, 0), "fig11": (0, 0), "fig12": (0.09, 0.11), "fig13": (0.2, 0.4)}
    rows = pd.DataFrame(
        {"artifact": case, "seed": seed, "round": number, "test_accuracy": 0.7 + 0.1 * number - cut}
        for case, cuts in less.items() for seed, cut in enumerate(cuts) for number in (1, 2)
    )  # fmt: skip
    (told,) = answers.what_do_labels_change(rows)
    assert "+0.00 [+0.00, +0.00] points with uneven volumes" in told
    assert "−10 [−23, +3] points with balanced non-IID labels" in told
    assert "−30 [−157, +97] points with unbalanced ones" in told
    assert answers.what_do_labels_change(rows[rows.artifact == "fig10"]) == []
    assert answers.what_do_labels_change(pd.DataFrame()) == []


def test_how_well_two_dimensions_separate_the_clusters():
    rows = pd.DataFrame({"method": ["pca", "mds"] * 2, "seed": [0, 0, 1, 1], "rand_index": [1, 0.9, 1, 0.7]})
    (told,) = answers.do_updates_separate(rows)
    assert "an index of 1.00 (PCA) and 0.80 (MDS), means over 2 seeds" in told
    assert answers.do_updates_separate(rows[:0]) == []


def test_where_rewards_of_one_sign_drive_the_probabilities():
    """From 0.5 to 0.9 and 0.92 where all are above 0, to 0.1 where none is; mixed signs do not count."""
    rows = pd.DataFrame(
        {
            "seed": [0, 1, 0, 1, 0], "reward": ["plus_10"] * 2 + ["minus_10"] * 2 + ["difference"],
            "rewards_above_0": [1.0, 1.0, 0.0, 0.0, 0.5], "first_chance": 0.5,
            "last_chance": [0.90, 0.92, 0.1, 0.1, 0.5],
        }
    )  # fmt: skip
    up, down = answers.do_signs_decide(rows)
    assert up.startswith(
        "Where all rewards are positive the mean probability moves +41 [+28, +54] points towards 1"
    )
    assert up.endswith("from about a half to 0.910 (C15).")
    assert down.endswith("from about a half to 0.100 (C15).")
    assert down.startswith("Where all rewards are negative the mean probability moves +40")
    assert answers.do_signs_decide(rows[:0]) == []


def test_fairness_at_the_end_of_the_runs():
    rows = pd.DataFrame(
        {
            "method": "schedulerfl", "method_options": ["{}"] * 2 + ['{"policy": "random"}'] * 2,
            "partition_options": json.dumps({"label_skew": "balanced"}), "seed": 0, "round": [1, 20] * 2,
            "num_clients": 100, "participation_variance": [0.1, 30.04, 0.1, 2.0],
            "never_selected": [90, 60, 90, 12],
        }
    )  # fmt: skip
    assert answers.is_it_fair(rows) == [
        "On non-IID data the variance of participation ends at 30.0 under SchedulerFL and 2.0 under random "
        "selection; 60 and 12 of 100 workers never took part."
    ]
    assert answers.is_it_fair(rows[:2]) == []
    assert answers.is_it_fair(rows[:0]) == []
