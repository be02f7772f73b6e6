"""Names for what is compared: a method with certain options is a variant with a colour of its own."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedlib.errors import check

Variants = Mapping[str, tuple[str, Mapping[str, Any]]]  # name -> method and the options that make it


def with_variant(rows: pd.DataFrame, variants: Variants) -> pd.DataFrame:
    """`rows` with a column `variant`: the first entry whose method and options match, else the method's name.

    rows: with columns method and method_options (JSON text, as `load_rows` gives them). An entry
    `run.local_steps` stands for the run's own field, a column of the rows.
    """
    check("method" in rows, f"no column 'method'; given: {', '.join(map(str, rows.columns))}")
    keys = {key for _, needed in variants.values() for key in needed if key.startswith("run.")}
    fields = sorted(key for key in keys if key.removeprefix("run.") in rows)
    texts = rows["method_options"].fillna("{}") if "method_options" in rows else ["{}"] * len(rows)
    given = list(
        zip(rows["method"], texts, *(rows[field.removeprefix("run.")] for field in fields), strict=True)
    )
    names = {
        one: _name(one[0], one[1], dict(zip(fields, one[2:], strict=True)), variants) for one in set(given)
    }
    return rows.assign(variant=[names[one] for one in given])


def _name(method: str, options: str, fields: Mapping[str, Any], variants: Variants) -> str:
    given = {**json.loads(options), **fields}
    for name, (of_method, needed) in variants.items():
        if method == of_method and all(given.get(key) == value for key, value in needed.items()):
            return name
    return method
