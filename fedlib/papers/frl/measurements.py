"""Table 1 and fig. 9 of the report: computed without training."""

import pandas as pd

from fedlib import seeds
from fedlib.analysis.published import load_published
from fedlib.data import load_dataset
from fedlib.methods.frl.schedulerfl import participation_variance
from fedlib.papers.frl import runs
from fedlib.partition import label_counts, partition_label_volume


def measure_participation(profile: str) -> pd.DataFrame:
    """Table 1 from its printed counts: sample and population variance at each time."""

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


def measure_partitions(profile: str) -> pd.DataFrame:
    """Fig. 9: images of each label on each of 20 workers, in the four cases."""

    dataset = load_dataset("fmnist-embedded" if profile == "smoke" else "mnist")
    frames = []
    for figure, (title, options) in runs.CASES.items():
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
