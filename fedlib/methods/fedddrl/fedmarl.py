"""FedMarl: early termination alone, FedDdrl's predecessor and its rows A to C of table 4.

S. Q. Zhang, J. Lin, Q. Zhang, "A Multi-Agent Reinforcement Learning Approach for Efficient Client
Selection in Federated Learning", AAAI 2022, https://arxiv.org/abs/2201.02932, as restated in
FedDdrl (Sensors 23 (2023) 2494, sec. 5.1): VDN 1 with the vanilla reward (12), and the run's
own local epochs for every client that is kept (E = 5). It trains for as many episodes as
FedDdrl (FEDDDRL-A24).
"""

from dataclasses import dataclass
from typing import ClassVar

from fedlib.methods.fedddrl.method import FedDdrl


@dataclass(frozen=True)
class FedMarl(FedDdrl):
    """Row A with the original weights; B is w1=2.9, C is B with Balanced-MixUp (FEDDDRL-A6)."""

    w1: float = 1.0
    bias: float | None = 0.0

    adjust_epochs: ClassVar[bool] = False  # it has no second VDN
