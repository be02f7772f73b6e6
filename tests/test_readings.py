"""docs/readings explains every reading code that is used, and no other."""

import pytest
import readings


@pytest.fixture(scope="module")
def places():
    return readings.used()


@pytest.mark.parametrize("paper", readings.PREFIXES)
def test_every_code_used_has_an_entry_and_the_reverse(paper, places):
    entries = readings.documented(paper)
    assert len(entries) == len(set(entries))
    assert set(entries) == set(places[paper])


@pytest.mark.parametrize("paper", readings.PREFIXES)
def test_entries_name_the_modules(paper, places):
    """`python tests/support/readings.py` mends this."""
    page = (readings.ROOT / "docs" / "readings" / f"{paper}.md").read_text()
    assert page == readings.with_places(paper, places[paper])


def test_spans_and_bare_codes():
    text = "as FEDDRL-A30 to A32 say; A5 and F3, FEDDISK-A1, B-A7"
    assert readings.codes_in(text, "feddrl", own=False) == {"A30", "A31", "A32"}
    assert readings.codes_in(text, "feddrl", own=True) == {"A30", "A31", "A32", "A5"}
    assert readings.codes_in(text, "feddisk", own=False) == {"A1"}
