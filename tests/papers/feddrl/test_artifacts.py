"""FedDRL's grids: every printed setting at `paper`, and profiles that change sizes only."""

from collections import Counter
from dataclasses import replace

import pytest

from fedlib.experiments import selection
from fedlib.experiments.artifact import USUAL_PROFILES
from fedlib.experiments.preflight import check_run_names
from fedlib.experiments.results import stored_counts
from fedlib.experiments.store import Store
from fedlib.papers import artifacts, find_artifact
from fedlib.papers.feddrl import author_files, length_runs, runs
from fedlib.papers.feddrl.repair import REPAIRED

SIZES = {"profile", "dataset", "dataset_options", "model", "model_options", "rounds", "local_epochs"}


def settings(run):
    """What must not depend on the profile."""
    partition = {k: v for k, v in run.partition_options.items() if k != "images_per_label"}
    method = {k: v for k, v in run.method_options.items() if k != "worker_rounds"}
    rest = {k: v for k, v in run.describe().items() if k not in SIZES}
    return {**rest, "partition_options": partition, "method_options": method}


def test_table3_has_the_printed_settings_at_paper():
    planned = runs.table3("paper")
    assert len(planned) == 18 * 8
    for run in planned:
        assert (run.rounds, run.local_epochs, run.batch_size, run.cohort_size) == (1000, 5, 10, 10)
        assert (run.local_optimizer, run.local_learning_rate, run.eval_every) == ("sgd", 0.01, 1)
        assert run.model == ("vgg11" if run.dataset == "cifar100" else "cnn-feddrl")
        assert (run.dataset_options, run.model_options) == ({}, {})
        if run.method == "fedprox":
            assert run.method_options == {"mu": 0.01}
        if run.partition != "pa":
            assert run.partition_options["delta"] == 0.6
    cells = Counter((run.dataset, run.partition, run.num_clients) for run in planned)
    assert len(cells) == 18
    assert set(cells.values()) == {8}


def test_the_paper_profile_takes_the_authors_images_per_label():
    units = {
        (run.dataset, run.num_clients): run.partition_options["images_per_label"]
        for run in runs.table3("paper")
        if run.partition == "ce"
    }
    assert units == {
        ("cifar100", 10): 80, ("fmnist", 10): 1000, ("mnist", 10): 980,
        ("cifar100", 100): 8, ("fmnist", 100): 100, ("mnist", 100): 96,
    }  # fmt: skip


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_a_profile_changes_sizes_only(profile):
    for run, printed in zip(runs.table3(profile), runs.table3("paper"), strict=True):
        assert settings(run) == settings(printed)
        check_run_names(run)


def test_the_exact_cell_is_part_of_table3():
    whole = {run.group_key for run in runs.table3("paper")}
    planned = selection.expand(find_artifact("feddrl/table3_fmnist_ce_n100"), "paper")
    names = ("fedavg", "fedprox", "feddrl", "feddrl", "feddrl")
    assert [(run.method, run.seed) for run in planned] == [
        (method, seed) for method in names for seed in range(5)
    ]
    drawn = [run for run in planned if "slot_order" in run.method_options]
    assert {run.group_key for run in planned if run not in drawn} <= whole
    assert {run.num_clients for run in planned} == {100}
    assert [run.method_options for run in planned[10::5]] == [
        {"mode": "online"}, {"agent": "untrained"}, {"mode": "online", "slot_order": "drawn"},
    ]  # fmt: skip


GRIDS = [artifact.id for artifact in artifacts("feddrl").values() if artifact.runs("paper")]


@pytest.mark.parametrize("profile", USUAL_PROFILES)
@pytest.mark.parametrize("artifact_id", GRIDS)
def test_every_grid_names_what_exists_and_each_run_has_one_owner(artifact_id, profile):
    planned = find_artifact(artifact_id).runs(profile)
    owners = {run.artifact for run in planned} - {artifact_id.split("/")[1]}
    assert owners <= {"table3", "table4", "fig8", "authors_partitions", "small_setting", "repair_judged"}
    assert {run.key for run in planned if run.artifact == "table3"} <= {r.key for r in runs.table3(profile)}
    for run in planned:
        check_run_names(run)


@pytest.mark.parametrize("profile", USUAL_PROFILES)
def test_no_description_is_computed_twice(profile):
    runs = {run.key: run for artifact_id in GRIDS for run in find_artifact(artifact_id).runs(profile)}
    bare = [replace(run, artifact="").key for run in runs.values()]
    assert len(bare) == len(set(bare))


WITHOUT_CONTROLS = (
    "feddrl/table3_fmnist_ce_n100",  # long runs of the paper's methods
    "feddrl/fedprox_weights",
    "feddrl/baselines_at_length",
    "feddrl/small_sets_at_length",
    "feddrl/clients_at_length",
    "feddrl/delta_ends",
    "feddrl/early_lead",  # controls of their own
    "feddrl/authors_ce_at_length",
    "feddrl/authors_cn_at_length",
    "feddrl/repair_search",
    "feddrl/repair_judged",
    "feddrl/repair_means",
)


def test_grids_without_controls_exist():
    assert set(WITHOUT_CONTROLS) <= set(GRIDS)


