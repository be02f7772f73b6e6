"""One episode of FedDdrl at the reduced profile: all clients together, and one client after the other.

    python -m benchmarks.episode [--roles MNIST CIFAR-10] [--seeds 3] [--repeats 3] [--out FOLDER]

An episode is 15 rounds with 10 clients each: a probing epoch, decisions, 0, 2, 4 or 6 further epochs,
aggregation, accuracy for the reward and for the row, one step of each VDN. Two ways take turns:

- engine: the seeds are replicas on the client axis, the backend is the engine's own choice;
- one by one: the same runs one seed after the other on the `loop` backend, which trains a client,
  then the next, mini-batch by mini-batch, as the paper's Algorithm 2 reads.

The epsilon-greedy decisions come from named streams; the rows of both ways say how many uploads
they made, so that it shows if a decision differed.
"""

import itertools
import statistics
import time
from dataclasses import replace

from benchmarks.common import default_device, make_parser, wait_for, write_results
from fedlib.federation import prepare, rounds
from fedlib.methods import make_method
from fedlib.papers.fedddrl import runs as grid
from fedlib.run import Run


def make_runs(role: str, num_seeds: int) -> list[Run]:
    """FedDdrl's first training episode at the reduced profile."""
    run = grid.make_run("reduced", "benchmark", role, grid.TABLE4["fedddrl"])
    options = {**run.method_options, "episodes": 1}
    one = replace(run, method_options=options, rounds=2 * grid.scale_of("reduced").rounds)
    return [replace(one, seed=seed) for seed in range(num_seeds)]


def play(runs: list[Run], backend: str) -> tuple[float, float, int]:
    """Wall and CPU seconds of the rounds (data and partition are ready before), and uploads made."""
    task = prepare(runs, device=default_device(), backend=backend)
    method = make_method(runs[0].method, runs[0].method_options)
    results = itertools.islice(rounds(task, method), 1 + runs[0].rounds_per_episode)
    next(results)  # the initial models and their accuracy
    wait_for(task.device)
    wall, cpu = time.perf_counter(), time.process_time()
    uploads = sum(row["uploads"] for result in results for rows in result.rows for row in rows)
    wait_for(task.device)
    return time.perf_counter() - wall, time.process_time() - cpu, int(uploads)


def measure(role: str, num_seeds: int, repeats: int) -> list[dict[str, float]]:
    """Both ways in turn, `repeats` times."""
    runs, records = make_runs(role, num_seeds), []
    play(runs[:1], "auto")  # warms up
    for _ in range(repeats):
        together = play(runs, "auto")
        singly = [sum(values) for values in zip(*(play([run], "loop") for run in runs), strict=True)]
        record = {"ratio": singly[0] / together[0], "cpu_ratio": singly[1] / together[1]}
        for way, found in (("engine", together), ("one_by_one", singly)):
            record |= dict(
                zip((f"{way}_seconds", f"{way}_cpu_seconds", f"{way}_uploads"), found, strict=True)
            )
        records.append(record)
        print(", ".join(f"{name} {value:.4g}" for name, value in record.items()), flush=True)
    return records


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--roles", nargs="+", default=["MNIST", "CIFAR-10"], choices=list(grid.ALPHAS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    found = []
    for role in args.roles:
        records = measure(role, args.seeds, args.repeats)
        ratio, cpu_ratio = (statistics.median(r[name] for r in records) for name in ("ratio", "cpu_ratio"))
        found.append({"role": role, "ratio_median": ratio, "cpu_ratio_median": cpu_ratio, "records": records})
        print(
            f"one episode, {role}, {args.seeds} seeds: {ratio:.2f} times as fast as one by one "
            f"({cpu_ratio:.2f} in CPU seconds), medians",
            flush=True,
        )
    write_results("episode", args.out, default_device(), seeds=args.seeds, episodes=found)


if __name__ == "__main__":
    main()
