"""docs/claims.md and README's counts against the registered claims and the committed rows.

The one test that simulates every registered rule: with no effect it supports in at most 5 % of cases.
"""

import json
import re
from itertools import chain

import pytest

from fedlib.analysis.decisions import ARITHMETIC
from fedlib.papers import PAPERS, claims, find_artifact
from fedlib.paths import project_root, results_folder
from fedlib.reporting import claims_page, verdict_cache, verdicts
from fedlib.reporting.verdicts import decide_claims, loader

CLAIMS = {claim.id: claim for claim in claims()}


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Committed rows only."""
    return loader(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def judged(load):
    return {paper: decide_claims(paper, load=load) for paper in PAPERS}


@pytest.fixture(scope="module")
def told(judged):
    """The records of each paper's claims."""
    return {paper: [verdicts._record(*pair) for pair in own] for paper, own in judged.items()}


@pytest.fixture(scope="module")
def powers(judged, load):
    return {
        claim.id: claims_page.power_for(claim, verdict, load)
        for own in judged.values()
        for claim, verdict in own
        if claim.kind != ARITHMETIC
    }


def test_no_rule_supports_a_claim_without_effect(powers):
    """Every rule with committed rows, with their seeds and spread, in 4,000 simulated experiments."""
    known = {claim: power for claim, power in powers.items() if power is not None}
    assert len(known) >= 50
    assert {
        claim: power.without_effect for claim, power in known.items() if power.without_effect > 0.05
    } == {}


def test_the_page_holds_every_claim_with_its_power(powers):
    page = (project_root() / "docs" / "claims.md").read_text()
    assert re.findall(r"^### (.*)$", page, re.M) == list(CLAIMS)
    for name, section in zip(CLAIMS, re.split(r"^### .*$", page, flags=re.M)[1:], strict=True):
        if name in powers:
            assert claims_page.power_words(powers[name]) in section, name
        for part in CLAIMS[name].parts:
            before_printed = "|".join(claims_page.part_line(part).split("|")[:-5])
            assert before_printed in section, name


def test_what_several_claims_say_stands_once_in_their_paper():
    page = (project_root() / "docs" / "claims.md").read_text().splitlines()
    for paper in PAPERS:
        by_how: dict[str, list[str]] = {}
        for claim in filter(lambda claim: claim.how, claims(paper)):
            by_how.setdefault(claim.how, []).append(claim.id)
        for how, (first, *later) in by_how.items():
            assert page.index(how) > page.index(f"### {first}")
            told = [page.index(f"As said under {first}.", page.index(f"### {name}")) for name in later]
            assert told == sorted(set(told))


def test_readme_counts_the_verdicts_of_the_committed_rows(told):
    table = claims_page.verdict_counts(told)
    readme = (project_root() / "README.md").read_text()
    assert claims_page.with_counts(readme, table) == readme
    assert table in readme


def test_the_committed_verdicts_are_those_of_the_committed_rows(told):
    """As `verdicts` prints them in a new clone. Means and ends may differ in their last digits by machine."""
    shipped = json.loads((results_folder() / verdict_cache.SHIPPED).read_text()).values()
    assert [*map(_without_digits, chain(*shipped))] == [*map(_without_digits, chain(*told.values()))]


def test_a_new_clone_finds_the_committed_verdicts(tmp_path):
    """By a key of rows and code: after a change of either they are to be written anew."""
    shipped = json.loads((results_folder() / verdict_cache.SHIPPED).read_text())
    keys = [verdict_cache.fingerprint(paper, None, tmp_path) for paper in PAPERS]
    assert list(shipped) == keys, "run `python -m fedlib verdicts --write-docs`"


def _without_digits(record):
    return {**record, "effects": [(effect["part"], effect["verdict"]) for effect in record["effects"]]}


def test_every_claim_names_its_place_and_artifacts_that_exist():
    for claim in CLAIMS.values():
        assert claim.place
        assert find_artifact(claim.artifact).paper == claim.paper
        beside = (*claim.fallback, *(extra.artifact for extra in claim.supplements))
        papers = {find_artifact(name).paper for name in beside} - {claim.paper}
        assert papers <= set(verdict_cache.ROWS_OF_OTHERS.get(claim.paper, ()))
    assert len({claim.id for claim in CLAIMS.values()}) == sum(len(claims(paper)) for paper in PAPERS)


def test_a_weak_rule_stands_out():
    strong = claims_page.Power((5,), 0.5, 0.02, 0.9, 4)
    weak = claims_page.Power((3,), 2.0, 0.02, 0.07, None)
    assert claims_page.power_words(strong).endswith("power 90%, seeds for 80 %: 4.")
    assert claims_page.power_words(weak).endswith("power **7%**, seeds for 80 %: more than 200.")
    assert claims_page.power_words(None) == "No rows with a spread to simulate."


def test_counts_are_replaced_between_their_marks():
    text = f"before\n{claims_page.BEGIN}\nold\n{claims_page.END}\nafter"
    assert claims_page.with_counts(text, "new") == text.replace("old", "new")


def test_the_stored_number_of_seeds_is_read_from_the_page(tmp_path):
    page = tmp_path / "claims.md"
    page.write_text(
        "### A-C1\n\ntext\n\n3 seeds, power 9%, seeds for 80 %: 12.\n\n### A-C2\n\narithmetic\n\n"
        "### A-C3\n\n3 seeds, seeds for 80 %: more than 200.\n"
    )
    assert claims_page.stored_seeds(page) == {"A-C1": "12", "A-C3": "more than 200"}
    assert claims_page.stored_seeds(tmp_path / "absent.md") == {}


def test_rules_of_little_power_are_read_from_the_page(tmp_path):
    page = tmp_path / "claims.md"
    weak, strong = (f"3 seeds: false 3%, power {power}, seeds for 80 %: 9." for power in ("**4%**", "71%"))
    page.write_text(f"### A-C1\n\n{weak}\n\n### A-C2\n\n{strong}\n\n### A-C3\n\n{weak}\n")
    assert claims_page.weak_rules(page) == ["A-C1", "A-C3"]
    assert claims_page.weak_rules(tmp_path / "absent.md") == []
