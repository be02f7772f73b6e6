"""FedDRL (ICPP 2022): every table and figure, with controls that show whether the agent learns.

N. H. Nguyen et al., "FedDRL: Deep Reinforcement Learning-based Adaptive Aggregation for Non-IID
Data in Federated Learning", https://doi.org/10.1145/3545008.3545085.
"""

from collections.abc import Callable, Sequence
from functools import partial

from fedlib.experiments.artifact import PROFILES, USUAL_PROFILES, Artifact, Deferred, Measurement
from fedlib.papers.feddrl import author_files, length_runs, runs, small_setting
from fedlib.papers.feddrl.small_setting import SEARCH_SEEDS

_paper = Deferred("fedlib.papers.feddrl")
bandit, learning, figures = _paper.ddpg_bandit, _paper.learning, _paper.figures
learned, measurements, tables = _paper.learning_figures, _paper.measurements, _paper.tables
length_tables, timing = _paper.length_tables, _paper.timing
LENGTH_TABLES = (length_tables.length_table, length_tables.length_leads, length_tables.length_factors)
LONG = ("smoke", "extended", "paper")  # profiles of artifacts at the paper's length

_ten_seeds = partial(Artifact, seeds={"smoke": 1, "reduced": 10, "paper": 5})
_over_delta = partial(figures.plot_over, column="delta", x_label="delta, share of the main group")


def _data(*names: str) -> dict[str, tuple[str, ...]]:
    """Names of the data sets at each profile."""
    return {p: tuple(runs.scale_of(p).datasets[name] for name in names) for p in USUAL_PROFILES}


def _measured(
    name: str,
    title: str,
    compute: Callable,
    data: Sequence[str],
    *,
    plot: Callable | None = None,
    shown: tuple[Callable, ...] = (),
    **kind: bool,
) -> Artifact:
    """Without training, its rows stored; kind: `alone`, `reads_store` of the measurement."""
    found = Measurement(f"feddrl/{name}", compute, **kind)
    return Artifact(found.id, title, measurement=found, plot=plot, tables=shown, datasets=_data(*data))


def _one_cell(name: str, title: str, *, shown: tuple[Callable, ...] = LENGTH_TABLES) -> Artifact:
    """Artifact of one of `length_runs.LENGTH_CELLS`."""
    return Artifact(
        f"feddrl/{name}", title, runs=partial(length_runs.paper_length, artifact=name),
        plot=figures.plot_length, tables=shown, profiles=LONG,
    )  # fmt: skip


