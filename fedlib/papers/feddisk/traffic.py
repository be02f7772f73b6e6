"""FedDisk's traffic: the printed costs beside ours, and the federation's counter against real models."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedlib.analysis.intervals import number_words
from fedlib.analysis.tables import json_column
from fedlib.papers.feddisk.errata import printed_cost, printed_costs
from fedlib.papers.feddisk.measurements import (
    CLASSES,
    PAPER_NAMES,
    SIDE_OF,
    SIDES,
    count_bytes,
    count_weights,
    made_hidden,
)
from fedlib.papers.feddisk.runs import CASES, METHODS, WIDTH, case_of
from fedlib.papers.feddisk.tables import all_bytes, effective_costs


def costs_beside_ours(rows: pd.DataFrame) -> pd.DataFrame:
    """Fig. 6: the printed tables' product (millions of weights) beside our megabytes, eqs. (18), (19).

    The ratio of each method's cost to FedDisk's has no unit. NaN: the target was never reached. A ratio that
    is so everywhere is left out.
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
                    "million weights: printed": printed[name] / 1e6,
                    "MB: ours": ours[method] / 1e6,
                    "over FedDisk's: printed": round(printed[name] / printed["FedDisk"], 2),
                    "over FedDisk's: ours": ours[method] / ours["feddisk"],
                }
            )
    table, ratio = pd.DataFrame(found), "over FedDisk's: ours"
    return table.drop(columns=ratio) if len(table) and table[ratio].isna().all() else table


def costs_by_side() -> pd.DataFrame:
    """FEMNIST's costs by both sizes of its images (FEDDISK-A18), millions of weights by method.

    Eqs. (18) and (19) with table 1's rounds: printed, with table 2's sizes; at_28 and at_32, with those
    counted on real models. times: the cost over FedDisk's.
    """
    table = pd.DataFrame({"printed": printed_costs(CASES["femnist"])})
    for side in SIDES["femnist"]:
        made = count_weights("made", side, hidden=made_hidden("femnist", side))
        size = {"width": WIDTH["femnist"], "classes": CLASSES["femnist"]}
        for method in METHODS:
            counted = {"made": made, "classifier": count_weights("classifier", side, method=method, **size)}
            name = PAPER_NAMES[method]
            table.loc[name, f"at_{side}"] = printed_cost(CASES["femnist"], name, counted)
    for name in table.columns:
        table[f"times_{name.removeprefix('at_')}"] = table[name] / table.loc["FedDisk", name]
        table[name] /= 1e6
    return table.rename_axis("method").reset_index()


def whole_runs(rows: pd.DataFrame, sides: Mapping[str, int] = SIDE_OF) -> pd.DataFrame:
    """Traffic of all rounds that were run, bytes per client and trial: the formula and the counter.

    formula: `2 (S_MADE R_MADE + S_cls R_cls)`, with the sizes of messages counted on real models for
    images of `sides`, not taken from the counter as `effective_costs` does, and R the rounds run.
    """
    found = []
    for dataset, own in rows.groupby("dataset", sort=False):
        side = sides[dataset]
        for method in (m for m in METHODS if (own.method == m).any()):
            part = own[own.method == method]
            found.append((dataset, method, side, _formula(part, method, side), all_bytes(part)))
    return pd.DataFrame(found, columns=["dataset", "method", "side", "formula", "counted"])


def _formula(own: pd.DataFrame, method: str, side: int) -> float:
    size = {"width": _option(own, "model_options", "width")}
    size["classes"] = CLASSES[case_of(own.dataset.iloc[0])]
    total = count_bytes("classifier", side, method=method, **size) * own["round"].max()
    if method == "feddisk":
        hidden = _option(own, "method_options", "made_hidden")
        total += count_bytes("made", side, hidden=hidden) * own.made_rounds_run.dropna().mean()
    return 2 * float(total)


def _option(rows: pd.DataFrame, column: str, name: str) -> int:
    return int(json_column(rows[column]).iloc[0][name])


def sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 2: weights that a client sends in a round, printed and counted, and bytes of a message."""
    columns = ["dataset", "method", "part", "side", "hidden_or_width", "printed", "counted", "message_bytes"]
    return rows[columns]


def formula_agrees(rows: pd.DataFrame) -> pd.DataFrame:
    """Whether eqs. (18), (19) and the federation's byte counter agree over all rounds that were run."""
    table = whole_runs(rows)
    agree = np.isclose(table.formula, table.counted)
    megabytes = {name: table[name] / 1e6 for name in ("formula", "counted")}
    return table[["dataset", "method"]].assign(**megabytes, agree=agree)


def agreement_words(rows: pd.DataFrame) -> list[str]:
    """`formula_agrees` in a sentence; none without rows."""
    table = formula_agrees(rows) if len(rows) else pd.DataFrame()
    if table.empty:
        return []
    agree, low, high = int(table.agree.sum()), *map(number_words, (table.counted.min(), table.counted.max()))
    return [
        f"Formula and byte counter agree in {agree} of {len(table)} cells ({low} to {high} MB a client over "
        "all rounds)."
    ]
