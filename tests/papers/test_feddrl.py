"""FedDRL's grids: every printed setting at `paper`, and profiles that change sizes only."""

from collections import Counter

import pytest

from fedlib import grid as suite_grid
from fedlib.papers import PROFILES, find_artifact
from fedlib.papers import feddrl_grid as grid

SIZES = {"profile", "dataset", "dataset_options", "model", "rounds", "local_epochs"}


def settings(run):
    """What must not depend on the profile."""
    partition = {k: v for k, v in run.partition_options.items() if k != "images_per_label"}
    rest = {k: v for k, v in run.describe().items() if k not in SIZES}
    return {**rest, "partition_options": partition}


def test_table3_has_the_printed_settings_at_paper():
    runs = grid.table3("paper")
    assert len(runs) == 18 * 8
    for run in runs:
        assert (run.rounds, run.local_epochs, run.batch_size, run.cohort_size) == (1000, 5, 10, 10)
        assert (run.local_optimizer, run.local_learning_rate, run.eval_every) == ("sgd", 0.01, 1)
        assert run.model == ("vgg11" if run.dataset == "cifar100" else "cnn-feddrl")
        assert (run.dataset_options, run.model_options) == ({}, {})
        if run.method == "fedprox":
            assert run.method_options == {"mu": 0.01}
        if run.partition != "pa":
            assert run.partition_options["delta"] == 0.6
    cells = Counter((run.dataset, run.partition, run.num_clients) for run in runs)
    assert len(cells) == 18
    assert set(cells.values()) == {8}


def test_the_paper_profile_takes_the_authors_images_per_label():
    units = {
        (run.dataset, run.num_clients): run.partition_options["images_per_label"]
        for run in grid.table3("paper")
        if run.partition == "ce"
    }
    assert units == {
        ("cifar100", 10): 80, ("fmnist", 10): 1000, ("mnist", 10): 980,
        ("cifar100", 100): 8, ("fmnist", 100): 100, ("mnist", 100): 96,
    }  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_changes_sizes_only(profile):
    for run, printed in zip(grid.table3(profile), grid.table3("paper"), strict=True):
        assert {**settings(run), "profile": ""} == {**settings(printed), "profile": ""}
        suite_grid.check_names(run)


def test_the_full_scale_cell_is_part_of_table3():
    whole = {run.key for run in grid.table3("paper")}
    runs = suite_grid.expand(find_artifact("feddrl/table3_fmnist_ce_n100"), "paper")
    assert [run.method for run in runs] == ["fedavg", "fedprox", "feddrl"]
    assert {run.key for run in runs} <= whole
    assert {run.num_clients for run in runs} == {100}
    assert runs[2].method_options == {"mode": "online"}
