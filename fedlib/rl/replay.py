"""Experience buffer of R replicas, and how mini-batches are drawn from it.

T. Schaul et al., "Prioritized Experience Replay", ICLR 2016, https://arxiv.org/abs/1511.05952,
sec. 3.3 for proportional priorities; FedDRL's Algorithm 1, lines 1, 2 and 4, and
FEDDRL-A18, A19. No importance weights: FedDRL has none.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedlib.errors import check

AGENTS = ("learning", "untrained", "permuted")  # two controls; "permuted": see `permute_rewards`
PRIORITY_FLOOR = 1e-6  # FEDDRL-A18: every experience can be drawn


@dataclass(frozen=True)
class Replay:
    """n experiences (s, a, r, s') of each replica, oldest first; a mini-batch has the same form.

    states, next_states [R, n, S], actions [R, n, A], rewards [R, n]. Never changed in place: a
    checkpoint may still refer to it.
    """

    states: Tensor
    actions: Tensor
    rewards: Tensor
    next_states: Tensor

    @classmethod
    def empty(cls, replicas: int, state_size: int, action_size: int) -> "Replay":
        """A buffer without experiences."""
        states = torch.zeros(replicas, 0, state_size)
        return cls(states, torch.zeros(replicas, 0, action_size), torch.zeros(replicas, 0), states.clone())

    def __len__(self) -> int:
        return self.rewards.shape[1]

    def __repr__(self) -> str:
        return f"Replay({len(self)} experiences of {len(self.rewards)} agents)"

    def add(
        self, state: Tensor, action: Tensor, reward: Tensor, next_state: Tensor, *, capacity: int
    ) -> "Replay":
        """With one more experience per replica: [R, S], [R, A], [R], [R, S]. The oldest gives way."""
        check(capacity >= 1, f"capacity={capacity} given for a replay buffer; allowed: 1 or more")
        return Replay(*appended(self._fields, (state, action, reward, next_state), last=capacity))

    def take(self, index: Tensor) -> "Replay":
        """The experiences at index [R, B] of each replica."""
        replica = torch.arange(len(index)).unsqueeze(1)
        return Replay(*(tensor[replica, index] for tensor in self._fields))

    def merge(self, groups: int) -> "Replay":
        """The buffers of `groups` neighbouring replicas joined: [R * groups, n] -> [R, groups * n]."""
        return Replay(*(tensor.unflatten(0, (-1, groups)).flatten(1, 2) for tensor in self._fields))

    def is_finite(self) -> bool:
        """Whether no experience holds a NaN or an infinity."""
        return all(bool(tensor.isfinite().all()) for tensor in self._fields)

    @property
    def _fields(self) -> tuple[Tensor, ...]:
        return self.states, self.actions, self.rewards, self.next_states


def appended(past: Iterable[Tensor], new: Iterable[Tensor], *, last: int) -> Iterator[Tensor]:
    """Each [R, n, ...] of `past` with [R, ...] of `new` behind it; of these the `last` ones."""
    for old, one in zip(past, new, strict=True):
        yield torch.cat([old, one.unsqueeze(1)], dim=1)[:, -last:]


def permute_rewards(rewards: Tensor, streams: Sequence[np.random.Generator]) -> Tensor:
    """Rewards [R, n] in a random order of each replica's stream: the control that keeps only their law."""
    order = np.stack([stream.permutation(rewards.shape[1]) for stream in streams])
    return rewards.gather(1, torch.from_numpy(order))


def sample_proportional(priorities: Tensor, uniforms: Tensor) -> Tensor:
    """Indices [R, b, B] drawn with probability proportional to priorities [R, n] (+ 1e-6).

    uniforms: [R, b, B] in [0, 1), one per draw; equal priorities make the draw uniform.
    """
    cumulative = (priorities.double() + PRIORITY_FLOOR).cumsum(dim=1)
    at = uniforms.double().flatten(1) * cumulative[:, -1:]
    index = torch.searchsorted(cumulative, at, right=True).clamp(max=priorities.shape[1] - 1)
    return index.view(uniforms.shape)
