"""Data on the device, the work of each lane, and the mini-batches that follow from it.

A *lane* is one client of one replica. Lanes are what the engine stacks: every tensor that
differs between clients has the lanes as its leading axis, called C below.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.errors import check, check_name
from fedlib.seeds import counter

Whole = Sequence[int] | np.ndarray  # one whole number for each lane
_PADDING = 1 << 33  # sorts behind every 32-bit hash
SAMPLE_ORDERS = ("shuffled", "stored")


@dataclass(frozen=True)
class Samples:
    """Samples on the device, gathered by index: `inputs` [n, ...] and `labels` [n] int64.

    uint8 inputs are images [n, channels, height, width]: they stay uint8 and are scaled to
    (x / 255 - mean) / std when gathered. Floating inputs in [0, 1] are normalised likewise.
    """

    inputs: Tensor
    labels: Tensor
    mean: Tensor | None = None  # [channels]
    std: Tensor | None = None
    dtype: torch.dtype = torch.float32  # of the gathered inputs

    def fetch(self, index: Tensor) -> Tensor:
        """Normalised inputs [*index.shape, ...] at `index`."""
        picked = self.inputs.index_select(0, index.flatten()).to(self.dtype)
        if self.mean is not None:
            scale = 255.0 if self.inputs.dtype == torch.uint8 else 1.0
            picked.mul_((1 / (scale * self.std))[:, None, None])
            picked.sub_((self.mean / self.std)[:, None, None])
        return picked.view(*index.shape, *picked.shape[1:])

    @property
    def device(self) -> torch.device:
        return self.inputs.device

    @classmethod
    def from_arrays(
        cls,
        images: np.ndarray,
        labels: np.ndarray,
        *,
        mean: Sequence[float] = (0.0,),
        std: Sequence[float] = (1.0,),
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> "Samples":
        """From images [n, height, width] or [n, height, width, channels] and labels [n]."""
        stacked = torch.from_numpy(np.array(images, order="C", copy=True))
        stacked = stacked.unsqueeze(1) if stacked.ndim == 3 else stacked.permute(0, 3, 1, 2).contiguous()
        return cls(
            stacked.to(device),
            torch.from_numpy(np.asarray(labels, dtype=np.int64)).to(device),
            torch.tensor(mean, dtype=torch.float32, device=device),
            torch.tensor(std, dtype=torch.float32, device=device),
            dtype,
        )


def on_device(values: np.ndarray, device: torch.device | str) -> Tensor:
    """A copy on the device. To a GPU it goes by page-locked memory, so that the host does not wait."""
    tensor = torch.from_numpy(np.array(values))
    if torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


@dataclass(frozen=True)
class Work:
    """Work of each lane in a round: its samples, steps and learning rate.

    sizes, epochs, first_epoch: [C] on the host, since they fix the shapes of the work.
    index: [C, max size] positions of the lane's samples, padded with 0. key: [C] int64, the
    lane's random stream for this round (see `stream_keys`). Epoch numbers count from the
    start of the round, so that work can be continued: epochs first_epoch .. epochs - 1 run.
    order: "shuffled" draws a new order of the samples for every epoch, "stored" goes through `index`
    from front to back in each (a DataLoader without shuffling, as in the code of the FRL report).
    """

    replica: Tensor
    client: Tensor
    index: Tensor
    sizes: np.ndarray
    epochs: np.ndarray
    first_epoch: np.ndarray
    key: Tensor
    learning_rate: Tensor  # [C]
    steps_limit: int | None = None  # at most so many mini-batches in the round (FedSGD: 1)
    order: str = "shuffled"

    def __len__(self) -> int:
        return len(self.sizes)

    def select(self, lanes: np.ndarray) -> "Work":
        """The work of some lanes, in the order given."""
        at = on_device(lanes, self.index.device)
        width = int(self.sizes[lanes].max(initial=1))
        return Work(
            self.replica[at],
            self.client[at],
            self.index[at, :width],
            self.sizes[lanes],
            self.epochs[lanes],
            self.first_epoch[lanes],
            self.key[at],
            self.learning_rate[at],
            self.steps_limit,
            self.order,
        )

    def steps_per_epoch(self, batch_size: int) -> np.ndarray:
        """[C] mini-batches per epoch, ceil(n_k / B); the last one may be smaller."""
        return -(-self.sizes // batch_size)

    def steps(self, batch_size: int) -> np.ndarray:
        """[C] mini-batches to run now."""
        per_epoch = self.steps_per_epoch(batch_size)
        stop, start = self.epochs * per_epoch, self.first_epoch * per_epoch
        if self.steps_limit is not None:
            stop, start = np.minimum(stop, self.steps_limit), np.minimum(start, self.steps_limit)
        return np.maximum(stop - start, 0)


def stream_keys(seeds_of_lanes: Sequence[int], round_index: int, clients: Whole) -> Tensor:
    """[C] keys of the lanes' random streams, from (seed, round, client)."""
    names = [
        seeds.derive(s, "local", round_index, int(k)) for s, k in zip(seeds_of_lanes, clients, strict=True)
    ]
    return torch.tensor(names, dtype=torch.int64) & 0xFFFFFFFF


