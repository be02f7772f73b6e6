"""The cells of table 3 on the authors' own partition files."""

import json

import pandas as pd

from fedlib.papers.feddrl import author_files, quantities, runs
from fedlib.papers.feddrl.repair import REPAIRED


def test_every_cell_names_its_file():
    planned = author_files.authors_partitions("reduced")
    cells = {(run.dataset, run.num_clients, run.partition_options["path"]) for run in planned}
    assert len(cells) == 18
    assert ("fmnist", 100, "feddrl_partitions/fashion_mnist_cn_n100.json") in cells
    assert ("cifar10-jpeg", 10, "feddrl_partitions/cifar_pa_n10.json") in cells
    assert len(planned) == 18 * len(runs.FEDERATED)
    assert all("train_per_class" not in run.dataset_options for run in planned)  # the files number all images
    repeats = {run.partition_options["path"] for run in planned if run.partition_options.get("allow_repeats")}
    assert len(repeats) == 6
    assert all("_pa_" in path for path in repeats)
    assert not author_files.authors_partitions("smoke")


def test_two_cells_at_length_are_runs_of_their_table():
    whole = {run.key for run in author_files.authors_partitions("extended")}
    for scheme in runs.CLUSTERED:
        planned = author_files.at_length("extended", scheme)
        left_out = {"uniform"} if scheme == "ce" else set()  # FedAvg's there
        wanted = [runs.VARIANTS[name] for name in runs.FEDERATED if name not in left_out]
        wanted += [("feddrl", REPAIRED), ("feddrl", runs.DRAWN)]
        assert [(run.method, run.method_options) for run in planned] == wanted
        assert {run.key for run in planned} - whole == {run.key for run in planned[-2:]}
        assert {(run.rounds, scheme in run.partition_options["path"]) for run in planned} == {(1000, True)}


def test_their_cifar_cells_are_those_of_a25():
    runs = [run for run in author_files.authors_partitions("paper") if run.dataset == "cifar10"]
    assert {run.dataset_options["num_classes"] for run in runs} == {100}
    assert {(run.model, run.rounds) for run in runs} == {("vgg11", 1000)}


def test_ten_clients_train_on_all_images_in_half_the_rounds_at_reduced():
    runs = author_files.authors_partitions("reduced")
    assert {(run.num_clients, run.rounds) for run in runs} == {(10, 20), (100, 40)}
    workers = {
        (run.num_clients, run.method_options["worker_rounds"])
        for run in runs
        if "worker_rounds" in run.method_options
    }
    assert workers == {(10, 10), (100, 20)}


def test_fig8_on_their_files_borrows_its_last_point():
    runs = author_files.authors_deltas("paper")
    names = {run.partition_options["path"].removeprefix("feddrl_partitions/fashion_mnist_") for run in runs}
    deltas = ("_delta20", "_delta30", "_delta40", "_delta50", "")
    assert names == {f"{scheme}_n100{delta}.json" for scheme in ("ce", "cn") for delta in deltas}
    lent = {run.key for run in runs if run.artifact == "authors_partitions"}
    assert lent < {run.key for run in author_files.authors_partitions("paper")}
    options = [json.dumps({"path": f"a/fashion_mnist_cn_n100{delta}.json"}) for delta in ("_delta20", "")]
    assert [quantities.partition_setting(text, "delta") for text in options] == [0.2, 0.6]
    assert quantities.partition_setting(json.dumps({"delta": 0.3, "spread": 1}), "delta") == 0.3


def test_a_file_counts_as_the_scheme_that_cut_it():
    options = [json.dumps({"path": f"feddrl_partitions/mnist_{name}_n10.json"}) for name in ("pa", "ce")]
    rows = pd.DataFrame(
        {"method": "fedavg", "method_options": "{}", "partition": "from_file", "status": "ok",
         "partition_options": options, "dataset": "mnist", "num_clients": 10, "round": 1, "seed": 0}
    )  # fmt: skip
    assert quantities.named(rows).partition.tolist() == ["pa", "ce"]
