"""What our stored results say about every claim of the papers."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fedlib.errors import DataError, UsageError
from fedlib.papers import NOT_TESTABLE, PROFILES, Claim, Verdict, claims, find_artifact
from fedlib.results import finished_rows, load_rows
from fedlib.store import Store
from fedlib.tables import dataset_words, machine_words

if TYPE_CHECKING:
    import pandas as pd


def decide_claims(
    paper: str | None = None, *, profile: str | None = None, store: Store | Path | str | None = None
) -> list[tuple[Claim, Verdict]]:
    """Every claim with its verdict, at one profile or at the largest whose grid is complete, else begun."""
    profiles = [profile] if profile else list(reversed(PROFILES))
    load = functools.cache(functools.partial(_rows, store=store))  # many claims rest on the same rows
    return [(claim, _decide(claim, profiles, load)) for claim in claims(paper)]


def _decide(claim: Claim, profiles: list[str], load: "Callable[[str, str], pd.DataFrame]") -> Verdict:
    # A finished cell of a larger grid must not speak for the whole: complete grids come first.
    # Smoke rows show no result: they speak only where there is nothing else.
    found = {profile: load(claim.artifact, profile) for profile in profiles}
    whole = [profile for profile in profiles if _is_whole(claim.artifact, profile, found[profile])]
    for profile in sorted([*whole, *profiles], key="smoke".__eq__):
        rows = found[profile]
        if rows.empty:
            continue
        verdict = _with_aside(claim, _decide_on(claim, rows, profile in whole), load, profile)
        data = ", ".join(sorted(dataset_words(rows))) if "dataset" in rows else _timed_on(rows)
        return dataclasses.replace(verdict, profile=verdict.profile or profile, data=verdict.data or data)
    return Verdict("not run", f"no rows of {claim.artifact} at {' or '.join(profiles)}")


def _decide_on(claim: Claim, rows: "pd.DataFrame", whole: bool) -> Verdict:
    """The verdict; rows that lack what it compares decide nothing as long as the grid is not complete."""
    try:
        return claim.decide(rows)
    except UsageError as error:
        if whole:
            raise
        return Verdict(NOT_TESTABLE, f"the grid is not complete: {error}")


def _with_aside(
    claim: Claim, verdict: Verdict, load: "Callable[[str, str], pd.DataFrame]", profile: str
) -> Verdict:
    """The same verdict; its evidence ends with what the rows of `claim.beside` say, where there are any."""
    rows = load(claim.beside, profile) if claim.tell else None
    told = claim.tell(rows) if claim.tell and rows is not None and len(rows) else ""
    return dataclasses.replace(verdict, evidence=f"{verdict.evidence}; {told}") if told else verdict


def _timed_on(rows: "pd.DataFrame") -> str:
    """Where times without data were taken; nothing for rows that are no measurements of a machine."""
    return f"timed on {machine_words(rows)}" if "threads" in rows and "device_name" in rows else ""


def _is_whole(artifact_id: str, profile: str, rows: "pd.DataFrame") -> bool:
    """Is every description of the artifact's grid among the rows?"""
    wanted = {run.group_key for run in find_artifact(artifact_id).runs(profile)}
    return len(rows) > 0 and (not wanted or wanted <= set(rows["group"]))


def _rows(artifact_id: str, profile: str, *, store: Store | Path | str | None) -> "pd.DataFrame":
    """Finished rows of an artifact; none where data for computing them are not at hand."""
    import pandas as pd

    try:
        return finished_rows(load_rows(artifact_id, profile=profile, store=store))
    except DataError:
        return pd.DataFrame()


def verdict_table(
    paper: str | None = None, *, profile: str | None = None, store: Store | Path | str | None = None
) -> "pd.DataFrame":
    """The same as a data frame: claim, verdict, profile, data, statement, evidence."""
    import pandas as pd

    columns = ["claim", "verdict", "profile", "data", "statement", "evidence"]
    decided = decide_claims(paper, profile=profile, store=store)
    rows = [(c.id, v.verdict, v.profile, v.data, c.statement, v.evidence) for c, v in decided]
    return pd.DataFrame(rows, columns=columns)
