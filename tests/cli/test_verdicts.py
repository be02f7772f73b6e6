"""`python -m fedlib verdicts`: width, counts, long evidence, JSON and CSV, on records made by hand."""

import csv
import io
import json

import pytest

from fedlib.cli.main import main
from fedlib.reporting import verdict_cache


def record(claim, verdict, **given):
    usual = {
        "claim": claim, "verdict": verdict, "effect": "+1.20 [+0.80, +1.60]", "unit": "points",
        "printed": 2.166, "profile": "reduced",
        "seeds": 3, "data": "mnist", "artifact": "feddrl/table3", "kind": "superiority", "place": "sec. 4",
        "statement": "A beats B", "evidence": "A - B +1.20 points; of 3 seeds\nmargin 1",
        "gates": ["curves flat"], "how": "At the end.",
        "effects": [], "ours": False,
    }  # fmt: skip
    return usual | given


RECORDS = [
    record("FEDDRL-C1", "supported, smaller than printed"),
    record("FEDDDRL-C12", "not testable here", effect="-30.6 [-34.3, -27.0]", unit="% of the workers"),
    record(
        "FRL-C2", "inconclusive", effect="+0.004321 [-0.004444, +0.012345]", unit="% of accuracy", seeds=5
    ),
    record(
        "FEDDISK-C10", "supported", effect="-", unit="", printed=None, seeds=0, kind="arithmetic", gates=[]
    ),
]


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    def known(paper, profile, store):
        return [one for one in RECORDS if paper is None or one["claim"].startswith(f"{paper.upper()}-")]

    monkeypatch.setattr(verdict_cache, "known", known)
    monkeypatch.setenv("COLUMNS", "100")


def shown(capsys, *arguments):
    assert main(["verdicts", *arguments]) == 0
    return capsys.readouterr().out


def test_one_line_a_claim_within_100_columns(capsys):
    lines = shown(capsys).splitlines()
    assert max(map(len, lines)) <= 100
    assert [line.split()[0] for line in lines[2:6]] == [r["claim"] for r in RECORDS]
    words = "FEDDRL-C1 supported, smaller +1.20 [+0.80, +1.60] points +2.17 reduced 3"
    assert " ".join(lines[2].split()) == words
    words = "FEDDDRL-C12 not testable here -30.6 [-34.3, -27.0] +2.17 reduced 3"  # no room for the unit
    assert " ".join(lines[3].split()) == words
    assert " ".join(lines[5].split()) == "FEDDISK-C10 supported arithmetic - reduced -"


def test_a_claim_of_ours_is_marked(capsys, monkeypatch):
    monkeypatch.setitem(RECORDS[2], "ours", True)
    assert shown(capsys, "frl").splitlines()[2].startswith("FRL-C2 (ours)  inconclusive")


@pytest.mark.parametrize(("part", "note"), [("supported", " (barely)"), ("inconclusive", "")])
def test_a_claim_that_is_decided_barely_says_so_in_its_line(capsys, monkeypatch, part, note):
    """A part of another verdict than the claim's leaves the claim as it is."""
    monkeypatch.setitem(RECORDS[3], "effects", [{"verdict": part, "barely": True}])
    assert f"  supported{note}  arithmetic" in shown(capsys, "feddisk")
    smaller = {"verdict": "supported, smaller than printed", "barely": True}
    monkeypatch.setitem(RECORDS[0], "effects", [smaller])
    lines = shown(capsys).splitlines()
    assert " ".join(lines[2].split()).startswith("FEDDRL-C1 supported, smaller (barely) +1.20 [")
    assert max(map(len, lines)) <= 100


def test_counts_tell_arithmetic_claims_apart(capsys):
    told = " ".join(shown(capsys).splitlines()[-2:])
    assert "3 claims: 1 inconclusive, 1 not testable here, 1 supported, smaller than printed" in told
    assert "and 1 arithmetic: 1 supported" in told


def test_the_evidence_of_one_claim(capsys):
    assert shown(capsys, "feddrl-c1").splitlines() == [
        "FEDDRL-C1: supported, smaller than printed",
        "A beats B (sec. 4)",
        "kind: superiority",
        "gate: curves flat",
        "how: At the end.",
        'rows: reduced, mnist; fedlib.load_results("feddrl/table3", "reduced")',
        "A - B +1.20 points; of 3 seeds",
        "margin 1",
    ]


def test_an_unknown_claim_is_one_line(capsys):
    assert main(["verdicts", "feddrl-c99"]) == 2
    told = capsys.readouterr().err
    assert "unknown claim or paper 'FEDDRL-C99' (did you mean 'FEDDRL-C9'?); allowed: start, feddrl, " in told
    assert main(["verdicts", "feddisc", "FRL-C2"]) == 2
    assert "unknown claim or paper 'feddisc' (did you mean 'feddisk'?); allowed: " in capsys.readouterr().err


def test_a_claim_needs_the_verdicts_of_its_own_paper_only(capsys, monkeypatch):
    asked, known = [], verdict_cache.known
    monkeypatch.setattr(
        verdict_cache, "known", lambda paper, **given: asked.append(paper) or known(paper, **given)
    )
    shown(capsys, "frl-c2")
    assert set(asked) == {"frl"}
    shown(capsys, "frl-c2", "FEDDDRL-C12")
    assert set(asked) == {"frl", "fedddrl"}


def test_an_unknown_claim_is_refused_before_any_is_decided(capsys, monkeypatch):
    monkeypatch.setattr(verdict_cache, "known", lambda *given, **named: None)
    monkeypatch.setattr("fedlib.reporting.verdicts.records", lambda *given, **named: pytest.fail("decided"))
    assert main(["verdicts", "feddrl-c99"]) == 2


@pytest.mark.parametrize("watched", [True, False])
def test_who_waits_at_a_terminal_is_told_why(capsys, monkeypatch, watched):
    monkeypatch.setattr(verdict_cache, "known", lambda paper, **given: None)
    monkeypatch.setattr("fedlib.reporting.verdicts.records", lambda paper, **given: RECORDS)
    monkeypatch.setattr("sys.stderr.isatty", lambda: watched)
    assert main(["verdicts"]) == 0
    assert ("claims are decided again" in capsys.readouterr().err) == watched


def test_papers_are_tables_and_claims_beside_them_long(capsys):
    lines = shown(capsys, "feddisk", "frl").splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["FEDDISK-C10", "FRL-C2"]
    assert lines[4] == ""
    both = shown(capsys, "feddisk", "frl-c2").splitlines()
    assert [line.split()[0] for line in both if line.startswith(("FEDDISK-", "FRL-"))] == [
        "FEDDISK-C10",
        "FRL-C2:",
    ]
    assert "margin 1" in both
    found = json.loads(shown(capsys, "feddisk", "frl-c2", "--json"))
    assert [one["claim"] for one in found] == ["FEDDISK-C10", "FRL-C2"]


def test_json_has_every_field_and_csv_the_table(capsys):
    assert json.loads(shown(capsys, "--json")) == RECORDS
    lines = list(csv.DictReader(io.StringIO(shown(capsys, "--csv", "FRL-C2"))))
    assert [line["claim"] for line in lines] == ["FRL-C2"]
    assert lines[0]["evidence"] == "A - B +1.20 points; of 3 seeds; margin 1"
    assert "effects" not in lines[0]
