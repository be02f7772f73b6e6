"""The report's site: every page stands alone, mathematics is MathML, claims and notebooks link each other."""

import json
import re

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from fedlib.papers import claims
from fedlib.reporting.notebook_pages import markdown_html, notebook_page
from fedlib.reporting.site import write_site

TEXT = """# 01. Tiny

**Idea.** Weights sum to $\\sum_k \\alpha_k = 1$, not `$HOME`.

## 1. Part one

$$\\sigma_k \\le \\beta \\mu_k \\tag{6}$$

*Fig. 1: a caption.*
"""


NOT_RUN = {
    "verdict": "not run", "evidence": "no <rows>", "place": "sec. 1", "profile": "", "data": "",
    "artifact": "", "kind": "difference", "how": "", "ours": False,
}  # fmt: skip


@pytest.fixture
def notebook(tmp_path):
    shown = new_output("display_data", {"text/html": "<table><tr><td>3.5</td></tr></table>"})
    picture = new_output("display_data", {"image/png": "AAAA"}, metadata={"image/png": {"width": 300}})
    cells = [new_markdown_cell(TEXT), new_code_cell("show()", outputs=[shown, picture])]
    path = tmp_path / "01_tiny.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.fixture
def site(notebook, tmp_path):
    found = [{**NOT_RUN, "claim": c.id, "statement": c.statement} for c in claims("start")]
    rows = [("start/curves", "figure", "Curves & bands", "none")]
    artifacts = pd.DataFrame(rows, columns=["artifact", "kind", "title", "stored"])
    write_site(
        tmp_path / "site",
        found=found,
        effects=pd.DataFrame(),
        artifacts=artifacts,
        notebooks=[notebook],
        provenance="here",
    )
    return tmp_path / "site"


def test_there_is_a_page_per_notebook_and_per_claim(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert pages == {
        "index.html",
        "notebooks/01_tiny.html",
        *(f"claims/{c.id}.html" for c in claims("start")),
    }


def test_no_page_needs_another_file_or_the_network(site):
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert not re.findall(r'src="(?:https?:)?//', text)
        assert not re.findall(r'<link|src="(?!data:)|@import|url\(', text)


def test_links_between_pages_lead_somewhere(site):
    for path in site.rglob("*.html"):
        for target in re.findall(r'href="([^"#]+\.html)', path.read_text()):
            if "${" not in target:
                assert (path.parent / target).is_file(), f"{path.name} -> {target}"


def test_evidence_is_escaped_and_search_knows_every_heading(site):
    claim = claims("start")[0]
    text = (site / "claims" / f"{claim.id}.html").read_text()
    assert "no &lt;rows&gt;" in text
    assert f"python -m fedlib run {claim.artifact}" in text  # `show` would refuse: nothing is stored
    assert '"1. Part one", "notebooks/01_tiny.html#1-part-one"' in (site / "index.html").read_text()


def test_search_finds_prose_but_not_tables_and_keeps_pages_of_claims_small(site):
    index, claim = (site / "index.html").read_text(), next((site / "claims").glob("*.html")).read_text()
    (places,) = re.findall(r"const places = (.*);", index)
    prose = {entry[0]: entry[3] for entry in json.loads(places)}
    assert prose["01. Tiny"] == "Idea. Weights sum to , not $HOME ."
    assert prose["1. Part one"] == "Fig. 1: a caption."
    assert "Weights sum to" not in claim


def test_a_claim_leads_to_its_paper_and_its_notebook(notebook, tmp_path):
    one = next(claim for claim in claims("feddrl"))
    record = {**NOT_RUN, "claim": one.id, "statement": "s", "place": "table 3"}
    own = notebook.rename(notebook.with_name("01_feddrl.ipynb"))
    given = {"effects": pd.DataFrame(), "artifacts": pd.DataFrame({"artifact": [], "title": []})}
    write_site(tmp_path / "site", found=[record], notebooks=[own], **given)
    text = (tmp_path / "site" / "claims" / f"{one.id}.html").read_text()
    assert '<a href="https://doi.org/10.1145/3545008.3545085">table 3</a>' in text
    assert '<a href="../notebooks/01_feddrl.html">01. Tiny</a>' in text


def test_a_claim_shows_the_rows_that_decided_and_its_caveats(notebook, tmp_path):
    """FEDDRL-C1 names table 3; where runs of the paper's length decide, its page has those."""
    one = next(claim for claim in claims("feddrl") if claim.fallback)
    record = {**NOT_RUN, "claim": one.id, "statement": "s", "verdict": "supported", "profile": "extended",
              "artifact": one.fallback[0], "how": "Looked at <twice>."}  # fmt: skip
    proof = {**NOT_RUN, "claim": "FEDDRL-C4", "statement": "s", "verdict": "supported", "kind": "arithmetic"}
    given = {"effects": pd.DataFrame(), "artifacts": pd.DataFrame({"artifact": [], "title": []})}
    write_site(tmp_path / "site", found=[record, proof], notebooks=[notebook], **given)
    text = (tmp_path / "site" / "claims" / f"{one.id}.html").read_text()
    assert f"python -m fedlib show {one.fallback[0]} --profile extended" in text
    assert "Looked at &lt;twice&gt;." in text
    index = (tmp_path / "site" / "index.html").read_text()
    assert (
        "Of 1 published claim that runs decide: 1 supported (C1). By computation without training: 1 "
        "supported (C4)." in index
    )


def test_mathematics_is_mathml_and_code_is_left_alone():
    text = markdown_html(TEXT)
    assert text.count("<math") == 2
    assert "<code>$HOME</code>" in text
    assert not re.findall(r"\$\$|\\[a-z]+", re.sub(r"<annotation.*?</annotation>", "", text))


def test_a_page_has_anchors_captions_pictures_at_their_size_and_tables_that_scroll(notebook):
    page = notebook_page(notebook)
    assert page.headings == [(1, "01-tiny", "01. Tiny"), (2, "1-part-one", "1. Part one")]
    assert '<p class="caption">Fig. 1: a caption.</p>' in page.body
    assert '<img width="300"' in page.body
    assert '<div class="scroll"><table><tr><td>3.5' in page.body
    assert page.idea.startswith("<p><strong>Idea.")
