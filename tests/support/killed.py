"""Smallest runs of every method at smoke, each begun in a process of its own that is killed half-way.

As a script: `killed.py STORE` forks one process per method, which SIGKILL ends after a checkpoint. Nothing is
computed before the forks: threads of OpenMP do not survive one.
"""

import os
import signal
import sys
from dataclasses import replace

import torch

from fedlib.experiments.progress import Silent
from fedlib.experiments.runner import run_runs
from fedlib.methods import METHODS
from fedlib.papers import artifacts
from fedlib.run import Run

SMALL = {"train_per_class": 24, "test_per_class": 10}


class Kill(Silent):
    """SIGKILL in the round after the middle; the rounds before it have their checkpoints."""

    def __init__(self, run: Run):
        super().__init__()
        self.last = run.rounds // 2 + 1

    def update(self, done_rounds, metrics):
        if done_rounds == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def smallest_runs() -> dict[str, Run]:
    """Method -> its cheapest run in the papers' smoke grids, on fewer images."""
    found: dict[str, Run] = {}
    grids = [artifact.runs("smoke") for artifact in artifacts().values() if "smoke" in artifact.profiles]
    for run in sorted((run for grid in grids for run in grid), key=_cost):
        found.setdefault(run.method, run)
    found["fedsgd"] = replace(found["fedavg"], method="fedsgd")
    favor = found["favor"]  # its pretraining is most of it
    found["favor"] = replace(favor, method_options={**favor.method_options, "episodes": 1})
    return {name: replace(found[name], dataset_options=_fewer(found[name])) for name in METHODS}


def _cost(run: Run) -> tuple[bool, int]:
    """Generated data cost more than all of the training."""
    steps = run.rounds * (run.cohort_size or run.num_clients) * run.local_epochs
    return run.dataset != "fmnist-embedded", steps


def _fewer(run: Run) -> dict:
    given = dict(run.dataset_options)
    fits = run.dataset == "fmnist-embedded" and run.method not in ("evaluatorfl", "schedulerfl")
    return given | {k: min(v, given.get(k, v)) for k, v in SMALL.items()} if fits else given


def begin_and_kill(run: Run, store: str) -> int:
    """The wait status of a process that computes the run until it is killed."""
    if (child := os.fork()) == 0:
        run_runs([run], device="cpu", store=store, progress=Kill(run), checkpoint_seconds=0.0)
        os._exit(0)
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name, run in smallest_runs().items():
        status = begin_and_kill(run, sys.argv[1])
        print(name, "killed" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else status)
