"""FedDRL's tables about partitions: kinds of skew, label mixes of the cells as run, cells that have rows."""

import pandas as pd

from fedlib.papers.feddrl import tables

SKEWS = ("clustered_skew", "label_size_imbalance", "quantity_imbalance")


def skew_agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """In how many partitions each kind of skew is as table 2 prints it; images dealt, client sizes."""
    agree = {f"agree: {name}": rows[name] == rows[f"{name}_printed"] for name in SKEWS}
    found = rows.assign(**agree).groupby(["dataset", "partition", "num_clients"], sort=False)
    sizes = found.agg(
        **{
            "images: dealt": ("images", "mean"),
            "images: smallest client": ("smallest", "min"),
            "images: largest client": ("largest", "max"),
        }
    )
    counted = found.size().rename("partitions")
    return sizes.round(0).join(found[list(agree)].sum()).join(counted).reset_index()


def label_mixes(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over clients: images, distance of the label mix from uniform (0 to 2), number of labels."""
    by = rows.groupby(["partition", "made_from"], sort=False)
    return by[["images", "label_distance", "labels_per_client"]].mean().reset_index()


def cells_with_rows(rows: pd.DataFrame, table: str = "feddrl_table3") -> pd.DataFrame:
    """Table 3 or 4, published beside ours, for the cells and methods that have rows."""
    found = tables.side_by_side(rows, table).dropna(subset="FedDRL: ours")
    return found.dropna(axis=1, how="all")
