"""What our stored results say about every claim of the papers."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from fedlib.papers import PROFILES, Claim, Verdict, claims
from fedlib.results import load_rows
from fedlib.store import Store

if TYPE_CHECKING:
    import pandas as pd


def decide_claims(
    paper: str | None = None, *, profile: str | None = None, store: Store | Path | str | None = None
) -> list[tuple[Claim, Verdict]]:
    """Every claim with its verdict, at one profile or at the largest that has rows."""
    profiles = [profile] if profile else list(reversed(PROFILES))
    return [(claim, _decide(claim, profiles, store)) for claim in claims(paper)]


def _decide(claim: Claim, profiles: list[str], store: Store | Path | str | None) -> Verdict:
    for profile in profiles:
        rows = load_rows(claim.artifact, profile=profile, store=store)
        if "status" in rows:
            rows = rows[rows.groupby("run")["status"].transform("last") == "ok"]
        if rows.empty:
            continue
        verdict = claim.decide(rows)
        stand_ins = set(rows.loc[rows["stand_in"].astype(bool), "dataset"]) if "stand_in" in rows else set()
        names = sorted(set(rows["dataset"])) if "dataset" in rows else []
        data = ", ".join(name + (" (stand-in)" if name in stand_ins else "") for name in names)
        return dataclasses.replace(verdict, profile=verdict.profile or profile, data=verdict.data or data)
    return Verdict("not run", f"no rows of {claim.artifact} at {' or '.join(profiles)}")


def verdict_table(
    paper: str | None = None, *, profile: str | None = None, store: Store | Path | str | None = None
) -> "pd.DataFrame":
    """The same as a data frame: claim, verdict, profile, data, statement, evidence."""
    import pandas as pd

    columns = ["claim", "verdict", "profile", "data", "statement", "evidence"]
    decided = decide_claims(paper, profile=profile, store=store)
    rows = [(c.id, v.verdict, v.profile, v.data, c.statement, v.evidence) for c, v in decided]
    return pd.DataFrame(rows, columns=columns)
