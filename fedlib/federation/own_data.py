"""Tasks of a model and data in memory, so that a method trains in a script without the runner."""

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedlib.data.dataset import Dataset, Split
from fedlib.engine import Samples, Trainer, choose_backend, make_optimizer
from fedlib.errors import check
from fedlib.federation.task import Task, check_run_numbers
from fedlib.models.layers import number_dropouts, replace_layers
from fedlib.run import Run

Labelled = tuple[Tensor, Tensor]  # inputs [n, ...] of the model, in floating point, and labels [n]


def task_of(
    model: nn.Module, clients: Sequence[Labelled], test: Labelled, *, rounds: int = 1, **settings: Any
) -> Task:
    """A task of one run: `rounds(task, method)` trains it, starting from the weights of `model`.

    clients: inputs and labels of each client, on one device, where all is computed. settings: fields of
    `fedlib.run.Run`, such as seed, cohort_size and local_learning_rate; nothing is stored. Images of the
    data set itself, which FedDisk's noise and the server's share are made of, do not exist.
    UsageError for a client without samples, inputs that are not finite, labels that are no whole numbers from
    0 up, or settings out of range.
    """
    check(len(clients) > 0, "no clients given; allowed: one or more, each (inputs, labels)")
    for name, part in [*((f"client {k}", part) for k, part in enumerate(clients)), ("test", test)]:
        _check(name, *part)
    fixed = {"paper": "own", "artifact": "own", "profile": "smoke", "dataset": "own", "partition": "own"}
    run = Run(
        **{**fixed, "model": "own", "method": "own", **settings}, num_clients=len(clients), rounds=rounds
    )
    check_run_numbers(run)
    inputs, labels = (torch.cat(parts) for parts in zip(*clients, strict=True))
    samples = Samples(inputs, labels)
    device, classes = samples.device, 1 + int(max(samples.labels.max(), test[1].max()))
    split = Split(np.zeros((0, 1, 1), np.uint8), np.zeros(0, np.int64))
    names = tuple(str(label) for label in range(classes))
    dataset = Dataset("own", split, split, classes, names, "tensors of the caller", "", "")
    ends = np.cumsum([0, *(len(labels) for _, labels in clients)])
    lists = [np.arange(first, last) for first, last in pairwise(ends)]
    model = number_dropouts(replace_layers(copy.deepcopy(model))).to(device)  # the caller's stays as it is
    optimizer = make_optimizer(run.local_optimizer, run.local_optimizer_options)
    trainer = Trainer(model, choose_backend(model, device), optimizer, run.batch_size)
    return Task((run,), dataset, samples, Samples(*test), [lists], model, trainer, device, starts_with=model)


def _check(name: str, inputs: Tensor, labels: Tensor) -> None:
    count = len(labels)
    check(
        0 < count == len(inputs),
        f"{name} has {len(inputs)} inputs and {count} labels; allowed: 1 or more of each",
    )
    check(
        inputs.is_floating_point() and bool(inputs.isfinite().all()),
        f"{name} has inputs of {inputs.dtype} that are not all finite floating numbers; allowed: only such",
    )
    check(
        labels.dtype == torch.int64 and labels.ndim == 1 and int(labels.min()) >= 0,
        f"{name} has labels {labels.dtype} {tuple(labels.shape)}; allowed: int64 [n], 0 or more",
    )
