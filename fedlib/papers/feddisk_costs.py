"""FedDisk's traffic: the printed costs beside ours, and the federation's counter against real models."""

import math

import pandas as pd

from fedlib.errors import check
from fedlib.papers.feddisk_errata import printed_costs
from fedlib.papers.feddisk_grid import CASES, METHODS, case_of
from fedlib.papers.feddisk_tables import (
    CLASSES,
    PAPER_NAMES,
    count_bytes,
    effective_costs,
    sent_per_client,
)
from fedlib.tables import json_column


def costs_beside_ours(rows: pd.DataFrame) -> pd.DataFrame:
    """Fig. 6: the printed tables' product (millions of weights) beside our megabytes, eqs. (18), (19).

    times_published, times_ours: each method's cost over FedDisk's, which the units do not touch. NaN:
    the target was never reached.
    """
    costs = effective_costs(rows)
    found = []
    for dataset, own in costs.groupby("dataset", sort=False):
        printed, ours = printed_costs(CASES[case_of(dataset)]), own.set_index("method").formula
        for method in ours.index:
            name = PAPER_NAMES[method]
            found.append(
                {
                    "dataset": dataset,
                    "method": method,
                    "published": printed[name] / 1e6,
                    "ours_megabytes": ours[method] / 1e6,
                    "times_published": printed[name] / printed["FedDisk"],
                    "times_ours": ours[method] / ours["feddisk"],
                }
            )
    return pd.DataFrame(found)


def whole_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Traffic of all rounds that were run, bytes per client and trial: the formula and the counter.

    formula: `2 (S_MADE R_MADE + S_cls R_cls)`, with the sizes of messages counted on real models, not
    taken from the counter as `effective_costs` does, and R the rounds run. Data sets without runs of
    FedDisk, whose MADE tells the size of the images, are left out.
    """
    found = []
    for dataset, own in rows.groupby("dataset", sort=False):
        if not (own.method == "feddisk").any():
            continue
        side = side_by_the_made(own)
        for method in (m for m in METHODS if (own.method == m).any()):
            part = own[own.method == method]
            counted = (part.uplink_bytes.fillna(0) + part.downlink_bytes.fillna(0)).sum()
            per_client = counted / part.num_clients.iloc[0] / part.seed.nunique()
            found.append((dataset, method, side, _formula(part, method, side), per_client))
    return pd.DataFrame(found, columns=["dataset", "method", "side", "formula", "counted"])


def _formula(own: pd.DataFrame, method: str, side: int) -> float:
    size = {"width": _option(own, "model_options", "width")}
    size["classes"] = CLASSES[case_of(own.dataset.iloc[0])]
    total = count_bytes("classifier", side, method=method, **size) * own["round"].max()
    if method == "feddisk":
        hidden = _option(own, "method_options", "made_hidden")
        total += count_bytes("made", side, hidden=hidden) * own.made_rounds_run.dropna().mean()
    return 2 * float(total)


def side_by_the_made(rows: pd.DataFrame) -> int:
    """Side of one data set's images by FedDisk's MADE, whose message has `2 d H + H + d` numbers of 4 bytes.

    UsageError if no square image gives the bytes that the federation counted.
    """
    own = rows[rows.method == "feddisk"]
    hidden = _option(own, "method_options", "made_hidden")
    sizes = sent_per_client(own).set_index("part").bytes
    pixels = (sizes["made"] / 4 - hidden) / (2 * hidden + 1)
    side = math.isqrt(round(pixels))
    check(
        math.isclose(pixels, side * side),
        f"a MADE of {hidden} hidden units sent {sizes['made']:g} bytes; allowed: 4 (2 d H + H + d), d square",
    )
    return side


def _option(rows: pd.DataFrame, column: str, name: str) -> int:
    return int(json_column(rows[column]).iloc[0][name])
