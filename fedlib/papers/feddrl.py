"""FedDRL (ICPP 2022): every table and figure, with controls that show whether the agent learns.

N. H. Nguyen et al., "FedDRL: Deep Reinforcement Learning-based Adaptive Aggregation for Non-IID
Data in Federated Learning", https://doi.org/10.1145/3545008.3545085.

| artifact | what it shows |
|---|---|
| `feddrl/table1` | the agent's settings, printed and ours |
| `feddrl/table2` | which kinds of skew PA, CE and CN have, measured |
| `feddrl/fig1` | private data: the published group structure in words |
| `feddrl/fig4` | PA, CE and CN: label counts of ten clients |
| `feddrl/table3` | best accuracy in 18 cells; its runs are lent to the figures |
| `feddrl/fig5` | accuracy per round |
| `feddrl/fig6` | mean and variance of the global model's loss over the clients |
| `feddrl/fig7` | 10 to 50 participants of 100 |
| `feddrl/fig8` | size of the main cluster, 20 to 60 % of the clients |
| `feddrl/fig9` | server time: the agent and the averaging |
| `feddrl/fig10` | rounds to a target accuracy |
| `feddrl/table4` | shards of sorted images, Equal and Non-equal |
| `feddrl/cifar10_as_run` | the CIFAR cells as the authors' logs say they were run (FEDDRL-A25) |
| `feddrl/label_mix` | what mix of labels those clients really had |
| `feddrl/fedprox_weights` | FedProx averaged by n_k and uniformly (FEDDRL-A36) |
| `feddrl/upper_bound` | SingleSet beside all cells of tables 3 and 4 |
| `feddrl/impact_factors` | weights of the main group's clients and of the others |
| `feddrl/small_setting` | the agent's two modes beside the best constant weights |
| `feddrl/table3_fmnist_ce_n100` | the cell of table 3 that a CPU can approach at the paper's full scale |
| `feddrl/authors_partitions` | cells of table 3 on the authors' partition files, where these are at hand |
| `feddrl/authors_deltas` | fig. 8 on them |
| `feddrl/full_scale_curves` | how far its runs have got |
"""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fedlib.papers import PROFILES, Artifact
from fedlib.papers import feddrl_files as files
from fedlib.papers import feddrl_grid as grid
from fedlib.papers.feddrl_claims import CLAIMS
from fedlib.run import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ARTIFACTS", "CLAIMS"]


def _trained(name: str, kind: str, title: str, runs: Callable[[str], list[Run]]) -> Artifact:
    return Artifact(id=f"feddrl/{name}", kind=kind, title=title, runs=runs)


def _measured(name: str, kind: str, title: str, data: Sequence[str], *, keep: bool = True) -> Artifact:
    """Without training, by a function of its name in `feddrl_measures` or `feddrl_timing`."""

    def compute(profile: str) -> "pd.DataFrame":
        module = importlib.import_module(f"fedlib.papers.feddrl_{'timing' if name == 'fig9' else 'measures'}")
        return getattr(module, name)(profile)

    needed = {p: tuple(grid.scale_of(p).datasets[key] for key in data) for p in PROFILES}
    return Artifact(
        id=f"feddrl/{name}", kind=kind, title=title, compute=compute, keep=keep, alone=name == "fig9",
        datasets=needed,
    )  # fmt: skip


ARTIFACTS = (
    _measured("table1", "table", "The agent's settings", (), keep=False),
    _measured("table2", "table", "Kinds of skew of PA, CE and CN", tuple(grid.DATA.values())),
    _measured("fig1", "figure", "Pill images (private data): groups in words", (), keep=False),
    _measured("fig4", "figure", "PA, CE and CN illustrated", ("fmnist",)),
    _trained("table3", "table", "Best accuracy under PA, CE and CN, N = 10 and 100", grid.table3),
    _trained("fig5", "figure", "Accuracy per round", grid.fig5),
    _trained("fig6", "figure", "Loss over the clients, N = K = 10", grid.fig6),
    _trained("fig7", "figure", "Number of participants K", grid.fig7),
    _trained("fig8", "figure", "Share delta of the main cluster", grid.fig8),
    _measured("fig9", "figure", "Server time: agent and averaging", ("fmnist",)),
    _trained("fig10", "figure", "Rounds to a target accuracy", grid.fig10),
    _trained("table4", "table", "Best accuracy under shards, Equal and Non-equal", grid.table4),
    _trained("upper_bound", "check", "SingleSet in all cells of tables 3 and 4", grid.upper_bound),
    _trained("impact_factors", "check", "Weights of main and small groups", grid.impact_factors),
    _trained("small_setting", "check", "The agent beside the best constant weights", grid.small_setting),
    _trained("cifar10_as_run", "check", "The CIFAR cells as they were run", grid.cifar10_as_run),
    _measured("label_mix", "check", "Label mixes of the CIFAR cells as they were run", ("cifar10",)),
    _trained("authors_partitions", "check", "Table 3 on the authors' own files", files.authors_partitions),
    _trained("authors_deltas", "check", "Fig. 8 on the authors' own files", files.authors_deltas),
    _trained("fedprox_weights", "check", "FedProx by n_k and uniform weights", grid.fedprox_weights),
    Artifact(
        id="feddrl/table3_fmnist_ce_n100",
        kind="check",
        title="One cell of table 3 at full scale: Fashion-MNIST, CE, N = 100",
        runs=grid.full_scale_cell,
        seeds={"smoke": 1, "reduced": 3, "paper": 1},
    ),
    _measured("full_scale_curves", "check", "How far the runs of that cell have got", ("fmnist",)),
)
