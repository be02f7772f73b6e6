"""Does the scheduler find the fast workers where times never change?

Half of the workers need 56 s in every round, the others 188 s. An agent that can attribute a round's
maximum to workers lowers the slow half's probabilities and leaves the rest. `AGENTS` changes one
property of the report's agent after the other, so that one sees which one stands in the way:

| agent | what it changes |
|---|---|
| schedulerfl | nothing: the report's state, action, reward and rates |
| schedulerfl_unit | the state's scale, as in later code (FRL-A12) |
| schedulerfl_undecayed | the critic has no weight decay |
| schedulerfl_explores | besides: DDPG's noise on the action (A14), a memory of 500 and batches of 32 |
| schedulerfl_draws | ours (`fedlib.papers.frl.runs.DRAWS_STORED`) |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fedlib.errors import check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.methods.frl.scheduler_agent import Scheduler, Training, train_scheduler
from fedlib.papers.frl.runs import DRAWS_STORED, UNIT

UNDECAYED: dict[str, Any] = {"critic_decay": 0.0}
EXPLORES: dict[str, Any] = {**UNDECAYED, "noise": 0.3, "capacity": 500, "batch_size": 32}
AGENTS: dict[str, Mapping[str, Any]] = {
    "schedulerfl": {},
    "schedulerfl_unit": UNIT,
    "schedulerfl_undecayed": UNDECAYED,
    "schedulerfl_explores": EXPLORES,
    "schedulerfl_draws": DRAWS_STORED,
}
SECONDS = ((50.0, 5.0, 1.0), (100.0, 80.0, 8.0))  # computation, upload, download of a fast and a slow worker
FOUND = 0.1  # a slow worker's probability is below this where the agent has found the fast ones
MEMORY = 50  # decisions that the report's memory holds
SIZES = {
    "smoke": ((10,), 3, 1), "reduced": ((10, 100), 30, 3), "extended": ((10, 100), 30, 3),
    "paper": ((10, 100), 30, 5),
}  # fmt: skip


@dataclass(frozen=True)
class StaticWorld:
    """k workers whose times never change; the odd ones are slow, or with `mirrored` the even ones."""

    seed: int
    sizes: np.ndarray  # [k]
    mirrored: bool = False

    @property
    def stream(self) -> tuple[int | str, ...]:
        """First names of the agent's random streams."""
        return self.seed, "scheduler"

    @property
    def slow(self) -> np.ndarray:
        """[k] True for a slow worker."""
        return np.arange(len(self.sizes)) % 2 != self.mirrored

    def times(self, turn: int) -> np.ndarray:
        """[k, 3] seconds, the same in every round."""
        fast, slow = SECONDS
        return np.where(self.slow[:, None], slow, fast)


def on_one_line(actions: np.ndarray) -> float:
    """Share of the variance of actions [n, k] that lies on one line: 1 if they vary in one direction only.

    The critic learns from these alone; what varies together it cannot tell apart.
    """
    spread = np.linalg.svd(actions - actions.mean(axis=0), compute_uv=False) ** 2
    return float(spread[0] / spread.sum()) if spread.sum() > 0 else 1.0


def static_settings(profile: str) -> list[Any]:
    """Settings that the rows depend on."""
    return [list(SIZES[profile]), SECONDS, {name: dict(options) for name, options in AGENTS.items()}]


def trace_static(profile: str) -> pd.DataFrame:
    """Table by agent, number of workers, seed and side: the two kinds' probabilities at the end."""
    workers, _, seeds = SIZES[check_name("profile", profile, PROFILES)]
    rows = []
    for agent, options in AGENTS.items():
        own = outcomes(agent, options, profile, workers, seeds)
        for k in workers:
            part = [row for row in own if row["workers"] == k]
            print(f"{agent}, {k} workers: {sum(row['found'] for row in part)} of {len(part)}")
        rows += own
    return pd.DataFrame(rows).drop(columns="world")


def outcomes(
    agent: str, options: Mapping[str, Any], profile: str, workers: tuple[int, ...], seeds: int
) -> list[dict[str, Any]]:
    """Table by number of workers, seed and side for an agent with these options."""
    rule = Scheduler(experiments=SIZES[profile][1], stop_below=None, **options)
    rows = []
    for k in workers:
        for seed in range(seeds):
            for mirrored in (False, True):
                world = StaticWorld(seed, np.full(k, 600), mirrored)
                about = {"method": agent, "workers": k, "seed": seed, "mirrored": mirrored}
                found = _outcome(train_scheduler(rule, world), world.slow)
                rows.append({**about, "world": f"{k} static", **found})
    return rows


def _outcome(training: "Training", slow: np.ndarray) -> dict[str, Any]:
    chances = np.stack([step["chances"] for step in training.rounds])
    stop = training.rounds_before(max(len(slow) // 10, 1))  # where the report ends the training (A17)
    at_stop, end = chances[max(stop - 1, 0)], chances[-1]
    fast_end, slow_end = float(end[~slow].mean()), float(end[slow].max())
    return {
        "round": len(chances), "stops_after": stop,
        "ahead_at_stop": float(at_stop[~slow].mean() - at_stop[slow].mean()), "fast": fast_end,
        "slow": float(end[slow].mean()), "slow_max": slow_end, "found": slow_end < FOUND < fast_end,
        "on_one_line": on_one_line(np.stack([step["action"] for step in training.rounds[:MEMORY]])),
    }  # fmt: skip
