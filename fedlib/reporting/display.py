"""Display of rows in a notebook: a line of what is asked and shown, HTML tables, sharp figures."""

import dataclasses
import html
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import PIL.Image
from IPython.display import HTML, Image, Markdown, display
from matplotlib.figure import Figure

from fedlib.analysis.decisions import ARITHMETIC, PARTLY, REFUTED, SMALLER, SUPPORTED
from fedlib.analysis.intervals import LOGARITHM
from fedlib.analysis.tables import dataset_words, listed, provenance_line, seeds_of_rows
from fedlib.data.titles import title_of
from fedlib.experiments.artifact import Artifact, maker_name
from fedlib.papers import PAPERS, errata_table
from fedlib.plotting.style import labelled
from fedlib.reporting.html_tables import html_fold, html_list, html_parts, html_table
from fedlib.reporting.verdict_cache import Record, verdict_words
from fedlib.run import Run
from fedlib.words import counted

Maker = Callable[[pd.DataFrame], pd.DataFrame]

CSS_DPI = 96  # pixels of a page per inch
SHARP = 2  # pixels of the picture for each of the page
COLOURS, MOST_COLOURS = 64, 256  # of a reduced picture; of one with a colour bar
FEW = 2  # claims of a verdict, up to which a count names them
HOLDING = (SUPPORTED, SMALLER, PARTLY)
SHARED_BY = 3  # claims, from which on a caveat is displayed once
_IDENTITY = ("seed", "paper", "artifact", "profile")
_ASIDE = ("eval_every", "precision", "sample_order", "mixup_lambda", "device_costs")
_DEFAULTS = {field.name: field.default for field in dataclasses.fields(Run)}
_COUNTS = ("n", "seeds", "trials")
_NOT_SUPPORTED = (
    " *Not supported*: the whole interval lies below the smallest effect of interest (half the printed one, "
    "half a point of accuracy, or as stated); of things said to be equal, outside the margin."
)
_PROFILE_WORDS = {  # what a profile is, in the order of size
    "smoke": "seconds",
    "reduced": "fewer images or rounds than the paper's, or a smaller network",
    "extended": "the paper's lengths, a smaller network or fewer images",
    "paper": "every printed setting",
}


def show_figure(figure: Figure, alternative: str = "") -> None:
    """Display a figure at its own size, with twice the pixels, and close it."""
    width, height = (round(CSS_DPI * inches) for inches in figure.get_size_inches())
    picture = io.BytesIO()
    figure.savefig(picture, dpi=SHARP * CSS_DPI, facecolor="white", pil_kwargs={"compress_level": 1})
    plt.close(figure)
    colours = MOST_COLOURS if any(ax.get_label() == "<colorbar>" for ax in figure.axes) else COLOURS
    display(Image(_small(picture, colours), width=width, height=height, alt=alternative or None))


def make_tables(rows: pd.DataFrame, makers: Sequence[Maker]) -> dict[str, pd.DataFrame]:
    """The tables that functions make of an artifact's rows, by name; one without lines is left out."""
    made = {f"{maker_name(make)}-{number}": make(rows) for number, make in enumerate(makers) if len(rows)}
    return {name: frame for name, frame in made.items() if len(frame)}


def show_tables(
    artifact_id: str, rows: pd.DataFrame, made: Mapping[str, pd.DataFrame], captions: Sequence[str] = ()
) -> None:
    """Display tables of an artifact's rows (`make_tables`), each below the caption of its maker."""
    for number, table in tables_as_html(artifact_id, rows, made).items():
        caption = f"<p {_CAPTION}><em>{html.escape(captions[number])}</em></p>" if captions else ""
        display(HTML(caption + table))


def tables_as_html(artifact_id: str, rows: pd.DataFrame, made: Mapping[str, pd.DataFrame]) -> dict[int, str]:
    """HTML of tables of an artifact's rows (`make_tables`), by the place of the maker."""
    return {
        int(name.rpartition("-")[2]): html_table(
            _without_counts(_named(table), rows), name=f"{artifact_id}-{name}"
        )
        for name, table in made.items()
    }


