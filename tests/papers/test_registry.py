"""Artifacts chosen by id, by paper and by profile."""

import pytest

from fedlib.errors import UsageError
from fedlib.papers import artifacts, find_artifacts


def test_a_paper_at_a_profile_is_those_artifacts_that_have_it():
    found = {one.id for one in find_artifacts(["fedddrl"], "extended")}
    assert found == {one.id for one in artifacts("fedddrl").values() if "extended" in one.profiles}
    assert 0 < len(found) < len(find_artifacts(["fedddrl"]))


def test_an_artifact_by_its_id_is_found_at_any_profile():
    """Whoever asks for it is told which profiles it has."""
    assert [one.id for one in find_artifacts(["fedddrl/full-size"], "smoke")] == ["fedddrl/full-size"]


@pytest.mark.parametrize(
    ("profile", "words"),
    [("huge", "unknown profile 'huge'"), ("paper", "no artifact of start has profile 'paper'")],
)
def test_a_profile_that_nothing_has_is_refused(profile, words):
    with pytest.raises(UsageError, match=words):
        find_artifacts(["start"], profile)
