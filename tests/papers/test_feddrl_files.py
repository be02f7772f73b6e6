"""The cells of table 3 on the authors' own partition files."""

import json

import pandas as pd

from fedlib.papers import feddrl_analysis as analysis
from fedlib.papers import feddrl_grid as grid


def test_every_cell_of_two_data_sets_names_its_file():
    runs = grid.authors_partitions("reduced")
    cells = {(run.dataset, run.num_clients, run.partition_options["path"]) for run in runs}
    assert len(cells) == 12
    assert ("fmnist", 100, "feddrl_partitions/fashion_mnist_cn_n100.json") in cells
    assert len(runs) == 12 * len(grid.FEDERATED)
    assert all("train_per_class" not in run.dataset_options for run in runs)  # the files number all images
    repeats = {run.partition_options["path"] for run in runs if run.partition_options.get("allow_repeats")}
    assert all("_pa_" in path for path in repeats)
    assert not grid.authors_partitions("smoke")


def test_a_file_counts_as_the_scheme_that_cut_it():
    options = [json.dumps({"path": f"feddrl_partitions/mnist_{name}_n10.json"}) for name in ("pa", "ce")]
    rows = pd.DataFrame(
        {"method": "fedavg", "method_options": "{}", "partition": "from_file", "status": "ok",
         "partition_options": options, "dataset": "mnist", "num_clients": 10, "round": 1, "seed": 0}
    )  # fmt: skip
    assert analysis.named(rows).partition.tolist() == ["pa", "ce"]