ARTIFACTS = (
    Artifact(
        "feddrl/table1", "The agent's settings", compute=measurements.table1, datasets=_data()
    ),
    _measured("table2", "Kinds of skew of PA, CE and CN", measurements.table2, tuple(runs.DATA.values())),
    Artifact(
        "feddrl/fig1", "Pill images (private data): groups in words",
        compute=measurements.fig1, datasets=_data(),
    ),
    _measured("fig4", "PA, CE and CN illustrated", measurements.fig4, ("fmnist",), plot=figures.plot_fig4),
    Artifact(
        "feddrl/table3", "Best accuracy under PA, CE and CN, N = 10 and 100",
        runs=runs.table3, plot=figures.plot_table3, profiles=PROFILES,
        tables=(tables.accuracies_run, tables.gain_table, tables.control_table),
    ),
    _one_cell("paper_length", "One cell of table 3 at the paper's length: Fashion-MNIST, CE, N = 100"),
    _one_cell("paper_length_cn", "The same under CN: Fashion-MNIST, CN, N = 100"),
    _one_cell("paper_length_pa", "The same under PA: Fashion-MNIST, PA, N = 100", shown=LENGTH_TABLES[:2]),
    _one_cell("paper_length_mnist", "The same on MNIST: CE, N = 100"),
    _one_cell("paper_length_mnist_cn", "The same on MNIST: CN, N = 100"),
    _one_cell("paper_length_mnist_pa", "The same on MNIST: PA, N = 100", shown=LENGTH_TABLES[:2]),
    _one_cell("paper_length_ten", "The same with ten clients: Fashion-MNIST, CE, N = 10"),
    Artifact(
        "feddrl/early_lead", "The repaired agent in the first 100 rounds: Fashion-MNIST, CN, N = 100",
        runs=length_runs.early_lead, plot=figures.plot_early_lead, profiles=LONG,
        seeds={"smoke": 1, "extended": length_runs.EARLY_SEEDS, "paper": length_runs.EARLY_SEEDS},
    ),
    Artifact(
        "feddrl/cluster_skew_at_length", "CE and CN at the paper's length: Fashion-MNIST, N = 100",
        runs=partial(length_runs.at_length, partitions=runs.CLUSTERED),
        plot=partial(figures.plot_curves, columns=2), profiles=LONG,
    ),
    Artifact(
        "feddrl/partitions_at_length", "PA, CE and CN at the paper's length: Fashion-MNIST, N = 100",
        runs=partial(length_runs.at_length, names=tuple(runs.VARIANTS)),
        plot=figures.plot_federated, profiles=LONG,
    ),
    Artifact(
        "feddrl/baselines_at_length", "PA, CE and CN at the paper's length, no agent: Fashion-MNIST, N = 100",
        runs=partial(length_runs.at_length, names=("singleset", "fedavg", "fedprox")),
        plot=partial(figures.plot_curves, columns=3), profiles=LONG,
    ),
    Artifact(
        "feddrl/small_sets_at_length",
        "PA, CE and CN at the paper's length: MNIST and Fashion-MNIST, N = 100",
        runs=partial(
            length_runs.at_length, names=("singleset", "fedavg", "fedprox", "feddrl"),
            data=("mnist", "fmnist"),
        ),
        plot=figures.plot_federated, profiles=LONG,
    ),
    Artifact(
        "feddrl/clients_at_length", "Ten and 100 clients at the paper's length: Fashion-MNIST, CE",
        runs=partial(
            length_runs.at_length, partitions=("ce",), names=("fedavg", "fedprox", "feddrl"),
            clients=(10, 100),
        ),
        plot=partial(figures.plot_curves, columns=2), profiles=LONG,
    ),
    Artifact(
        "feddrl/delta_ends", "Ends of fig. 8 at the paper's length: delta = 0.2 and 0.6",
        runs=length_runs.delta_ends, plot=_over_delta, profiles=LONG,
    ),
    Artifact(
        "feddrl/fig5", "Accuracy per round",
        runs=partial(runs.table3_cells, data=("cifar100", "fmnist")),
        plot=partial(figures.plot_curves, columns=3),
    ),
    Artifact(
        "feddrl/fig6", "Loss over the clients, N = K = 10",
        runs=partial(runs.table3_cells, data=("cifar100",), clients=(10,)), plot=figures.plot_fig6,
    ),
    Artifact(
        "feddrl/fig7", "Number of participants K", runs=runs.fig7,
        plot=partial(figures.plot_over, column="cohort_size", x_label="participants K of 100"),
    ),
    Artifact(
        "feddrl/fig8", "Share delta of the main group",
        runs=runs.fig8, plot=_over_delta, profiles=PROFILES,
        seeds={"smoke": 1, "reduced": 3, "extended": 3, "paper": 5},
    ),
    _measured(
        "fig9", "Server time: agent and averaging", timing.fig9, ("fmnist",),
        plot=figures.plot_fig9, shown=(tables.time_table, tables.agent_share), alone=True,
    ),
    Artifact(
        "feddrl/fig10", "Rounds to a target accuracy",
        runs=runs.table3_cells, plot=figures.plot_fig10,
        tables=(tables.rounds_of_three, tables.rounds_of_controls, tables.printed_rounds),
    ),
    Artifact(
        "feddrl/table4", "Best accuracy under shards, Equal and Non-equal",
        runs=runs.table4, plot=partial(figures.plot_curves, columns=2),
    ),
    Artifact("feddrl/upper_bound", "SingleSet in all cells of tables 3 and 4", runs=runs.upper_bound),
    Artifact(
        "feddrl/impact_factors", "Weights of main and small groups",
        runs=partial(runs.table3_cells, partitions=("ce", "cn"), clients=(10,)),
        plot=figures.plot_impact_factors, tables=(tables.factor_table,),
    ),
    _ten_seeds(
        "feddrl/small_setting", "The agent beside hand-written and searched weights",
        runs=small_setting.small_setting, plot=learned.plot_small_setting,
        tables=(tables.small_setting_table, learning.gains, learning.signal),
    ),
    _ten_seeds(
        "feddrl/small_setting_means", "The agent's means of every client over the rounds",
        runs=small_setting.small_setting, plot=learned.plot_means,
    ),
    Artifact(
        "feddrl/repair_search", "Which departures let the agent learn: search on the embedded images",
        runs=small_setting.repair_search, plot=learned.plot_gains, tables=(learning.gains,),
        seeds={"smoke": SEARCH_SEEDS[:1], "reduced": SEARCH_SEEDS, "paper": SEARCH_SEEDS},
    ),
    _ten_seeds(
        "feddrl/repair_judged", "The frozen repair on MNIST and Fashion-MNIST",
        runs=small_setting.repair_judged, plot=learned.plot_gains, tables=(learning.gains,),
    ),
    _ten_seeds(
        "feddrl/repair_means", "The repaired agent's means of every client over the rounds",
        runs=small_setting.repair_judged, plot=learned.plot_means,
    ),
    _measured(
        "ddpg_bandit", "The agent alone on rewards whose best answer is known", bandit.ddpg_bandit, (),
        plot=learned.plot_bandit, shown=(learning.bandit_ends,),
    ),
    Artifact(
        "feddrl/cifar10_as_run", "The CIFAR cells as they were run",
        runs=author_files.cifar10_as_run, plot=partial(figures.plot_curves, columns=3),
    ),
    _measured(
        "label_mix", "Label mixes of the CIFAR cells as they were run", measurements.label_mix, ("cifar10",)
    ),
    Artifact(
        "feddrl/authors_partitions", "Table 3 on the authors' own files",
        runs=author_files.authors_partitions, profiles=PROFILES,
    ),
    *(
        Artifact(
            f"feddrl/authors_{name}_at_length",
            f"{name.upper()} on the authors' own file at the paper's length: Fashion-MNIST, N = 100",
            runs=partial(author_files.at_length, partition=name), plot=figures.plot_length,
            tables=LENGTH_TABLES[:2], profiles=LONG,
        )
        for name in runs.CLUSTERED
    ),
    Artifact(
        "feddrl/authors_deltas", "Fig. 8 on the authors' own files",
        runs=author_files.authors_deltas, plot=_over_delta,
    ),
    Artifact("feddrl/fedprox_weights", "FedProx by n_k and uniform weights", runs=runs.fedprox_weights),
    Artifact(
        f"feddrl/{runs.EXACT_CELL}",
        "One cell of table 3 with the paper's CNN, FedDRL online: Fashion-MNIST, CE, N = 100",
        "check", runs=runs.exact_cell, plot=figures.plot_length, tables=LENGTH_TABLES,
        seeds={"smoke": 1, "reduced": 3, "paper": 5},
    ),
)  # fmt: skip
