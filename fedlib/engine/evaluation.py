"""Vectorised inference: loss and accuracy of one model on every client's data, of every
client's model on its own data, or of a model on the test set.

Everything is evaluated in evaluation mode (dropout off, BatchNorm's running statistics; FEDDRL-A4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fedlib.engine.batches import Batch, Samples, on_device
from fedlib.engine.cuda_graphs import forget_captures
from fedlib.engine.hardware.device import is_out_of_memory
from fedlib.engine.hardware.precision import products_in
from fedlib.engine.objective import Objective, cross_entropy
from fedlib.engine.reference_loop import at_lane
from fedlib.engine.state import Tensors
from fedlib.engine.trainer import Trainer

_PLAIN = Objective()
# lanes * images in one forward pass: on a CPU few enough that activations stay in its cache
IMAGES_PER_PASS = {"cpu": 500, "cuda": 8000}
LEAST_PER_LANE = 8  # images: with hundreds of lanes, one at a time takes four times as long


@dataclass(frozen=True)
class Evaluation:
    """loss [C] mean cross-entropy in nats and accuracy [C] in [0, 1] of each lane; count [C] samples."""

    loss: Tensor
    accuracy: Tensor
    count: Tensor


@dataclass(frozen=True)
class RaggedIndex:
    """The samples of several clients, one client after the other, on the device.

    index [M] positions of the samples, count [C] float32 how many each client has. owner [M] whose a
    sample is, on a CPU; places [C, largest] where a client's samples stand in `index`, M for padding,
    on a GPU.
    """

    index: Tensor
    count: Tensor
    owner: Tensor | None = None
    places: Tensor | None = None

    @classmethod
    def of(cls, lists: Sequence[np.ndarray], device: torch.device) -> RaggedIndex:
        """From the clients' index lists."""
        sizes = np.array([len(index) for index in lists], dtype=np.int64)
        joined = np.concatenate([np.asarray(index, np.int64) for index in lists])
        found = on_device(joined, device), on_device(sizes.astype(np.float32), device)
        if device.type == "cpu":
            return cls(*found, owner=on_device(np.repeat(np.arange(len(sizes)), sizes), device))
        return cls(*found, places=on_device(places_of(sizes), device))

    def sums(self, values: Tensor) -> Tensor:
        """[C] sums of values [M] over each client's samples.

        On a GPU `index_add_` adds in an order of chance: there the lanes of a padded table are summed.
        """
        if self.places is None:
            return torch.zeros_like(self.count).index_add_(0, self.owner, values)
        return padded_sums(values, self.places)


def places_of(sizes: np.ndarray) -> np.ndarray:
    """[C, largest] int64 where lists of `sizes` [C] lie one behind the other; their total for padding."""
    place = np.arange(sizes.max(initial=0))
    starts = np.cumsum(sizes) - sizes
    return np.where(place < sizes[:, None], starts[:, None] + place, sizes.sum())


def padded_sums(values: Tensor, places: Tensor) -> Tensor:
    """[C] sums of values [M] at places [C, largest], M meaning nothing: always in the same order."""
    return torch.cat([values, values.new_zeros(1)])[places].sum(dim=1)


def evaluate_lanes(
    trainer: Trainer, samples: Samples, params: Tensors, buffers: Tensors, indices: Sequence[np.ndarray]
) -> Evaluation:
    """Each lane's model on the samples of its own index list (ragged lists are fine)."""
    totals = torch.zeros(3, len(indices), device=samples.device)
    for lanes, _, index, outputs, mask in _lane_passes(trainer, samples, params, buffers, indices):
        totals[:, lanes] += _sums(outputs, samples.labels[index], mask)
    count = totals[2].clamp(min=1)
    return Evaluation(totals[0] / count, totals[1] / count, totals[2])


def correct_lanes(
    trainer: Trainer, samples: Samples, params: Tensors, buffers: Tensors, indices: Sequence[np.ndarray]
) -> Tensor:
    """[C, largest list] 1.0 where a lane's model is right about the sample at that place of its list.

    Places behind the end of a shorter list hold 0.
    """
    longest = max((len(i) for i in indices), default=0)
    found = torch.zeros(len(indices), max(longest, 1), device=samples.device)
    for lanes, start, index, outputs, mask in _lane_passes(trainer, samples, params, buffers, indices):
        right = (outputs.argmax(dim=-1) == samples.labels[index]).float() * mask
        found[lanes, start : start + index.shape[1]] = right
    return found


