"""The server's state between two rounds, and a round's report for its row.

Everything that changes between rounds is in the state, so a checkpoint is the state and
resuming is loading it.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlib.errors import check
from fedlib.federation.aggregate import Tensors


@dataclass(frozen=True)
class ServerState:
    """Global models of R replicas, [R, ...] tensors, after `round` rounds; `memory` is the method's own.

    `memory` holds tensors and plain Python values only (it goes through torch.save).
    """

    round: int
    params: Tensors
    buffers: Tensors
    memory: dict[str, Any] = field(default_factory=dict)

    def advance(self, params: Tensors, buffers: Tensors, **memory: Any) -> "ServerState":
        """The state after one more round."""
        return replace(
            self, round=self.round + 1, params=params, buffers=buffers, memory={**self.memory, **memory}
        )


def moved(value: Any, device: torch.device | str) -> Any:
    """A value of `memory` with all its tensors on a device, those in dictionaries and lists too."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {name: moved(part, device) for name, part in value.items()}
    return [moved(part, device) for part in value] if isinstance(value, list) else value


def on_host(packed: dict[str, Any]) -> dict[str, Any]:
    """A part of `memory` with its tensors on the CPU, also after a resume has put them on the device.

    Dictionaries in it stay where they are: models may be among them (`BestConstant`).
    """
    return {name: v.cpu() if isinstance(v, Tensor) else v for name, v in packed.items()}


@dataclass(frozen=True)
class RoundReport:
    """Report of a round for its row: [R, K] clients, weights and mean training losses (or [R, 1], theirs).

    uplink_bytes, downlink_bytes: per replica. columns: further values of the row, [R] each.
    failed: replica -> why it cannot go on, for what the row's losses do not show.
    """

    clients: np.ndarray
    weights: Tensor
    train_loss: Tensor
    uplink_bytes: int
    downlink_bytes: int
    columns: dict[str, list[Any]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)

    def check_shapes(self, name: str, replicas: int) -> None:
        """UsageError unless clients and weights are [R, K], losses [R, K] or [R, 1]; name: the method's."""
        shape = tuple(getattr(self.clients, "shape", ()))
        check(
            len(shape) == 2 and shape[0] == replicas,
            f"{name}.apply reported clients {_told(self.clients)}; allowed: an array [R, K], R = {replicas}",
        )
        for field_name, allowed in (("weights", [shape]), ("train_loss", [shape, (replicas, 1)])):
            value = getattr(self, field_name)
            check(
                isinstance(value, Tensor) and tuple(value.shape) in allowed,
                f"{name}.apply reported {field_name} {_told(value)}; allowed: a tensor of "
                f"{' or '.join(map(str, dict.fromkeys(allowed)))}, as [R, K] of its clients",
            )

    def diverged(self, round_index: int) -> dict[int, str]:
        """Replica -> why it failed, of those with a training loss that is not finite; one copy to the CPU."""
        lost = (~self.train_loss.isfinite().all(dim=1)).nonzero().flatten().tolist()
        return {r: f"failed: a training loss is not finite in round {round_index}" for r in lost}


def _told(value: Any) -> str:
    """Type and, where it has one, shape of a value."""
    shape = getattr(value, "shape", None)
    return type(value).__name__ + ("" if shape is None else f" {tuple(shape)}")