def show_frame(frame: pd.DataFrame, name: str) -> None:
    """Display a data frame that no artifact stands for, e.g. settings; nothing if it has no lines."""
    if len(frame):
        display(HTML(html_table(_named(frame), name=name)))


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """`labelled`, with data sets by their titles; commands have the catalogue's names."""
    if "dataset" not in frame:
        return labelled(frame)
    return labelled(frame.assign(dataset=frame.dataset.map(title_of, na_action="ignore")))


def show_settings(runs: Mapping[str, Run]) -> None:
    """Display the descriptions of runs side by side, e.g. one per profile; an option per line.

    Fields of `_ASIDE` that all runs leave as they are by default are left out.
    """
    aside = {name for name in _ASIDE if all(getattr(run, name) == _DEFAULTS[name] for run in runs.values())}
    columns = {name: _flat({**run.describe(), "method": run.method}, aside) for name, run in runs.items()}
    frame = pd.DataFrame(columns, index=list(dict.fromkeys(key for flat in columns.values() for key in flat)))
    show_frame(frame.map(_setting_words).rename_axis("setting").reset_index(), "settings")


def _flat(settings: Mapping[str, object], aside: Set[str], of: str = "") -> dict[str, object]:
    """Settings by name, those of a mapping as `dataset: mean`; without `aside` and what identifies a run."""
    found: dict[str, object] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= _flat(value, aside, f"{of}{name.removesuffix('_options')}: ")
        elif of or (name not in (*_IDENTITY, *aside) and value is not None):
            found[f"{of}{name}"] = value
    return found


def _setting_words(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)


def show_claims(found: Sequence[Record]) -> None:
    """Display each claim in a line with its verdict; evidence, scale and caveats open below it.

    A caveat that several claims share stands once, above all of them.
    """
    shared = _shared_caveats(found)
    by_claims: dict[tuple[str, ...], list[str]] = {}
    for words, names in shared.items():
        by_claims.setdefault(tuple(names), []).append(words)
    notes = [f"{listed(names)}: {' '.join(words)}" for names, words in by_claims.items()]
    if any(LOGARITHM in one["evidence"] for one in found):
        notes.append(f"{LOGARITHM}: 100 times the natural logarithm of a ratio; +10 is a tenth more.")
    if notes:
        show_points(*notes)
    items = [
        (
            f"{one['claim']}{' (ours)' * one['ours']} · {verdict_words(one)} · {one['statement']}",
            [*one["evidence"].splitlines(), *filter(None, [scale_of(one), _own_caveats(one, shared)])],
        )
        for one in found
    ]
    display(HTML(html_list(items)))


def _shared_caveats(found: Sequence[Record]) -> dict[str, list[str]]:
    """Sentences that `SHARED_BY` claims or more have as caveats, with the claims' names."""
    named: dict[str, list[str]] = {}
    for one in found:
        for words in _sentences(one["how"]):
            named.setdefault(words, []).append(one["claim"].rpartition("-")[2])
    return {words: names for words, names in named.items() if len(names) >= SHARED_BY}


def _own_caveats(one: Record, shared: Collection[str]) -> str:
    return " ".join(words for words in _sentences(one["how"]) if words not in shared)


def _sentences(text: str) -> list[str]:
    return [words for words in re.split(r"(?<=[.:]) (?=[A-Z*])", text) if words]


def show_findings(sentences: Sequence[str], found: Sequence[Record], *, paper: str) -> None:
    """Display a list: sentences, the count of a paper's verdicts, and the data and scale they rest on."""
    meant = _NOT_SUPPORTED * (REFUTED in counts_of(found)[0])
    verdicts = (
        f"{verdicts_words(found)}{meant} The other words and rules: [docs/claims.md](../docs/claims.md)."
    )
    show_points(*sentences, verdicts, _scale_sentence(found, PAPERS[paper].profile_words))