def _lane_passes(
    trainer: Trainer, samples: Samples, params: Tensors, buffers: Tensors, indices: Sequence[np.ndarray]
) -> Iterator[tuple[Tensor, int, Tensor, Tensor, Tensor]]:
    """Forward passes: (lanes [c], first place of the lists, index [c, B], outputs [c, B, classes], mask).

    Lanes come with falling length, so those that still have samples are a prefix.
    """
    device = samples.device
    sizes = np.array([len(i) for i in indices])
    order = np.argsort(-sizes, kind="stable")
    at = on_device(order, device)
    lanes = {n: t[at] for n, t in params.items()}, {n: t[at] for n, t in buffers.items()}
    table = np.zeros((len(sizes), int(sizes.max(initial=1))), dtype=np.int64)
    for position, lane in enumerate(order):
        table[position, : sizes[lane]] = indices[lane]
    padded, limit = on_device(table, device), on_device(sizes[order], device)
    forward, start = _inference(trainer), 0
    while start < sizes.max(initial=0):
        active = int((sizes > start).sum())
        index = padded[:active, start : start + _width(trainer, len(sizes), device)]
        models = _prefix(lanes[0], active), _prefix(lanes[1], active)
        outputs = _if_it_fits(trainer, index, partial(forward, samples, *models, index))
        if outputs is not None:
            place = torch.arange(start, start + index.shape[1], device=device)
            yield at[:active], start, index, outputs, (place < limit[:active, None]).float()
            start += index.shape[1]


def _images(trainer: Trainer, device: torch.device) -> int:
    usual, known = IMAGES_PER_PASS[device.type], trainer.limit.images
    return usual if known is None else min(usual, known)


def _width(trainer: Trainer, lanes: int, device: torch.device) -> int:
    """Images of each lane in one forward pass."""
    usual, known = max(LEAST_PER_LANE, IMAGES_PER_PASS[device.type] // max(lanes, 1)), trainer.limit.images
    return usual if known is None else max(1, min(usual, known // max(lanes, 1)))


def _if_it_fits(trainer: Trainer, index: Tensor, compute: Callable[[], Tensor]) -> Tensor | None:
    """Apply `compute` to the images `index`; if memory is short, return None and take fewer from now on."""
    try:
        with products_in("float32", index.device):
            return compute()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        trainer.limit.too_many_images(index.numel(), index.device, error)
    forget_captures()
    return None


def evaluate_clients(
    trainer: Trainer,
    samples: Samples,
    params: Tensors,
    buffers: Tensors,
    indices: Sequence[RaggedIndex | Sequence[np.ndarray]],
) -> list[Evaluation]:
    """Evaluate one model per replica on the data of each of its clients.

    indices[r]: index lists of replica r's clients, or `RaggedIndex` of them, which spares putting them on
    the device again. Returns one Evaluation per replica, with one entry per client. The clients'
    samples are joined, so their sizes cost nothing.
    """
    results = []
    for replica, lists in enumerate(indices):
        own = lists if isinstance(lists, RaggedIndex) else RaggedIndex.of(lists, samples.device)
        model = _prefix(params, replica + 1, replica), _prefix(buffers, replica + 1, replica)
        means = [
            own.sums(v) / own.count.clamp(min=1) for v in per_sample(trainer, samples, *model, own.index)
        ]
        results.append(Evaluation(*means, own.count))
    return results


def per_sample(
    trainer: Trainer, samples: Samples, params: Tensors, buffers: Tensors, index: Tensor
) -> tuple[Tensor, Tensor]:
    """Loss in nats and correctness (0.0 or 1.0), [M] each, of one model (C = 1) on samples `index` [M]."""
    forward, start = _inference(trainer), 0
    losses, correct = [], []
    while start < len(index) or not losses:
        part = index[start : start + _images(trainer, samples.device)]
        found = _if_it_fits(trainer, part, partial(forward, samples, params, buffers, part[None]))
        if found is None:
            continue
        outputs, start = found[0], start + len(part)
        batch = Batch(part, part, samples.labels[part], part, part, part)
        losses.append(cross_entropy(outputs, batch))
        correct.append((outputs.argmax(dim=-1) == samples.labels[part]).float())
    return torch.cat(losses), torch.cat(correct)


def _prefix(tensors: Tensors, stop: int, start: int = 0) -> Tensors:
    return {n: t[start:stop] for n, t in tensors.items()}


def _sums(outputs: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """[3, C] sums over the real samples: loss, correct predictions, samples."""
    losses = cross_entropy(outputs, Batch(labels, mask, labels, labels, labels, labels))
    correct = (outputs.argmax(dim=-1) == labels).float()
    return torch.stack([(losses * mask).sum(-1), (correct * mask).sum(-1), mask.sum(-1)])


def _inference(trainer: Trainer):
    """A function (samples, params, buffers, index [C, B]) -> logits [C, B, classes]."""
    if trainer.backend == "loop":
        return _loop_inference(trainer)
    forward = trainer.forward

    @torch.no_grad()
    def infer(samples: Samples, params: Tensors, buffers: Tensors, index: Tensor) -> Tensor:
        forward.bind(params, buffers, training=False)
        zeros = torch.zeros(len(index), dtype=torch.int64, device=index.device)
        batch = Batch(
            index, torch.ones_like(index, dtype=torch.float32), samples.labels[index], zeros, zeros, zeros
        )
        return forward(samples, batch, _PLAIN, True)[0]

    return infer


def _loop_inference(trainer: Trainer):
    @torch.no_grad()
    def infer(samples: Samples, params: Tensors, buffers: Tensors, index: Tensor) -> Tensor:
        trainer.model.eval()
        outputs = []
        for lane in range(len(index)):
            with at_lane(trainer.model, params, buffers, lane):
                outputs.append(trainer.model(samples.fetch(index[lane])))
        return torch.stack(outputs)

    return infer
