"""Balanced-MixUp: an input transform that mixes a majority with a minority sample of the client.

FedDdrl (Sensors 23 (2023) 2494, sec. 4.2), eqs. (19), (20), after A. Galdran, G. Carneiro,
M. A. Gonzalez Ballester, "Balanced-MixUp for Highly Imbalanced Medical Image Classification",
MICCAI 2021, https://arxiv.org/abs/2109.09850:

    x = lam x_M + (1 - lam) x_m,   y = lam y_M + (1 - lam) y_m,   lam ~ Beta(alpha, alpha)

- One lam for each mini-batch, or with lambdas "pair" for each pair (FEDDDRL-A31); symmetric in its two
  arguments (A32).
- "strict": x_M from the client's majority label, x_m from one of its other labels, drawn
  uniformly, then an image uniformly. "galdran": x_M is the epoch's own sample
  (instance-based), x_m comes from any label of the client, drawn uniformly (A30).
- Every choice is a hash of the step's key and the position in the mini-batch, so the loop,
  vmap and stacked backends mix the same samples, and a resumed run needs no generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fedlib.engine.batches import Batch, Samples, on_device
from fedlib.errors import check, check_name
from fedlib.seeds import counter

KINDS = ("strict", "galdran")
LAMBDAS = ("batch", "pair")
BETA_TRIALS = 32  # a trial is accepted with probability 1/2 or more, so all fail in one of 2**32 batches
_BETA, _MAJORITY, _LABEL, _IMAGE, _PAIR = range(0x6D780000, 0x6D780005)  # names of the streams


@dataclass(frozen=True, eq=False)
class BalancedMixUp:
    """Give `BalancedMixUp.of(...)` to the engine as `Objective(inputs=...)`.

    order [R, N, n]: each client's samples sorted by label. starts, counts [R, N, classes]: where
    a label's samples stand in it. partners [R, N, classes]: the labels that x_m may have, first
    `num_partners` [R, N] entries. majority [R, N].
    """

    alpha: float
    kind: str
    num_classes: int
    order: Tensor
    starts: Tensor
    counts: Tensor
    partners: Tensor
    num_partners: Tensor
    majority: Tensor
    lambdas: str = "batch"

    @classmethod
    def of(
        cls,
        clients: Sequence[Sequence[np.ndarray]],
        labels: Tensor,
        num_classes: int,
        *,
        alpha: float,
        kind: str = "strict",
        lambdas: str = "batch",
    ) -> "BalancedMixUp":
        """Tables of all clients; clients[r][k]: sample positions of client k in replica r.

        Raises UsageError for alpha outside (0, 1] and for a client that holds a single label.
        """
        check_alpha(alpha)
        check_name("kind of Balanced-MixUp", kind, KINDS)
        check_lambdas(lambdas)
        host = labels.cpu().numpy()
        counts = np.array([[np.bincount(host[i], minlength=num_classes) for i in lists] for lists in clients])
        _check_labels(counts)
        majority = counts.argmax(axis=-1)  # of equally frequent labels the lowest
        allowed = counts > 0
        if kind == "strict":
            np.put_along_axis(allowed, majority[..., None], False, axis=-1)
        tables = {
            "order": _sorted_by_label(clients, host),
            "starts": counts.cumsum(axis=-1) - counts,
            "counts": counts,
            "partners": np.argsort(~allowed, axis=-1, kind="stable"),
            "num_partners": allowed.sum(axis=-1),
            "majority": majority,
        }
        placed = {n: on_device(table, labels.device) for n, table in tables.items()}
        return cls(alpha, kind, num_classes, **placed, lambdas=lambdas)

    def __call__(self, samples: Samples, batch: Batch) -> tuple[Tensor, Batch]:
        """Mixed inputs [*C, B, ...] and the batch with soft targets [*C, B, classes]."""
        first, second = self.pairs(batch)
        key = batch.key[..., None]
        if self.lambdas == "pair":
            key = counter.hash_bits(key, _PAIR, torch.arange(first.shape[-1], device=first.device))
        lam = beta(key, self.alpha)  # [*C, 1], or [*C, B]
        x = _mix(samples.fetch(first), samples.fetch(second), lam)
        y = [F.one_hot(samples.labels[index], self.num_classes).to(x.dtype) for index in (first, second)]
        return x, replace(batch, targets=_mix(*y, lam))  # eqs. (19), (20)

    def pairs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Positions [*C, B] of x_M and of x_m."""
        owner = batch.replica[..., None], batch.client[..., None]
        place = torch.arange(batch.index.shape[-1], device=batch.index.device)
        key = batch.key[..., None]
        choice = _below(self.num_partners[owner], key, _LABEL, place)
        second = self._image(owner, self.partners[(*owner, choice)], key, _IMAGE, place)
        if self.kind == "galdran":
            return batch.index, second
        return self._image(owner, self.majority[owner], key, _MAJORITY, place), second

    def _image(
        self, owner: tuple[Tensor, Tensor], label: Tensor, key: Tensor, stream: int, place: Tensor
    ) -> Tensor:
        """A uniform sample of `label` for each place, with replacement."""
        at = (*owner, label)
        return self.order[(*owner, self.starts[at] + _below(self.counts[at], key, stream, place))]


