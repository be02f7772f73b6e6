"""FedDdrl (Sensors 2023): every table and figure, with rules of one line beside what is learned.

Y. J. Wong et al., "FedDdrl: Federated Double Deep Reinforcement Learning for Heterogeneous IoT with
Adaptive Early Client Termination and Local Epoch Adjustment", Sensors 23 (2023) 2494,
https://doi.org/10.3390/s23052494. Readings FEDDDRL-A1 to A42: see the modules of methods, agents
and `fedlib.system`.

| artifact | what it shows |
|---|---|
| `fedddrl/table4` | accuracy of FedAvg, FedProx, FedMarl (A to C) and FedDdrl (D); its runs are lent |
| `fedddrl/table5`, `fig2` | FedAvg with 5 and with 10 clients per round, with and without Balanced-MixUp |
| `fedddrl/fig8`, `fig9` | latency and uploads, normalised by FedAvg's |
| `fedddrl/fig10` to `fig13` | FedDdrl's decisions over probing loss, probing latency and round |
| `fedddrl/episode` | one episode of FedDdrl on the simulated clock, beside FedAvg |
| `fedddrl/controls` | random dropping, dropping the slowest, fewest epochs for the slowest |
| `fedddrl/alg1-weights` | Algorithm 1 on FedAvg's traces: the complete feasible set |
| `fedddrl/eq13-14` | what the bias b of the reward changes |
| `fedddrl/fig5`, `sec5.5-emd`, `table1` | recomputed without training |
| `fedddrl/sec5.4` | measured time and memory of the agents beside the formula |
| `fedddrl/sgd-search` | which local SGD the runs use, chosen on FedAvg, with and without Balanced-MixUp |
"""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from fedlib.papers import Artifact
from fedlib.papers import fedddrl_grid as grid
from fedlib.papers.fedddrl_claims import CLAIMS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ARTIFACTS", "CLAIMS"]

SEEDS = {"smoke": 1, "reduced": 3, "paper": 3}


def _computed(name: str) -> "Callable[[str], pd.DataFrame]":
    """A function of `fedddrl_computed`, imported when it is called."""

    def compute(profile: str) -> "pd.DataFrame":
        return getattr(importlib.import_module("fedlib.papers.fedddrl_computed"), name)(profile)

    return compute


ARTIFACTS = (
    Artifact(
        id="fedddrl/sgd-search",
        kind="check",
        title="Local SGD chosen on FedAvg's published accuracies",
        runs=grid.sgd_search,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/table4",
        kind="table",
        title="Accuracy after 15 rounds, with the ablation A to D",
        runs=grid.table4,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/table5",
        kind="table",
        title="Balanced-MixUp on FedAvg, C = 5 and 10",
        runs=grid.table5,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/fig2",
        kind="figure",
        title="FedAvg's accuracy per round, C = 5 and 10",
        runs=grid.fig2,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/alg1-weights",
        kind="table",
        title="Algorithm 1: the weights of the reward",
        runs=grid.traces,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/eq13-14",
        kind="check",
        title="Reward (12) near the end, and with the bias b",
        runs=grid.eq13_14,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/fig8", kind="figure", title="Normalised training latency", runs=grid.fig8, seeds=SEEDS
    ),
    Artifact(
        id="fedddrl/fig9", kind="figure", title="Normalised communication cost", runs=grid.fig8, seeds=SEEDS
    ),
    *(
        Artifact(id=f"fedddrl/{name}", kind="figure", title=title, runs=grid.decisions, seeds=SEEDS)
        for name, title in (
            ("fig10", "Whom FedDdrl keeps, by probing loss"),
            ("fig11", "Whom FedDdrl keeps, by probing latency"),
            ("fig12", "How long the kept clients train, by probing latency"),
            ("fig13", "The same in another run"),
        )
    ),
    Artifact(
        id="fedddrl/episode",
        kind="figure",
        title="One episode unfolds: who is dropped, who trains how long, what it costs",
        runs=grid.one_episode,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/controls",
        kind="figure",
        title="Rules of one line beside the learned decisions",
        runs=grid.controls,
        seeds=SEEDS,
    ),
    Artifact(
        id="fedddrl/fig5",
        kind="figure",
        title="The utility U(A) and its line",
        compute=_computed("utility_line"),
    ),
    Artifact(
        id="fedddrl/sec5.5-emd",
        kind="table",
        title="EMD with and without Balanced-MixUp",
        compute=_computed("emd_table"),
    ),
    Artifact(
        id="fedddrl/table1",
        kind="table",
        title="Features of related methods",
        compute=_computed("feature_table"),
    ),
    Artifact(
        id="fedddrl/sec5.4",
        kind="table",
        title="Time and memory of the agents beside the formula",
        compute=_computed("agents_cost"),
        keep=True,
        alone=True,
        datasets={profile: (scale.datasets["MNIST"],) for profile, scale in grid.SCALES.items()},
    ),
)