@pytest.mark.parametrize("artifact_id", [name for name in GRIDS if name not in WITHOUT_CONTROLS])
def test_controls_stand_beside_feddrl(artifact_id):
    cells = {}
    for run in find_artifact(artifact_id).runs("reduced"):
        options = {k: v for k, v in run.method_options.items() if k != "worker_rounds"}
        cell = replace(run, method="", method_options={}, rounds=1, artifact="").key
        cells.setdefault(cell, []).append((run.method, options))
    for methods in cells.values():
        assert all(runs.VARIANTS[name] in methods for name in ("feddrl", *runs.CONTROLS, "fedavg"))


def test_fig7_and_fig8_span_the_printed_ranges():
    assert {run.cohort_size for run in runs.fig7("paper")} == {10, 20, 30, 40, 50}
    deltas = {(run.partition, run.partition_options["delta"]) for run in runs.fig8("paper")}
    assert deltas == {(name, delta) for name in ("ce", "cn") for delta in (0.2, 0.3, 0.4, 0.5, 0.6)}
    assert {run.dataset for run in runs.fig8("reduced")} == {"fmnist"}


def test_the_ends_of_fig8_at_length_are_runs_of_table3_and_of_one_other_share():
    whole = {run.key for run in runs.table3("extended")}
    planned = length_runs.delta_ends("extended")
    ends = {(run.partition, run.partition_options["delta"], run.key in whole) for run in planned}
    assert ends == {(name, delta, delta == 0.6) for name in ("ce", "cn") for delta in (0.2, 0.6)}
    assert {run.rounds for run in planned} == {1000}
    assert len(planned) == 12
    assert {run.key for run in length_runs.delta_ends("paper")} <= {run.key for run in runs.fig8("paper")}


def test_a_cell_without_groups_has_no_run_with_slots_in_drawn_order():
    drawn = {
        name: sum("slot_order" in run.method_options for run in length_runs.paper_length("extended", name))
        for name in length_runs.LENGTH_CELLS
    }
    assert drawn == {
        "paper_length": 1, "paper_length_cn": 1, "paper_length_pa": 0, "paper_length_mnist": 1,
        "paper_length_mnist_cn": 1, "paper_length_mnist_pa": 0,
        "paper_length_ten": 1,
    }  # fmt: skip


def test_cifar10_is_cut_by_labels_that_are_not_its_own():
    for run in author_files.cifar10_as_run("paper"):
        assert (run.dataset, run.dataset_options, run.model) == ("cifar10", {"num_classes": 100}, "vgg11")
        assert run.partition == "foreign_labels"
    for profile in ("reduced", "paper"):
        cells = {(r.partition_options["scheme"], r.num_clients) for r in author_files.cifar10_as_run(profile)}
        as_stated = {(r.partition, r.num_clients) for r in runs.table3(profile) + runs.table4(profile)}
        assert cells == as_stated


def test_extended_has_the_repaired_agent_in_every_cell_and_leaves_the_others_as_they_were():
    planned = runs.table3("extended")
    cells = {(run.dataset, run.partition, run.num_clients) for run in planned}
    repaired = [run for run in planned if run.method_options == REPAIRED]
    assert {(run.dataset, run.partition, run.num_clients) for run in repaired} == cells
    assert len(cells) == len(runs.EXTENDED_CELLS) + 1
    untrained = [run for run in planned if run.method_options == {**REPAIRED, "agent": "untrained"}]
    assert {(run.dataset, run.partition) for run in untrained} == {("fmnist", "ce"), ("fmnist", "cn")}
    sizes = {(run.rounds, run.local_epochs, run.cohort_size) for run in planned if run.method != "singleset"}
    assert sizes == {(1000, 5, 10)}
    assert {run.rounds for run in planned if run.method == "singleset"} == {200}  # epochs


def test_extended_fig8_is_one_length_and_the_authors_files_have_two_cells():
    planned = runs.fig8("extended")
    assert {run.rounds for run in planned} == {300}
    assert {run.partition_options["delta"] for run in planned} == {0.2, 0.3, 0.4, 0.5, 0.6}
    assert len(planned) == 2 * 5 * len(runs.FEWEST)
    assert len({run.partition_options["path"] for run in author_files.authors_partitions("extended")}) == 2


def test_no_searched_seed_or_image_list_is_judged():
    search, judged = (find_artifact(f"feddrl/{name}") for name in ("repair_search", "repair_judged"))
    assert {run.dataset for run in search.runs("reduced")} == {"fmnist-embedded"}
    assert {run.dataset for run in judged.runs("reduced")} == {"fmnist", "mnist"}
    assert not set(search.seeds["reduced"]) & set(range(judged.seeds["reduced"]))
    assert all("train_per_class" not in run.dataset_options for run in judged.runs("reduced"))


def test_results_are_the_artifacts_own_though_a_file_holds_several(tmp_path):
    """The committed file of table 3 at `paper` has one cell, which is not one of figure 7's."""
    store = Store(tmp_path)
    assert stored_counts(find_artifact("feddrl/fig7"), store) == {"reduced": "results"}
    assert stored_counts(find_artifact("feddrl/table3"), store)["paper"] == "results"
