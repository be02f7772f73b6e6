"""FedDRL's tables about partitions: kinds of skew, label mixes of the cells as run, cells that have rows."""

import pandas as pd

from fedlib.papers.feddrl import tables

SKEWS = ("clustered_skew", "label_size_imbalance", "quantity_imbalance")
YES = {True: "yes", False: "no"}


def skew_agreement(rows: pd.DataFrame) -> pd.DataFrame:
    """Whether the drawn partitions have each kind of skew, held to table 2; images dealt, client sizes.

    `yes (printed: no)` where the paper has it otherwise; `yes in 2 of 3` where the seeds differ.
    """
    found = rows.groupby(["dataset", "partition", "num_clients"], sort=False)
    sizes = found.agg(
        **{
            "images: dealt": ("images", "mean"),
            "images: smallest client": ("smallest", "min"),
            "images: largest client": ("largest", "max"),
        }
    )
    kinds = pd.DataFrame({f"has: {name}": found.apply(_has, name) for name in SKEWS})
    return sizes.round(0).join(kinds).join(found.size().rename("seeds")).reset_index()


def _has(part: pd.DataFrame, skew: str) -> str:
    """Whether the partitions of a cell have a kind of skew: `yes`, `no (printed: yes)`, `yes in 2 of 3`."""
    own, printed = part[skew].astype(bool), bool(part[f"{skew}_printed"].iloc[0])
    if 0 < own.sum() < len(own):
        return f"yes in {own.sum()} of {len(own)} (printed: {YES[printed]})"
    found = bool(own.all())
    return YES[found] if found == printed else f"{YES[found]} (printed: {YES[printed]})"


def label_mixes(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over clients: images, distance of the label mix from uniform (0 to 2), number of labels."""
    by = rows.groupby(["partition", "made_from"], sort=False)
    return by[["images", "label_distance", "labels_per_client"]].mean().reset_index()


def cells_with_rows(rows: pd.DataFrame, table: str = "feddrl_table3") -> pd.DataFrame:
    """Table 3 or 4, published beside ours, for the cells and methods that have rows."""
    found = tables.side_by_side(rows, table).dropna(subset="FedDRL: ours")
    return found.dropna(axis=1, how="all")
