"""Cost of the server's own work in a round, for every contestant, on this machine (HEAD-A15).

Clients train on one mini-batch each, so that little but the server's work is left. Contestants play a round
each in turn, and FedAvg's of the same turn is subtracted. The rest holds more than the server's work: losses
(FedDRL, Power-of-Choice) and control variates (SCAFFOLD, FedDyn), which real clients would compute.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from fedlib.analysis.tables import listed
from fedlib.experiments.stopwatch import round_player, timed_in_turns
from fedlib.federation import prepare
from fedlib.methods import make_method
from fedlib.papers.head_to_head.runs import CONTESTANTS, base_run, chosen, scale_of, with_settings
from fedlib.plotting.style import method_style
from fedlib.processors import torch_threads
from fedlib.run import Run

REFERENCE = "fedavg"
# in place of what comes before round 1; the rounds of the run proper cost the same
WITHOUT_PRETRAINING: dict[str, Mapping[str, Any]] = {
    "repaired": {"mode": "online"}, "favor": {"agent": "untrained"},
}  # fmt: skip
WARM_UPS = 2  # rounds of each contestant
SLOW = 1.0  # ms over FedAvg's round from which a baseline is named
WHERE = {"cpu": "one CPU core", "cuda": "one CPU core and a GPU"}


def timed_runs(profile: str) -> dict[str, Run]:
    """Contestant -> its run with its chosen settings and one mini-batch in each client; without controls."""
    scale, settings = scale_of(profile), chosen()
    shared = with_one_mini_batch(base_run(profile, "server_time", scale.datasets[0], scale.cells[0]))
    found = {}
    for name, one in CONTESTANTS.items():
        if not one.twin_of:
            run = with_settings(shared, name, **settings[name])
            options = {**run.method_options, **WITHOUT_PRETRAINING.get(name, {})}
            found[name] = replace(run, method_options=options)
    return found


def with_one_mini_batch(run: Run) -> Run:
    """The run with as many images in each client as a mini-batch has, and none held back."""
    images = {name: value for name, value in run.dataset_options.items() if name != "local_test"}
    images["train_per_class"] = run.num_clients * run.batch_size // 10
    return replace(run, partition="iid", partition_options={}, dataset_options=images)


def server_time(profile: str) -> pd.DataFrame:
    """Table of contestants: milliseconds of a round over FedAvg's, see `over_references`."""
    runs = timed_runs(profile)
    return over_references(runs, dict.fromkeys(runs, REFERENCE))


def over_references(runs: Mapping[str, Run], references: Mapping[str, str]) -> pd.DataFrame:
    """Table of runs: milliseconds of a round, and over its reference's of the same turn; one CPU thread.

    Medians over the run's rounds, with quartiles; late: the median over the last tenth of the rounds,
    where an agent has most to learn from. references: name -> whose rounds are subtracted.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch_threads(1):
        ms = {name: 1000 * np.array(found) for name, found in _seconds(runs, device).items()}
    rows = []
    for name, reference in references.items():
        own, over = ms[name], ms[name] - ms[reference]
        late = over[-max(1, len(over) // 10) :]
        quartiles = np.percentile(over, [25, 75])
        rows.append(
            {
                "contestant": name, "rounds": len(own), "threads": 1, "timed_on": device,
                "round_ms": np.median(own), "over_ms": np.median(over), "over_p25_ms": quartiles[0],
                "over_p75_ms": quartiles[1], "over_late_ms": np.median(late),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _seconds(runs: Mapping[str, Run], device: str) -> dict[str, list[float]]:
    """Seconds of the rounds of all runs, which take turns; those of the first turns are warm-ups."""
    players = {}
    for name, run in runs.items():
        task, method = prepare([run], device=device), make_method(run.method, run.method_options)
        players[name] = round_player(task, method, method.init(task))
    rounds = next(iter(runs.values())).rounds
    return timed_in_turns(players, rounds - WARM_UPS, WARM_UPS)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """`server_time` for readers: the most expensive first, FedAvg last."""
    order = rows.sort_values("over_ms", ascending=False)
    order = pd.concat([order[order.contestant != REFERENCE], order[order.contestant == REFERENCE]])
    return pd.DataFrame(
        {
            "contestant": order.contestant,
            "ms a round over FedAvg's": order.over_ms, "lower quartile": order.over_p25_ms,
            "upper quartile": order.over_p75_ms, "in the last tenth of the rounds": order.over_late_ms,
        }
    ).round(2)  # fmt: skip


def answer(rows: pd.DataFrame) -> list[str]:
    """Sentences on what the learned methods' own work costs a round, beside the other contestants'."""
    if rows.empty:
        return []
    over = rows.set_index("contestant").over_ms
    late = rows.set_index("contestant").over_late_ms
    learned = [name for name, one in CONTESTANTS.items() if one.learns and name in over.index]
    told = [
        f"{method_style(name).label} {over[name]:.3g} ms ({late[name]:.3g} in the last tenth of the rounds)"
        for name in learned
    ]
    others = over.drop([REFERENCE, *learned])
    slow = others[others >= SLOW].sort_values(ascending=False)
    named = listed([f"{method_style(name).label} {ms:.3g} ms" for name, ms in slow.items()])
    first = rows.iloc[0]
    return [
        f"The server's own work a round, over FedAvg's, on {WHERE[first.timed_on]} (medians of "
        f"{first['rounds']} rounds): {listed(told)}.",
        f"Of the baselines: {named}; each other less than {SLOW:.0f} ms."
        if len(slow)
        else f"Every baseline adds less than {SLOW:.0f} ms.",
    ]
