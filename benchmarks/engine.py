"""Client-steps per second and peak memory of the engine, beside other libraries.

    python -m benchmarks.engine [--clients 10 100] [--models mlp lenet cnn-feddrl] [--out FOLDER]

A client-step is one mini-batch of one client: forward, backward, SGD. Contestants run in one
process, alternating, on the same clients (batch 10, one epoch, lr 0.01); the median of five
repeats counts, after one warm-up. Peak memory is that of a child process which runs one
contestant alone, over a child that only imports. Contestants that are not installed are left out:

- loop, vmap, stacked: the engine's three backends, schedule and local state included;
- pfl-research: `FederatedAveraging.train_one_user` for each client (`pip install "pfl[pytorch]"`),
  on float images made beforehand, without the cost of its backend and callbacks.
"""

import argparse
import importlib.util
import json
import multiprocessing
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from fedlib.local import Samples, Trainer, make_optimizer, make_work, stream_keys
from fedlib.models import count_parameters, make_model
from fedlib.models.layers import step_key
from fedlib.provenance import environment

BATCH, RATE, REPEATS = 10, 0.01, 5
STEPS = {"mlp": 60, "lenet": 20, "cnn-feddrl": 10}  # mini-batches per client in one repeat
RESULTS = Path(__file__).parent / "results"

Contestant = Callable[[], None]


def make_clients(num_clients: int, steps: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Random images [n, 28, 28], labels [n] and one index list per client."""
    rng, size = np.random.default_rng(0), BATCH * steps
    images = rng.integers(0, 256, (num_clients * size, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, len(images))
    return images, labels, list(np.arange(len(images)).reshape(num_clients, size))


def engine(backend: str, model_name: str, num_clients: int, steps: int) -> Contestant:
    """One epoch of all clients on a backend of fedlib."""
    images, labels, lists = make_clients(num_clients, steps)
    samples = Samples.from_arrays(images, labels, mean=[0.13], std=[0.31])
    model = make_model(model_name, image_shape=(1, 28, 28), num_classes=10, generator_seed=0)
    trainer = Trainer(model, backend, make_optimizer("sgd"), BATCH)
    rows = range(num_clients)
    key = stream_keys([0] * num_clients, 1, rows)
    work = make_work(lists, replica=[0] * num_clients, client=rows, key=key, epochs=1, learning_rate=RATE)
    params = {n: p.detach().expand(num_clients, *p.shape) for n, p in model.named_parameters()}
    buffers = {n: b.expand(num_clients, *b.shape) for n, b in model.named_buffers()}

    def run() -> None:
        trainer.train(samples, trainer.start(params, buffers), work)

    return run


def pfl_research(model_name: str, num_clients: int, steps: int) -> Contestant:
    """The same epoch with Apple's pfl-research, one user after the other as it does."""
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    images, labels, lists = make_clients(num_clients, steps)
    x = (torch.from_numpy(images).float()[:, None] / 255 - 0.13) / 0.31
    y = torch.from_numpy(labels)
    network = make_model(model_name, image_shape=(1, 28, 28), num_classes=10, generator_seed=0)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def loss(self, x, y, eval=False):
            with step_key(torch.tensor(1)):
                return torch.nn.functional.cross_entropy(self.network(x), y)

        def metrics(self, x, y, eval=False):
            return {}

    module = Module()
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    users = [Dataset((x[i], y[i])) for i in map(torch.from_numpy, lists)]
    settings = NNTrainHyperParams(local_num_epochs=1, local_learning_rate=RATE, local_batch_size=BATCH)
    algorithm, context = FederatedAveraging(), SimpleNamespace(model_train_params=settings)

    def run() -> None:
        start = model.get_parameters()
        for user in users:
            model.set_parameters(start)
            algorithm.train_one_user(start, model, user, context)
        model.set_parameters(start)

    return run


def contestants(model: str, num_clients: int) -> dict[str, Callable[[], Contestant]]:
    """Name -> a builder, of everything that is installed."""
    steps = STEPS[model]
    found = {
        backend: lambda backend=backend: engine(backend, model, num_clients, steps)
        for backend in ("loop", "vmap", "stacked")
    }
    if importlib.util.find_spec("pfl"):
        found["pfl-research"] = lambda: pfl_research(model, num_clients, steps)
    return found


def measure_speed(model: str, num_clients: int) -> dict[str, list[float]]:
    """Client-steps per second of each contestant, one figure per repeat, alternating."""
    ready = {name: build() for name, build in contestants(model, num_clients).items()}
    for run in ready.values():
        run()
    speeds: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(REPEATS):
        for name, run in ready.items():
            started = time.perf_counter()
            run()
            speeds[name].append(num_clients * STEPS[model] / (time.perf_counter() - started))
    return speeds


def _peak_kib(model: str | None, num_clients: int, name: str, result: multiprocessing.Queue) -> None:
    if model is not None:
        contestants(model, num_clients)[name]()()
    status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits from its parent
    result.put(int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)))


def measure_memory(model: str | None, num_clients: int, name: str) -> float:
    """Peak resident memory in MiB of a fresh process that runs one contestant (none: imports only)."""
    context = multiprocessing.get_context("spawn")
    result = context.Queue()
    child = context.Process(target=_peak_kib, args=(model, num_clients, name, result))
    child.start()
    peak = result.get()
    child.join()
    return peak / 1024


def table(records: list[dict]) -> str:
    """One row per network and number of clients, one column per contestant."""

    frame = pd.DataFrame(records)
    frame["speed"] = frame.apply(lambda r: f"{r.client_steps_per_second:,.0f} ({r.times_loop:.2f}x)", axis=1)
    frame["memory"] = frame.peak_mib.map("{:,.0f} MiB".format)
    wide = frame.pivot(
        index=["model", "parameters", "clients"], columns="contestant", values=["speed", "memory"]
    )
    wide.columns = [f"{name} {what}" if what == "memory" else name for what, name in wide.columns]
    return wide.reset_index().to_string(index=False)


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--models", nargs="+", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    empty = measure_memory(None, 0, "")
    records = []
    for model in args.models:
        template = make_model(model, image_shape=(1, 28, 28), num_classes=10, generator_seed=0)
        for num_clients in args.clients:
            speeds = measure_speed(model, num_clients)
            loop = statistics.median(speeds["loop"])
            for name, values in speeds.items():
                median = statistics.median(values)
                record = {"model": model, "parameters": count_parameters(template), "clients": num_clients}
                record |= {"contestant": name, "client_steps_per_second": median, "times_loop": median / loop}
                record |= {"repeats": values, "peak_mib": measure_memory(model, num_clients, name) - empty}
                records.append(record)
                print(
                    f"{model:12} {num_clients:4} clients  {name:13} {median:9,.0f} client-steps/s", flush=True
                )
    args.out.mkdir(parents=True, exist_ok=True)
    facts = environment(torch.device("cpu"))
    path = args.out / f"engine-{slug(facts['device_name'])}.json"
    settings = {"batch_size": BATCH, "repeats": REPEATS, "threads": torch.get_num_threads()}
    path.write_text(json.dumps({"machine": facts, "settings": settings, "records": records}, indent=1) + "\n")
    print(table(records))
    print(f"written: {path}")


if __name__ == "__main__":
    main()
