"""Tables of notebook 00."""

import pandas as pd

from fedlib.analysis.contrasts import last_tenth_mean, paired
from fedlib.analysis.intervals import interval_words
from fedlib.analysis.tables import summarise_seeds


def measured_families(rows: pd.DataFrame) -> pd.DataFrame:
    """Every family of partitions: images dealt, client sizes, labels per client, EMD, three kinds of skew."""
    names = {
        "images_used": "images: dealt", "smallest_client": "images: smallest client",
        "largest_client": "images: largest client", "labels_per_client": "labels per client",
        "emd": "EMD", "clustered_skew": "skew: cluster", "label_size_imbalance": "skew: labels missing",
        "quantity_imbalance": "skew: quantity",
    }  # fmt: skip
    return rows.rename(columns=names)[["partition", *names.values()]]


def final_accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy (%) after the last round by method: mean over seeds and 95 % interval."""
    last = rows[rows["round"] == rows["round"].max()]
    table = summarise_seeds(last.assign(accuracy=100 * last.test_accuracy), "method", "accuracy")
    return table.rename(columns={"mean": "accuracy (%)", "n": "seeds"})


def precisions(rows: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy (%) over the last tenth of the rounds in float32 and bfloat16, by cell.

    Beside them the paired difference in points.
    """
    lines = []
    for (model, partition), cell in rows.groupby(["model", "partition"]):
        half, whole = (last_tenth_mean(cell[cell.precision == name]) for name in ("bf16", "float32"))
        gap = paired(half, whole)
        lines.append(
            {"network": model, "partition": partition, "float32": round(whole.mean(), 2)}
            | {"bfloat16": round(half.mean(), 2), "difference": interval_words(gap), "seeds": gap.n}
        )
    return pd.DataFrame(lines)
