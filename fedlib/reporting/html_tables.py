"""Data frames as HTML tables that a reader can scan: intervals merged, headers grouped, 860 pixels at most.

Column names carry the layout. `method: ours` puts `ours` under the header `method`; a column `low` and a
column `high` are merged into the value left of them, `61.2 ± 1.4`; `gain low` into `gain` alone. A table
that is too wide is divided at its groups, a long one folds away. The pages stay readable where a front end
strips styles (an untrusted notebook in JupyterLab).
"""

import html
import math
import re
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from fedlib.analysis.intervals import decimals as decimals_of

MAX_PIXELS = 826  # what JupyterLab shows in a window of 1000, by the widths below
FOLD_FROM = 21  # rows
_CHARACTER, _HEADER_CHARACTER, _PADDING = 6.6, 7.4, 16  # pixels at 12 px, in a wide font such as DejaVu Sans
_SIGNED = re.compile(r"\b(difference|diff|gain|lead|less|minus|ahead of|effect)\b")
_KEYS = ("N", "K", "seed")  # numbers that name a line
_EXACT = ("published", "printed", "paper")
_QUANTITY = ("", "quantity")
_RULE = "1px solid rgba(128, 128, 128, 0.35)"


def html_table(frame: pd.DataFrame, *, name: str) -> str:
    """A data frame as HTML; name: makes ids that repeat, so that a second run gives the same text."""
    words, numeric = _as_words(frame)
    tables, lead = _columns_that_fit(words, numeric), _lead(words, numeric)
    if len(tables) == 1 or not words[lead].duplicated().any():  # else parts would have lines without a name
        words = _sparse(words, numeric)
    parts = [_styled(words[columns], numeric, f"{name}-{n}") for n, columns in enumerate(tables)]
    text = "".join(parts)
    if len(frame) < FOLD_FROM:
        return text
    return f"<details><summary>{len(frame)} lines</summary>{text}</details>"


