"""FedDisk: Federated Learning for distribution skewed data using sample weights (IEEE TAI manuscript).

H. Nguyen, P. Wu, J. M. Chang, TAI-2023-May-A-00417. Figures 3, 4, 5, 6, 7 and table 1 are made of the
same runs, those of `feddisk/fig3`.

| module | what is in it |
|---|---|
| `feddisk_grid` | the runs: every printed setting, and what the profiles change |
| `feddisk_tables` | effective rounds and costs, parameter counts, published beside ours |
| `feddisk_width`, `feddisk_privacy` | the two artifacts without runs of their own |
| `feddisk_claims`, `feddisk_errata` | what the rows and the printed numbers say |
| `feddisk_figures` | the drawings |
"""

from fedlib.papers import Artifact
from fedlib.papers.feddisk_grid import ablations, fedprox_grid, fedrod_grid, fig3

_TRIALS = {"smoke": 1, "reduced": 5, "paper": 5}
_FEWER = {"smoke": 1, "reduced": 3, "paper": 5}


ARTIFACTS = (
    Artifact(
        id="feddisk/fig3",
        kind="figure",
        title="Mean client accuracy per round, five methods",
        runs=fig3,
        seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/sec6b-fedprox", kind="check", title="FedProx over its grid of mu",
        runs=fedprox_grid, seeds=_FEWER,
    ),
    Artifact(
        id="feddisk/sec6b-fedrod", kind="check", title="FedROD over its grid of mu",
        runs=fedrod_grid, seeds=_FEWER,
    ),
    Artifact(
        id="feddisk/ablations", kind="check", title="FedDisk with one thing changed at a time (ours)",
        runs=ablations, seeds=_TRIALS,
    ),
)  # fmt: skip

CLAIMS = ()
