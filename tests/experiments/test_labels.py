"""Labels of groups of runs: what tells a description from others of the same name."""

from dataclasses import replace

from fedlib.experiments.labels import distinctions, group_label
from fedlib.run import Run

BASE = Run(
    paper="fake", artifact="grid", profile="smoke", dataset="mnist", method="fedavg", partition="iid",
    model="mlp", num_clients=4, rounds=2, dataset_options={"client_noise": {"strength": 0.3}},
)  # fmt: skip


def labels(*runs):
    told = distinctions(runs)
    return [group_label([run], told) for run in runs]


def test_runs_of_one_name_are_told_apart_by_the_settings_that_differ():
    few = replace(BASE, local_steps=2)
    loud = replace(BASE, dataset_options={"client_noise": {"strength": 3.0, "clip": False}})
    assert labels(BASE, few, loud) == [
        "fake/grid mnist iid N=4 fedavg dataset.client_noise.strength=0.3 seeds 0",
        "fake/grid mnist iid N=4 fedavg local_steps=2 dataset.client_noise.strength=0.3 seeds 0",
        "fake/grid mnist iid N=4 fedavg dataset.client_noise.strength=3.0 "
        "dataset.client_noise.clip=False seeds 0",
    ]


def test_options_of_the_cell_are_left_out_where_its_label_has_them():
    loud = replace(BASE, dataset_options={"client_noise": {"strength": 3.0}}, local_steps=2)
    told = distinctions([BASE, loud], of_cell=False)
    assert told == {BASE.group_key: "", loud.group_key: " local_steps=2"}


def test_a_name_of_its_own_and_the_seeds_of_one_description_need_no_more():
    other, second = replace(BASE, method="fedprox", rounds=3), replace(BASE, seed=1)
    assert labels(BASE, other, second)[1] == "fake/grid mnist iid N=4 fedprox seeds 0"
    assert group_label([BASE, second], distinctions([BASE, second, other])).endswith("fedavg seeds 0,1")


def test_descriptions_that_are_joined_are_counted():
    joined = [BASE, replace(BASE, method="fedprox")]
    assert "fedavg,fedprox (2 descriptions joined)" in group_label(joined, distinctions(joined))
