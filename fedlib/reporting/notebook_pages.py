"""An executed notebook as the inside of an HTML page that needs no network: MathML, pictures in the file.

References: latex2mathml (https://github.com/roniemartinez/latex2mathml), mistune (https://mistune.lepture.com),
Pygments (https://pygments.org); nbconvert's own HTML leaves mathematics to a script from the network.
"""

import ast
import base64
import html
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mistune
import nbformat
from latex2mathml.converter import convert
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

_MATHS = re.compile(r"\$\$(.+?)\$\$|(?<![\\\w$])\$([^$\n]+?)\$(?!\d)", re.DOTALL)
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_HEADING = re.compile(r"<h([1-3])>(.*?)</h\1>", re.DOTALL)
_CAPTION = re.compile(r"<p><em>(.*?)</em></p>", re.DOTALL)
_TAGS = re.compile(r"<[^>]+>")
_NO_PROSE = re.compile(r"<(table|pre|details|style|math|figure)\b.*?</\1>", re.DOTALL)


@dataclass
class Page:
    """The inside of a page: HTML, its headings as (level, anchor, words), and its first paragraph."""

    title: str
    body: str = ""
    headings: list[tuple[int, str, str]] = field(default_factory=list)
    idea: str = ""


def notebook_page(path: Path) -> Page:
    """Turn a notebook with outputs into a page; code folds, everything else is open."""
    notebook = nbformat.read(path, as_version=4)
    page = Page(title=path.stem)
    for cell in notebook.cells:
        page.body += _markdown_cell(cell, page) if cell.cell_type == "markdown" else _code_cell(cell)
    page.title = page.headings[0][2] if page.headings else path.stem
    found = re.search(r"<p><strong>(?:Idea|Question).*?</p>", page.body, re.DOTALL)
    page.idea = found.group(0) if found else ""
    return page


def prose_of(page: Page) -> dict[str, str]:
    """Anchor of each heading -> the sentences below it, without code, tables, figures and mathematics."""
    parts = re.split(r'<h[1-3] id="([^"]*)">.*?</h[1-3]>', _NO_PROSE.sub(" ", page.body), flags=re.DOTALL)
    texts = [" ".join(html.unescape(_TAGS.sub(" ", part)).split()) for part in parts[2::2]]
    return dict(zip(parts[1::2], texts, strict=True))


def markdown_html(text: str) -> str:
    """Markdown with mathematics as HTML with MathML."""
    return mistune.create_markdown(escape=False, plugins=["table", "strikethrough"])(with_mathml(text))


def with_mathml(text: str) -> str:
    """Markdown with its LaTeX turned into MathML, which needs no script; code is left alone."""
    parts = _CODE.split(text)
    parts[::2] = [_MATHS.sub(_mathml, part) for part in parts[::2]]
    return "".join(parts)


def _mathml(found: re.Match[str]) -> str:
    text = re.sub(r"\\tag\{(.*?)\}", r"\\qquad (\1)", found.group(1) or found.group(2))
    block = found.group(1) is not None
    return convert(" ".join(text.split()), display="block" if block else "inline")


def _markdown_cell(cell: Any, page: Page) -> str:
    def anchored(found: re.Match[str]) -> str:
        level, words = int(found.group(1)), _TAGS.sub("", found.group(2))
        anchor = re.sub(r"[^a-z0-9]+", "-", html.unescape(words).lower()).strip("-")
        page.headings.append((level, anchor, html.unescape(words)))
        return f'<h{level} id="{anchor}">{found.group(2)} <a class="anchor" href="#{anchor}">#</a></h{level}>'

    text = _HEADING.sub(anchored, markdown_html(cell.source))
    text = _CAPTION.sub(r'<p class="caption">\1</p>', text)
    return text.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")


def _code_cell(cell: Any) -> str:
    shown = "".join(map(_output, cell.get("outputs", [])))
    if "parameters" in cell.metadata.get("tags", []) or not cell.source.strip():
        return f"{_highlighted(cell.source)}{shown}"
    head = f"<summary>code: {html.escape(_last_statement(cell.source))}</summary>"
    code = f"<details class=code>{head}{_highlighted(cell.source)}</details>"
    return code + shown


def _last_statement(source: str) -> str:
    """The first line of a cell's last statement, or the last line of a cell that is no Python."""
    lines = source.strip().splitlines()
    try:
        at = ast.parse(source.strip()).body[-1].lineno - 1
    except (SyntaxError, IndexError):
        at = -1
    return lines[at][:70]


def _highlighted(source: str) -> str:
    return highlight(source, PythonLexer(), HtmlFormatter(nowrap=False))


def code_style() -> str:
    """Style sheet of highlighted code, light and dark."""
    light = HtmlFormatter(style="default").get_style_defs(".light .highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".dark .highlight")
    return f"{light}\n{dark}"


def _output(output: Any) -> str:
    """Render an output: pictures at their size, tables in a box that scrolls, text as it is."""
    data = output.get("data", {})
    if "image/png" in data:
        shown = output.get("metadata", {}).get("image/png", {})
        picture = base64.b64decode("".join(data["image/png"]))
        return (
            f"<figure>{picture_html(picture, str(shown.get('alt') or 'figure'), shown.get('width'))}</figure>"
        )
    if "text/html" in data:
        return f'<div class="scroll">{"".join(data["text/html"])}</div>'
    if "text/markdown" in data:
        return f'<div class="finding">{markdown_html("".join(data["text/markdown"]))}</div>'
    if output.output_type == "error":
        return f"<pre class=error>{html.escape(output.ename)}: {html.escape(output.evalue)}</pre>"
    text = output.get("text") or data.get("text/plain", "")
    return f"<pre>{html.escape(''.join(text))}</pre>"


def picture_html(png: bytes, alternative: str, width: int | None = None) -> str:
    """A picture inside the page."""
    size = f' width="{width}"' if width else ""
    encoded = base64.b64encode(png).decode()
    return f'<img{size} alt="{html.escape(alternative)}" src="data:image/png;base64,{encoded}">'
