"""The report: one file that needs no other, with nothing in it that was not given."""

import base64
import html
import re
import struct
import zlib
from pathlib import Path

import pandas as pd

from fedlib.reporting.notebook_runner import NotebookResult
from fedlib.reporting.report import write_report

VERDICTS = pd.DataFrame(
    {
        "claim": ["FEDDRL-C1", "FEDDRL-C2"],
        "statement": ["FedDRL > FedAvg <under CE>", "SingleSet & FedAvg differ"],
        "verdict": ["supported", "not testable here"],
        "effect": ["+1.2 [+0.4, +2.0]", "-"],
        "unit": ["points", ""],
        "printed": [0.7, None],
        "profile": ["reduced", ""],
        "seeds": [3, 0],
        "kind": ["superiority", "arithmetic"],
        "data": ["standin-cifar100 (stand-in)", ""],
        "evidence": ["12 cells <all>", ""],
    }
)
ARTIFACTS = pd.DataFrame({"artifact": ["feddrl/table3"], "kind": ["table"], "stored": ["none"]})


def notebook(name: str, status: str, **options: str) -> NotebookResult:
    return NotebookResult(
        name=name, profile="smoke", status=status, seconds=12.4, peak_memory_mib=345.6, **options
    )


def tiny_png(path: Path) -> Path:
    """One grey pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return path


def write(tmp_path: Path, **options) -> str:
    given = {"verdicts": VERDICTS, "artifacts": ARTIFACTS} | options
    page = write_report(tmp_path / "report", **given)
    assert page == tmp_path / "report" / "index.html"
    return page.read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """Text of the cells of every table row, tags removed."""
    found = re.findall(r"<tr>(.*?)</tr>", text, flags=re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.DOTALL) for row in found]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in cells if row]


def test_every_given_value_is_in_the_tables_as_it_was_given(tmp_path):
    text = write(
        tmp_path,
        notebooks=[notebook("00_start_here", "ok"), notebook("01_feddrl", "dead", error="killed <9>")],
    )
    shown = rows(text)
    told = "FedDRL > FedAvg <under CE>evidence12 cells <all>; standin-cifar100 (stand-in)"
    assert ["FEDDRL-C1", told, "supported", "+1.2 [+0.4, +2.0] points", "+0.7", "reduced", "3"] in shown
    unknown = ["FEDDRL-C2", "SingleSet & FedAvg differ", "not testable here", "- ", "–", "–", "–"]
    assert unknown in shown
    assert "1 of them by arithmetic alone" in text
    assert ["00_start_here", "ok", "12", "346", ""] in shown
    assert ["01_feddrl", "dead", "12", "346", "killed <9>"] in shown
    assert ["feddrl/table3", "table", "none"] in shown
    assert "1 supported, 1 not testable here" in text


def test_text_cannot_become_markup(tmp_path):
    text = write(tmp_path, provenance="<script>alert(1)</script>")
    assert "<script>" not in text
    assert "&lt;under CE&gt;" in text


def test_the_page_needs_no_other_file(tmp_path):
    figure = tiny_png(tmp_path / "feddrl_fig5.png")
    text = write(tmp_path, figures=[figure])
    (source,) = re.findall(r'<img[^>]* src="([^"]*)"', text)
    kind, _, data = source.partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data) == figure.read_bytes()
    assert not re.search(r"<link|<script|url\(|@import|https?://", text)


def test_executed_notebooks_are_linked_relative_to_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr("fedlib.reporting.report.output_folder", lambda: tmp_path / "notebooks")
    ran = [notebook("00_a", "ok", html="00_a.html"), notebook("01_b", "failed", error="In [1]: x")]
    assert re.findall(r'<a href="([^"]*)"', write(tmp_path, notebooks=ran)) == ["../notebooks/00_a.html"]


def test_an_empty_report_says_what_is_missing(tmp_path):
    text = write(tmp_path, verdicts=VERDICTS[:0], artifacts=ARTIFACTS[:0])
    assert "No claims." in text
    assert "No notebook was run for this report." in text
