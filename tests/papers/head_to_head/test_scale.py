"""Sentences on scale, curves, machines and training, from rows made up by hand."""

import json

import pandas as pd

from fedlib.papers.head_to_head import claims, runs, scale, training
from fedlib.papers.head_to_head.clients import client_sizes
from fedlib.papers.head_to_head.headline import comparison_evidence, scale_in_brief
from tests.support.head_to_head_rows import lines, table_of


def curve(contestant, accuracies, *, seed=0, cell="cluster skew", device="a CPU", torch="2.13", **columns):
    """Rows of one run, an accuracy a round from round 1."""
    one = runs.CONTESTANTS[contestant]
    partition, wanted = runs.CELLS[cell]
    frame = pd.DataFrame({"round": range(1, len(accuracies) + 1), "test_accuracy": accuracies})
    sizes = {"train_per_class": 1000, "test_per_class": 300, "local_test": 0.1, "server_share": 0.1}
    return frame.assign(
        run=f"{contestant}-{cell}-{seed}", dataset="fmnist", seed=seed, method=one.method, status="ok",
        method_options=json.dumps(dict(one.options)), partition=partition, num_clients=100, batch_size=10,
        partition_options=json.dumps(wanted), dataset_options=json.dumps(sizes), device_name=device,
        torch=torch, **columns,
    )  # fmt: skip


def test_images_of_the_protocol():
    """Shards: 10,000 / 100 = 100 a client. Cluster skew: 32 a client, of which 0.9 * 32 + 0.5 cuts to 29."""
    rows = pd.concat([curve("fedavg", [0.5] * 20), curve("fedavg", [0.5] * 20, cell="two labels")])
    assert scale.images_words(rows) == (
        "The comparison has 10,000 training images of Fashion-MNIST, 2,700 test images and 300 for the "
        "server. In cluster skew a client trains on 29 images in 3 local steps a round and holds 3 back. All "
        "clients together have 3,200. In two labels a client trains on 90 images in 9 local steps a round "
        "and holds 10 back. All clients together have 10,000."
    )
    assert scale.worst_tenth_words(rows) == (
        "The worst tenth rests on 3 (cluster skew) and 10 (two labels) held-back images a client, after the "
        "last round only."
    )
    assert scale.images_in_brief(rows) == (
        "The comparison has 10,000 training images of Fashion-MNIST and 3 to 9 local steps a round."
    )
    whole = rows.assign(dataset_options=json.dumps({"local_test": 0.1, "server_share": 0.1}))
    assert scale.images_words(whole).startswith(
        "All images of Fashion-MNIST are trained and tested on, but for those of the server. In cluster skew "
        "a client trains on 180 images in 18 local steps a round and holds 20 back. All clients"
    )
    assert scale.images_in_brief(whole) == (
        "The comparison has all training images of Fashion-MNIST and 18 to 54 local steps a round."
    )
    mnist = whole.assign(dataset="mnist")  # classes of unequal sizes
    assert scale.images_words(mnist) == (
        "All images of MNIST are trained and tested on, but for those of the server."
    )
    assert scale.images_in_brief(mnist) == "The comparison has all training images of MNIST."
    assert scale.worst_tenth_words(mnist) == ""


def test_images_that_differ_by_seed_are_told_over_all_seeds():
    """Volumes of 0.5 to 1.5 times the mean, drawn anew for each seed: all 10,000 images go to the clients."""
    alone = [curve("fedavg", [0.5] * 20, seed=seed, cell="volume and labels") for seed in (0, 1)]
    sizes = [client_sizes(rows)["volume and labels"] for rows in alone]
    both = client_sizes(pd.concat(alone))["volume and labels"]
    assert sizes[0].trained != sizes[1].trained
    assert both.trained == sizes[0].trained + sizes[1].trained
    assert {both.total, sizes[0].total, sizes[1].total} == {10_000}
    span = f"on {min(both.trained)} to {max(both.trained)} images"
    assert f"In volume and labels a client trains {span}" in scale.images_words(pd.concat(alone))


def test_worst_tenths_are_compared_with_fedavgs():
    """FedProx 20 points ahead in both seeds; FedNova 10 and -10: undecided."""
    worst = {"fedavg": (0.3, 0.3), "fedprox": (0.5, 0.5), "fednova": (0.4, 0.2)}
    rows = pd.concat(
        lines(name, seed, [0.6] * 20, clients=[one, *[0.9] * 9])
        for name, values in worst.items() for seed, one in enumerate(values)
    )  # fmt: skip
    assert scale.worst_tenth_leads(rows) == (
        "The worst tenth less FedAvg's over the cells, in points, where the interval leaves out 0: "
        "FedProx +20.00 [+20.00, +20.00]. Corrected for 2 comparisons (Holm), FedProx holds."
    )
    assert scale.worst_tenth_leads(rows[rows.method == "fedprox"]) == ""


