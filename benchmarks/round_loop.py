"""What a round costs around local training: sampling, aggregation, evaluation, rows, checkpoint.

    python -m benchmarks.round_loop [--rounds 5] [--out FOLDER]

LeNet-size CNN, N = K = 10 IID clients, E = 1, B = 32, the test set evaluated every round: the
setting of `start/sanity`, on random images of Fashion-MNIST's size, so that no data set is needed. Once
each with no further evaluation (what the 10 % of a CPU and the 5 % of a GPU are asked of), and with the
global model on the training data of the cohort and of all clients: 60,000 images more a round.
"""

import statistics
import tempfile
import time
from unittest import mock

import numpy as np

from benchmarks.common import default_device, make_parser, wait_for, write_results
from fedlib.data.dataset import Dataset, Split
from fedlib.engine import Samples, Trainer, make_optimizer, train
from fedlib.experiments.checkpoints import Checkpoint, GroupFolder
from fedlib.experiments.store import FINISHED, Store
from fedlib.federation import Task, client_updates, rounds
from fedlib.federation.task import CLIENT_EVALS
from fedlib.methods import make_method
from fedlib.models import make_model
from fedlib.run import Run

CLIENTS, TRAIN, TEST = 10, 60_000, 10_000
PLAIN = "none"  # the client evaluation of the share that is asked for


class TimedTraining:
    """`fedlib.engine.train`, with the seconds spent in it added up."""

    seconds = 0.0

    def __call__(self, *args, **kwargs):
        device = default_device()
        wait_for(device)
        started = time.perf_counter()
        result = train(*args, **kwargs)
        wait_for(device)
        self.seconds += time.perf_counter() - started
        return result


def make_task(num_rounds: int, *, train: int = TRAIN, test: int = TEST, client_eval: str = PLAIN) -> Task:
    """A task on random images, Fashion-MNIST's number of them unless told otherwise."""
    rng = np.random.default_rng(0)
    splits = [
        Split(rng.integers(0, 256, (n, 28, 28), dtype=np.uint8), rng.integers(0, 10, n))
        for n in (train, test)
    ]
    dataset = Dataset("random", *splits, 10, tuple("0123456789"), "made here", "0", "none")
    run = Run(
        paper="benchmark", artifact="round_loop", profile="smoke", dataset="random", method="fedavg",
        partition="iid", model="lenet", num_clients=CLIENTS, rounds=num_rounds, batch_size=32,
        local_learning_rate=0.05, client_eval=client_eval,
    )  # fmt: skip
    device = default_device()
    model = make_model("lenet", image_shape=(1, 28, 28), num_classes=10, generator_seed=0).to(device)
    scale = {"mean": [0.29], "std": [0.35], "device": device}
    samples = [Samples.from_arrays(s.images, s.labels, **scale) for s in splits]
    lists = [list(np.arange(train).reshape(CLIENTS, -1))]
    trainer = Trainer(model, "stacked", make_optimizer("sgd"), run.batch_size)
    return Task((run,), dataset, *samples, lists, model, trainer, device)


def measure(num_rounds: int, client_eval: str = PLAIN, **sizes: int) -> list[dict[str, float | str]]:
    """Seconds of each round: in all, and in local training. Every round ends with a checkpoint on disk and,
    the last one, with the rows of the run in a store, as the suite writes them."""
    task, records, rows = make_task(num_rounds, client_eval=client_eval, **sizes), [], []
    local_training, before = TimedTraining(), 0.0
    timed = mock.patch.object(client_updates, "train", local_training)
    with tempfile.TemporaryDirectory() as folder, timed:
        store = Store(folder)
        checkpoints = GroupFolder(store, task.runs)
        started = time.perf_counter()
        for result in rounds(task, make_method("fedavg")):
            rows += result.rows[0]
            checkpoints.save(Checkpoint(result.round, [rows], {}, [], result.state))
            if result.round == num_rounds:
                store.put(task.run, rows=rows, provenance={}, status=FINISHED)
            wait_for(task.device)
            total, local = time.perf_counter() - started, local_training.seconds - before
            if result.round > 1:  # the first rounds warm up
                seconds = {"round_seconds": total, "local_seconds": local}
                records.append({"client_eval": client_eval, **seconds, "share": 1 - local / total})
            started, before = time.perf_counter(), local_training.seconds
    return records


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    records, shares = [], {}
    for kind in CLIENT_EVALS:
        found = measure(args.rounds, kind)
        shares[kind] = statistics.median(r["share"] for r in found)
        seconds = statistics.median(r["round_seconds"] for r in found)
        print(
            f"client_eval {kind}: round {seconds:.2f} s, of which around local training {shares[kind]:.1%} "
            f"(median of {len(found)} rounds)",
            flush=True,
        )
        records += found
    write_results(
        "round-loop", args.out, default_device(), share_median=shares[PLAIN], shares=shares, records=records
    )


if __name__ == "__main__":
    main()
