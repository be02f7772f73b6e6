"""Artifacts chosen by id, by paper and by profile."""

from dataclasses import replace

import pytest

from fedlib import papers
from fedlib.errors import UsageError
from fedlib.papers import artifacts, find_artifacts


def test_a_paper_at_a_profile_is_those_artifacts_that_have_it():
    found = {one.id for one in find_artifacts(["fedddrl"], "extended")}
    assert found == {one.id for one in artifacts("fedddrl").values() if "extended" in one.profiles}
    assert 0 < len(found) < len(find_artifacts(["fedddrl"]))


def test_an_artifact_by_its_id_is_found_at_any_profile():
    """Whoever asks for it is told which profiles it has."""
    assert [one.id for one in find_artifacts(["fedddrl/full-size"], "smoke")] == ["fedddrl/full-size"]


def test_a_profile_that_nothing_has_is_refused(monkeypatch):
    with pytest.raises(UsageError, match="unknown profile 'huge'"):
        find_artifacts(["start"], "huge")
    small = {"start/sanity": replace(artifacts("start")["start/sanity"], profiles=("smoke", "reduced"))}
    monkeypatch.setattr(papers, "artifacts", lambda name=None: small)
    with pytest.raises(UsageError, match="no artifact of start has profile 'paper'"):
        find_artifacts(["start"], "paper")
    assert [one.id for one in find_artifacts(["start"], "reduced")] == ["start/sanity"]
