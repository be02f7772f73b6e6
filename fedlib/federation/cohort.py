"""Cohorts: the clients of a round as a pure function of (seed, round)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedlib import seeds


@dataclass(frozen=True)
class Cohort:
    """The clients of a round: [R, K] for R replicas; `sample_cohort` sorts them (FEDDRL-A5)."""

    round: int  # 1..T, or 0, -1, ... in a method's own rounds before round 1
    clients: np.ndarray

    @property
    def replica(self) -> np.ndarray:
        """[R * K] the replica of each lane of the stacked cohort."""
        return np.repeat(np.arange(self.clients.shape[0]), self.clients.shape[1])

    @property
    def client(self) -> np.ndarray:
        """[R * K] the client of each lane of the stacked cohort."""
        return self.clients.reshape(-1)


def sample_cohort(run_seeds: Sequence[int], round_index: int, num_clients: int, cohort_size: int) -> Cohort:
    """K of N clients uniformly without replacement, for every replica; all of them if K = N.

    Round r is reproducible on its own, and does not depend on the method: all methods of a
    comparison see the same cohorts under the same seed.
    """
    drawn = [
        np.sort(seeds.rng(seed, "cohort", round_index).choice(num_clients, cohort_size, replace=False))
        for seed in run_seeds
    ]
    return Cohort(round_index, np.stack(drawn))
