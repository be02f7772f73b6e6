"""What the benchmarks share: networks, random clients, one row of settings, and where results go."""

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.networks import NETWORKS
from fedlib.engine import (
    Samples,
    Trainer,
    choose_backend,
    choose_precision,
    keep_freed_memory,
    make_optimizer,
    make_work,
    pass_lanes,
    stream_keys,
    train,
)
from fedlib.experiments.provenance import environment
from fedlib.federation import clients_at_once
from fedlib.files import write_atomically
from fedlib.models import count_parameters, make_model
from fedlib.models.layers import step_key

RESULTS = Path(__file__).parent / "results"
FIGURES = Path(__file__).parents[1] / "figures" / "benchmarks"

Contestant = Callable[[], None]


def default_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def make_network(name: str, **options: Any) -> nn.Module:
    """A network of the suite with ten classes."""
    return make_model(name, image_shape=NETWORKS[name].shape, num_classes=10, generator_seed=0, **options)


def watch_layers(model: str, hook: Callable[..., None], wanted: Callable[[nn.Module], bool]) -> None:
    """Call `hook(layer, inputs, output)` for each wanted layer in one forward pass of a mini-batch."""
    network = make_network(model).eval()
    for layer in filter(wanted, network.modules()):
        layer.register_forward_hook(hook)
    with torch.no_grad(), step_key(torch.tensor(0)):
        network(torch.zeros(NETWORKS[model].batch, *NETWORKS[model].shape))


@dataclass(frozen=True)
class Clients:
    """Random images [n, ...], labels [n], one index list per client, and how many images a mini-batch has."""

    images: np.ndarray
    labels: np.ndarray
    lists: list[np.ndarray]
    batch: int

    @classmethod
    def of(cls, model: str, count: int, steps: int, batch: int | None = None) -> "Clients":
        """`count` clients with `steps` mini-batches each; batch: the network's own unless told."""
        batch = batch or NETWORKS[model].batch
        rng, size = np.random.default_rng(0), batch * steps
        channels, *sides = NETWORKS[model].shape
        shape = sides if channels == 1 else [*sides, channels]
        images = rng.integers(0, 256, (count * size, *shape), dtype=np.uint8)
        lists = list(np.arange(len(images)).reshape(count, size))
        return cls(images, rng.integers(0, 10, len(images)), lists, batch)

    def samples(self, device: torch.device) -> Samples:
        """For the engine: uint8 on the device."""
        channels = self.images.shape[3] if self.images.ndim == 4 else 1
        scale = {"mean": [0.13] * channels, "std": [0.31] * channels}
        return Samples.from_arrays(self.images, self.labels, **scale, device=device)

    def floats(self) -> tuple[torch.Tensor, torch.Tensor]:
        """For the others: normalised float images [n, channels, height, width] and labels."""
        samples = self.samples(torch.device("cpu"))
        return samples.fetch(torch.arange(len(self.labels))), samples.labels


def engine(
    model: str,
    clients: Clients,
    *,
    backend: str = "auto",
    device: torch.device | None = None,
    capture: bool | None = None,
    precision: str = "float32",
    change: Callable[[Trainer], Trainer] = lambda trainer: trainer,
    **options: Any,
) -> Contestant:
    """One epoch of all clients on fedlib's engine; backend auto: its own choice, passes included.

    capture: as `Trainer`'s. precision: asked for, as a run does. change: what is done to the trainer before.
    """
    device, count, local = device or default_device(), len(clients.lists), NETWORKS[model]
    if device.type == "cpu":
        keep_freed_memory()  # as a run does; what else is timed in this process gains from it too
    network = make_network(model, **options).to(device)
    precision = choose_precision(precision, network, device, backend)
    widest = None
    if backend == "auto":
        backend = choose_backend(network, device, lanes=count, precision=precision)
        widest = pass_lanes(count_parameters(network), backend, device)
    optimizer = make_optimizer(local.optimizer, local.options)
    settings = {"max_lanes": widest, "precision": precision, "capture": capture}
    trainer = change(Trainer(network, backend, optimizer, clients.batch, **settings))
    samples = clients.samples(device)
    works = [
        make_work(
            [clients.lists[client] for client in part], replica=[0] * len(part), client=part,
            key=stream_keys([0] * len(part), 1, part), epochs=1, learning_rate=local.rate, device=device,
        )
        for part in np.array_split(range(count), -(-count // models_at_once(network)))
    ]  # fmt: skip

    def run() -> None:
        for work in works:
            params = {n: p.detach().expand(len(work), *p.shape) for n, p in network.named_parameters()}
            buffers = {n: b.expand(len(work), *b.shape) for n, b in network.named_buffers()}
            train(trainer, samples, trainer.start(params, buffers), work)
        wait_for(device)

    return run


def models_at_once(network: nn.Module) -> int:
    """How many local models of a network are kept at once before they are averaged, as in a run."""
    return clients_at_once(sum(t.numel() * t.element_size() for t in network.state_dict().values()))


def wait_for(device: torch.device) -> None:
    """Until the device has done what it was given: before a clock is read."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(run: Contestant) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def best_seconds(run: Contestant, repeats: int = 3) -> float:
    """The least of a few runs after a warm-up: what the code costs without what disturbed it."""
    run()
    return min(seconds_of(run) for _ in range(repeats))


def contest(runs: dict[str, Contestant], repeats: int = 7) -> dict[str, list[float]]:
    """Seconds of each contestant's repeats after a warm-up; they alternate, every second time backwards.

    So a slower minute of the machine is slower for all, and nobody always comes first.
    """
    for run in runs.values():
        run()
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(repeats):
        for name in (list(runs), list(runs)[::-1])[number % 2]:
            found[name].append(seconds_of(runs[name]))
    return found


def times_as_fast(ours: list[float], theirs: list[float]) -> float:
    """The median over repeats of their seconds by ours."""
    return statistics.median(b / a for a, b in zip(ours, theirs, strict=True))


def make_parser(doc: str, *, models: Collection[str] = ()) -> argparse.ArgumentParser:
    """Options of every benchmark: `--out`, and `--models` of these; doc: its first line is the help."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    if models:
        parser.add_argument("--models", nargs="+", default=list(models), choices=list(models))
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def results_path(name: str, folder: Path, device: torch.device | None = None) -> Path:
    """`<name>-<device>.json`."""
    return folder / f"{name}-{slug(environment(device or default_device())['device_name'])}.json"


def write_results(name: str, folder: Path, device: torch.device | None = None, **payload: Any) -> Path:
    """`<name>-<device>.json` with the machine's description."""
    facts = environment(device or default_device())
    path = results_path(name, folder, device)
    write_atomically(path, (json.dumps({"machine": facts, **payload}, indent=1) + "\n").encode())
    print(f"written: {path.name}", flush=True)
    return path
