"""Who plays in the head to head, and with which settings."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from fedlib import papers
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.selection import expand
from fedlib.papers.head_to_head import quantities, runs


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


@pytest.mark.parametrize("name", runs.OTHER_SETS)
def test_other_sets_repeat_part_of_the_comparison(name):
    """At `paper` their runs are the comparison's; at `extended` they differ from it by the data set alone."""
    at_paper, own = runs.on_other_set(name, "paper"), runs.on_other_set(name, "extended")
    assert {one.key for one in at_paper} <= {one.key for one in runs.comparison("paper")}
    there = [replace(one, artifact="comparison", dataset="fmnist") for one in own]
    assert {one.key for one in there} <= {one.key for one in runs.comparison("extended")}
    assert len(there) == len(runs.CELLS) * len(runs.RAN_ELSEWHERE[name])
    learned = {name for name, one in runs.CONTESTANTS.items() if one.learns}
    untrained = {name for name, one in runs.CONTESTANTS.items() if one.options.get("agent") == "untrained"}
    assert {runs.CONTESTANTS[name].twin_of for name in untrained} == learned
    assert set(runs.TRANSFERRED) == {"fedavg", "fedyogi", "fedexp"} | learned | untrained
    beside = {"fedavgm", "fedadam", "feddrl_shuffled", "feddrl_permuted"}
    assert set(runs.RAN_ELSEWHERE["full_size"]) == set(runs.TRANSFERRED) | beside
    assert set(runs.RAN_ELSEWHERE[name]) == set(runs.CONTESTANTS)


def test_all_images_are_a_cell_of_the_protocol():
    """The contestants of the second set, in the cell of the search, as `paper` has them."""
    own = runs.full_size("paper")
    assert {one.key for one in own} <= {one.key for one in runs.comparison("paper")}
    assert {(one.dataset, one.partition, one.artifact) for one in own} == {("fmnist", "ce", "comparison")}
    assert not any("train_per_class" in one.dataset_options for one in own)
    names = [quantities.contestant_of(one.method, json.dumps(one.method_options)) for one in own]
    assert names == list(runs.RAN_ELSEWHERE["full_size"])


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
