"""FedDisk: Federated Learning for distribution skewed data using sample weights (IEEE TAI manuscript).

H. Nguyen, P. Wu, J. M. Chang, TAI-2023-May-A-00417. Figures 3, 4, 6, 7 and table 1 are made of the
same runs.
"""

from collections.abc import Callable, Iterable
from functools import partial

from fedlib.experiments.artifact import PROFILES, Artifact, Deferred, Measurement
from fedlib.papers.feddisk.runs import (
    CONVERGED,
    CONVERGED_TRIALS,
    TRIALS_AT_LENGTH,
    TWO_EPOCHS,
    WIDTH_TRIALS,
    ablations,
    converged,
    converged_weights,
    fedprox_grid,
    fedrod_grid,
    fig3,
    fig5,
    made_widths,
    readings,
    styles,
    two_epochs,
    without_noise,
)
from fedlib.run import Run

_paper = Deferred("fedlib.papers.feddisk")
ablation_tables, figures = _paper.ablation_tables, _paper.figures
leakage_bound, made_width = _paper.leakage_bound, _paper.made_width
measurements, reading_search, samples = _paper.measurements, _paper.reading_search, _paper.samples
tables = _paper.tables

# five trials, seeds 0 to 4, each with a split, noise and networks of its own (FEDDISK-A29)
_TRIALS = {"smoke": 1, "reduced": 5, "paper": 5}
_NO_DATA: dict[str, tuple[str, ...]] = {profile: () for profile in _TRIALS}
_trained = partial(Artifact, seeds=_TRIALS)


def _data_settings(profile: str) -> list[dict[str, object]]:
    names = ("dataset", "dataset_options", "partition", "partition_options", "num_clients")
    return list(
        {str(kept): kept for run in fig3(profile) for kept in [{n: getattr(run, n) for n in names}]}.values()
    )


def _data_of(
    runs: Callable[[str], list[Run]], profiles: Iterable[str] = _TRIALS
) -> dict[str, tuple[str, ...]]:
    """Names of the data sets of a function's runs, by profile."""
    return {profile: tuple(dict.fromkeys(run.dataset for run in runs(profile))) for profile in profiles}


ARTIFACTS = (
    Artifact(
        "feddisk/fig2", "Sample images: noise, writers and sources",
        measurement=Measurement("feddisk/fig2", samples.sample_images, _data_settings),
        plot=figures.plot_samples, datasets=_data_of(fig3),
    ),
    _trained(
        "feddisk/fig3", "Mean client accuracy per round, five methods",
        runs=fig3, plot=figures.plot_accuracy, tables=(tables.published_beside_ours, tables.weights_shown),
    ),
    _trained("feddisk/fig4", "Accuracy over the clients, box plots", runs=fig3, plot=figures.plot_boxes),
    _trained("feddisk/fig5", "Loss of the global MADE per round", runs=fig5, plot=figures.plot_made),
    _trained(
        "feddisk/table1", "Effective communication rounds", runs=fig3, tables=(tables.table1_beside_ours,)
    ),
    Artifact(
        "feddisk/table2", "Weights sent per round and client, printed and counted",
        compute=measurements.count_sizes, datasets=_NO_DATA,
    ),
    _trained(
        "feddisk/fig6", "Effective communication cost",
        runs=fig3, plot=figures.plot_costs, tables=(tables.effective_costs,),
    ),
    _trained("feddisk/fig7", "Global training loss per round", runs=fig3, plot=figures.plot_loss),
    Artifact(
        "feddisk/made-width", "Validation loss of the MADE by its width",
        measurement=Measurement(
            "feddisk/made-width", made_width.measure_width,
            lambda p: [(run.named(), widths, WIDTH_TRIALS[p]) for run, widths in made_widths(p)],
            parts=made_width.widths_measured,
        ),
        plot=figures.plot_widths, profiles=tuple(WIDTH_TRIALS),
        datasets=_data_of(lambda p: [run for run, _ in made_widths(p)], profiles=WIDTH_TRIALS),
    ),
    Artifact(
        "feddisk/sec5-privacy", "The leakage bound of eq. (17) on a discrete toy",
        compute=leakage_bound.check_bound, plot=figures.plot_privacy, datasets=_NO_DATA,
    ),
    _trained(
        "feddisk/sec6b-fedprox", "FedProx over its grid of mu", runs=fedprox_grid,
        tables=(tables.by_mu,),
    ),
    _trained(
        "feddisk/sec6b-fedrod", "FedROD over its grid of mu", runs=fedrod_grid, tables=(tables.by_mu,)
    ),
    _trained(
        "feddisk/ablations", "FedDisk with one thing changed at a time (ours)",
        runs=ablations, plot=figures.plot_ablations,
        tables=(ablation_tables.ablations_shown, ablation_tables.worth_shown),
    ),
    _trained(
        "feddisk/readings", "Which reading of the MNIST setting gives the printed level (FedAvg alone)",
        runs=readings, tables=(reading_search.reading_table,), profiles=PROFILES,
        seeds={"smoke": 1, "reduced": 1, "extended": 1, "paper": 1},
    ),
    _trained(
        "feddisk/converged", "MNIST at the paper's length, two mini-batches a round (A13)",
        runs=converged, plot=figures.plot_length,
        tables=(tables.published_beside_ours, tables.table1_beside_ours, tables.weights_shown),
        profiles=tuple(CONVERGED), seeds={"smoke": 1, "extended": CONVERGED_TRIALS},
    ),
    _trained(
        "feddisk/converged_weights", "FedDisk of that length beside its weights on other samples (ours)",
        runs=converged_weights, tables=(ablation_tables.worth_at_length_shown,),
        profiles=tuple(CONVERGED), seeds={"smoke": 1, "extended": CONVERGED_TRIALS},
    ),
    _trained(
        "feddisk/two_epochs", "MNIST, two epochs a round (A13), an eighth of the images, 300 rounds (ours)",
        runs=two_epochs, plot=figures.plot_length,
        tables=(tables.table1_beside_ours, tables.weights_shown),
        profiles=tuple(TWO_EPOCHS), seeds={"smoke": 1, "extended": TRIALS_AT_LENGTH},
    ),
    _trained(
        "feddisk/without_noise", "X-rays of one source without MNIST's noise (ours)",
        runs=without_noise, plot=figures.plot_accuracy,
        tables=(tables.published_beside_ours, tables.weights_shown), profiles=("reduced",),
    ),
    _trained(
        "feddisk/styles", "FedAvg and FedBN as acquisition styles move apart (ours)",
        runs=styles, tables=(tables.by_spread,),
    ),
)  # fmt: skip
