"""Latency of stored rounds by other rules than eq. (1) over its largest value, from devices and decisions.

Devices are functions of (seed, client), so that a row's cohort, decisions and epochs give every client's
seconds again, for FedAvg too, whose rows hold no probing latencies.
"""

import functools
import json

import numpy as np
import pandas as pd

from fedlib.errors import check
from fedlib.methods.fedddrl.devices import Devices, draw_devices, largest_client, round_latency

_NEEDED = (
    "clients", "seed", "num_clients", "partition_options", "local_epochs", "kept", "epochs",
    "probing_seconds", "latency_seconds", "latency_share",
)  # fmt: skip
_devices = functools.lru_cache(maxsize=64)(draw_devices)
RULES = {"printed": "as printed (1)", "fedmarl": "as FedMarl"}


def latencies(rows: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each evaluation round by both rules, and H_t over the cohort's sum (FEDDDRL-A2, A3).

    rows: of evaluation rounds, all clients of one size, as partition `majority` makes them. Columns printed,
    fedmarl, cohort_share; index of the rows.
    """
    own = rows[[column for column in _NEEDED if column in rows]]
    found = [_of_round(row) for row in own.to_dict("records")]
    return pd.DataFrame(found, columns=[*RULES, "cohort_share"], index=rows.index)


def _of_round(row: dict[str, object]) -> tuple[float, float, float]:
    clients = np.array(json.loads(str(row["clients"])))
    devices = _devices(int(str(row["seed"])), int(str(row["num_clients"])))
    given = json.loads(str(row["partition_options"])).get("images_per_client")
    sizes = np.full(len(clients), int(given) if given is not None else _images(row, devices, clients))
    usual = np.full(len(clients), row["local_epochs"])
    everyone = not isinstance(row.get("kept"), str)
    kept = np.ones(len(clients)) if everyone else np.array(json.loads(str(row["kept"])))
    epochs = usual if everyone else np.array(json.loads(str(row["epochs"])))
    seconds = [float(round_latency(devices, clients, sizes, epochs, kept, rule=rule)) for rule in RULES]
    stored = float(str(row.get("latency_seconds", "nan")))
    check(
        bool(given is not None or np.isnan(stored) or np.isclose(seconds, stored, rtol=1e-4).any()),
        f"clients of unequal size given ({row['partition_options']}); allowed: as many images in each",
    )
    finish = devices.training_seconds(clients, sizes, usual) + devices.upload_seconds[clients]
    return seconds[0], seconds[1], seconds[0] / float(finish.sum())


def _images(row: dict[str, object], devices: Devices, clients: np.ndarray) -> int:
    """Images of each client, from the row's seconds: the partition's options do not have them."""
    if isinstance(row.get("probing_seconds"), str):  # of methods that probe; some have H in another unit
        return round(json.loads(str(row["probing_seconds"]))[0] / devices.compute_seconds[clients[0]])
    return largest_client(float(str(row["latency_seconds"])) / float(str(row["latency_share"])))
