"""FedDisk: Federated Learning for distribution skewed data using sample weights (IEEE TAI manuscript).

H. Nguyen, P. Wu, J. M. Chang, TAI-2023-May-A-00417. Figures 3, 4, 5, 6, 7 and table 1 are made of the
same runs, those of `feddisk/fig3`.

| module | what is in it |
|---|---|
| `feddisk_grid` | the runs: every printed setting, and what the profiles change |
| `feddisk_tables` | effective rounds and costs, published beside ours, FedDisk's weights |
| `feddisk_sizes` | parameter counts, printed beside counted |
| `feddisk_costs` | printed costs beside ours, the byte counter against sizes of real models |
| `feddisk_toy`, `feddisk_samples` | p, q_k and alpha in two dimensions; images of clients |
| `feddisk_width`, `feddisk_privacy` | the two artifacts without runs of their own |
| `feddisk_claims`, `feddisk_parts` | what the rows say, by data set and together |
| `feddisk_errata` | the printed numbers, computed again |
| `feddisk_figures` | the drawings |
"""

from typing import TYPE_CHECKING

from fedlib.papers import Artifact, Claim, Verdict
from fedlib.papers.feddisk_grid import ablations, fedprox_grid, fedrod_grid, fig3, fig5, made_widths, styles

if TYPE_CHECKING:
    import pandas as pd

# five trials, seeds 0 to 4, each with a split, noise and networks of its own (FEDDISK-A29)
_TRIALS = {"smoke": 1, "reduced": 5, "paper": 5}
_NO_DATA = {"smoke": (), "reduced": (), "paper": ()}


def _samples(profile: str) -> "pd.DataFrame":
    from fedlib.papers.feddisk_samples import sample_images

    return sample_images(profile)


def _sizes(profile: str) -> "pd.DataFrame":
    from fedlib.papers.feddisk_sizes import count_sizes

    return count_sizes(profile)


def _data_settings(profile: str) -> list[dict[str, object]]:
    names = ("dataset", "dataset_options", "partition", "partition_options", "num_clients")
    return list(
        {str(kept): kept for run in fig3(profile) for kept in [{n: getattr(run, n) for n in names}]}.values()
    )


def _width_settings(profile: str) -> list[tuple[object, ...]]:
    return [(run.describe(), widths, _TRIALS[profile]) for run, widths in made_widths(profile)]


def _widths(profile: str) -> "pd.DataFrame":
    from fedlib.papers.feddisk_width import measure_widths

    return measure_widths(profile)


def _privacy(profile: str) -> "pd.DataFrame":
    from fedlib.papers.feddisk_privacy import check_bound

    return check_bound(profile)


def _data_of(runs):
    """Names of the data sets of a function's runs, by profile."""
    return {profile: tuple(dict.fromkeys(run.dataset for run in runs(profile))) for profile in _TRIALS}


def _claim(number: int, statement: str, artifact: str, rule: str, *, each_dataset: bool = True) -> Claim:
    """A claim decided by a function of `feddisk_claims`, for each data set or for all rows at once."""

    def decide(rows: "pd.DataFrame") -> Verdict:
        from fedlib.papers import feddisk_claims, feddisk_parts

        one = getattr(feddisk_claims, rule)
        return feddisk_parts.each_dataset(one)(rows) if each_dataset else one(rows)

    return Claim(f"FEDDISK-C{number}", statement, f"feddisk/{artifact}", decide)


ARTIFACTS = (
    Artifact(
        id="feddisk/fig2", kind="figure", title="Sample images: noise, writers and sources",
        compute=_samples, keep=True, settings=_data_settings, datasets=_data_of(fig3),
    ),
    Artifact(
        id="feddisk/fig3", kind="figure", title="Mean client accuracy per round, five methods",
        runs=fig3, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/fig4", kind="figure", title="Accuracy over the clients, box plots",
        runs=fig3, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/fig5", kind="figure", title="Loss of the global MADE per round",
        runs=fig5, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/table1", kind="table", title="Effective communication rounds",
        runs=fig3, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/table2", kind="table", title="Weights sent per round and client, printed and counted",
        compute=_sizes, datasets=_NO_DATA,
    ),
    Artifact(
        id="feddisk/fig6", kind="figure", title="Effective communication cost",
        runs=fig3, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/fig7", kind="figure", title="Global training loss per round",
        runs=fig3, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/made-width", kind="check", title="Validation loss of the MADE by its width",
        compute=_widths, keep=True, settings=_width_settings,
        datasets=_data_of(lambda p: [run for run, _ in made_widths(p)]),
    ),
    Artifact(
        id="feddisk/sec5-privacy", kind="check", title="The leakage bound of eq. (17) on a discrete toy",
        compute=_privacy, datasets=_NO_DATA,
    ),
    Artifact(
        id="feddisk/sec6b-fedprox", kind="check", title="FedProx over its grid of mu",
        runs=fedprox_grid, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/sec6b-fedrod", kind="check", title="FedROD over its grid of mu",
        runs=fedrod_grid, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/ablations", kind="check", title="FedDisk with one thing changed at a time (ours)",
        runs=ablations, seeds=_TRIALS,
    ),
    Artifact(
        id="feddisk/styles", kind="check", title="FedAvg and FedBN as acquisition styles move apart (ours)",
        runs=styles, seeds=_TRIALS,
    ),
)  # fmt: skip

CLAIMS = (
    _claim(1, "highest mean client accuracy of the five methods on all three data sets", "fig3", "highest"),
    _claim(
        2, "gaps over the best competitor: X-rays +1.5, FEMNIST +22, MNIST +2.8 points", "fig3",
        "gap_as_printed",
    ),
    _claim(
        3, "quartiles and median over clients are higher; low outliers improve on X-rays and FEMNIST",
        "fig4", "boxes",
    ),
    _claim(4, "fewer effective rounds in all than every competitor", "table1", "total_rounds"),
    _claim(5, "traffic is reduced 8 (FEMNIST), 1.4 (X-rays) and 1.6 times (MNIST)", "fig6", "traffic"),
    _claim(6, "the global training loss falls faster", "fig7", "loss_falls"),
    _claim(
        7, "the global MADE needs only tens of rounds before its validation loss rises", "fig5", "made_stops"
    ),
    _claim(
        8, "MADEs wider than 50, 400 and 30 units do not lower the validation loss noticeably",
        "made-width", "wider_is_no_better",
    ),
    _claim(
        9, "FedROD is insensitive to mu in {1, 5, 10, 20} (by construction in our reading of mu, A25)",
        "sec6b-fedrod", "mu_does_not_matter", each_dataset=False,
    ),
    _claim(
        10, "the leakage bound is kappa_k H(Z_k), hence O(1/K)", "sec5-privacy", "bound_holds",
        each_dataset=False,
    ),
    _claim(
        11, "alpha is higher for samples of a client that look like the pooled data (our check)",
        "fig5", "alpha_follows_the_ratio",
    ),
)  # fmt: skip
