"""Small hand-made worlds for the tests of the round loop."""

import io
from itertools import pairwise

import numpy as np
import torch

from fedlib.data.dataset import Dataset, Split
from fedlib.engine import Samples, Trainer, choose_backend, make_optimizer
from fedlib.federation import Task
from fedlib.models import make_model
from fedlib.run import Run


def make_run(**changes):
    settings = {
        "paper": "test", "artifact": "world", "profile": "smoke", "dataset": "made", "method": "fedavg",
        "partition": "made", "model": "mlp", "num_clients": 4, "rounds": 3, "batch_size": 4,
        "local_epochs": 2, "local_learning_rate": 0.05, "client_eval": "all",
    }  # fmt: skip
    return Run(**{**settings, **changes})


def make_world(
    *, seeds=(0,), sizes=(9, 4, 7, 6), shape=(8, 8), classes=3, device="cpu", model=None, **changes
):
    """A task on random but learnable images: class c is brighter in rows c, c + classes, ...

    model: a module, or the name of a registered one.
    """
    changes.setdefault("num_clients", len(sizes))
    if isinstance(model, str):
        changes["model"], model = model, None
    runs = tuple(make_run(seed=seed, **changes) for seed in seeds)
    rng = np.random.default_rng(0)
    total = sum(sizes)
    labels = rng.integers(0, classes, total)
    images = rng.integers(0, 120, (total, *shape), dtype=np.uint8)
    images[np.arange(shape[0])[None] % classes == labels[:, None]] += 100
    split = Split(images, labels.astype(np.int64))
    names = tuple(str(c) for c in range(classes))
    dataset = Dataset("made", split, split, classes, names, "made by a test", "0", "none")
    starts = np.cumsum([0, *sizes])
    lists = [np.arange(a, b) for a, b in pairwise(starts)]
    samples = Samples.from_arrays(images, labels, mean=[0.4], std=[0.3], device=device)
    run = runs[0]
    template = model or make_model(
        run.model, image_shape=(1, *shape), num_classes=classes, generator_seed=0, **run.model_options
    )
    device = torch.device(device)
    optimizer = make_optimizer(run.local_optimizer, run.local_optimizer_options)
    trainer = Trainer(template.to(device), choose_backend(template, device), optimizer, run.batch_size)
    lists = [lists] * len(runs)
    server = samples if "server_share" in run.dataset_options else None
    return Task(runs, dataset, samples, samples, lists, template, trainer, device, server=server)


def through_a_file(state):
    """The state as a checkpoint gives it back."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)
