"""The catalogue: every paper with its artifacts, claims and errata.

Importing it costs descriptions only; `fedlib.experiments.artifact.Deferred` keeps torch and matplotlib out.
"""

import functools
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedlib.errors import UsageError, check, check_name
from fedlib.experiments import results, stored_runs
from fedlib.experiments.artifact import PROFILES, Artifact, Deferred
from fedlib.experiments.store import Store
from fedlib.papers.fedddrl import artifacts as fedddrl
from fedlib.papers.feddisk import artifacts as feddisk
from fedlib.papers.feddrl import artifacts as feddrl
from fedlib.papers.frl import artifacts as frl
from fedlib.papers.head_to_head import artifacts as head_to_head
from fedlib.papers.head_to_head.runs import PROFILE_WORDS
from fedlib.papers.start import artifacts as start

if TYPE_CHECKING:
    import pandas as pd

    from fedlib.analysis.claims import Claim
    from fedlib.analysis.numbers import Number


@dataclass(frozen=True)
class Paper:
    """A paper's name and address, its artifacts, and what its modules register."""

    title: str
    address: str  # empty for one that is not on the web
    artifacts: tuple[Artifact, ...]
    claims: Deferred
    numbers: Deferred
    errata: Deferred | None
    profile_words: Mapping[str, str] = field(default_factory=dict)  # beside those of a printed paper


def _paper(
    name: str, title: str, artifacts: tuple[Artifact, ...], address: str = "", *, errata: bool = True
) -> Paper:
    modules = Deferred(f"fedlib.papers.{name}")
    return Paper(
        title,
        address,
        artifacts,
        modules.claims.CLAIMS,
        modules.numbers.NUMBERS,
        modules.errata.ERRATA if errata else None,
    )


PAPERS: dict[str, Paper] = {
    "start": _paper("start", "START", start.ARTIFACTS, errata=False),
    "feddrl": _paper("feddrl", "FedDRL", feddrl.ARTIFACTS, "https://doi.org/10.1145/3545008.3545085"),
    "feddisk": _paper("feddisk", "FedDisk", feddisk.ARTIFACTS, "https://arxiv.org/abs/2401.02586"),
    "fedddrl": _paper("fedddrl", "FedDdrl", fedddrl.ARTIFACTS, "https://doi.org/10.3390/s23052494"),
    "frl": _paper("frl", "FRL report", frl.ARTIFACTS),
    "head_to_head": replace(
        _paper("head_to_head", "Head to head", head_to_head.ARTIFACTS, errata=False),
        profile_words=PROFILE_WORDS,
    ),
}
LISTED_BY = "`python -m fedlib list`"  # every artifact


def paper_names(paper: str | None = None) -> list[str]:
    """The keys of all papers, or of the one named; UsageError for an unknown one."""
    return list(PAPERS) if paper is None else [check_name("paper", paper, PAPERS)]


def artifacts(paper: str | None = None) -> dict[str, Artifact]:
    """Artifacts by id, of one paper or of all, in the order of the papers."""
    return {one.id: one for name in paper_names(paper) for one in PAPERS[name].artifacts}


def find_artifact(artifact_id: str) -> Artifact:
    """The artifact of this id; an unknown id gives one line with those that exist."""
    known = artifacts()
    return known[check_name("artifact", artifact_id, known, listed_by=LISTED_BY)]


def find_artifacts(names: Iterable[str], profile: str | None = None) -> list[Artifact]:
    """Artifacts of ids and of whole papers, each once, in the order given.

    profile: of a paper those artifacts only that have it.
    """
    known, found = artifacts(), {}
    if profile is not None:
        check_name("profile", profile, PROFILES)
    for name in names:
        if name in PAPERS:
            own = artifacts(name).items()
            found |= {key: one for key, one in own if profile is None or profile in one.profiles}
        else:
            check_name("artifact or paper", name, [*PAPERS, *known], listed_by=LISTED_BY)
            found[name] = known[name]
    check(bool(found), f"no artifact of {', '.join(names)} has profile {profile!r}")
    return list(found.values())


