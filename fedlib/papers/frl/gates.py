"""Gates of the report's claims: workers and episodes, its task, how long its scheduler trained."""

import pandas as pd

from fedlib.analysis.claims import Gate
from fedlib.papers.frl.estimands import EPISODES, WORKERS, of_agent


def _full_size(rows: pd.DataFrame) -> tuple[bool, str]:
    """20 episodes, for 20 and 100 workers."""
    episodes, workers = rows["episode"].max(), set(rows["num_clients"])
    told = f"{episodes:g} episodes of {', '.join(map(str, sorted(workers)))} workers"
    whole = episodes >= EPISODES and set(WORKERS) <= workers
    return whole, told if whole else f"{told}; the claim is about 20 of 20 and 100"


def _both_sizes(rows: pd.DataFrame) -> tuple[bool, str]:
    workers = set(rows["num_clients"])
    return set(WORKERS) <= workers, f"{', '.join(map(str, sorted(workers)))} workers"


def _paper_task(rows: pd.DataFrame) -> tuple[bool, str]:
    models, epochs = sorted(set(rows["model"])), sorted(set(rows["local_epochs"]))
    told = f"{', '.join(models)}, local epochs: {', '.join(map(str, epochs))}"
    whole = models == ["cnn-frl"] and epochs == [3]
    return whole, told if whole else f"{told}; the claim is about the report's CNN with 3"


def _scheduler_trained(rows: pd.DataFrame) -> tuple[bool, str]:
    """The paper's 30 experiments of 20 rounds of 100 workers, or the stop of FRL-A17 before their end."""
    own = of_agent(rows)
    experiments, workers = int(own["experiment"].max()), len(own["drawn"].iloc[0])
    decisions = own.groupby("seed")["before_stop"].apply(lambda kept: int(kept.astype(bool).sum()))
    stopped = decisions < own.groupby("seed").size()
    told = f"{experiments} experiments of {workers} workers (printed: 30 of 100)"
    told += f", training stopped by A17 in {int(stopped.sum())} of {len(stopped)} seeds"
    if stopped.any():
        told += f" after {decisions[stopped].min()} to {decisions[stopped].max()} decisions"
    return workers >= 100 and (experiments >= 30 or bool(stopped.all())), told


FULL_SIZE = Gate("20 episodes of 20 and of 100 workers", _full_size)
BOTH_SIZES = Gate("20 and 100 workers", _both_sizes)
PAPER_TASK = Gate("the report's task: its CNN, 3 epochs", _paper_task)
SCHEDULER_TRAINED = Gate(
    "scheduler trained: 30 experiments of 100 workers, or the stop of A17", _scheduler_trained
)
