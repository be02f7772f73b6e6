"""Runs of single cells at the paper's length: what table 3's and fig. 8's claims fall back on.

Most of them are runs of those grids (`runs`), seen together with others.
"""

from collections.abc import Iterable
from dataclasses import replace

from fedlib.papers.feddrl.repair import REPAIRED
from fedlib.papers.feddrl.runs import (
    CLUSTERED,
    DRAWN,
    FEDERATED,
    PARTITIONS,
    base_run,
    over_delta,
    scale_of,
    table3_cells,
    with_methods,
)
from fedlib.run import Run

LENGTH_CELLS = {
    "paper_length": ("fmnist", "ce", 100),
    "paper_length_cn": ("fmnist", "cn", 100),
    "paper_length_pa": ("fmnist", "pa", 100),
    "paper_length_mnist": ("mnist", "ce", 100),
    "paper_length_mnist_cn": ("mnist", "cn", 100),
    "paper_length_mnist_pa": ("mnist", "pa", 100),
    "paper_length_ten": ("fmnist", "ce", 10),
}
WITH_TEN = "feddrl/paper_length_ten"
EARLY_ROUNDS = 100  # of `early_lead`
EARLY_SEEDS = tuple(range(5, 10))  # none of those on which the lead was seen


def paper_length(profile: str, artifact: str = "paper_length") -> list[Run]:
    """Runs of one of `LENGTH_CELLS`: all that table 3 has of it, and FedDRL with slots in drawn order.

    Sorted by client number (FEDDRL-A5) the last slots are the small groups', so that an agent needs no
    client's loss to prefer them; in drawn order a slot tells nothing of the group. PA has no groups.
    """
    data, partition, num_clients = LENGTH_CELLS[artifact]
    cell = base_run(profile, artifact, data, partition, num_clients)
    runs = table3_cells(
        profile, data=(data,), partitions=(partition,), clients=(num_clients,), singleset=True
    )
    drawn = replace(cell, method="feddrl", method_options=dict(DRAWN))
    return [*runs, drawn] if partition in CLUSTERED else runs


def at_length(
    profile: str,
    partitions: Iterable[str] = PARTITIONS,
    names: Iterable[str] = FEDERATED,
    data: Iterable[str] = ("fmnist",),
    clients: Iterable[int] = (100,),
) -> list[Run]:
    """Table 3's runs of these `VARIANTS` in cells of so many clients: what the paper says of several."""
    cells = [
        base_run(profile, "table3", name, scheme, number)
        for number in clients
        for name in data
        for scheme in partitions
    ]
    return [run for cell in cells for run in with_methods(cell, names)]


def delta_ends(profile: str) -> list[Run]:
    """The paper's methods at the ends of fig. 8 after as many rounds as table 3 has, whose runs 0.6 is."""
    scale, names = scale_of(profile), ("fedavg", "fedprox", "feddrl")
    artifact = "fig8" if scale.fig8_rounds is None else "delta_ends"  # there fig. 8 has the same runs
    low = [over_delta(profile, name, min(scale.deltas), scale.rounds, artifact) for name in CLUSTERED]
    return at_length(profile, CLUSTERED, names) + [run for cell in low for run in with_methods(cell, names)]


def early_lead(profile: str) -> list[Run]:
    """The repaired agent, its untrained policy and uniform weights in the first rounds under CN.

    The agent's two workers have as many rounds before round 1 as at the paper's length.
    """
    length = scale_of(profile).rounds
    cell = replace(base_run(profile, "early_lead", "fmnist", "cn", 100), rounds=min(EARLY_ROUNDS, length))
    (uniform,) = with_methods(cell, ("uniform",))
    if length <= EARLY_ROUNDS:
        uniform = replace(uniform, artifact="table3")  # whose run it is
    agents = ({"worker_rounds": length}, {"agent": "untrained"})
    repaired = [replace(cell, method="feddrl", method_options={**REPAIRED, **more}) for more in agents]
    return [uniform, *repaired]
