"""The report: one self-contained HTML page with verdicts, notebooks, artifacts and figures."""

import base64
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from fedlib.analysis.decisions import ARITHMETIC
from fedlib.files import write_atomically
from fedlib.paths import project_root
from fedlib.reporting.notebook_runner import NotebookResult, output_folder

_TEMPLATE = Path(__file__).parent / "templates" / "report.html"


def write_report(
    folder: Path | None = None,
    *,
    verdicts: pd.DataFrame,
    artifacts: pd.DataFrame,
    notebooks: Sequence[NotebookResult] = (),
    figures: Sequence[Path] = (),
    provenance: str = "",
) -> Path:
    """Write `<folder>/index.html` (default build/report) and return its path.

    verdicts: as `fedlib.reporting.verdicts.verdict_table` gives them. artifacts: shown as it is.
    Figures are embedded, so that the page can be sent as one file; notebooks are linked.
    """
    from jinja2 import Environment

    folder = folder or project_root() / "build" / "report"
    template = Environment(autoescape=True).from_string(_TEMPLATE.read_text(encoding="utf-8"))
    html = template.render(
        provenance=provenance,
        verdicts=verdicts.to_dict("records"),
        counts=list(verdicts.verdict.value_counts().items()) if len(verdicts) else [],
        arithmetic=int((verdicts.kind == ARITHMETIC).sum()),
        notebooks=[asdict(n) | {"href": _link(n, folder)} for n in notebooks],
        artifacts={"columns": list(artifacts.columns), "rows": artifacts.to_numpy().tolist()},
        figures=[_embed(path) for path in figures],
    )
    page = folder / "index.html"
    write_atomically(page, html.encode())
    return page


def _link(result: NotebookResult, folder: Path) -> str:
    """Address of the executed notebook's page, relative to the report; empty without a page."""
    if not result.html:
        return ""
    return Path(os.path.relpath(output_folder() / result.html, folder)).as_posix()


def _embed(path: Path) -> dict[str, str]:
    return {"name": path.stem, "data": base64.b64encode(path.read_bytes()).decode()}
