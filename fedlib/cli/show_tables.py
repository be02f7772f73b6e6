"""Tables of `show` from rows of any runs: final accuracies, names that tell runs apart, text that fits."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fedlib.cli.output import terminal_width
from fedlib.errors import check, check_name

if TYPE_CHECKING:
    import pandas as pd

_ROUNDING = 1e-12  # of sums of float64
_MACHINE = ("device", "device_name", "threads", "torch", "fedlib")
_ORIGIN = ["paper", "artifact", "profile", "source", *_MACHINE, "commit", "dirty"]


def final_accuracies(rows: "pd.DataFrame", against: str | None = None) -> "pd.DataFrame":
    """Accuracy (%) after the last round, mean over seeds with its 95 % t interval.

    against: a method of the rows; each one's accuracy less its, paired by seed, in points.
    """
    from fedlib.analysis.tables import summarise_seeds

    known = with_accuracy(rows)
    last = known[known["round"] == known.groupby("run")["round"].transform("max")]
    last = last.assign(accuracy=100 * last.test_accuracy)
    if against is not None:
        check_name("method to compare with", against, last.method.unique())
        base = last[last.method == against].set_index(["cell", "seed"]).accuracy.rename("base")
        last = last[last.method != against].join(base, on=["cell", "seed"], how="inner")
        check(len(last) > 0, f"no other method has a seed in common with {against}; allowed: --method A,B")
        last = last.assign(accuracy=last.accuracy - last.base)
    table = summarise_seeds(last, ["cell", "method"], "accuracy")
    mean = "final accuracy %" if against is None else f"final accuracy less {against}'s (points)"
    return table.rename(columns={"mean": mean, "low": "95 % low", "high": "95 % high", "n": "seeds"})


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
    """As wide as the terminal: where texts are too long, they are cut so that two and numbers fit."""
    from fedlib.analysis.tables import format_table

    width = terminal_width()
    text, most = format_table(table, width), width * 3 // 8
    if max(map(len, text.splitlines())) <= width:
        return text

    def cut(value: object) -> object:
        return value[: most - 1] + "…" if isinstance(value, str) and len(value) > most else value

    return format_table(table.map(cut), width)


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
