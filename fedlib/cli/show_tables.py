"""Tables of `show` from rows of any runs: final accuracies, names that tell runs apart, text that fits."""

import json
import math
import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from fedlib.cli.output import uncut_width
from fedlib.errors import check

if TYPE_CHECKING:
    import pandas as pd

LEAST_TEXT = 15  # characters to which texts are cut at the most
_ROUNDING = 1e-12  # of sums of float64
_MACHINE = ("device", "device_name", "threads", "torch", "fedlib")
_PROTOCOL = (  # beside the cell: runs that differ in these are not the same experiment
    "rounds", "model", "model_options", "dataset_options", "cohort_size", "local_epochs", "local_steps",
    "batch_size", "local_optimizer", "local_learning_rate", "local_optimizer_options", "precision",
    "sample_order", "mixup_alpha", "episode_rounds",
)  # fmt: skip
_ORIGIN = ["paper", "artifact", "profile", "source", *_MACHINE, "commit", "dirty"]


def final_accuracies(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Accuracy (%) after the last round, mean over seeds with its 95 % t interval."""
    return _by_cell(_last(rows), "final accuracy %")


def less_method(rows: "pd.DataFrame", against: str) -> "tuple[pd.DataFrame, list[str]]":
    """Each method's final accuracy less one's in its cell, paired by seed; and lines about these pairs.

    Lines: where the accuracies are equal, and which settings beside the method differ in a pair.
    against: a method as tables of `show` name it, or its name alone where one of the rows' methods has it.
    """
    last = _last(rows)
    known = list(dict.fromkeys(last.method))
    named = [one for one in known if one == against] or [one for one in known if bare_name(one) == against]
    check(
        len(named) == 1,
        f"--against {against} given, {'several' if named else 'no'} rows are of that name; "
        f"allowed: {', '.join(map(repr, named or known))}",
    )
    (against,) = named
    base = last[last.method == against].set_index(["cell", "seed"]).accuracy.rename("base")
    pairs = last[last.method != against].join(base, on=["cell", "seed"], how="inner")
    check(
        len(pairs) > 0,
        f"no other method has a cell and a seed in common with {against}; allowed: "
        f"{', '.join(repr(one) for one in known if one != against) or 'none, it is the only one'}",
    )
    pairs = pairs.assign(accuracy=pairs.accuracy - pairs.base)
    equal = [
        f"{cell}, {method}: same accuracy as {against} on every seed"
        for (cell, method), own in pairs.groupby(["cell", "method"], sort=False)
        if not own.accuracy.any()
    ]
    return _by_cell(pairs, f"less {against} (points)"), [*equal, *_other_settings(last, against)]


def _other_settings(last: "pd.DataFrame", against: str) -> list[str]:
    """A line for each cell and method whose run has other settings than that of the method compared with."""
    told = []
    for cell, own in last.groupby("cell", sort=False):
        base = own[own.method == against]
        for method, part in own[own.method != against].groupby("method", sort=False):
            given, compared = (
                {name: " or ".join(sorted(set(map(str, rows[name])))) for name in _PROTOCOL if name in rows}
                for rows in (part, base)
            )
            apart = [name for name in given if len(base) and given[name] != compared[name]]
            words = [", ".join(f"{name}={of[name]}" for name in apart) for of in (given, compared)]
            told += [f"{cell}: other settings: {method} has {words[0]}; {against} {words[1]}"] * bool(apart)
    return told


def bare_name(method: str) -> str:
    """The name of a method without its options and settings."""
    return re.split("[( ]", method)[0]


def _last(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The last evaluated round of each run, with the columns cell, method and accuracy (%)."""
    known = with_accuracy(rows)
    last = known[known["round"] == known.groupby("run")["round"].transform("max")]
    return last.assign(accuracy=100 * last.test_accuracy)


def _by_cell(last: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """The accuracies' mean over seeds in a column of this name, with its interval."""
    from fedlib.analysis.tables import summarise_seeds

    table = summarise_seeds(last, ["cell", "method"], "accuracy")
    ends = {"mean": name, "low": f"{name} low", "high": f"{name} high"}
    return table.rename(columns={**ends, "n": "seeds"})


def without_origin(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The rows without the columns that the line of provenance has."""
    return rows.drop(columns=_ORIGIN, errors="ignore")


def rounded(value: object) -> object:
    """Three decimals, or three digits of small numbers; what differs from 0 by rounding is 0."""
    if not isinstance(value, float):
        return value
    if abs(value) < _ROUNDING:
        return 0.0
    return round(value, 3) if abs(value) >= 0.1 else float(f"{value:.3g}")


def table_text(table: "pd.DataFrame") -> str:
    """As wide as the terminal: long texts are cut where that keeps the table in one piece; none in a file."""
    from fedlib.analysis.tables import format_table

    table, intervals = _with_intervals(table)
    table, width = table.map(rounded), uncut_width()
    text = format_table(table, width, numbers=intervals)
    if "\n\n" not in text and max(map(len, text.splitlines())) <= width:
        return text
    longest = width * 3 // 8
    cut = [
        format_table(table.map(partial(_cut, most=most)), width, numbers=intervals)
        for most in range(longest, LEAST_TEXT, -4)
    ]
    return next((one for one in cut if "\n\n" not in one), cut[0])


def _cut(value: object, most: int) -> object:
    """A text but for an interval's, no longer than that."""
    long = isinstance(value, str) and len(value) > most and not value.endswith("]")
    return f"{value[: most - 1]}…" if long else value


def _with_intervals(table: "pd.DataFrame") -> "tuple[pd.DataFrame, list[str]]":
    """The table with `X`, `X low` and `X high` as one column of texts `mean [low, high]`, and these columns.

    So are `X`, `low`, `high` and `G: X`, `G: low`, `G: high`, next to each other.
    """
    from pandas.api.types import is_numeric_dtype

    names, merged, dropped = list(map(str, table.columns)), {}, []
    for name, low, high in zip(names, names[1:], names[2:], strict=False):
        group = low.removesuffix("low")
        pairs = high == f"{group}high" and low != group and (group == f"{name} " or name.startswith(group))
        if pairs and all(map(is_numeric_dtype, (table[one] for one in (name, low, high)))):
            merged[name] = [low, high]
            dropped += [low, high]
    for name, ends in merged.items():
        table = table.assign(**{name: _interval_texts(table[[name, *ends]])})
    return table.drop(columns=dropped), list(merged)


def _interval_texts(bounds: "pd.DataFrame") -> list[str]:
    """Texts of mean, low and high; with signs in a column of differences or with negative numbers."""
    from fedlib.analysis.intervals import Interval, interval_words

    numbers = bounds.astype(float).mask(bounds.abs() < _ROUNDING, 0.0)
    signed = bool((numbers < 0).any(axis=None)) or "less " in str(bounds.columns[0])
    texts = [
        ("-" if math.isnan(mean) else f"{rounded(mean):+g}")
        if math.isnan(low)
        else interval_words(Interval(mean, low, high, 2))
        for mean, low, high in numbers.itertuples(index=False, name=None)
    ]
    return texts if signed else [text.replace("+", "") for text in texts]


def with_accuracy(rows: "pd.DataFrame") -> "pd.DataFrame":
    known = rows[rows.test_accuracy.notna()]
    data, partition = (
        _told_apart(known[name], known[f"{name}_options"]) for name in ("dataset", "partition")
    )
    options = known.method_options.map(lambda text: _in_brackets(json.loads(text)))
    method = known.method + options + known.get("settings", "")
    return known.assign(cell=data + " " + partition + " N=" + known.num_clients.astype(str), method=method)


def _told_apart(names: "pd.Series", options: "pd.Series") -> "pd.Series":
    """Names with those of their options (JSON) that tell them from others of the same name."""
    import pandas as pd

    texts = {}
    for name, own in options.groupby(names):
        given = {text: json.loads(text) for text in own.unique()}
        known = dict.fromkeys(option for one in given.values() for option in one)
        same = {o for o in known if len({json.dumps(one.get(o)) for one in given.values()}) == 1}
        for text, one in given.items():
            differing = {option: value for option, value in one.items() if option not in same}
            texts[name, text] = f"{name}{_in_brackets(differing)}"
    return pd.Series([texts[pair] for pair in zip(names, options, strict=True)], names.index, dtype=object)


def _in_brackets(options: Mapping[str, Any]) -> str:
    """Options as labels have them: `(mu=0.1)`."""
    return f"({', '.join(f'{name}={value}' for name, value in options.items())})" if options else ""