def claims(paper: str | None = None) -> "list[Claim]":
    """Claims of one paper or of all."""
    return [claim for name in paper_names(paper) for claim in PAPERS[name].claims.resolve()]


def numbers(paper: str | None = None) -> "list[Number]":
    """Numbers that README or first screens state, of one paper or of all."""
    return [number for name in paper_names(paper) for number in PAPERS[name].numbers.resolve()]


def errata_table(paper: str) -> "pd.DataFrame":
    """Columns erratum, statement, printed, recomputed, agrees; one row per erratum of the paper."""
    import pandas as pd

    (name,) = paper_names(paper)
    errata = PAPERS[name].errata
    rows = [(one.id, one.statement, *one.compute()) for one in (errata.resolve() if errata else ())]
    return pd.DataFrame(rows, columns=["erratum", "statement", "printed", "recomputed", "agrees"])


def load_results(
    artifact_id: str, profile: str | None = None, *, store: "Path | str | None" = None
) -> "pd.DataFrame":
    """Rows of an artifact's finished runs, described in docs/results.md: the committed ones.

    Artifacts that count failed runs (`Artifact.counts_failed`) have the rows of these, too.
    profile: None takes the one that notebooks and `show` take (`largest`). store: a folder of
    runs, such as build/runs, whose rows come beside the committed ones, in the grid or not (your method's);
    rows of runs then have the column `settings`, which tells runs of one name apart.
    UsageError for an unknown artifact or profile, and if there are no such rows.
    """
    artifact = find_artifact(artifact_id)
    if profile is not None:
        artifact.check_profile(profile)

    @functools.cache
    def load(_: str, name: str) -> "pd.DataFrame":
        return _rows_of(artifact, name, store)

    rows = load(artifact_id, profile or largest(artifact_id, load))
    if len(rows):
        return rows
    where = f"{artifact_id} at {profile or 'any profile'} has no rows in {store or 'data/results'}"
    options = f" --profile {profile}" if profile else ""
    options += f" --store {shlex.quote(str(store))}" if store else ""
    way = f"`python -m fedlib run {artifact_id}{options}` computes some, store={str(Store(store).root)!r}"
    raise UsageError(f"{where}; {way} reads them")


def largest(artifact_id: str, load: "Callable[[str, str], pd.DataFrame]") -> str:
    """The largest profile whose grid is complete, else that with the largest share of its grid.

    Smoke where no other profile has rows. load: artifact's id, profile -> rows.
    """
    shares = {}
    for profile in PROFILES[:0:-1]:
        if len(rows := load(artifact_id, profile)):
            shares[profile] = share_computed(artifact_id, profile, rows)
            if shares[profile] == 1:
                return profile
    return max(shares, key=shares.__getitem__, default="smoke")


def share_computed(artifact_id: str, profile: str, rows: "pd.DataFrame") -> float:
    """Share of the grid's runs, of its own seeds, that the rows have; 1 of rows without a grid."""
    artifact = find_artifact(artifact_id)
    if profile not in artifact.profiles or rows.empty:
        return 0.0
    groups = {run.group_key for run in artifact.runs(profile)}
    if not groups:
        return 1.0
    seeds = artifact.seeds[profile]
    planned = set(range(seeds) if isinstance(seeds, int) else seeds)
    found = rows[rows["group"].isin(groups) & rows["seed"].isin(planned)].groupby("group")["seed"].nunique()
    return float(found.sum() / (len(planned) * len(groups)))


def _rows_of(artifact: Artifact, profile: str, store: "Path | str | None") -> "pd.DataFrame":
    if store is None:
        return results.rows_to_show(artifact, profile=profile, source="results")
    if not any(map(artifact.runs, artifact.profiles)):
        return results.rows_to_show(artifact, profile=profile, store=store)
    return stored_runs.rows_beside_grid(artifact, profile, Store(store))


def run_artifact(artifact_id: str, **options: Any) -> Any:
    """`fedlib.experiments.runner.run_artifact` of the artifact with this id."""
    return Deferred("fedlib.experiments.runner.run_artifact")(find_artifact(artifact_id), **options)
