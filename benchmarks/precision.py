"""What a coarser arithmetic of local training does to accuracy and to speed.

    python -m benchmarks.precision [--rounds 10] [--seeds 3] [--out FOLDER]

FedAvg on the embedded part of Fashion-MNIST (cluster skew, LeNet-size network), the same seeds in each
precision that the device has. Evaluation is float32 throughout, so accuracies differ by what was learned.
"""

import statistics
import time
from dataclasses import replace

from benchmarks.common import default_device, make_parser, write_results
from fedlib.engine import PRECISIONS, check_precision
from fedlib.errors import UsageError
from fedlib.federation import prepare, rounds
from fedlib.methods import make_method
from fedlib.papers.start.runs import curve_runs


def available() -> list[str]:
    """The precisions of this machine."""
    found = []
    for name in PRECISIONS:
        try:
            found.append(check_precision(name, default_device()))
        except UsageError as error:
            print(error)
    return found


def measure(precision: str, num_rounds: int, seeds: int) -> dict:
    """Final test accuracies per seed and seconds for all of them."""
    (run,) = (run for run in curve_runs("smoke") if run.method == "fedavg")
    run = replace(run, rounds=num_rounds, client_eval="none", precision=precision)
    task = prepare([replace(run, seed=seed) for seed in range(seeds)], device=default_device())
    started = time.perf_counter()
    *_, last = rounds(task, make_method("fedavg"))
    seconds = time.perf_counter() - started
    accuracy = [rows[-1]["test_accuracy"] for rows in last.rows]
    return {"precision": precision, "test_accuracy": accuracy, "seconds": seconds}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    records = [measure(name, args.rounds, args.seeds) for name in available()]
    exact = records[0]["test_accuracy"]
    for record in records:
        against = [a - b for a, b in zip(record["test_accuracy"], exact, strict=True)]
        record["mean_difference"] = statistics.fmean(against)
        mean = statistics.fmean(record["test_accuracy"])
        print(
            f"{record['precision']:8} accuracy {mean:.4f}, against float32 {record['mean_difference']:+.4f}, "
            f"{record['seconds']:.1f} s"
        )
    write_results("precision", args.out, default_device(), rounds=args.rounds, records=records)


if __name__ == "__main__":
    main()