def counts_of(found: Sequence[Record]) -> tuple[Counter[str], Counter[str]]:
    """Verdicts of the claims that runs decide, and of those that are recomputed without training."""
    by_runs, computed = (
        Counter(one["verdict"] for one in found if (one["kind"] == ARITHMETIC) == arithmetic)
        for arithmetic in (False, True)
    )
    return by_runs, computed


def verdicts_words(found: Sequence[Record]) -> str:
    """`Of 11 published claims that runs decide: 6 not supported; ... Of 26 claims of ours: ...`"""
    computed = [one for one in found if one["kind"] == ARITHMETIC]
    by_runs, own = (
        [one for one in found if one["ours"] == ours and one["kind"] != ARITHMETIC] for ours in (False, True)
    )
    claims = counted(len(by_runs), "published claim")
    told = f"Of {claims} that runs decide: {_counted(by_runs)}." if by_runs else ""
    apart = f"By computation without training: {_counted(computed)}." if computed else ""
    more = f"Of {counted(len(own), 'claim')} of ours: {_counted(own)}." if own else ""
    return " ".join(filter(None, [told, apart, more]))


def _counted(found: Sequence[Record]) -> str:
    """`3 not supported; 2 supported (C1, C4)`, the most frequent first; few that hold are named."""
    named: dict[str, list[str]] = {}
    for one in found:
        named.setdefault(one["verdict"], []).append(one["claim"].rpartition("-")[2])
    return "; ".join(
        f"{len(names)} {verdict}{_few(names) * (verdict in HOLDING)}"
        for verdict, names in sorted(named.items(), key=lambda item: -len(item[1]))
    )


