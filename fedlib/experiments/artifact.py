"""An artifact: a table, a figure or a check of a paper, with the functions that make it.

A paper's `artifacts` module describes its artifacts and must be cheap to import, so that `fedlib list`
answers at once. Functions of modules that need torch or matplotlib enter through `Deferred`.
"""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fedlib.errors import check, check_name
from fedlib.run import Run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PROFILES = ("smoke", "reduced", "extended", "paper")
USUAL_PROFILES = ("smoke", "reduced", "paper")  # `extended` only where an artifact has a plan for it
KINDS = ("table", "figure", "check")
DEFAULT_SEEDS = {"smoke": 1, "reduced": 3, "extended": 5, "paper": 5}

_Sizes = TypeVar("_Sizes")


def by_profile(sizes: Mapping[str, _Sizes]) -> Callable[[str], _Sizes]:
    """Return the function profile -> its entry of `sizes`; it raises UsageError for an unknown profile."""
    return lambda profile: sizes[check_name("profile", profile, PROFILES)]


@dataclass(frozen=True)
class Deferred:
    """A package, module, or what a module defines, by its dotted name; imported when it is first called.

    `Deferred("fedlib.papers.feddrl").figures.plot_fig6` is a function that costs no import to name.
    """

    path: str

    def __getattr__(self, name: str) -> "Deferred":
        if name.startswith("__"):  # copying and pickling ask for such
            raise AttributeError(name)
        return Deferred(f"{self.path}.{name}")

    def resolve(self) -> Any:
        """The object that the last word names in its module; AttributeError if there is none."""
        return pkgutil.resolve_name(":".join(self.path.rsplit(".", 1)))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.resolve()(*arguments, **options)


def maker_name(make: Any) -> str:
    """`gain_table` of a function or a `Deferred`, also where options are bound to it."""
    maker = make.func if isinstance(make, partial) else make
    return getattr(maker, "path", getattr(maker, "__name__", "")).rpartition(".")[2]


@dataclass(frozen=True)
class Measurement:
    """A computation without training that takes long or times this machine: its rows are stored.

    Several artifacts may show one measurement, as several may show the same runs.
    """

    id: str  # `<paper>/<name>`, names its rows in the store and in data/results
    # profile -> rows; with `reads_store`: profile, store -> rows; with `parts`: profile, part -> its rows
    compute: "Callable[..., pd.DataFrame]"
    # profile -> what the rows depend on, as plain values: rows of other settings count as none
    settings: Callable[[str], object] | None = None
    # it measures times: computed when no other process of the command is at work
    alone: bool = False
    reads_store: bool = False  # its rows are of runs, finished or not, in the store
    # profile -> parts, in order; the rows of each are stored as it ends, so that a stop loses one at most
    parts: Callable[[str], Sequence[Any]] | None = None


def _no_runs(profile: str) -> list[Run]:
    return []


@dataclass(frozen=True, eq=False)
class Artifact:
    """A table, a figure or a check of a paper: what it shows, and where its rows come from.

    Its rows are those of its runs, of a measurement, or computed whenever they are shown.
    """

    id: str  # `<paper>/<name>`, e.g. feddrl/table3
    title: str  # what the paper calls it, in a few words
    kind: str = ""  # table, figure or check; read off the name where that begins with table or fig
    runs: Callable[[str], list[Run]] = _no_runs  # profile -> descriptions with seed 0
    measurement: Measurement | None = None
    # column -> value: which rows of the measurement; all if empty
    where: Mapping[str, Any] = field(default_factory=dict)
    compute: "Callable[[str], pd.DataFrame] | None" = None  # profile -> rows, within seconds
    plot: "Callable[[pd.DataFrame], Figure] | None" = None
    tables: "tuple[Callable[[pd.DataFrame], pd.DataFrame], ...]" = ()
    counts_failed: bool = False  # whether what is shown sees the rows of failed runs, too
    # rows -> those that are shown, where others of the grid compare with none of them
    keep: "Callable[[pd.DataFrame], pd.DataFrame] | None" = None
    profiles: tuple[str, ...] = USUAL_PROFILES
    # profile -> names of the data sets that a measurement or `compute` loads; runs have their own
    datasets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # profile -> number of seeds, or the seeds
    seeds: Mapping[str, int | tuple[int, ...]] = field(default_factory=lambda: dict(DEFAULT_SEEDS))

    def __post_init__(self) -> None:
        check(self.id.count("/") == 1, f"artifact id {self.id!r} is not of the form paper/name")
        if not self.kind:
            guessed = "figure" if self.name.startswith("fig") else "table"
            object.__setattr__(self, "kind", guessed if self.name.startswith(("fig", "table")) else "check")
        check_name("kind of artifact", self.kind, KINDS)
        sources = (self.runs is not _no_runs, self.measurement is not None, self.compute is not None)
        check(sum(sources) == 1, f"{self.id} needs exactly one of: runs, measurement, compute")

    @property
    def paper(self) -> str:
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        return self.id.split("/")[1]

    def check_profile(self, profile: str) -> None:
        """UsageError for a profile that does not exist, or for which this artifact has no plan."""
        check_name("profile", profile, PROFILES)
        check(
            profile in self.profiles,
            f"{self.id} has no profile {profile!r}; allowed: {', '.join(self.profiles)}",
        )

    def needs(self, profile: str) -> tuple[str, ...]:
        """Names of the data sets that this artifact needs at a profile."""
        names = (*self.datasets.get(profile, ()), *(run.dataset for run in self.runs(profile)))
        return tuple(dict.fromkeys(names))
