"""The report as a site: an index, a page per notebook and per claim, each a file that needs no network.

Search, dark mode and sidebar are in every page; mathematics is MathML. docs/report.md says which tools were
tried, and why the pages are templates of ours, filled by Jinja.
"""

import html
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import PIL.Image
from jinja2 import Environment

from fedlib.analysis.decisions import NOT_RUN
from fedlib.files import write_atomically
from fedlib.papers import PAPERS, claims
from fedlib.paths import project_root
from fedlib.plotting.forest import plot_claims
from fedlib.plotting.style import DPI
from fedlib.reporting.display import CSS_DPI, SHARP, counts_of, scale_of, verdicts_words
from fedlib.reporting.html_tables import html_parts, html_table
from fedlib.reporting.notebook_pages import Page, code_style, notebook_page, picture_html, prose_of
from fedlib.reporting.notebook_runner import NotebookResult, notebooks_folder, output_folder, paper_key
from fedlib.reporting.verdict_cache import Record
from fedlib.reporting.verdicts import published_first

_EFFECTS = ["part", "effect", "effect_low", "effect_high", "unit", "printed", "margin", "part_verdict"]
_HEADERS = {"effect_low": "low", "effect_high": "high", "printed": "published", "part_verdict": "verdict"}
_TEMPLATE = Path(__file__).parent / "templates" / "page.html"


@dataclass
class _SitePage(Page):
    href: str = "index.html"  # relative to the site
    entries: list[tuple[str, str, str, str]] = field(default_factory=list)  # title, address, more, its prose


def write_site(
    folder: Path | None = None,
    *,
    found: Sequence[Record],
    effects: pd.DataFrame,
    artifacts: pd.DataFrame,
    notebooks: Sequence[Path] | None = None,
    results: Sequence[NotebookResult] = (),
    provenance: str = "",
) -> Path:
    """Write the site (default build/report) and return its index.

    found, effects: `verdicts.records` and `verdicts.effects`. artifacts: columns artifact, kind, title,
    stored. notebooks: executed files; default: the last executed copies, else the committed ones. results:
    how the last runs ended.
    """
    folder = folder or project_root() / "build" / "report"
    pages = [_notebook(path) for path in (_executed() if notebooks is None else notebooks)]
    hrefs = {_paper(page): page for page in pages}
    judged = [_claim(one, _effects_of(effects, [one]), hrefs.get(_paper_of(one))) for one in found]
    index = _index(pages, found, effects, artifacts, results)
    template = Environment(autoescape=False).from_string(_TEMPLATE.read_text(encoding="utf-8"))
    entries = [entry for page in (*pages, *judged, index) for entry in page.entries]
    common = {"pages": [index, *pages], "provenance": html.escape(provenance), "code_style": code_style()}
    row = [index, *pages]
    for page in (*row, *judged):  # a claim's page, of which there are many, searches no prose
        places = json.dumps(entries if page in row else [(*entry[:3], "") for entry in entries])
        own = _own(page, row if page in row else judged) | {"places": places.replace("</", "<\\/")}
        text = template.render(common | own)
        write_atomically(folder / page.href, text.encode())
    return folder / "index.html"


def _own(page: _SitePage, row: Sequence[_SitePage]) -> dict[str, object]:
    at = row.index(page)
    return {
        "title": html.escape(page.title),
        "body": page.body,
        "href": page.href,
        "headings": page.headings,
        "root": "../" * page.href.count("/"),
        "previous": row[at - 1] if at else None,
        "following": row[at + 1] if at + 1 < len(row) else None,
    }


def _executed() -> list[Path]:
    committed = sorted(notebooks_folder().glob("[0-9]*.ipynb"))
    copies = [output_folder() / path.name for path in committed]
    return [copy if copy.is_file() else path for copy, path in zip(copies, committed, strict=True)]


def _notebook(path: Path) -> _SitePage:
    found, href = notebook_page(path), f"notebooks/{path.stem}.html"
    prose = prose_of(found)
    entries = [(words, f"{href}#{anchor}", found.title, prose[anchor]) for _, anchor, words in found.headings]
    body = found.body.replace('href="../docs/', 'href="../../../docs/')  # from build/report/notebooks
    return _SitePage(found.title, body, found.headings, found.idea, href=href, entries=entries)


