"""The search over readings of FedDisk's MNIST setting: its grid, and what counts as a fit."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.preflight import check_run_names
from fedlib.papers.feddisk import reading_search
from fedlib.papers.feddisk.runs import readings, run_of, scale_of
from fedlib.reporting.html_tables import html_table


def test_the_grid_has_every_combination_once():
    runs = readings("paper")
    assert len({run.key for run in runs}) == len(runs) == 2 * (4 * 2 * 2 + 2)
    for run in runs:
        check_run_names(run)
    described = [reading_search.describe(run.dataset_options, run.local_steps) for run in runs]
    assert {line["noise times"] for line in described} == {1, 10, 30, 100}
    assert {(line["work"], line["clipped"]) for line in described} == {
        (work, clipped) for work in ("2 epochs", "2 mini-batches") for clipped in (True, False)
    }
    assert {line["outputs"] for line in described} == {10, 16}
    assert {line["images a class"] for line in described} == {6000, 600}


def test_the_first_reading_is_fig3s_fedavg():
    ours = readings("paper")[0]
    setting = scale_of("paper").settings[0]
    same = replace(run_of("paper", setting, "fedavg"), artifact="readings", client_eval="none")
    assert replace(same, eval_every=ours.eval_every) == ours


def made(accuracies, noise, steps=None):
    options = json.dumps({"client_noise": noise})
    return pd.DataFrame(
        {
            "dataset": "mnist", "method": "fedavg", "local_steps": steps, "dataset_options": options,
            "seed": 0, "round": np.arange(1, len(accuracies) + 1), "rounds": len(accuracies),
            reading_search.ACCURACY: accuracies,
        }
    )  # fmt: skip


def peak(level, at, rounds=1000):
    """A curve that rises to `level` in round `at` and falls a little after it."""
    t = np.arange(1, rounds + 1)
    return level - 1e-4 * abs(t - at)


def test_printed_facts():
    assert reading_search.printed() == (51.7, 500)


@pytest.mark.parametrize(("level", "at", "fits"), [(0.53, 480, "yes"), (0.53, 900, "no"), (0.83, 500, "no")])
def test_a_reading_fits_by_level_and_round(level, at, fits):
    table = reading_search.reading_lines(made(peak(level, at), {"strength": 9.0, "noise_as": "std"}))
    line = table.iloc[0]
    assert line.fits == fits
    assert (line["noise times"], line["noise as"], line["best round"]) == (30, "std", at)


def test_rounds_between_evaluations_are_left_out():
    rows = made(peak(0.53, 480), {"strength": 9.0})
    rows.loc[rows["round"] % 10 > 0, reading_search.ACCURACY] = np.nan
    line = reading_search.reading_lines(rows).iloc[0]
    assert (line["best round"], round(line["best"], 3)) == (480, 53)


def test_a_near_level_of_runs_that_end_before_the_printed_round_is_open():
    table = reading_search.reading_lines(made(peak(0.53, 480)[:150] + 0.033, {"strength": 9.0}))
    assert table.fits.tolist() == ["open"]


@pytest.mark.parametrize(
    ("level", "at", "fits"),
    [(0.58, 95, "no"), (0.53, 95, "open"), (0.30, 95, "open"), (0.30, 40, "no"), (0.53, 40, "no")],
)
def test_a_short_run_decides_above_the_level_or_past_its_best(level, at, fits):
    """Of 100 rounds: a best only rises; one in the first half has been passed."""
    line = reading_search.reading_lines(made(peak(level, at, rounds=100), {"strength": 9.0})).iloc[0]
    assert line.fits == fits


def test_two_epochs_have_fewer_rounds_on_all_images_alone():
    rounds = {profile: {run.local_steps: run.rounds for run in readings(profile)} for profile in PROFILES}
    assert rounds["extended"] == {None: 100, 2: 1000}
    assert all(len(set(rounds[profile].values())) == 1 for profile in PROFILES if profile != "extended")


def test_points_off_by_hand():
    line = reading_search.reading_lines(made(peak(0.53, 480), {"strength": 9.0})).iloc[0]
    level = 0.53
    assert line["points off"] == pytest.approx(100 * level - 51.7)


def test_the_answer_names_the_readings_that_come_near():
    """Two of three are within 3 points of 51.7; one of them has its best near round 500."""
    rows = pd.concat(
        [
            made(peak(0.53, 480), {"strength": 9.0, "noise_as": "std"}),
            made(peak(0.50, 900), {"strength": 30.0, "clip": False}, steps=2),
            made(peak(0.83, 500), {"strength": 0.3}),
        ]
    )
    (told,) = reading_search.reading_answer(rows)
    assert told == (
        "On 6000 training images a class (1 seed, up to 1000 rounds) 2 of 3 readings come within 3 points of "
        "the printed 51.7 %. They are 2 epochs, 30 times the noise, as standard deviation (best in round "
        "480); 2 mini-batches, 100 times the noise, not clipped (best in round 900). 1 of these has its best "
        "within 150 rounds of the printed 500. All reach 50.0 to 83.0 %."
    )
    (short,) = reading_search.reading_answer(rows[rows["round"] <= 150].assign(rounds=150))
    assert "None ran long enough to have its best within 150 rounds of the printed 500. All reach" in short
    assert reading_search.reading_answer(rows[:0]) == []
    mini_batches = made(peak(0.83, 500), {"strength": 0.3}, steps=2)
    (alone,) = reading_search.reading_answer(mini_batches)
    assert alone.endswith(" in round 500 (printed: 500). None with 2 epochs was run.")
    (far,) = reading_search.reading_answer(made(peak(0.83, 500), {"strength": 0.3}))
    assert far.endswith(
        " none of 1 reading comes within 3 points of the printed 51.7 %. The nearest, 2 epochs, has its "
        "best, 83.0 %, in round 500 (printed: 500)."
    )


def test_fewer_rounds_of_two_epochs_and_of_images_are_told():
    rows = pd.concat(
        [made(peak(0.83, 80, 100), {"strength": 0.3}), made(peak(0.4, 900), {"strength": 9.0}, 2)]
    )
    (told,) = reading_search.reading_answer(rows)
    assert told.startswith(
        "On 6000 training images a class (1 seed, up to 1000 rounds, 100 of 2 epochs) none"
    )
    assert told.endswith("All reach 40.0 to 83.0 %.")
    tenth = rows.dataset_options.map(lambda given: json.dumps({**json.loads(given), "train_per_class": 600}))
    rows["dataset_options"] = rows.dataset_options.where(rows.local_steps.notna(), tenth)
    (told,) = reading_search.reading_answer(rows)
    assert told.startswith("On up to 6000 training images a class (")


def test_searches_together_take_the_run_with_most_images():
    """Two readings on a tenth; the one that is open there is above the level on all images."""
    first, second = {"strength": 3.0}, {"strength": 9.0}
    tenth = [made(peak(level, 149, 150), noise) for level, noise in ((0.5, first), (0.3, second))]
    tenth = pd.concat(tenth)
    options = tenth.dataset_options.map(json.loads)
    tenth["dataset_options"] = options.map(lambda given: json.dumps({**given, "train_per_class": 600}))
    whole = made(peak(0.6, 99, 100), first)
    assert reading_search.decided_together(tenth, whole) == [
        "**None of the 1 decided reading fits (1 seed each); 1 is open: 2 epochs, 30 times the noise.** Each "
        "is decided by its run with most images, 6000 a class for 1 and 600 a class for 1 of them. 1 "
        "ran too few rounds to fit, ruled out by their level or an early best. The open ones have 30.0 % or "
        "less in runs that ended before round 500."
    ]
    (fits,) = reading_search.decided_together(tenth, made(peak(0.53, 480), second))
    assert fits.startswith(
        "**1 of the 1 decided reading fits (1 seed each): 2 epochs, 30 times the noise; 1 is open: 2 epochs, "
        "10 times the noise.** Each is "
    )
    assert "have 50.0 % or less" in fits
    (none,) = reading_search.decided_together(tenth[tenth.dataset_options.str.contains("3.0")], whole)
    assert none == (
        "**None of the 1 decided reading fits (1 seed each).** Each is decided by its run with most images, "
        "6000 a class for 1 of them. 1 ran too few rounds to fit, ruled out by their level or an early best."
    )
    assert reading_search.decided_together(tenth[:0], whole[:0]) == []
    (alone,) = reading_search.decided_together(tenth, whole[:0])
    assert alone.startswith(
        "**None of the 0 decided readings fits (1 seed each); 2 are open: 2 epochs, 10 times"
    )
    assert "most images" not in alone


def test_headers_name_the_printed_values_and_units():
    """One table of a notebook's width; rounds and images have a column only where they differ."""
    short = made(peak(0.53, 480)[:150], {"strength": 9.0, "noise_as": "std"}, steps=2)
    table = reading_search.reading_table(short)
    assert table["noise: x is a"].tolist() == ["s.d."]
    open_one = reading_search.reading_table(made(peak(0.53, 480)[:150] + 0.033, {"strength": 9.0}))
    assert open_one["within 3 points and 150 rounds"].tolist() == ["too short"]
    assert table.columns.tolist() == [
        "local work a round", "noise: x (times 0.3)", "noise: x is a", "noise: pixels clipped",
        "best accuracy (%), printed 51.7", "round of it, printed 500", "within 3 points and 150 rounds",
    ]  # fmt: skip
    both = reading_search.reading_table(pd.concat([short, made(peak(0.53, 480), {"strength": 9.0})]))
    assert sorted(both["rounds run"]) == [150, 1000]
    assert html_table(both, name="t").count("<table") == 1
    fewer = short.assign(
        dataset_options='{"client_noise": {"strength": 9.0}, "train_per_class": 600, "num_classes": 16}'
    )
    varied = reading_search.reading_table(pd.concat([short, fewer]))
    assert sorted(varied["training images a class"]) == [600, 6000]
    assert sorted(varied["local work a round"]) == ["2 mini-batches", "2 mini-batches, 16 outputs"]
    assert html_table(pd.concat([both, varied]), name="t").count("<table") == 1
