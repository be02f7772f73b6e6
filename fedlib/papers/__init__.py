"""The papers: each module describes its grid of runs, its tables and figures, and its claims.

A paper's module defines `ARTIFACTS` (a tuple of `Artifact`) and `CLAIMS` (a tuple of `Claim`).
It is imported when it is asked for, and must be cheap to import: descriptions only.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

from fedlib.errors import check, check_name
from fedlib.run import Run

if TYPE_CHECKING:
    import pandas as pd

PROFILES = ("smoke", "reduced", "paper")
KINDS = ("table", "figure", "check")
NOT_TESTABLE = "not testable at this scale"
VERDICTS = ("supported", "not supported", "mixed", NOT_TESTABLE, "not run")

PAPERS: dict[str, str] = {
    "start": "fedlib.papers.start",
    "feddrl": "fedlib.papers.feddrl",
    "feddisk": "fedlib.papers.feddisk",
    "fedddrl": "fedlib.papers.fedddrl",
    "frl": "fedlib.papers.frl",
}

DEFAULT_SEEDS = {"smoke": 1, "reduced": 3, "paper": 5}


def _no_runs(profile: str) -> list[Run]:
    return []


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A table, a figure or a check of a paper, and the runs it is made of."""

    id: str  # `<paper>/<name>`, e.g. feddrl/table3
    kind: str  # table, figure or check
    title: str  # what the paper calls it, in a few words
    # profile -> descriptions with seed 0 (the suite expands seeds); another artifact may own them (Run.id)
    runs: Callable[[str], list[Run]] = _no_runs
    # profile -> rows, for an artifact without training
    compute: "Callable[[str], pd.DataFrame] | None" = None
    # `compute` takes long or measures this machine: `run` stores its rows, a table never computes them
    keep: bool = False
    # it measures times: computed when no other process of the command is at work
    alone: bool = False
    # profile -> what kept rows depend on, as plain values: rows of other settings count as none
    settings: Callable[[str], object] | None = None
    # id of the artifact that lends its kept rows, and the values of columns that pick those of this one
    lender: str = ""
    lent: Mapping[str, str] = field(default_factory=dict)
    # profile -> names of data sets; those of the runs if absent
    datasets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # profile -> number of seeds
    seeds: Mapping[str, int] = field(default_factory=lambda: dict(DEFAULT_SEEDS))

    def __post_init__(self) -> None:
        check_name("kind of artifact", self.kind, KINDS)
        check(self.id.count("/") == 1, f"artifact id {self.id!r} is not of the form paper/name")
        check(self.compute is not None or not self.keep, f"{self.id}: nothing to keep without `compute`")
        check(self.keep or self.settings is None, f"{self.id}: settings of rows that are not kept")
        check(
            not self.lender or self.compute is None,
            f"{self.id}: rows of its own and of {self.lender}; allowed: one of them",
        )

    @property
    def paper(self) -> str:
        return self.id.split("/")[0]

    def needs(self, profile: str) -> tuple[str, ...]:
        """Names of the data sets that this artifact needs at a profile."""
        if profile in self.datasets:
            return tuple(self.datasets[profile])
        return tuple(dict.fromkeys(run.dataset for run in self.runs(profile)))


@dataclass(frozen=True)
class Verdict:
    """What our results say about a claim."""

    verdict: str  # one of VERDICTS
    evidence: str  # the numbers it rests on, in one line
    profile: str = ""
    data: str = ""  # data sets, with a word for stand-ins

    def __post_init__(self) -> None:
        check_name("verdict", self.verdict, VERDICTS)


@dataclass(frozen=True)
class Claim:
    """A statement of a paper that its artifact's rows decide."""

    id: str  # e.g. FEDDRL-C1
    statement: str
    artifact: str  # id of the artifact whose rows decide
    decide: "Callable[[pd.DataFrame], Verdict]"
    # id of a further artifact, and what its rows say in words: evidence that decides nothing
    beside: str = ""
    tell: "Callable[[pd.DataFrame], str] | None" = None

    @property
    def paper(self) -> str:
        return self.artifact.split("/")[0]


def load_paper(paper: str) -> ModuleType:
    """The module of a paper."""
    return importlib.import_module(PAPERS[check_name("paper", paper, PAPERS)])


def artifacts(paper: str | None = None) -> dict[str, Artifact]:
    """Artifacts by id, of one paper or of all, in the order of the papers."""
    papers = PAPERS if paper is None else [check_name("paper", paper, PAPERS)]
    return {artifact.id: artifact for name in papers for artifact in load_paper(name).ARTIFACTS}


def find_artifact(artifact_id: str) -> Artifact:
    """The artifact of this id; an unknown id gives one line with those that exist."""
    known = artifacts()
    return known[check_name("artifact", artifact_id, known)]


def find_artifacts(names: Iterable[str]) -> list[Artifact]:
    """Artifacts of ids and of whole papers, each once, in the order given."""
    known, found = artifacts(), {}
    for name in names:
        if name in PAPERS:
            found |= artifacts(name)
        else:
            check_name("artifact or paper", name, [*PAPERS, *known])
            found[name] = known[name]
    return list(found.values())


def claims(paper: str | None = None) -> list[Claim]:
    """Claims of one paper or of all."""
    papers = PAPERS if paper is None else [check_name("paper", paper, PAPERS)]
    return [claim for name in papers for claim in load_paper(name).CLAIMS]
