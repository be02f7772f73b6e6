"""FedDRL (ICPP 2022): every table and figure, with controls that show whether the agent learns.

N. H. Nguyen et al., "FedDRL: Deep Reinforcement Learning-based Adaptive Aggregation for Non-IID
Data in Federated Learning", https://doi.org/10.1145/3545008.3545085.

| artifact | what it shows |
|---|---|
| `feddrl/table3` | best accuracy in 18 cells; its runs are lent to the figures |
| `feddrl/table3_fmnist_ce_n100` | the cell of table 3 that a CPU can approach at the paper's full scale |
"""

from fedlib.papers import Artifact
from fedlib.papers import feddrl_grid as grid

ARTIFACTS = (
    Artifact(
        id="feddrl/table3",
        kind="table",
        title="Best accuracy under PA, CE and CN, N = 10 and 100",
        runs=grid.table3,
    ),
    Artifact(
        id="feddrl/table3_fmnist_ce_n100",
        kind="check",
        title="One cell of table 3 at full scale: Fashion-MNIST, CE, N = 100",
        runs=grid.full_scale_cell,
        seeds={"smoke": 1, "reduced": 3, "paper": 1},
    ),
)

CLAIMS = ()
