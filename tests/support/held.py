"""FedAvg that stops after some rounds for as long as a file exists, so that a test can meet it at work."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from fedlib.methods.baselines.fedavg import FedAvg

ROUND = 3


@dataclass(frozen=True)
class Held(FedAvg):
    """The file is named by FEDLIB_TEST_HOLD."""

    def apply(self, task, state, cohort):
        path = os.environ.get("FEDLIB_TEST_HOLD")
        while path and state.round == ROUND and Path(path).exists():
            time.sleep(0.05)
        return super().apply(task, state, cohort)