def test_curves_that_still_rise():
    """FedAvg rises by 0.5 points a round: over rounds 16 to 20 by 2. FedNova's diverged run is left out."""
    rising = [0.5 + 0.005 * n for n in range(20)]
    lost = curve("fednova", rising)
    lost = lost.assign(status=lost.status.where(lost["round"] < 20, "failed: nan"))
    rows = pd.concat([curve("fedavg", rising), curve("fedprox", [0.5] * 20), lost])
    assert scale.curves_words(rows) == (
        "A curve is the mean of a method in a cell, without diverged runs. "
        "1 of 2 curves still rise by more than 1 point over the last quarter: standings are of this length, "
        "not of trained-out models. FedAvg's rises most in cluster skew, by 2.0 points."
    )
    assert scale_in_brief(lambda name: rows)[0].endswith(scale.curves_in_brief(rows))
    told = [tell(rows) for tell in (scale.images_words, scale.curves_words, scale.absent_words)]
    assert comparison_evidence(lambda name: rows) == told
    assert comparison_evidence(lambda name: rows[:0]) == scale_in_brief(lambda name: rows[:0]) == []
    short = curve("fedavg", [0.5] * 3)  # one round in the last quarter
    assert scale.curves_in_brief(short) == "The curves are too short for a slope."
    long = pd.concat([curve("fedavg", [0.5] * 300), curve("fedprox", [0.5] * 300)])
    assert scale.curves_words(long).endswith(
        "decided after 300 rounds even where curves rise, as registered."
    )


def test_machines_are_named_where_they_differ():
    one = [curve("fedavg", [0.5]), curve("fedprox", [0.5]), curve("favor", [0.5])]
    other = [
        curve(
            name,
            [0.5],
            cell="two labels",
            **({"device": "a GPU", "torch": "2.11"} if name != "favor" else {}),
        )
        for name in ("fedavg", "fedprox", "favor")
    ]
    assert scale.machines_words(pd.concat(one)) == ""
    assert scale.machines_words(pd.concat([*one, *other])) == (
        "In two labels *FAVOR* ran on a CPU (torch 2.13); the other 2 on a GPU (torch 2.11). Pairs across "
        "devices differ in the last digits of float32 too, which training amplifies."
    )
    skew = {"partition": "ce", "partition_options": one[0].partition_options.iloc[0]}
    again = [frame.assign(run=f"again-{frame['run'].iloc[0]}", **skew) for frame in other]
    assert scale.machines_words(pd.concat([*again, *other])).startswith(
        "In cluster skew and two labels *FAVOR* ran on a CPU"
    )


def test_training_of_the_agents():
    """Two runs each; what counts is the last round, for FAVOR round 0, for Auto-FedRL's start round 1."""
    learned = [curve("feddrl", [0.5] * 3, seed=seed, buffer_length=[0.0, 1.0, 2.0 + seed]) for seed in (0, 1)]
    before = curve("favor", [0.5] * 3).assign(round=range(3), local_trainings=[3100.0, None, None])
    weights = curve(
        "auto_fedrl", [0.5] * 3, concentration_min=[5.0, 4.9, 4.06], concentration_max=[5.0, 5.1, 6.01]
    )
    rows = pd.concat([*learned, before, weights])
    assert training.all_training_words(rows, claims.LEARNED) == [
        "FedDRL (online)'s buffer ends with 2 to 3 transitions of the run.",
        "FAVOR's agent is trained by 3,100 local trainings before round 1, and learns nothing later.",
        "Auto-FedRL's concentrations, all 5 at the start, end between 4.1 and 6.0: its policy hardly moved.",
    ]
    alike = pd.concat([learned[0], curve("repaired", [0.5] * 3, buffer_length=[0.0, 1.0, 2.0])])
    assert training.all_training_words(alike, claims.LEARNED) == [
        "FedDRL (online) and Repaired FedDRL's buffer ends with 2 transitions of the run."
    ]
    moved = weights.assign(concentration_max=[5.0, 6.0, 7.5])
    assert training.training_words(moved, "auto_fedrl", "Auto-FedRL").endswith("between 4.1 and 7.5")


def test_claims_carry_the_training_of_their_agent():
    claim = next(one for one in claims.CLAIMS if one.id == "HEAD-C1")
    rows = curve("feddrl", [0.5] * 3, buffer_length=[0.0, 1.0, 2.0])
    assert claim.supplements[-1].tell(rows) == "FedDRL (online)'s buffer ends with 2 transitions of the run"


def test_who_has_no_rows_is_named():
    """Two contestants of 25."""
    told = scale.absent_words(table_of(fedavg=[0.5, 0.6], feddrl=[0.4, 0.5]))
    head, missing = told.split("No rows at this length: ")
    assert head == ""
    assert len(missing.split("; ")) == len(runs.CONTESTANTS) - 2
    assert "FAVOR" in missing.split("; ")
    assert scale.absent_words(table_of(**{name: [0.5] for name in runs.CONTESTANTS})) == ""
