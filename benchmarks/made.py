"""100 MADEs trained stacked, beside the same MADEs trained one after the other.

    python -m benchmarks.made [--clients 100] [--repeats 3] [--out FOLDER]

FedDisk trains a density model on every client: 784-30-784 units, Adagrad, one epoch a repeat, on all
cores. Two sizes: the paper's MNIST clients (510 images, batch 100) and those of profile reduced (51
images, batch 10). Contestants alternate in one process; the median of the repeats counts, after one
warm-up.

- stacked: all clients as one computation, as phase 1 does (`fedlib.methods.feddisk.density_models`);
- loop: the engine's readable reference, one client after the other with torch.optim;
- plain: PyTorch as one would write it for a single MADE, without any part of the engine.
"""

import statistics
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from benchmarks.common import Contestant, contest, default_device, make_parser, wait_for, write_results
from fedlib.engine import (
    Batch,
    Objective,
    Samples,
    Trainer,
    density_losses,
    make_optimizer,
    make_work,
    pass_lanes,
    stream_keys,
    train,
)
from fedlib.models import count_parameters
from fedlib.models.made import make_made, negative_log_likelihood

FEATURES, HIDDEN, RATE = 784, 30, 0.01
SIZES = {"paper": (510, 100), "reduced": (51, 10)}  # images of a client, batch


def make_images(num_clients: int, images: int) -> Tensor:
    """[clients * images, 784] random values in [0, 1]."""
    pixels = torch.rand(num_clients * images, FEATURES, generator=torch.Generator().manual_seed(0))
    return pixels.to(default_device())


def engine(backend: str, num_clients: int, images: int, batch: int) -> Contestant:
    """One epoch of all clients on a backend of the engine."""
    pixels = make_images(num_clients, images)
    samples = Samples(pixels, torch.zeros(len(pixels), dtype=torch.int64, device=pixels.device))
    objective = Objective(density_losses, _inputs_as_targets)
    device = pixels.device
    model = make_made(FEATURES, hidden=HIDDEN).to(device)
    widest = pass_lanes(count_parameters(model), backend, device)
    trainer = Trainer(model, backend, make_optimizer("adagrad"), batch, objective, max_lanes=widest)
    rows = range(num_clients)
    lists = list(np.arange(len(pixels)).reshape(num_clients, images))
    key = stream_keys([0] * num_clients, 1, rows)
    work = make_work(
        lists, replica=[0] * num_clients, client=rows, key=key, epochs=1, learning_rate=RATE, device=device
    )
    start = {n: p.detach().expand(num_clients, *p.shape) for n, p in model.named_parameters()}

    def run() -> None:
        train(trainer, samples, trainer.start(start, {}), work)
        wait_for(device)

    return run


def _inputs_as_targets(samples: Samples, batch: Batch) -> tuple[Tensor, Batch]:
    x = samples.fetch(batch.index)
    return x, replace(batch, targets=x)


def plain(num_clients: int, images: int, batch: int) -> Contestant:
    """The same epoch with nothing but PyTorch, one MADE after the other."""
    pixels = make_images(num_clients, images).view(num_clients, images, FEATURES)
    model = make_made(FEATURES, hidden=HIDDEN).to(pixels.device)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    def run() -> None:
        for own in pixels:
            model.load_state_dict(start)
            optimizer = torch.optim.Adagrad(model.parameters(), lr=RATE)
            for at in torch.randperm(images).to(pixels.device).split(batch):
                optimizer.zero_grad()
                negative_log_likelihood(model(own[at]), own[at]).mean().backward()
                optimizer.step()
        wait_for(pixels.device)

    return run


def measure(num_clients: int, size: str, repeats: int) -> list[dict]:
    """One record per contestant; speed-up against the quicker of the two that go one after the other."""
    given = (num_clients, *SIZES[size])
    runs = {"stacked": engine("stacked", *given), "loop": engine("loop", *given), "plain": plain(*given)}
    seconds = contest(runs, repeats)
    median = {name: statistics.median(values) for name, values in seconds.items()}
    slow = min(median["loop"], median["plain"])
    common = {"size": size, "clients": num_clients, "images": given[1], "batch": given[2]}
    return [
        {**common, "contestant": n, "seconds": median[n], "times": slow / median[n], "repeats": values}
        for n, values in seconds.items()
    ]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    records = []
    for size in SIZES:
        for record in measure(args.clients, size, args.repeats):
            records.append(record)
            print(
                f"{size:8} {record['contestant']:8} {record['seconds']:.3f} s ({record['times']:.2f}x)",
                flush=True,
            )
    threads = torch.get_num_threads()
    settings = {"features": FEATURES, "hidden": HIDDEN, "optimizer": "adagrad", "threads": threads}
    write_results("made", args.out, default_device(), settings=settings, records=records)


if __name__ == "__main__":
    main()
