"""Rows of FedDdrl's runs made by hand, for the tests of its claims, tables and figures."""

import json

import numpy as np
import pandas as pd

from fedlib.papers.fedddrl import runs

ROUNDS, SEEDS = 15, (0, 1, 2)
NOISE = (-0.004, 0.0, 0.004)  # of the three seeds, so that an interval has a width


def episode(
    variant, role="MNIST", *, seed=0, cohort=10, accuracy=0.5, wobble=0.0, kept=10, latency=100.0, **more
):
    """Rows of one evaluation episode, straight to `accuracy`.

    kept, latency: per round, or one value. more: lists over slots for every round, as JSON text.
    """
    run = runs.make_run("reduced", "x", role, runs.SETTINGS[variant])
    options = dict(run.method_options)
    if "episodes" in options:  # of training
        options["episodes"] = 1
    common = {
        "dataset": run.dataset, "method": run.method, "method_options": json.dumps(options),
        "mixup_alpha": run.mixup_alpha, "episode_rounds": ROUNDS,
        "cohort_size": cohort, "seed": seed, "run": f"{variant}{role}{seed}{cohort}", "status": "ok",
        "profile": "reduced", "num_clients": run.num_clients, "local_epochs": run.local_epochs,
        "partition_options": json.dumps(run.partition_options),
        "stand_in": False, "local_learning_rate": run.local_learning_rate, "batch_size": run.batch_size,
        "local_optimizer_options": "{}", "model_options": "{}",
    }  # fmt: skip
    rows = [{**common, "round": 0, "test_accuracy": 0.1, "server_accuracy": 0.1}]
    for t in range(1, ROUNDS + 1):
        reached = 0.1 + (accuracy - 0.1) * t / ROUNDS + wobble * (-1) ** t * (t < ROUNDS)
        rows.append(
            {
                **common, "round": t, "episode": 1,
                "test_accuracy": reached, "server_accuracy": reached,
                "uploads": float(np.broadcast_to(kept, ROUNDS)[t - 1]), "latency_seconds": latency,
                "clients": json.dumps(list(range(cohort))),
                "latency_share": latency / 100, "accuracy_gain": (accuracy - 0.1) / ROUNDS,
                **{name: json.dumps(values) for name, values in more.items()},
            }
        )  # fmt: skip
    return rows


def frame(cells, **shared):
    """cells: (variant, role) -> accuracy, or a dict of `episode`'s arguments; three seeds each."""
    rows = []
    for (variant, role), given in cells.items():
        given = given if isinstance(given, dict) else {"accuracy": given}
        for seed, noise in zip(SEEDS, NOISE, strict=True):
            own = {**shared, **given}
            noisy = own.get("accuracy", 0.5) + noise * own.pop("sway", 0.1)
            rows += episode(variant, role, seed=seed, **{**own, "accuracy": noisy})
    return pd.DataFrame(rows)


def decided(kept, epochs, loss, seconds):
    """FedDdrl's rows with the same decisions in every round; the losses differ a little over seeds."""
    tables = []
    for seed, noise in zip(SEEDS, NOISE, strict=True):
        noisy = [x + noise * (slot + 1) for slot, x in enumerate(loss)]
        table = pd.DataFrame(
            episode("fedddrl", "MNIST", seed=seed, clients=[0, 1, 2, 3], upload_seconds=[1.0] * 4,
                    epochs=epochs, probing_loss=noisy, probing_seconds=seconds)
        )  # fmt: skip
        tables.append(table.assign(kept=np.where(table["round"] > 0, json.dumps(kept), None)))
    return pd.concat(tables, ignore_index=True)
