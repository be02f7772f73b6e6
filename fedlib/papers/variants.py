"""Names for what is compared: a method with certain options is a variant with a colour of its own."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedlib.errors import check

if TYPE_CHECKING:
    import pandas as pd

Variants = Mapping[str, tuple[str, Mapping[str, Any]]]  # name -> method and the options that make it


def with_variant(rows: "pd.DataFrame", variants: Variants) -> "pd.DataFrame":
    """`rows` with a column `variant`: the first entry whose method and options match, else the method's name.

    rows: with columns method and method_options (JSON text, as `load_rows` gives them).
    """
    check("method" in rows, f"no column 'method'; given: {', '.join(map(str, rows.columns))}")
    options = rows.get("method_options")
    texts = ["{}"] * len(rows) if options is None else options.fillna("{}")
    pairs = list(zip(rows["method"], texts, strict=True))
    names = {pair: _name(*pair, variants) for pair in set(pairs)}
    return rows.assign(variant=[names[pair] for pair in pairs])


def _name(method: str, options: str, variants: Variants) -> str:
    given = json.loads(options)
    for name, (of_method, needed) in variants.items():
        if method == of_method and all(given.get(key) == value for key, value in needed.items()):
            return name
    return method
