"""As a script: `limited.py STORE MIB` trains eight seeds in a process that may grow by so many MiB.

The limit is that of `ulimit -v`, set after the imports, so that it does not depend on the size of a library.
"""

import resource
import sys

import psutil
import torch

from fedlib.experiments.progress import Progress, Silent
from fedlib.experiments.runner import run_runs
from fedlib.run import Run

EIGHT = [
    Run(
        paper="start", artifact="curves", profile="smoke", dataset="fmnist-embedded", partition="iid",
        model="cnn-mcmahan", method="fedavg", num_clients=2, rounds=1, seed=seed,
        dataset_options={"train_per_class": 4, "test_per_class": 4},
    )
    for seed in range(8)
]  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    store, mib = sys.argv[1], int(sys.argv[2])
    run_runs(EIGHT[:1], device="cpu", store=store + "-before", progress=Silent())  # imports, loads the data
    limit = psutil.Process().memory_info().vms + mib * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    run_runs(EIGHT, device="cpu", store=store, progress=Progress())
