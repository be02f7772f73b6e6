"""Rules of one line in place of FedDdrl's agents: the controls that show what learning adds.

Everything but the decision is FedDdrl's (probing epoch, devices, aggregation, rewards), so rows
compare one to one. The paper has no such controls; they are ours.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor

from fedlib.errors import check
from fedlib.federation import Task, method_rng
from fedlib.methods.fedddrl.environment import probing_ranks
from fedlib.methods.fedddrl.method import EPOCH_CHOICES, FedDdrl
from fedlib.rl.vdn import Vdn


@dataclass(frozen=True)
class Rule(FedDdrl, ABC):
    """FedDdrl whose clients are stopped by a rule; nothing learns, every episode is an evaluation."""

    w1: float = field(default=2.9, init=False)  # rewards are reported, as FedDdrl's
    w2: float = field(default=0.1, init=False)
    w3: float = field(default=0.2, init=False)
    bias: float | None = field(default=None, init=False)
    episodes: int = field(default=0, init=False)
    agent: int = field(default=0, init=False)
    deployed: str = field(default="agent", init=False)
    latency_unit: str = field(default="largest", init=False)
    reward_order: str = field(default="own", init=False)
    keep_share: float = 1.0  # of the selected clients; never fewer than two (FEDDDRL-A25)

    def __post_init__(self) -> None:
        super().__post_init__()
        check(0 < self.keep_share <= 1, f"keep_share={self.keep_share} given; allowed: above 0, at most 1")

    def vdns(self, episode_rounds: int = 15) -> list[Vdn]:
        return []

    @abstractmethod
    def decide(self, slow: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | int]:
        """Keep decisions [K] and epochs ([K], or 0 for the run's own E).

        slow: [K] ranks by probing latency, 0 is the fastest; equal ones by slot.
        """

    def _act(
        self, task: Task, agents: list[dict[str, Any]], states: Tensor, round_index: int, *, explores: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        slow = probing_ranks(states)
        decided = [
            self.decide(ranks, method_rng(task, r, "rule", round_index)) for r, ranks in enumerate(slow)
        ]
        kept = np.stack([keep for keep, _ in decided])
        epochs = np.stack([np.broadcast_to(e, slow.shape[1:]) for _, e in decided])
        return kept, np.where(epochs == 0, task.run.local_epochs, epochs)

    def kept_of(self, slots: int) -> int:
        """Number of the selected clients that stay."""
        return max(2, round(self.keep_share * slots))


@dataclass(frozen=True)
class RandomDrop(Rule):
    """Keep a random share of the clients."""

    def decide(self, slow: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | int]:
        return rng.permutation(len(slow)) < self.kept_of(len(slow)), 0


@dataclass(frozen=True)
class DropSlowest(Rule):
    """The clients with the longest probing epochs are dropped."""

    def decide(self, slow: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | int]:
        return slow < self.kept_of(len(slow)), 0


@dataclass(frozen=True)
class FewestEpochs(Rule):
    """Everybody stays; the slowest third trains the fewest epochs, the fastest third the most."""

    keep_share: float = field(default=1.0, init=False)

    def decide(self, slow: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | int]:
        falling = np.sort(EPOCH_CHOICES)[::-1]
        return slow >= 0, falling[slow * len(falling) // len(slow)]
