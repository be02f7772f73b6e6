"""Tasks of a model and data in memory, so that a method trains in a script without the runner."""

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedlib.data.dataset import Dataset, Split
from fedlib.engine import Samples
from fedlib.errors import check, check_name
from fedlib.federation.task import Task, check_runs, trainer_of
from fedlib.models import output_shape
from fedlib.models.layers import number_dropouts, replace_layers
from fedlib.run import Run

SETTINGS = (  # fields of a run that training reads; data, model and method are given as objects
    "seed", "cohort_size", "local_epochs", "batch_size", "local_optimizer", "local_learning_rate",
    "local_optimizer_options", "eval_every", "client_eval", "precision", "sample_order", "local_steps",
    "mixup_alpha", "mixup_lambda", "episode_rounds",
)  # fmt: skip
Labelled = tuple[Tensor, Tensor]  # inputs [n, ...] of the model, in floating point, and labels [n]


def task_of(
    model: nn.Module, clients: Sequence[Labelled], test: Labelled, *, rounds: int = 1, **settings: Any
) -> Task:
    """A task of one run: `rounds(task, method)` trains it, starting from the weights of `model`.

    clients: inputs and labels of each client, on one device, where all is computed. settings: fields of
    `fedlib.run.Run` among `SETTINGS`, such as seed, cohort_size and local_learning_rate; nothing is stored.
    Images of the data set itself, which FedDisk's noise and the server's share are made of, do not exist.
    UsageError for a client without samples, inputs that are not finite or of several shapes, labels that are
    no whole numbers from 0 up or have no output of the model, or settings that are not read or out of range.
    """
    check(len(clients) > 0, "no clients given; allowed: one or more, each (inputs, labels)")
    for name, part in [*((f"client {k}", part) for k, part in enumerate(clients)), ("test", test)]:
        _check(name, part, clients[0])
    for setting in settings:
        check_name("setting", setting, SETTINGS)
    fixed = {"paper": "own", "artifact": "own", "profile": "smoke", "dataset": "own", "partition": "own"}
    run = Run(
        **{**fixed, "model": "own", "method": "own", **settings}, num_clients=len(clients), rounds=rounds
    )
    device = clients[0][0].device
    check_runs([run], device)
    inputs, labels = (torch.cat(parts) for parts in zip(*clients, strict=True))
    samples = Samples(inputs, labels)
    classes = 1 + int(max(samples.labels.max(), test[1].max()))
    split = Split(np.zeros((0, 1, 1), np.uint8), np.zeros(0, np.int64))
    names = tuple(str(label) for label in range(classes))
    dataset = Dataset("own", split, split, classes, names, "tensors of the caller", "", "")
    ends = np.cumsum([0, *(len(labels) for _, labels in clients)])
    lists = [np.arange(first, last) for first, last in pairwise(ends)]
    model = number_dropouts(replace_layers(copy.deepcopy(model))).to(device)  # the caller's stays as it is
    one = samples.fetch(torch.zeros(1, dtype=torch.int64, device=device))
    made = output_shape("the model", model, one)
    check(
        len(made) == 2 and made[1] >= classes,
        f"the model makes {made} of one input; allowed: (1, {classes}) or wider, for labels to {classes - 1}",
    )
    trainer = trainer_of(run, model, device, lanes=run.clients_per_round, sample=one)
    return Task((run,), dataset, samples, Samples(*test), [lists], model, trainer, device, starts_with=model)


def _check(name: str, part: Labelled, first: Labelled) -> None:
    several = isinstance(part, tuple | list)
    kinds = [type(one).__name__ for one in (part if several else [part])]
    check(
        several and [isinstance(one, Tensor) for one in part] == [True, True],
        f"{name} is of {', '.join(kinds)}, no pair of tensors; allowed: (inputs, labels), of an array by "
        "torch.from_numpy, of a TensorDataset its `tensors`",
    )
    (inputs, labels), count = part, len(part[1])
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
    shape, same = tuple(inputs.shape[1:]), tuple(first[0].shape[1:])
    check(shape == same, f"{name} has inputs of the shape {shape}; allowed: {same}, that of client 0")
