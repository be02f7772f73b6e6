"""FedDRL's agent alone, with its own settings, on rewards whose best answer is known: no federated training.

States hold no information. A reward is an offset, plus an amplitude times the tilt, the mean mu of the four
clients of small groups less that of the six others. On amplitude 0 an agent that learns nothing leaves mu
at 1/2; whatever moves it is the offset.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fedlib import seeds
from fedlib.methods.feddrl import mdp
from fedlib.methods.feddrl.method import FedDRL
from fedlib.papers.feddrl.repair import ALL, SINGLE
from fedlib.papers.feddrl.runs import COHORT

MAIN = 6  # clients 0 to 5, as under CE with delta 0.6
SETTINGS = {"printed": {}, "centring": SINGLE["centring"][0], "all": ALL}
OFFSETS, AMPLITUDES = (-2.2, 0.0, 2.2), (0.0, 0.3)
REPAIRED_OFFSETS = (-2.2,)  # of settings whose centring removes it
EVERY = 10  # rounds between rows


@dataclass(frozen=True)
class Size:
    """Number of agents and of rounds: 70 rounds are 595 updates (FEDDRL-A19)."""

    agents: int = 12
    rounds: int = 70


SIZES = {"smoke": Size(agents=2, rounds=20)}


def ddpg_bandit(profile: str) -> pd.DataFrame:
    """The mean mu of both groups over the rounds: settings, offset, amplitude, seed (agent), round."""
    size = SIZES.get(profile, Size())
    offsets = {"printed": OFFSETS}
    cases = [
        (name, offset, amplitude)
        for name in SETTINGS
        for offset in offsets.get(name, REPAIRED_OFFSETS)
        for amplitude in AMPLITUDES
    ]
    parts = [_case(*case, size) for case in cases]
    return pd.concat(parts, ignore_index=True).assign(stand_in=False)


def _case(name: str, offset: float, amplitude: float, size: Size) -> pd.DataFrame:
    found = play(FedDRL(**SETTINGS[name]), offset, amplitude, size)
    found.insert(0, "settings", name)
    return found.assign(offset=offset, amplitude=amplitude)


def play(method: "FedDRL", offset: float, amplitude: float, size: Size) -> pd.DataFrame:
    """Play the bandit; return a row per agent and shown round: updates, mean mu of small and main groups."""
    ids = range(size.agents)
    learner = method.start([seeds.torch_generator(i, "bandit", "agent") for i in ids], COHORT)
    lines = []
    for t in range(size.rounds + 1):
        streams = [seeds.rng(i, "bandit", t) for i in ids]
        state = _shares(streams)
        if learner.state is not None:
            earned = offset + amplitude * tilt(learner.action)
            learner = method.remember(learner, earned, state)
            learner, _ = method.learn(learner, streams)
        chosen = method.ddpg(COHORT).act(learner.agent.policy, state.unsqueeze(1)).squeeze(1)
        if t % EVERY == 0:
            lines += _lines(t, learner.agent.steps, chosen)
        noise = method.noise * torch.from_numpy(
            np.stack([s.standard_normal(2 * COHORT, np.float32) for s in streams])
        )
        learner = replace(learner, state=state, action=mdp.explore(chosen, noise, method.beta))
    return pd.DataFrame(lines)


def _shares(streams: list[np.random.Generator]) -> Tensor:
    """[R, 3K] three blocks of shares around 1 / K with a spread of a tenth of it."""
    blocks = np.stack([1 + 0.1 * stream.standard_normal((3, COHORT), np.float32) for stream in streams])
    return torch.from_numpy(blocks / blocks.sum(axis=2, keepdims=True)).flatten(1)


def tilt(action: Tensor) -> Tensor:
    """[R] mean mu of the small groups' clients less that of the main group's, of actions [R, 2K]."""
    mu = action[:, :COHORT]
    return mu[:, MAIN:].mean(dim=1) - mu[:, :MAIN].mean(dim=1)


def _lines(t: int, updates: int, chosen: Tensor) -> list[dict[str, float]]:
    mu = chosen[:, :COHORT]
    small, main = mu[:, MAIN:].mean(dim=1), mu[:, :MAIN].mean(dim=1)
    return [
        {"seed": i, "round": t, "updates": updates, "mu_small": float(small[i]), "mu_main": float(main[i])}
        for i in range(len(mu))
    ]
