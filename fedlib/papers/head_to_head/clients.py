"""Clients of the comparison, from stored rows: their images, and how long a round waits for them.

In simulated time clients have FedDdrl's devices (`fedlib.methods.fedddrl.devices`), a function of (seed,
client), as in the section on time. A round lasts as long as the slowest of its clients: its local epochs,
then an upload of every model that it sends. Losses that the server asks for take no time, nor does training
before round 1.
"""

import functools
import json
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd

from fedlib import seeds
from fedlib.analysis.memo import once_per_frame
from fedlib.analysis.tables import json_lists, listed, span_words
from fedlib.methods.fedddrl.devices import draw_devices
from fedlib.papers.head_to_head.quantities import labelled
from fedlib.partition import make_partition
from fedlib.partition.noise import split_within_clients

CLASSES = 10  # of every data set of the protocol
WHOLE = {"fmnist": 6000, "cifar10": 5000}  # training images of each class, where all classes have as many


@dataclass(frozen=True)
class Sizes:
    """Images of a cell's clients, those of one seed after those of another: for training, held back."""

    trained: tuple[int, ...]
    held: tuple[int, ...]
    batch: int
    seeds: int = 1

    @property
    def steps(self) -> list[int]:
        """Local steps of a client in a round of one epoch."""
        return [-(-size // self.batch) for size in self.trained]

    @property
    def total(self) -> int:
        """Images of all clients together, mean over the seeds."""
        return (sum(self.trained) + sum(self.held)) // self.seeds


def client_sizes(rows: pd.DataFrame) -> dict[str, Sizes]:
    """Cell -> images of its clients, from the options that rows have; no cell on all images of MNIST.

    As many images of each class are divided, so the sizes follow without the images.
    """
    found = {}
    for cell, part in labelled(rows).groupby("cell", sort=False):
        first, drawn = part.iloc[0], part.seed.unique()
        given = json.loads(first.dataset_options)
        if (images := given.get("train_per_class", WHOLE.get(first.dataset))) is None:
            continue
        held = given["local_test"]
        options = (images, held, first.partition, first.partition_options, int(first.num_clients))
        divided = [_divided(*options, seed=int(seed)) for seed in drawn]
        own, held = (tuple(chain.from_iterable(one[at] for one in divided)) for at in (0, 1))
        found[str(cell)] = Sizes(own, held, int(first.batch_size), len(drawn))
    return found


@functools.cache
def _divided(
    images: int, local_test: float, partition: str, partition_options: str, clients: int, *, seed: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers of each client's images, for training and held back; images: of each class."""
    lists = make_partition(
        partition, labels=np.repeat(np.arange(CLASSES), images), num_classes=CLASSES,
        num_clients=clients, rng=seeds.rng(seed, "partition"), **json.loads(partition_options),
    )  # fmt: skip
    own, held = split_within_clients(lists, 1 - local_test, seeds.rng(seed, "local_test"))
    return tuple(map(len, own)), tuple(map(len, held))


def reach_words(rows: pd.DataFrame) -> str:
    """Say how many clients FAVOR ever trains, beside its untrained policy and FedAvg; empty without it."""
    own, told = labelled(rows), []
    if "clients" not in own:
        return ""
    own = own[(own["round"] > 0) & own.clients.notna()]
    whose = {"favor": "with FAVOR", "favor_untrained": "with its untrained policy", "fedavg": "with FedAvg"}
    for name, words in whose.items():
        part = own[own.contestant == name]
        if part.empty:
            return ""
        cohorts = part.groupby(["cell", "seed"]).clients
        reached = [len(set(chain.from_iterable(map(json.loads, one)))) for _, one in cohorts]
        told.append(f"{span_words(reached)} {words}")
    return (
        f"Of {own.num_clients.max():.0f} clients those that are ever trained are {listed(told)}: FAVOR takes "
        "the clients of the highest values, and these hardly change."
    )


@once_per_frame
def round_seconds(rows: pd.DataFrame) -> pd.DataFrame:
    """Simulated seconds of each row's round, a column `seconds` in the rows' order; 0 before round 1.

    NaN where the clients' numbers of images do not follow from the rows.
    """
    table, found = labelled(rows).reset_index(drop=True), np.zeros(len(rows))
    for (cell, seed), part in table.groupby(["cell", "seed"], sort=False):
        own = part[part.clients.notna()]
        if (sizes := client_sizes(part).get(str(cell))) is None:
            found[own.index] = np.nan
            continue
        devices = draw_devices(int(seed), len(sizes.trained))
        chosen = np.array(json_lists(own.clients))
        epochs = own.local_epochs.to_numpy()[:, None]
        models = (own.uplink_bytes / own.uplink_bytes.min()).round().to_numpy()[:, None]
        trained = devices.training_seconds(chosen, np.array(sizes.trained)[chosen], epochs)
        found[own.index] = (trained + models * devices.upload_seconds[chosen]).max(axis=1)
    return pd.DataFrame({"seconds": found})
