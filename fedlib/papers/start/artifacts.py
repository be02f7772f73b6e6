"""Notebook 00: what the suite does, on one data set, before any paper.

The baselines carry no claim of a paper; the claims here are ours, about the floor that the
papers' results stand on.
"""

from fedlib.experiments.artifact import PROFILES, Artifact, Deferred
from fedlib.papers.start import runs

_paper = Deferred("fedlib.papers.start")
figures, tables, partitions = _paper.figures, _paper.tables, _paper.partitions

ARTIFACTS = (
    Artifact(
        "start/partitions", "Every family of partitions, measured", "table",
        compute=partitions.measure_families,
        datasets={"smoke": ("fmnist-embedded",), "reduced": ("fmnist",), "paper": ("fmnist",)},
    ),
    Artifact(
        "start/curves", "SingleSet, FedAvg and FedProx under cluster skew: accuracy per round", "figure",
        runs=runs.curve_runs, plot=figures.plot_curves, seeds={"smoke": 3, "reduced": 3, "paper": 5},
    ),
    Artifact(
        "start/sanity", "FedAvg on IID Fashion-MNIST, 20 rounds",
        runs=runs.sanity_runs, seeds={"smoke": 1, "reduced": 3, "paper": 5},
    ),
    Artifact(
        "start/bf16", "Local training in bfloat16 beside float32",
        runs=runs.bf16_runs, tables=(tables.precisions,), profiles=PROFILES,
        seeds={"smoke": 2, "reduced": 5, "extended": 6, "paper": 5},
    ),
)  # fmt: skip
