"""Names for what is compared: a method with certain options is a variant with a colour of its own."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
from pandas.api.extensions import ExtensionArray

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
    options = rows["method_options"].fillna("{}") if "method_options" in rows else "{}"
    columns = ["method", "method_options", *(field.removeprefix("run.") for field in fields)]
    given = rows.assign(method_options=options)
    names = name_distinct(
        given,
        columns,
        lambda method, text, *own: _name(method, text, dict(zip(fields, own, strict=True)), variants),
    )
    return rows.assign(variant=names)


def name_distinct(rows: pd.DataFrame, columns: Sequence[str], name: Callable[..., str]) -> ExtensionArray:
    """The name of each row by its values in these columns, worked out once for each distinct combination."""
    told = rows[list(columns)]
    names = [name(*values) for values in told.drop_duplicates().itertuples(index=False, name=None)]
    # numbered in the order of their first rows, as drop_duplicates has them
    numbers = told.groupby(list(columns), sort=False, dropna=False).ngroup()
    return pd.Series(names, dtype="str").take(numbers).array


def _name(method: str, options: str, fields: Mapping[str, Any], variants: Variants) -> str:
    given = {**json.loads(options), **fields}
    for name, (of_method, needed) in variants.items():
        if method == of_method and all(given.get(key) == value for key, value in needed.items()):
            return name
    return method
