"""Vectorised inference: loss and accuracy of one model on every client's data, of every
client's model on its own data, or of a model on the test set.

Everything is evaluated in evaluation mode (dropout off unless the model's option `eval_dropout`
says otherwise, BatchNorm's running statistics; FEDDRL-A4).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fedlib.local.batches import Batch, Samples
from fedlib.local.capture import forget_captures
from fedlib.local.gpu import is_out_of_memory
from fedlib.local.loop import at_row
from fedlib.local.objective import Objective, cross_entropy
from fedlib.local.train import Tensors, Trainer
from fedlib.models.layers import step_key

_PLAIN = Objective()
# rows * images in one forward pass: on a CPU few enough that activations stay in its cache
IMAGES_PER_PASS = {"cpu": 500, "cuda": 8000}
LEAST_PER_ROW = 8  # images: with hundreds of rows, one at a time takes four times as long


@dataclass(frozen=True)
class Evaluation:
    """loss [C] mean cross-entropy in nats and accuracy [C] in [0, 1] of each row; count [C] samples."""

    loss: Tensor
    accuracy: Tensor
    count: Tensor

    def on_host(self) -> "Evaluation":
        """The same numbers on the CPU, by one copy; nothing to do if they are there."""
        if self.loss.device.type == "cpu":
            return self
        return Evaluation(*torch.stack([self.loss, self.accuracy, self.count]).cpu())


def evaluate_rows(
    trainer: Trainer, samples: Samples, params: Tensors, buffers: Tensors, indices: Sequence[np.ndarray]
) -> Evaluation:
    """Each row's model on the samples of its own index list (ragged lists are fine)."""
    totals = torch.zeros(3, len(indices), device=samples.device)
    for rows, _, index, outputs, mask in _row_passes(trainer, samples, params, buffers, indices):
        totals[:, rows] += _sums(outputs, samples.labels[index], mask)
    count = totals[2].clamp(min=1)
    return Evaluation(totals[0] / count, totals[1] / count, totals[2])


def correct_rows(
    trainer: Trainer, samples: Samples, params: Tensors, buffers: Tensors, indices: Sequence[np.ndarray]
) -> Tensor:
    """[C, largest list] 1.0 where a row's model is right about the sample at that place of its list.

    Places behind the end of a shorter list hold 0.
    """
    longest = max((len(i) for i in indices), default=0)
    found = torch.zeros(len(indices), max(longest, 1), device=samples.device)
    for rows, start, index, outputs, mask in _row_passes(trainer, samples, params, buffers, indices):
        right = (outputs.argmax(dim=-1) == samples.labels[index]).float() * mask
        found[rows, start : start + index.shape[1]] = right
    return found


def _row_passes(
    trainer: Trainer, samples: Samples, params: Tensors, buffers: Tensors, indices: Sequence[np.ndarray]
) -> Iterator[tuple[Tensor, int, Tensor, Tensor, Tensor]]:
    """Forward passes: (rows [c], first place of the lists, index [c, B], outputs [c, B, classes], mask).

    Rows come with falling length, so those that still have samples are a prefix.
    """
    device = samples.device
    sizes = np.array([len(i) for i in indices])
    order = np.argsort(-sizes, kind="stable")
    at = torch.from_numpy(order).to(device)
    rows = {n: t[at] for n, t in params.items()}, {n: t[at] for n, t in buffers.items()}
    padded = torch.zeros(len(sizes), int(sizes.max(initial=1)), dtype=torch.int64)
    for position, row in enumerate(order):
        padded[position, : sizes[row]] = torch.from_numpy(np.asarray(indices[row], np.int64))
    padded, limit = padded.to(device), torch.from_numpy(sizes[order]).to(device)
    forward, start = _inference(trainer), 0
    while start < sizes.max(initial=0):
        active = int((sizes > start).sum())
        index = padded[:active, start : start + _width(trainer, len(sizes), device)]
        models = _prefix(rows[0], active), _prefix(rows[1], active)
        outputs = _if_it_fits(trainer, index, partial(forward, samples, *models, index))
        if outputs is not None:
            place = torch.arange(start, start + index.shape[1], device=device)
            yield at[:active], start, index, outputs, (place < limit[:active, None]).float()
            start += index.shape[1]


def _images(trainer: Trainer, device: torch.device) -> int:
    usual, known = IMAGES_PER_PASS[device.type], trainer.limit.images
    return usual if known is None else min(usual, known)


def _width(trainer: Trainer, rows: int, device: torch.device) -> int:
    """Images of each row in one forward pass."""
    usual, known = max(LEAST_PER_ROW, IMAGES_PER_PASS[device.type] // max(rows, 1)), trainer.limit.images
    return usual if known is None else max(1, min(usual, known // max(rows, 1)))


def _if_it_fits(trainer: Trainer, index: Tensor, compute: Callable[[], Tensor]) -> Tensor | None:
    """What `compute` makes of the images `index`; None, and fewer from now on, where memory is too small."""
    try:
        return compute()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        trainer.limit.too_many_images(index.numel(), index.device, error)
    forget_captures()
    return None


def evaluate_segments(
    trainer: Trainer,
    samples: Samples,
    params: Tensors,
    buffers: Tensors,
    segments: Sequence[Sequence[np.ndarray]],
) -> list[Evaluation]:
    """One model per replica on the data of each of its clients.

    segments[r]: index lists of replica r's clients. Returns one Evaluation per replica, with
    one entry per client. The clients' samples are joined, so their sizes cost nothing.
    """
    device = samples.device
    results = []
    for replica, lists in enumerate(segments):
        joined = torch.from_numpy(np.concatenate([np.asarray(i, np.int64) for i in lists])).to(device)
        owner = torch.from_numpy(np.repeat(np.arange(len(lists)), [len(i) for i in lists])).to(device)
        model = _prefix(params, replica + 1, replica), _prefix(buffers, replica + 1, replica)
        losses, correct = per_sample(trainer, samples, *model, joined)
        onehot_sums = [
            torch.zeros(len(lists), device=device).index_add_(0, owner, v) for v in (losses, correct)
        ]
        count = torch.bincount(owner, minlength=len(lists)).float()
        results.append(Evaluation(*(v / count.clamp(min=1) for v in onehot_sums), count))
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
        row = torch.zeros(len(index), dtype=torch.int64, device=index.device)
        batch = Batch(
            index, torch.ones_like(index, dtype=torch.float32), samples.labels[index], row, row, row
        )
        return forward(samples, batch, _PLAIN, True)[0]

    return infer


def _loop_inference(trainer: Trainer):
    @torch.no_grad()
    def infer(samples: Samples, params: Tensors, buffers: Tensors, index: Tensor) -> Tensor:
        trainer.model.eval()
        outputs = []
        for row in range(len(index)):
            key = step_key(torch.zeros((), dtype=torch.int64, device=index.device))
            with at_row(trainer.model, params, buffers, row), key:
                outputs.append(trainer.model(samples.fetch(index[row])))
        return torch.stack(outputs)

    return infer
