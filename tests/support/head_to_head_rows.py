"""Rows of the head to head, made by hand."""

import json

import pandas as pd

from fedlib.papers.head_to_head import public, runs


def lines(contestant, seed, accuracies, *, rate=0.1, options=None, clients=None, cell="cluster skew"):
    """Rows of one run, an accuracy a round."""
    one = runs.CONTESTANTS[contestant]
    partition, wanted = runs.CELLS[cell]
    frame = pd.DataFrame({"round": range(1, len(accuracies) + 1), "test_accuracy": accuracies})
    return frame.assign(
        run=f"{contestant}-{cell}-{seed}-{rate}-{options}", dataset="fmnist", seed=seed, method=one.method,
        method_options=json.dumps({**one.options, **(options or {})}), partition=partition,
        partition_options=json.dumps(wanted), local_learning_rate=rate, uplink_bytes=3e6, downlink_bytes=1e6,
        client_test_accuracy_mean=accuracies, status="ok",
        client_test_accuracies=json.dumps(clients or [0.5] * 10), num_clients=40, batch_size=10,
        rounds=len(accuracies), cohort_size=10, clients=json.dumps(list(range(10))), local_epochs=1,
        dataset_options=json.dumps(
            {"train_per_class": 120, "test_per_class": 20, "local_test": 0.1, "server_share": 0.1}
        ),
    )  # fmt: skip


def table_of(cell="cluster skew", /, **levels):
    """Twenty rounds each, flat at the level; contestant -> one level per seed."""
    each = [(name, seed, v) for name, values in levels.items() for seed, v in enumerate(values)]
    return pd.concat([lines(name, seed, [v] * 20, cell=cell) for name, seed, v in each])


def failing(rows, contestant, seed):
    """The rows with this run failed in its 15th round, at the accuracy of a guess."""
    run = rows["run"].str.startswith(f"{contestant}-") & (rows.seed == seed)
    last = run & (rows["round"] == 15)
    rows = rows.assign(
        status=rows.status.where(~last, "failed: test_loss is nan in round 15"),
        test_accuracy=rows.test_accuracy.where(~last, 0.1),
    )
    return rows[~(run & (rows["round"] > 15))].reset_index(drop=True)


def benchmark_rows(method, accuracies, rounds=50, grid=public.niid_bench):
    """Rows of the first round and of the last, with the accuracy of each seed."""
    run = next(r for r in grid("extended") if r.method == method)
    return pd.concat(
        [
            pd.DataFrame({"round": [1, rounds], "test_accuracy": [0.1, value]}).assign(
                run=f"{method}{seed}", dataset=run.dataset, partition=run.partition, method=method, seed=seed,
                status="ok", rounds=rounds, artifact=run.artifact,
                partition_options=json.dumps(run.partition_options),
            )
            for seed, value in enumerate(accuracies)
        ]
    )  # fmt: skip
