"""SchedulerFL on times alone: figs. 26 to 29, and the conclusion's rewards of one sign.

No task model is trained (sec. IV.iv.1): a worker of 100 with IID data of MNIST has 600 samples, its
times follow from `methods.frl.workers`. Training goes on after fewer than ten workers are selected, as the
figures show; `before_stop` marks the decisions up to there (FRL-A17).
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import comb

from fedlib.errors import check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.methods.frl.scheduler_agent import Scheduler, Training, World, train_scheduler
from fedlib.papers.frl.runs import DRAWS_STORED, UNIT

AGENTS: dict[str, Mapping[str, Any]] = {
    "schedulerfl": {},
    "schedulerfl_unit": UNIT,
    "schedulerfl_draws": DRAWS_STORED,
}
ONE_SIGN: dict[str, Mapping[str, Any]] = {
    "positive": {"reward": "positive"},  # M_t + nu
    "plus_10": {"offset": 10.0},
    "printed": {"reward": "printed"},  # -M_t - nu (FRL-A9)
    "minus_10": {"offset": -10.0},
}
SAMPLES = 60_000  # of MNIST, divided evenly
SIZES = {  # workers, experiments, rounds, seeds
    "smoke": (20, 3, 10, 1),
    "reduced": (100, 30, 20, 3),
    "extended": (100, 30, 20, 20),
    "paper": (100, 30, 20, 5),
}


def train(options: Mapping[str, Any], seed: int, profile: str) -> "tuple[Training, World]":
    """Train an agent of a profile's size to the last experiment; return it and its world."""
    workers, experiments, rounds, _ = SIZES[profile]
    rule = Scheduler(experiments=experiments, experiment_rounds=rounds, stop_below=None, **options)
    world = World(seed, np.full(workers, SAMPLES // workers), rule)
    return train_scheduler(rule, world), world


def training_settings(
    profile: str, agents: Mapping[str, Mapping[str, Any]] = {**AGENTS, **ONE_SIGN}
) -> list[Any]:
    """Settings that the rows of `trace_training` and `trace_one_sign` depend on."""
    return [list(SIZES[profile]), SAMPLES, {name: dict(options) for name, options in agents.items()}]


def trace_training(profile: str, agents: Mapping[str, Mapping[str, Any]] = AGENTS) -> pd.DataFrame:
    """Table of the decisions of every agent and seed; workers sorted from fast to slow by their means."""
    check_name("profile", profile, PROFILES)
    rows: list[dict[str, Any]] = []
    for agent, options in agents.items():
        for seed in range(SIZES[profile][3]):
            training, world = train(options, seed, profile)
            rows += _trace_rows(agent, seed, training, world)
            print(f"{agent} seed {seed}: {len(training.rounds)} decisions", flush=True)
    return pd.DataFrame(rows)


def _trace_rows(agent: str, seed: int, training: "Training", world: "World") -> list[dict[str, Any]]:
    order = np.argsort(world.expected_seconds(), kind="stable")
    tenth, half = len(order) // 10, len(order) // 2
    rows, stop = [], training.rounds_before(max(tenth, 1))
    for number, step in enumerate(training.rounds, start=1):
        chances, drawn = step["chances"][order], step["selected"][order]
        rows.append(
            {
                "method": agent,
                "seed": seed,
                "round": number,
                "experiment": step["experiment"],
                "experiment_round": step["round"],
                "reward": step["reward"],
                "max_seconds": step["max_seconds"],
                "same_number_seconds": expected_maximum(
                    world.times(step["turn"]).sum(axis=1), int(drawn.sum())
                ),
                "selected": int(drawn.sum()),
                "expected_selected": float(chances.sum()),
                "chance_fastest_tenth": float(chances[:tenth].mean()),
                "chance_fast_half": float(chances[:half].mean()),
                "chance_slow_half": float(chances[half:].mean()),
                "before_stop": number <= stop,
                "chances": json.dumps(np.round(100 * chances).astype(int).tolist(), separators=(",", ":")),
                "drawn": "".join("x" if one else "." for one in drawn),
            }
        )
    return rows


def expected_maximum(seconds: np.ndarray, drawn: int) -> float:
    """Expected maximum of `drawn` of the values [k], drawn at random without replacement; exact.

    The i-th smallest is the maximum with probability C(i - 1, drawn - 1) / C(k, drawn).
    """
    places = np.arange(1, len(seconds) + 1)
    chances = comb(places - 1, drawn - 1) / comb(len(seconds), drawn)
    return float((np.sort(seconds) * chances).sum())


def trace_one_sign(profile: str) -> pd.DataFrame:
    """Rewards that are always positive or negative: where the probabilities begin and end."""
    check_name("profile", profile, PROFILES)
    rows = []
    for reward, options in ONE_SIGN.items():
        for seed in range(SIZES[profile][3]):
            training, _ = train(options, seed, profile)
            first, last = training.rounds[0], training.rounds[-1]
            rows.append(
                {
                    "method": "schedulerfl",
                    "reward": reward,
                    "seed": seed,
                    "round": len(training.rounds),
                    "rewards_above_0": sum(step["reward"] > 0 for step in training.rounds)
                    / len(training.rounds),
                    "first_chance": float(first["chances"].mean()),
                    "last_chance": float(last["chances"].mean()),
                }
            )
            print(f"rewards {reward}, seed {seed}: {rows[-1]['last_chance']:.3f}", flush=True)
    return pd.DataFrame(rows)
