"""Tables and captions that notebooks, terminal and report share."""

import json
from collections.abc import Mapping, Sequence

import pandas as pd

from fedlib.analysis.intervals import (
    Interval,
    by_side,
    decided_words,
    mean_interval,
    ratio_words,
)
from fedlib.data.titles import title_of
from fedlib.words import counted


def format_table(frame: pd.DataFrame, width: int | None = None, *, numbers: Sequence[str] = ()) -> str:
    """Plain text, one line per row, columns aligned; booleans as yes and no, missing values as -.

    width: most characters of a line. A wider table is divided, each part with the leading text columns.
    numbers: columns of texts that are aligned and divided as numbers are.
    """
    shown = frame.map(_format_cell)
    numeric = [
        c in numbers or (pd.api.types.is_numeric_dtype(frame[c]) and frame[c].dtype != bool)
        for c in frame.columns
    ]
    heads = [_column_words(name) for name in frame.columns]
    columns = [[head, *shown.iloc[:, at]] for at, head in enumerate(heads)]
    widths = [max(map(len, cells)) for cells in columns]
    parts = _parts_that_fit(widths, max(1, numeric.index(True)) if True in numeric else 1, width)
    return "\n\n".join(_aligned([(columns[at], widths[at], numeric[at]) for at in part]) for part in parts)


def _parts_that_fit(widths: list[int], lead: int, width: int | None) -> list[list[int]]:
    """Numbers of the columns of each part; the first `lead` are in all of them."""
    parts = [list(range(lead))]
    for at in range(lead, len(widths)):
        used = sum(widths[c] + 2 for c in parts[-1])
        if width is not None and used + widths[at] > width and len(parts[-1]) > lead:
            parts.append(list(range(lead)))
        parts[-1].append(at)
    return parts


def _aligned(columns: list[tuple[list[str], int, bool]]) -> str:
    """Columns (cells with the head, width, to the right) as lines, a rule below the heads."""
    cells = [
        [text.rjust(width) if right else text.ljust(width) for text in column]
        for column, width, right in columns
    ]
    lines = ["  ".join(row).rstrip() for row in zip(*cells, strict=True)]
    lines.insert(1, "  ".join("-" * width for _, width, _ in columns))
    return "\n".join(lines)


def _column_words(name: object) -> str:
    return str(name).replace("_", " ")


def _format_cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, float) and pd.isna(value)):
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def summarise_seeds(frame: pd.DataFrame, by: str | Sequence[str], value: str) -> pd.DataFrame:
    """Mean over seeds of `value` for each group, with its 95 % t interval.

    frame: one row per group and seed. Returns the columns of `by`, mean, low, high, n; one seed has
    no interval, low and high are then NaN.
    """
    keys = [by] if isinstance(by, str) else list(by)
    rows = []
    for group, part in frame.groupby(keys, sort=False, dropna=False):
        interval = mean_interval(part[value].to_numpy())
        rows.append({**dict(zip(keys, group, strict=True)), **vars(interval)})
    return pd.DataFrame(rows, columns=[*keys, "mean", "low", "high", "n"])


def compare(
    published: pd.DataFrame, ours: pd.DataFrame, on: Sequence[str], *, value: str = "value"
) -> pd.DataFrame:
    """Published value, our mean, its interval (low, high) and the difference, in adjacent columns.

    published: columns `on` and `value`. ours: `summarise_seeds` of the same quantity and unit; a column
    `stand_in`, where there is one, tells which lines are of generated data: these have no difference.
    """
    table = published[[*on, value]].rename(columns={value: "published"}).merge(ours, on=list(on), how="left")
    table = table.rename(columns={"mean": "ours"})
    table.insert(table.columns.get_loc("high") + 1, "difference", table.ours - table.published)
    if "stand_in" in table:
        generated = table.pop("stand_in").eq(True)  # lines without ours have none
        table["difference"] = table.difference.mask(generated)
    return table


def stand_ins(rows: pd.DataFrame) -> set[str]:
    """Names of the generated data sets among rows."""
    if "stand_in" not in rows:
        return set()
    return set(rows.dataset[rows.stand_in.fillna(False).astype(bool)])