def make_work(
    indices: Sequence[np.ndarray],
    *,
    replica: Whole,
    client: Whole,
    key: Tensor,
    epochs: int | Whole,
    learning_rate: float | Sequence[float],
    first_epoch: int | Whole = 0,
    steps_limit: int | None = None,
    order: str = "shuffled",
    device: torch.device | str = "cpu",
) -> Work:
    """Pad the clients' index lists and spread scalars over the lanes.

    Raises UsageError for an empty client, a negative number of epochs or an unknown order.
    """
    check_name("sample order", order, SAMPLE_ORDERS)
    count = len(indices)
    sizes = np.array([len(samples) for samples in indices], dtype=np.int64)
    for k in np.flatnonzero(sizes == 0):
        check(False, f"client {client[k]} has no samples; every client of a cohort needs at least 1")
    padded = np.zeros((count, int(sizes.max(initial=1))), dtype=np.int64)
    for lane, samples in enumerate(indices):
        padded[lane, : len(samples)] = samples
    spread = {"epochs": epochs, "first_epoch": first_epoch}
    host = {name: np.broadcast_to(np.asarray(value, np.int64), (count,)) for name, value in spread.items()}
    check(bool((host["epochs"] >= 0).all()), f"local epochs {epochs} given; allowed: 0 or more")

    def per_lane(value: float | Sequence[float]) -> Tensor:
        return on_device(np.broadcast_to(np.asarray(value, np.float32), (count,)), device)

    return Work(
        replica=on_device(np.asarray(replica, np.int64), device),
        client=on_device(np.asarray(client, np.int64), device),
        index=on_device(padded, device),
        sizes=sizes,
        key=on_device(key.numpy(), device),
        learning_rate=per_lane(learning_rate),
        steps_limit=steps_limit,
        order=order,
        **host,
    )


@dataclass(frozen=True)
class Batch:
    """A mini-batch for each lane. Leading axes [*C] are [C] when stacked, none for one client.

    index [*C, B] positions of the samples; mask [*C, B] 1.0 for a real sample, 0.0 for
    padding; targets [*C, B] labels (an input transform may put soft labels [*C, B, classes]
    here); replica, client, key [*C].
    """

    index: Tensor
    mask: Tensor
    targets: Tensor
    replica: Tensor
    client: Tensor
    key: Tensor


@dataclass(frozen=True)
class Schedule:
    """All mini-batches of some lanes: index and mask [S, C, B], key [S, C].

    active: how many leading lanes still work at each step (lanes come with falling number of
    steps, so the finished ones are at the end). full: no active lane has padding at the step.
    """

    index: Tensor
    mask: Tensor
    key: Tensor
    active: list[int]
    full: list[bool]

    def __len__(self) -> int:
        return len(self.active)


def epoch_order(key: Tensor, epoch: Tensor, sizes: Tensor, width: int) -> Tensor:
    """[..., width] a random order of 0..size-1, followed by the padding positions.

    The order is that of hashes of (key, epoch, position): the same on every device, for one
    lane or many. key, epoch, sizes: [...].
    """
    position = torch.arange(width, device=key.device)
    bits = counter.hash_bits(key[..., None], epoch[..., None], position)
    bits = torch.where(position < sizes[..., None], bits, _PADDING + position)
    return bits.argsort(dim=-1, stable=True)


def make_schedule(work: Work, batch_size: int) -> Schedule:
    """The mini-batches of lanes that are sorted by falling number of steps.

    What steers the host (active, full) is computed on the host, the tensors on the device, from a
    few numbers per lane.
    """
    device = work.index.device
    steps, per_epoch = work.steps(batch_size), work.steps_per_epoch(batch_size)
    total, first_step = int(steps.max(initial=0)), work.first_epoch * per_epoch
    count, each, begin, sizes = (on_device(v, device) for v in (steps, per_epoch, first_step, work.sizes))
    since = torch.arange(total, device=device)[:, None]
    step = since + begin  # [S, C] since the round's start
    epoch, within = step // each, step % each
    table, first = _epoch_tables(work, int(per_epoch.max(initial=1)) * batch_size)
    table = table.view(table.shape[0], len(work), -1, batch_size)  # [E, C, steps per epoch, B]
    lane = torch.arange(len(work), device=device)
    position = table[(epoch - first).clamp(max=table.shape[0] - 1), lane, within]  # [S, C, B]
    filled = within[..., None] * batch_size + torch.arange(batch_size, device=device) < sizes[:, None]
    return Schedule(
        index=work.index[lane[:, None], position.clamp(max=work.index.shape[1] - 1)],
        mask=(filled & (since < count)[..., None]).to(torch.float32),
        key=counter.hash_bits(work.key, step),
        **_host_part(steps, first_step, per_epoch, work.sizes, batch_size),
    )


def _host_part(
    steps: np.ndarray, first_step: np.ndarray, per_epoch: np.ndarray, sizes: np.ndarray, batch_size: int
) -> dict[str, list]:
    since = np.arange(int(steps.max(initial=0)))[:, None]
    works = since < steps
    partial = (((since + first_step) % per_epoch + 1) * batch_size > sizes) & works
    return {"active": works.sum(axis=1).tolist(), "full": (~partial.any(axis=1)).tolist()}


def _epoch_tables(work: Work, width: int) -> tuple[Tensor, int]:
    """[E, C, width] the order of each lane's samples in the epochs to run, and the first one's number.

    One table serves all epochs where the order is the stored one.
    A lane of few samples is through with its epochs long before the others and needs no further ones.
    """
    first = int(work.first_epoch.min()) if len(work) else 0  # the epochs before have been run
    if work.order == "stored":
        return torch.arange(width, device=work.index.device).expand(1, len(work), width), first
    stop = int(work.epochs.max(initial=0))
    sizes = on_device(work.sizes, work.index.device)
    orders = []
    for epoch in range(first, max(stop, first + 1)):
        orders.append(epoch_order(work.key, torch.full_like(work.key, epoch), sizes, width))
    return torch.stack(orders), first