def _claim(one: Record, effects: pd.DataFrame, notebook: _SitePage | None) -> _SitePage:
    """A claim's page: verdict, effects beside the printed value, evidence, figure and command."""
    claim = {claim.id: claim for claim in claims()}[one["claim"]]
    table = html_table(effects[_EFFECTS].rename(columns=_HEADERS), name=one["claim"]) if len(effects) else ""
    artifact = one["artifact"] or claim.artifact  # that decided: the claim's own, or one that decides for it
    figure = project_root() / "figures" / f"{artifact}.png"
    address = PAPERS[claim.paper].address
    place = html.escape(one["place"])
    place = f'<a href="{address}">{place}</a>' if address and not place.startswith("ours") else place
    command = f"{'run' if one['verdict'] == NOT_RUN else 'show'} {artifact}"
    command += f" --profile {one['profile']}" if one["profile"] else ""
    statement = one["statement"][:1].upper() + one["statement"][1:]
    link = f' · <a href="../{notebook.href}">{html.escape(notebook.title)}</a>' if notebook else ""
    body = f"""<h1>{one["claim"]} {_badge(one["verdict"])}</h1>
<p><b>{html.escape(statement)}</b></p><p class=mute>{place}{link}</p>
<div class="scroll parts">{table}</div>
<h2>Evidence</h2>{html_parts(one["evidence"].splitlines())}
<p class=mute>{html.escape(scale_of(one) or "no rows")}</p>
{f"<p>{html.escape(one['how'])}</p>" if one["how"] else ""}
<h2>Rows</h2><p><code>python -m fedlib {command}</code></p>
{_drawn(figure, artifact)}"""
    href = f"claims/{one['claim']}.html"
    return _SitePage(one["claim"], body, href=href, entries=[(one["claim"], href, statement, "")])


def _drawn(figure: Path, name: str) -> str:
    """A committed figure at the size that it was drawn for; empty where there is none."""
    if not figure.is_file():
        return ""
    picture = figure.read_bytes()
    with PIL.Image.open(io.BytesIO(picture)) as drawn:
        width = round(CSS_DPI * drawn.width / DPI)
    return f"<figure>{picture_html(picture, name, width)}</figure>"


def _index(
    pages: Sequence[_SitePage],
    found: Sequence[Record],
    effects: pd.DataFrame,
    artifacts: pd.DataFrame,
    results: Sequence[NotebookResult],
) -> _SitePage:
    boxes = [
        _paper_box(page, [one for one in found if _paper_of(one) == _paper(page)], effects) for page in pages
    ]
    told = html.escape(verdicts_words(found))
    ended = pd.DataFrame([(r.name, r.status, r.seconds, r.error or "–") for r in results])
    names = ["notebook", "status", "seconds", "error"]
    runs = html_table(ended.set_axis(names, axis=1), name="runs") if results else ""
    table = html_table(artifacts, name="artifacts")
    body = f"""<h1>Reproduction report</h1>
<p>Four papers on learning inside federated learning: every table and figure, published beside ours.
{told}</p>{"".join(boxes)}
{f"<h2 id=runs>Last run of the notebooks</h2>{runs}" if runs else ""}
<h2 id=artifacts>Artifacts</h2><div class="scroll">{table}</div>"""
    entries = [(row.artifact, "index.html#artifacts", row.title, "") for row in artifacts.itertuples()]
    return _SitePage("Overview", body, [(2, "artifacts", "Artifacts")], entries=entries)


def _paper(page: _SitePage) -> str:
    return paper_key(Path(page.href))


def _paper_of(one: Record) -> str:
    return {claim.id: claim.paper for claim in claims()}[one["claim"]]


def _effects_of(effects: pd.DataFrame, found: Sequence[Record]) -> pd.DataFrame:
    return effects[effects.claim.isin([one["claim"] for one in found])] if len(effects) else effects


def _paper_box(page: _SitePage, found: Sequence[Record], effects: pd.DataFrame) -> str:
    by_runs, computed = counts_of(found)
    told = [_badge(verdict, count) for verdict, count in by_runs.most_common()]
    told += [f"{_badge(verdict, count)} by computation" for verdict, count in computed.most_common()]
    links = " · ".join(
        f'<a href="claims/{one["claim"]}.html" title="{html.escape(one["statement"])}">{one["claim"]}</a>'
        for one in found
    )
    head = f'<h2><a href="{page.href}">{html.escape(page.title)}</a></h2>{page.idea}<p>{" ".join(told)}</p>'
    forest = _forest(_effects_of(effects, found))
    return f"<section class=paper>{head}{forest}<p class=mute>{links}</p></section>"


def _forest(effects: pd.DataFrame) -> str:
    shown = published_first(effects)
    if shown.empty or shown.effect.isna().all():
        return ""
    picture, figure = io.BytesIO(), plot_claims(shown)
    figure.savefig(picture, dpi=SHARP * CSS_DPI, facecolor="white")
    plt.close(figure)
    width = round(CSS_DPI * figure.get_figwidth())
    return f"<figure>{picture_html(picture.getvalue(), 'effects of all claims', width)}</figure>"


def _badge(verdict: str, count: int | None = None) -> str:
    kind = verdict.replace(",", "").replace(" ", "-")
    words = verdict if count is None else f"{count} {verdict}"
    return f'<span class="badge {kind}">{html.escape(words)}</span>'
