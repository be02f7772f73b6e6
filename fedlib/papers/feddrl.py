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
| `feddrl/small_setting` | the agent's two modes beside the best constant weights |
| `feddrl/table3_fmnist_ce_n100` | the cell of table 3 that a CPU can approach at the paper's full scale |
"""

from collections.abc import Callable

from fedlib.papers import Artifact
from fedlib.papers import feddrl_grid as grid
from fedlib.run import Run


def _trained(name: str, kind: str, title: str, runs: Callable[[str], list[Run]]) -> Artifact:
    return Artifact(id=f"feddrl/{name}", kind=kind, title=title, runs=runs)


ARTIFACTS = (
    _trained("table3", "table", "Best accuracy under PA, CE and CN, N = 10 and 100", grid.table3),
    _trained("fig5", "figure", "Accuracy per round", grid.fig5),
    _trained("fig6", "figure", "Loss over the clients, N = K = 10", grid.fig6),
    _trained("fig7", "figure", "Number of participants K", grid.fig7),
    _trained("fig8", "figure", "Share delta of the main cluster", grid.fig8),
    _trained("fig10", "figure", "Rounds to a target accuracy", grid.fig10),
    _trained("table4", "table", "Best accuracy under shards, Equal and Non-equal", grid.table4),
    _trained("cifar10_as_run", "check", "The CIFAR cells as they were run", grid.cifar10_as_run),
    _trained("fedprox_weights", "check", "FedProx by n_k and uniform weights", grid.fedprox_weights),
    _trained("small_setting", "check", "The agent beside the best constant weights", grid.small_setting),
    Artifact(
        id="feddrl/table3_fmnist_ce_n100",
        kind="check",
        title="One cell of table 3 at full scale: Fashion-MNIST, CE, N = 100",
        runs=grid.full_scale_cell,
        seeds={"smoke": 1, "reduced": 3, "paper": 1},
    ),
)

CLAIMS = ()
