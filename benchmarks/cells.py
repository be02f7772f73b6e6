"""How long the six cells with N = 100 of FedDRL's table 3 on MNIST and Fashion-MNIST take.

    python -m benchmarks.cells [--profile paper] [--minutes 9] [--rounds T] [--device auto] [--out FOLDER]

FedAvg and FedProx, one seed: twelve runs of the artifact's own plan, from data on the disk to stored
rows, in a store that is thrown away. On a GPU both methods and the partitions of a data set train as one
computation (`experiments.runner.run_runs`). Asked for on a GPU at profile paper: within one 9-minute call.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.common import make_parser, write_results
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.budget import Budget, BudgetExhausted
from fedlib.experiments.progress import Progress
from fedlib.experiments.runner import resolve_device, run_runs
from fedlib.experiments.store import Store
from fedlib.papers.feddrl.runs import CLIENTS, PARTITIONS, base_run, with_methods
from fedlib.run import Run

DATA_SETS = ("mnist", "fmnist")
METHODS = ("fedavg", "fedprox")


def cells(profile: str, rounds: int | None = None) -> list[Run]:
    """The twelve runs; rounds: fewer than the profile has."""
    runs = [
        run
        for data in DATA_SETS
        for partition in PARTITIONS
        for run in with_methods(base_run(profile, "table3", data, partition, max(CLIENTS)), METHODS)
    ]
    return runs if rounds is None else [replace(run, rounds=rounds) for run in runs]


def time_to_finish(runs: Sequence[Run], minutes: float, device: str = "auto") -> dict:
    """Seconds until all are stored, or until the budget is used up; how many are stored by then."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        try:
            run_runs(runs, device=device, store=store, budget=Budget(minutes), progress=Progress())
        except BudgetExhausted as reason:
            print(f"not finished: {reason}", flush=True)
        seconds = time.perf_counter() - began
        found = [stored for run in runs if (stored := store.get(run)) is not None]
    groups = sorted({tuple(stored.provenance["group"]) for stored in found})
    return {
        "profile": runs[0].profile, "rounds": runs[0].rounds, "runs": len(runs), "finished": len(found),
        "runs_trained_together": [len(group) for group in groups], "seconds": seconds,
        "minutes_allowed": minutes,
    }  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--profile", default="paper", choices=PROFILES)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--rounds", type=int, help="fewer rounds than the profile has")
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    record = time_to_finish(cells(args.profile, args.rounds), args.minutes, args.device)
    print("{finished} of {runs} runs of {rounds} rounds in {seconds:.1f} s".format(**record), flush=True)
    write_results("cells", args.out, resolve_device(args.device), records=[record])


if __name__ == "__main__":
    main()