def _few(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" * (len(names) <= FEW)


def _scale_sentence(found: Sequence[Record], words: Mapping[str, str]) -> str:
    """Profiles and data that verdicts rest on. words: what a profile is where no paper is reproduced."""
    used = {one["profile"] for one in found}
    meant = {**_PROFILE_WORDS, **words}
    profiles = [f"`{name}` ({what})" for name, what in meant.items() if name in used]
    named = [one["data"] for one in found if not one["data"].startswith("timed on")]
    names = {name.removesuffix(" (stand-in)") for several in named for name in several.split(", ") if name}
    data = sorted(map(title_of, names))
    if not profiles:
        return "No rows are stored, so nothing is decided yet."
    return f"Scale: {', '.join(profiles)}. Data of the verdicts: {', '.join(data)}."


def scale_of(one: Record) -> str:
    """Profile and data of a verdict, e.g. `rows: reduced, mnist`; empty without rows."""
    parts = [part for part in (one["profile"], one["data"]) if part]
    return f"rows: {', '.join(parts)}" if parts else ""


def show_sentences(*sentences: str) -> None:
    """Display sentences that are computed from rows, as one paragraph."""
    display(Markdown(" ".join(sentences)))


def show_points(*sentences: str) -> None:
    """Display sentences that are computed from rows, each as a point of one list."""
    display(Markdown("\n".join(f"- {sentence}" for sentence in sentences)))


def show_folded(head: str, parts: Sequence[str]) -> None:
    """Display a line, and below it, once it is opened, a list."""
    display(HTML(html_list([(head, parts)])))


def show_block(head: str, sentences: Sequence[str], blocks: Iterable[str]) -> None:
    """Display a line, and below it, once it is opened, sentences and blocks of HTML, such as tables."""
    points = html_parts(sentences) if sentences else ""
    display(HTML(html_fold(head, points + "".join(blocks))))


def show_errata(paper: str) -> None:
    """Display the paper's statements that were recomputed from its own tables, printed beside recomputed."""
    ends = {True: "agrees after rounding", False: "does not agree"}
    items = [
        (
            f"{row.erratum} · {row.statement} · {ends[bool(row.agrees)]}",
            [f"printed: {row.printed}", f"recomputed: {row.recomputed}"],
        )
        for row in errata_table(paper).itertuples()
    ]
    display(HTML(html_list(items)))


def _without_counts(frame: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The table without its number of seeds where the line above the table tells it for all rows."""
    if "seed" not in rows:
        return frame
    told = [name for name in _COUNTS if name in frame and set(frame[name]) == {rows.seed.nunique()}]
    return frame.drop(columns=told)


def line_of(artifact: Artifact, rows: pd.DataFrame, asked: str, *, command: str) -> str:
    """HTML line: which artifact follows, what was asked for, what is shown; its provenance opens below."""
    label = _linked(artifact)
    if rows.empty:
        words = (
            f"asked: {asked}; shown: nothing, no such rows are stored. <code>{html.escape(command)}</code>"
        )
        return f"<div {_SMALL}><b>{label}</b> {words}</div>"
    words = html.escape(f"asked: {asked}; shown: {scale_words(rows)}")
    told = html_parts(provenance_line(rows).split("; "))
    return f"<details {_SMALL}><summary><b>{label}</b> {words}</summary>{told}</details>"


def show_line(line: str) -> None:
    """Display a line (`line_of`)."""
    display(HTML(line))


_SMALL = 'style="font-size: 12px; opacity: 0.8"'
_CAPTION = 'style="font-size: 12px; max-width: 826px; margin: 0.6em 0 0"'


def _linked(artifact: Artifact) -> str:
    """The artifact's label as HTML; its place in the paper is a link to the paper."""
    place, rest = place_in_paper(artifact), html.escape(artifact.title)
    address = PAPERS[artifact.paper].address if place else ""
    if not place:
        return rest
    return f'<a href="{address}">{place}</a>: {rest}' if address else f"{place}: {rest}"


def place_in_paper(artifact: Artifact) -> str:
    """`FedDRL, fig. 5`; empty for an artifact that the paper has not."""
    for word, short in (("table", "table "), ("fig", "fig. ")):
        number = artifact.name.removeprefix(word)
        if artifact.name.startswith(word) and number.isdecimal():
            return f"{PAPERS[artifact.paper].title}, {short}{number}"
    return ""


def scale_words(rows: pd.DataFrame) -> str:
    """Profile, data and seeds of rows, e.g. `reduced, fmnist, 3 seeds (0 to 2)`."""
    parts = [", ".join(map(str, rows["profile"].dropna().unique()))] if "profile" in rows else []
    parts += [dataset_words(rows)] if "dataset" in rows else []
    if "seed" in rows and rows.seed.notna().any():
        parts.append(seeds_of_rows(rows))
    return ", ".join(parts)


def _small(picture: io.BytesIO, count: int = COLOURS) -> bytes:
    """Reduce a picture to a palette: a third of the bytes or less.

    Half of it are the colours with the largest even areas, as they are: those of lines, markers and pale
    bands, not those between them. The rest covers the others.
    """
    small, half = io.BytesIO(), count // 2
    with PIL.Image.open(picture) as image:
        whole = image.convert("RGB")
    spread = whole.quantize(half, method=PIL.Image.Quantize.MAXCOVERAGE).getpalette()[: 3 * half]
    pixels = np.asarray(whole).astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    even = np.zeros(pixels.shape, bool)  # as the pixel on the left and the one above
    even[1:, 1:] = (pixels[1:, 1:] == pixels[1:, :-1]) & (pixels[1:, 1:] == pixels[:-1, 1:])
    codes, where = np.unique(pixels.reshape(-1), return_inverse=True)
    areas = np.bincount(where, weights=even.reshape(-1), minlength=len(codes))
    colours = codes[:, None] >> np.array([16, 8, 0], np.uint32) & 255
    palette = np.vstack([colours[np.argsort(-areas, kind="stable")[:half]], np.reshape(spread, (-1, 3))])
    apart = ((colours[:, None].astype(int) - palette.astype(int)) ** 2).sum(axis=2)
    nearest = apart.argmin(axis=1).astype(np.uint8)[where]
    reduced = PIL.Image.fromarray(nearest.reshape(whole.height, whole.width), mode="P")
    reduced.putpalette(palette.astype(np.uint8).tobytes())
    reduced.save(small, "PNG", optimize=True)
    return small.getvalue()