def html_list(items: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Folded entries, one line each: what stands in the line, and the parts that open below it."""
    return "".join(html_fold(head, html_parts(parts)) for head, parts in items)


def html_fold(head: str, content: str) -> str:
    """A line of text that opens to content, which is HTML."""
    return f"<details><summary>{_for_page(head)}</summary>{content}</details>"


def html_parts(parts: Sequence[str]) -> str:
    """Each as an item of a list, with minus signs for a page, and `code` as code."""
    return f"<ul>{''.join(f'<li>{_for_page(part)}</li>' for part in parts)}</ul>"


def _for_page(text: str) -> str:
    signs = re.sub(r"(?<![\w.])-(?=\d)", "−", text)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(signs))


def _as_words(frame: pd.DataFrame) -> tuple[pd.DataFrame, set[tuple[str, str]]]:
    """Cells as text under two levels of headers, and which columns are aligned to the right."""
    frame = frame.reset_index(drop=True)
    frame.columns = pd.MultiIndex.from_tuples([_header(column) for column in frame.columns])
    lines = [frame]
    if _QUANTITY in frame.columns:  # each has a unit of its own, and so decimals of its own
        lines = [part for _, part in frame.groupby([_QUANTITY], sort=False, dropna=False)]
    words = pd.concat([_lines_as_words(part) for part in lines]).sort_index()
    numeric = {
        column
        for column in words
        if pd.api.types.is_numeric_dtype(frame[column]) and frame[column].dtype != bool
    }
    return words, numeric


def _lines_as_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells as text, bounds merged into their values; a column's numbers have decimals in common."""
    found, bounds = {}, _bounds(list(frame.columns))
    for column in frame.columns:
        if column in bounds["used"]:
            continue
        series, pair = frame[column], bounds.get(column)
        if pair is not None:
            found[column] = _with_interval(series, frame[pair[0]], frame[pair[1]], _is_signed(column))
        else:
            found[column] = _column_words(series, signed=_is_signed(column), exact=_is_exact(column))
    words = pd.DataFrame(found, index=frame.index)
    words.columns = pd.MultiIndex.from_tuples(list(found))
    return words


def _header(column: Hashable) -> tuple[str, str]:
    """(group, name) of a column; no group is an empty one."""
    parts = [str(part) for part in column] if isinstance(column, tuple) else str(column).split(": ", 1)
    parts = [part.replace("_", " ") for part in parts]
    return (parts[0], parts[-1]) if len(parts) > 1 else ("", parts[0])


def _bounds(columns: list[tuple[str, str]]) -> dict:
    """Value column -> its (low, high) columns; under `used` the columns that are merged away."""
    found: dict = {"used": set()}
    for at, (group, name) in enumerate(columns):
        high = (group, f"{name.removesuffix('low')}high")
        if not (name == "low" or name.endswith(" low")) or high not in columns:
            continue
        own = [c for c in columns[:at] if c[0] == group and c not in found["used"]]
        if own and name in ("low", f"{own[-1][1]} low"):
            found[own[-1]] = ((group, name), high)
            found["used"] |= {(group, name), high}
    return found


def _is_signed(column: tuple[str, str]) -> bool:
    return any(_SIGNED.search(part) for part in column)


def _is_exact(column: tuple[str, str]) -> bool:
    return column[1].split(" (")[0] in _EXACT


def _column_words(values: pd.Series, *, signed: bool = False, exact: bool = False) -> pd.Series:
    """Numbers of one column with common decimals: three digits at the largest, whole numbers as they are."""
    if values.dtype == bool or not pd.api.types.is_numeric_dtype(values):
        return values.map(_plain)
    decimals = None if exact or _spans_decades(values) else _decimals(values)
    return values.map(lambda value: _number(value, decimals, signed))


def _spans_decades(values: pd.Series) -> bool:
    """Whether common decimals would show small numbers of the column as 0."""
    sizes = values.dropna().abs()
    sizes = sizes[sizes > 0]
    return len(sizes) > 0 and not (sizes % 1 == 0).all() and sizes.max() / sizes.min() > 1e4


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return _number(value, None, False) if isinstance(value, float) else str(value)


def _decimals(values: pd.Series) -> int:
    finite = [abs(float(v)) for v in values.dropna() if math.isfinite(v)]
    if not finite or all(v == int(v) for v in finite) or max(finite) == 0:
        return 0
    return min(4, max(0, 2 - math.floor(math.log10(max(finite)))))


def _first_decimal(widths: pd.Series) -> int:
    """Decimals that show half of the narrowest width with one significant digit."""
    found = [width / 2 for width in widths.dropna() if 0 < width < math.inf]
    return max(0, -math.floor(math.log10(min(found)))) if found else 0


def _number(value: object, decimals: int | None, signed: bool) -> str:
    if pd.isna(value):
        return "–"
    sign = "+" if signed else ""
    if decimals is not None:
        text = f"{float(value):{sign}z,.{decimals}f}"
    elif abs(value) >= 1e4:
        text = f"{float(value):{sign},.0f}"
    else:
        text = f"{float(value):{sign}.4g}"
    return text.replace("-", "−")


def _with_interval(values: pd.Series, low: pd.Series, high: pd.Series, signed: bool) -> pd.Series:
    """Values with their intervals, all of a column in one form: `61.2 ± 1.4`, or `61.2 [59, 64]`.

    The second where some interval is not symmetric, by more than rounded numbers can be. A wide interval
    takes decimals from its line, as in a sentence (`intervals.interval_words`).
    """
    up, down = high - values, values - low
    decimals = min(_decimals(values), max(_decimals(pd.concat([low, high])), _first_decimal(high - low)))
    known = up.notna() & down.notna()
    off = (up - down).abs() > np.maximum(1.5 * 10**-decimals, 0.02 * np.maximum(up.abs(), down.abs()))
    brackets = (known & off).any()
    lines = zip(values, low, high, strict=True)
    return pd.Series([_interval(*line, decimals, signed, brackets) for line in lines], index=values.index)


def _interval(value: float, low: float, high: float, decimals: int, signed: bool, brackets: bool) -> str:
    if pd.isna(value) or pd.isna(low) or pd.isna(high):
        return _number(value, decimals, signed)
    decimals = min(decimals, decimals_of((high - low) / 2))
    text = _number(value, decimals, signed)
    if brackets:
        return f"{text} [{_number(low, decimals, signed)}, {_number(high, decimals, signed)}]"
    return f"{text} ± {_number((high - low) / 2, decimals, False)}"


def _sparse(words: pd.DataFrame, numeric: set[tuple[str, str]]) -> pd.DataFrame:
    """Leading text columns with a repeated value left empty, as in a printed table."""
    same = pd.Series(True, index=words.index)
    shown = words.copy()
    for column in words.columns[:-1]:
        if column in numeric:
            break
        same &= words[column].eq(words[column].shift())
        shown.loc[same, [column]] = ""
    return shown


def _columns_that_fit(words: pd.DataFrame, numeric: set[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """The columns in as few tables as fit; each begins with the leading columns that have no group."""
    groups: list[list[tuple[str, str]]] = []
    for column in words.columns:
        if groups and column[0] and groups[-1][-1][0] == column[0]:
            groups[-1].append(column)
        else:
            groups.append([column])
    lead = _lead(words, numeric)
    rest = [group for group in groups if group[0] not in lead]
    start = sum(_pixels(words, column) for column in lead)
    tables, used = [list(lead)], start
    for group in rest:
        width = sum(_pixels(words, column) for column in group)
        if used + width > MAX_PIXELS and len(tables[-1]) > len(lead):
            tables.append(list(lead))
            used = start
        tables[-1] += group
        used += width
    return tables


def _lead(words: pd.DataFrame, numeric: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Columns that name a line: those before the first group; without groups leading text and `_KEYS`."""
    columns = list(words.columns)
    grouped = [place for place, column in enumerate(columns) if column[0]]
    values = numeric - {column for column in columns if column[1] in _KEYS}
    numbers = [place for place, column in enumerate(columns) if column in values]
    return columns[: max(1, (grouped or numbers or [1])[0])]


def _pixels(words: pd.DataFrame, column: tuple[str, str]) -> float:
    header = max(map(len, column[1].split()), default=0)
    cell = words[column].map(len).max()
    return max(_HEADER_CHARACTER * header, _CHARACTER * (0 if pd.isna(cell) else cell)) + _PADDING


def _styled(words: pd.DataFrame, numeric: set[tuple[str, str]], name: str) -> str:
    grouped = any(group for group, _ in words.columns)
    left = [place for place, column in enumerate(words.columns) if column not in numeric]
    shown = words if grouped else words.droplevel(0, axis=1)
    styles = [
        {"selector": "", "props": "border-collapse: collapse; font-size: 12px; margin: 0.4em 0;"},
        {"selector": "th, td", "props": "padding: 2px 8px; text-align: right; white-space: nowrap;"},
        {"selector": "th", "props": f"white-space: normal; border-bottom: {_RULE}; vertical-align: bottom;"},
        {"selector": "th.level0[colspan]", "props": "text-align: center;"},
        {"selector": "td", "props": "font-variant-numeric: tabular-nums; border: 0;"},
        {"selector": "tbody tr:last-child td", "props": f"border-bottom: {_RULE};"},
        *({"selector": f".col{place}", "props": "text-align: left;"} for place in left),
    ]
    styler = shown.style.hide(axis="index").set_uuid(re.sub(r"[^\w-]+", "-", name))
    styler.cell_ids = False
    text = styler.set_table_styles(styles).format(_unbroken).to_html()
    return re.sub(r'class="data row\d+ (col\d+)"', r'class="\1"', text)  # a third of a long table


def _unbroken(words: str) -> str:
    """A cell as HTML on one line: JupyterLab strips an untrusted notebook of styles, not of this tag."""
    return f"<nobr>{html.escape(words)}</nobr>"
