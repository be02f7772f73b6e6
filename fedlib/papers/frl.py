"""The FRL report (Orange, 2023): every table and figure of its experiments, with controls.

B. Bourbon, T. Nagellen, "Federated Reinforcement Learning", Orange, report, 26 February 2023.
Readings FRL-A1 to A32: see `fedlib.methods.evaluatorfl`, `fedlib.methods.scheduling`,
`fedlib.agents.reinforce`, `fedlib.system` and `fedlib.partition.volume`.

| artifact | what it shows |
|---|---|
| `frl/table1` | variance of participation, recomputed |
| `frl/fig9` | what the generator of labels and volumes deals |
| `frl/fig10` to `fig13`, `cases` | FedAvg on Fashion-MNIST in the four cases, one by one and together |
| `frl/fig14` to `fig18` | EvaluatorFL 1 with 20 and 100 workers: selections, rewards, accuracies |
| `frl/fig19` to `fig23` | EvaluatorFL 2, as described and as coded |
| `frl/sec5` | both approaches beside FedAvg and keep-all on the same workers |
| `frl/fig24`, `fig25`, `fig31` to `fig34` | embeddings of local updates of workers with swapped labels |
| `frl/fig26` to `fig29` | SchedulerFL's training on times alone |
| `frl/static` | who finds the fast workers where times never change |
| `frl/sec5-rewards` | rewards that are always positive or always negative |
| `frl/fig30`, `table2`, `table3` | the trained scheduler beside random selection and controls |
| `frl/fairness` | variance of participation of every scheduler |
"""

from functools import partial
from typing import TYPE_CHECKING

from fedlib.papers import Artifact
from fedlib.papers import frl_grid as grid
from fedlib.papers.frl_claims import CLAIMS
from fedlib.papers.frl_embedding import METHODS as EMBEDDINGS
from fedlib.papers.frl_embedding import embedding_settings, measure_embeddings
from fedlib.papers.frl_static import static_settings, trace_static
from fedlib.papers.frl_times import trace_one_sign, trace_training, training_settings

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ARTIFACTS", "CLAIMS"]

SEEDS = {"smoke": 1, "reduced": 3, "paper": 3}
SCHEDULER_SEEDS = {"smoke": 2, "reduced": 5, "paper": 5}  # single runs with a heavy tail (FRL-A31)


def measure_participation(profile: str) -> "pd.DataFrame":
    """Table 1 from its printed counts: sample and population variance at each time."""
    from fedlib.methods.schedulerfl import participation_variance
    from fedlib.papers.published import load_published

    table = load_published("frl_table1")
    table = table.assign(time=table["note"].str.split(";").str[0])
    counts = table[table["metric"] == "participation"].groupby("time", sort=False)["value"]
    printed = table[table["metric"] == "participation_variance"].set_index("time")["value"]
    rows = counts.agg(
        counts=lambda values: " ".join(f"{v:g}" for v in values),
        sample_variance=lambda values: float(participation_variance(values.to_numpy())),
        population_variance=lambda values: float(values.var(ddof=0)),
    ).reset_index()
    return rows.assign(printed=rows["time"].map(printed))


def measure_partitions(profile: str) -> "pd.DataFrame":
    """Fig. 9: images of each label on each of 20 workers, in the four cases."""
    import pandas as pd

    from fedlib import seeds
    from fedlib.data import load_dataset
    from fedlib.partition import label_counts, partition_label_volume

    dataset = load_dataset("fmnist-embedded" if profile == "smoke" else "mnist")
    frames = []
    for figure, (title, options) in grid.CASES.items():
        lists = partition_label_volume(
            dataset.train.labels,
            num_classes=dataset.num_classes,
            num_clients=20,
            rng=seeds.rng(0, "partition"),
            **options,
        )
        counts = label_counts(lists, dataset.train.labels, dataset.num_classes)
        table = pd.DataFrame(counts).rename_axis("worker").reset_index()
        table = table.melt("worker", var_name="label", value_name="images")
        frames.append(table.assign(case=title, like=figure))
    found = pd.concat(frames, ignore_index=True)
    return found.assign(seed=0, dataset=dataset.name, stand_in=dataset.stand_in)


def _data(reduced: str) -> dict[str, tuple[str, ...]]:
    return {"smoke": ("fmnist-embedded",), "reduced": (reduced,), "paper": (reduced,)}


_NO_DATA: dict[str, tuple[str, ...]] = {"smoke": (), "reduced": (), "paper": ()}