def check_lambdas(lambdas: str) -> None:
    """UsageError for a unit of lambda that does not exist."""
    check_name("mixup_lambda", lambdas, LAMBDAS)


def check_alpha(alpha: float) -> None:
    """UsageError for an alpha that `beta` cannot draw with."""
    check(0 < alpha <= 1, f"alpha={alpha} given for Balanced-MixUp; allowed: above 0, at most 1")


def _check_labels(counts: np.ndarray) -> None:
    for replica, client in np.argwhere((counts > 0).sum(axis=-1) < 2)[:1]:
        held = np.flatnonzero(counts[replica, client])
        check(
            False,
            f"client {client} has no minority labels (labels held: {held.tolist()}); "
            "Balanced-MixUp needs at least 2 labels on every client",
        )


def _sorted_by_label(clients: Sequence[Sequence[np.ndarray]], labels: np.ndarray) -> np.ndarray:
    width = max(len(index) for lists in clients for index in lists)
    order = np.zeros((len(clients), len(clients[0]), width), dtype=np.int64)
    for r, lists in enumerate(clients):
        for k, index in enumerate(lists):
            order[r, k, : len(index)] = index[np.argsort(labels[index], kind="stable")]
    return order


def _below(limit: Tensor, *keys: Tensor | int) -> Tensor:
    """Uniform integers in [0, limit): exact arithmetic, equal on every device."""
    return (counter.hash_bits(*keys) * limit) >> 32


def _mix(first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
    lam = lam.to(first.dtype).view(*lam.shape, *[1] * (first.ndim - lam.ndim))
    return lam * first + (1 - lam) * second


def beta(key: Tensor, alpha: float) -> Tensor:
    """Beta(alpha, alpha) numbers for integer keys [...], 0 < alpha <= 1, float64.

    M. D. Jöhnk's method (Metrika 8, 1964): of uniform U, V take X = U^(1/alpha), Y = V^(1/alpha)
    until X + Y <= 1; then X / (X + Y) is the number. In logarithms, since U^20 underflows. A fixed
    number of trials, all at once, so that nothing waits for the host.
    """
    trial = torch.arange(BETA_TRIALS, device=key.device)
    bits = [counter.hash_bits(key[..., None], _BETA, trial, side) for side in (0, 1)]
    log_x, log_y = (((b.double() + 0.5) / 2**32).log() / alpha for b in bits)
    accepted = torch.logaddexp(log_x, log_y) <= 0
    first = accepted.to(torch.uint8).argmax(dim=-1, keepdim=True)
    return torch.sigmoid((log_x - log_y).gather(-1, first)).squeeze(-1)
