"""The report's open questions, answered from stored rows: what is the state, the reward, the algorithm?"""

from collections.abc import Callable

import pandas as pd

from fedlib.analysis.intervals import mean_interval
from fedlib.papers.frl import quantities

RowsOf = Callable[[str], pd.DataFrame]


def state_and_reward(rows_of: RowsOf) -> pd.DataFrame:
    """Spread of the workers' accuracies, size of the reward, and how well updates tell clusters apart."""
    rows = rows_of("frl/fig16")
    rows = quantities.named(rows[rows["round"] > 0])
    found = []
    for workers, own in rows[rows["variant"] == "evaluatorfl"].groupby("num_clients"):
        first = own["episode_round"] == 1
        found += [
            ("state: spread of the accuracies", f"{workers} workers", own["state_std"].mean()),
            ("reward: |R| in round 1 of an episode", f"{workers} workers", own[first]["reward"].abs().mean()),
            ("reward: |R| in its other rounds", f"{workers} workers", own[~first]["reward"].abs().mean()),
        ]
    index = rows_of("frl/fig24").groupby("method")["rand_index"].mean()
    found += [("state: Rand index of updates", name, index[name]) for name in ("pca", "spectral")]
    return pd.DataFrame(found, columns=["question", "of", "measured"])


def agent_less_random(rows_of: RowsOf) -> pd.DataFrame:
    """The trained scheduler less as many workers at random: longest round (s) and final accuracy."""
    found = []
    for artifact in ("frl/table2", "frl/table3"):
        table = quantities.rounds_to_threshold(quantities.named(rows_of(artifact)))
        for quantity in ("max_seconds", "final"):
            agent, random = (
                quantities.of_variant(table, name, quantity) for name in ("schedulerfl", "learned_rate")
            )
            gap = mean_interval((agent - random).to_numpy())
            found.append((artifact, quantity, gap.mean, gap.low, gap.high, gap.n))
    columns = ["artifact", "quantity", "agent less random at its rate", "low", "high", "n"]
    return pd.DataFrame(found, columns=columns)
