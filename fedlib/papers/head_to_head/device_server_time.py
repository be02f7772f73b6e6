"""Cost of the server's own work in a round of the methods that choose by time (HEAD-A20).

As in `server_time` clients have one mini-batch each and take turns; here they train for one epoch, so that
whoever is stopped early has trained as much as all others. What is subtracted is the round of a rule without
an agent that lets as many clients train in the same way.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from fedlib.analysis.tables import listed
from fedlib.papers.head_to_head.device_runs import CLIENTS, CONTESTANTS, TIMED
from fedlib.papers.head_to_head.device_runs import runs as device_runs
from fedlib.papers.head_to_head.server_time import WHERE, over_references, with_one_mini_batch
from fedlib.run import Run

HALF, STOPPING = "FedAvg, half of the clients", "faster half alone, random"
REFERENCES = {"FedDdrl": STOPPING, "FedMarl": STOPPING, "SchedulerFL": HALF, "EvaluatorFL": "FedAvg"}
# in place of what comes before round 1; the decisions of a round cost the same
WITHOUT_PRETRAINING: dict[str, Mapping[str, Any]] = {
    "FedDdrl": {"episodes": 0}, "FedMarl": {"episodes": 0},
    "SchedulerFL": {"policy": "untrained", "time_epochs": 1},
}  # fmt: skip


def timed_runs(profile: str) -> dict[str, Run]:
    """Name -> run of the methods that choose by time and of what they are compared with."""
    found = {}
    for name, run in zip(CONTESTANTS, device_runs(profile), strict=True):
        if name in {*TIMED, *REFERENCES.values()}:
            options = {**run.method_options, **WITHOUT_PRETRAINING.get(name, {})}
            found[name] = with_one_mini_batch(replace(run, local_epochs=1, method_options=options))
    found[HALF] = replace(found["FedAvg"], cohort_size=CLIENTS // 2)
    return found


def device_server_time(profile: str) -> pd.DataFrame:
    """Table of `TIMED`: milliseconds of a round over its reference's, see `server_time.over_references`."""
    return over_references(timed_runs(profile), REFERENCES)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """`device_server_time` for readers: the most expensive first, with whose round is subtracted."""
    order = rows.sort_values("over_ms", ascending=False)
    return pd.DataFrame(
        {
            "contestant": order.contestant, "ms a round over its reference's": order.over_ms,
            "lower quartile": order.over_p25_ms, "upper quartile": order.over_p75_ms,
            "in the last tenth of the rounds": order.over_late_ms,
            "reference": order.contestant.map(REFERENCES),
        }
    ).round(2)  # fmt: skip


def answer(rows: pd.DataFrame) -> list[str]:
    """Sentence on what the decisions cost the server a round, beside rules without an agent."""
    if rows.empty:
        return []
    over, first = rows.set_index("contestant").over_ms, rows.iloc[0]
    told = [f"{name} {over[name]:.3g} ms" for name in TIMED if name in over.index]
    return [
        "The server's own work a round, over that of a rule without an agent that lets as many clients "
        f"train, on {WHERE[first.timed_on]} (medians of {first['rounds']} rounds): {listed(told)}."
    ]