ARTIFACTS = (
    Artifact(
        id="frl/table1", kind="table", title="Variance of participation", compute=measure_participation,
        datasets=_NO_DATA,
    ),
    Artifact(
        id="frl/fig9", kind="figure", title="Labels and volumes of 20 workers", compute=measure_partitions,
        keep=True, datasets=_data("mnist"),
    ),
    *(
        Artifact(
            id=f"frl/{figure}", kind="figure", title=f"FedAvg, {case}", seeds=SEEDS,
            runs=partial(grid.fedavg_runs, figure=figure),
        )
        for figure, (case, _) in grid.CASES.items()
    ),
    Artifact(
        id="frl/cases", kind="figure", title="FedAvg in the four cases (figs. 10 to 13)",
        runs=grid.case_runs, seeds=SEEDS,
    ),
    *(
        Artifact(
            id=f"frl/{figure}", kind="figure", title=title, seeds=SEEDS,
            runs=partial(grid.evaluator_runs, figure=owner),
        )
        for figure, owner, title in (
            ("fig14", "fig14", "EvaluatorFL 1, 20 workers: selections"),
            ("fig15", "fig15", "EvaluatorFL 1, 100 workers: selections"),
            ("fig17", "fig14", "EvaluatorFL 1, 20 workers: accuracy by episode and round"),
            ("fig18", "fig15", "EvaluatorFL 1, 100 workers: accuracy by episode and round"),
            ("fig19", "fig19", "EvaluatorFL 2, 20 workers: selections"),
            ("fig20", "fig20", "EvaluatorFL 2, 100 workers: selections"),
            ("fig22", "fig19", "EvaluatorFL 2, 20 workers: accuracy by episode and round"),
            ("fig23", "fig20", "EvaluatorFL 2, 100 workers: accuracy by episode and round"),
        )
    ),
    Artifact(
        id="frl/fig16", kind="figure", title="EvaluatorFL 1: rewards, 20 and 100 workers",
        runs=partial(grid.approach_runs, approach=1), seeds=SEEDS,
    ),
    Artifact(
        id="frl/fig21", kind="figure", title="EvaluatorFL 2: rewards, 20 and 100 workers",
        runs=partial(grid.approach_runs, approach=2), seeds=SEEDS,
    ),
    Artifact(
        id="frl/sec5", kind="check", title="EvaluatorFL beside FedAvg and keep-all",
        runs=grid.sec_v_runs, seeds=SEEDS,
    ),
    Artifact(
        id="frl/fig24", kind="figure", title="PCA of 40 local updates in 4 clusters",
        compute=measure_embeddings, keep=True, settings=embedding_settings, datasets=_data("mnist"),
    ),
    *(
        Artifact(
            id=f"frl/{figure}", kind="figure", title=f"{name} of the same updates",
            lender="frl/fig24", lent={"method": method}, datasets=_data("mnist"),
        )
        for method, (figure, name) in EMBEDDINGS.items()
        if figure != "fig24"
    ),
    Artifact(
        id="frl/fig26", kind="figure", title="SchedulerFL: reward while it trains on times",
        compute=trace_training, keep=True, settings=training_settings, datasets=_NO_DATA,
    ),
    *(
        Artifact(
            id=f"frl/{figure}", kind="figure", title=f"SchedulerFL: {what}",
            lender="frl/fig26", datasets=_NO_DATA,
        )
        for figure, what in (
            ("fig27", "probabilities, workers sorted by speed"),
            ("fig28", "selections, workers sorted by speed"),
            ("fig29", "maximum time per experiment"),
        )
    ),
    Artifact(
        id="frl/static", kind="check", title="SchedulerFL where times never change", compute=trace_static,
        keep=True, settings=static_settings, datasets=_NO_DATA,
    ),
    Artifact(
        id="frl/sec5-rewards", kind="check", title="Rewards of one sign", compute=trace_one_sign,
        keep=True, settings=training_settings, datasets=_NO_DATA,
    ),
    Artifact(
        id="frl/fig30", kind="figure", title="Accuracy: trained scheduler, random 10 %, controls",
        runs=grid.scheduler_runs, seeds=SCHEDULER_SEEDS,
    ),
    Artifact(
        id="frl/table2", kind="table", title="Maximum time per round, IID",
        runs=partial(grid.table_runs, table="table2"), seeds=SCHEDULER_SEEDS,
    ),
    Artifact(
        id="frl/table3", kind="table", title="Maximum time per round, non-IID",
        runs=partial(grid.table_runs, table="table3"), seeds=SCHEDULER_SEEDS,
    ),
    Artifact(
        id="frl/fairness", kind="figure", title="Variance of participation of every scheduler",
        runs=grid.scheduler_runs, seeds=SCHEDULER_SEEDS,
    ),
)  # fmt: skip