def provenance_line(rows: pd.DataFrame) -> str:
    """Provenance in one line: data and how much, profile, seeds, device, versions, commit."""
    parts = [f"data {dataset_words(rows)}{_size_words(rows)}"] if "dataset" in rows else []
    parts += [f"profile {_distinct(rows, 'profile')}"]
    if "seed" in rows:
        parts += [seeds_of_rows(rows)] if rows.seed.notna().any() else []
    parts += [machine_words(rows)] if "device_name" in rows and rows.device_name.notna().any() else []
    for column, word, letters in (("torch", "torch ", None), ("commit", "commit ", 10)):
        if column in rows:
            several = [str(value).split(" then ") for value in rows[column].dropna().unique()]
            values = [" then ".join(one[:letters] for one in each) for each in several]
            parts += [word + ", ".join(sorted(set(values)))] if values else []
    return "; ".join(parts)


def seeds_of_rows(rows: pd.DataFrame) -> str:
    """`seed_words` of all seeds; `3 to 10 seeds (0 to 9)` where some descriptions have fewer than others."""
    told = seed_words(rows.seed.dropna().unique())
    if "group" not in rows:
        return told
    counts = rows.groupby("group").seed.nunique()
    return told if counts.min() == counts.max() else f"{counts.min()} to {told}"


def seed_words(seeds: Sequence[int]) -> str:
    """`3 seeds (0 to 2)`, `2 seeds (0, 4)`, `1 seed (0)`."""
    seeds = sorted(int(seed) for seed in seeds)
    count = counted(len(seeds), "seed")
    run = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{count} ({seeds[0]} to {seeds[-1]})" if run else f"{count} ({', '.join(map(str, seeds))})"


def machine_words(rows: pd.DataFrame) -> str:
    """Names of the devices, and the CPU threads where rows count them and no name tells them."""
    known = rows.device_name.dropna().astype(str)
    names = sorted(set(known.str.replace(", 1 threads", ", 1 thread")))
    told = any("thread" in name for name in names)
    counts = [] if told or "threads" not in rows else sorted(set(rows.threads.dropna().astype(int)))
    return ", ".join([*names, *(f"{count} CPU threads" for count in counts)])


def dataset_words(rows: pd.DataFrame) -> str:
    """Names of the data sets, as commands take them, each generated one marked; empty without any."""
    if "dataset" not in rows:
        return ""
    names, generated = rows.dataset.dropna().unique(), stand_ins(rows)
    return ", ".join(f"{name} (stand-in)" if name in generated else name for name in names)


def dataset_titles(rows: pd.DataFrame) -> list[str]:
    """Titles of the data sets, for a sentence."""
    return [title_of(name) for name in rows.dataset.dropna().unique()]


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them: `A, B and C`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def side_words(
    found: Mapping[str, Interval], above: str, below: str, unit: str = "", *, ratios: bool = False
) -> str:
    """`ahead, +1.0 [+0.5, +1.5] on A; undecided, ...`: effects by the side of 0 of their intervals.

    ratios: whether they are 100 times logarithms of ratios, and shown as these.
    """
    sides = by_side(found, above=above, below=below)
    words = {name: ratio_words(one) if ratios else decided_words(one, unit) for name, one in found.items()}
    told = {side: [f"{words[name]} on {name}" for name in names] for side, names in sides.items()}
    return "; ".join(f"{side}, {listed(effects)}" for side, effects in told.items() if effects)


def standing_words(found: Mapping[str, Interval], word: str) -> str:
    """`ahead under CE and PA, undecided under CN`: names by the side of 0 of their intervals."""
    sides = by_side(found, above="ahead", below="behind")
    return ", ".join(f"{side} {word} {listed(names)}" for side, names in sides.items() if names)


def span_words(values: Sequence[int]) -> str:
    """`29`, or `20 to 1,040`."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _size_words(rows: pd.DataFrame) -> str:
    """Share of a data set that was trained on, if not all of it (`train_per_class`)."""
    if "dataset_options" not in rows:
        return ""
    options = [json.loads(text) for text in rows["dataset_options"].fillna("{}").unique()]
    known = [given["train_per_class"] for given in options if given.get("train_per_class") is not None]
    some = "" if len(known) == len(options) else " (of some all)"
    return f", {span_words(known)} training images per label{some}" if known else ""


def _distinct(rows: pd.DataFrame, column: str) -> str:
    return ", ".join(map(str, rows[column].dropna().unique()))


def json_lists(values: pd.Series) -> list[list]:
    """The lists of a column of JSON texts, all of them lists, read in one go."""
    return json.loads(f"[{','.join(values)}]")


def json_column(values: pd.Series) -> pd.Series:
    """Lists out of a column that stores them as JSON text (clients, weights)."""
    return values.map(lambda text: json.loads(text) if isinstance(text, str) else None)
