"""A notebook's session: its parameters checked, what is missing computed, and the rows that it shows.

The cell after `parameters` calls `begin`, which refuses a misspelt name or a wrong value before anything is
computed (`fedlib.reporting.parameters`).
"""

import functools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pandas as pd

from fedlib.analysis.decisions import INCONCLUSIVE
from fedlib.analysis.tables import seed_words
from fedlib.errors import check, check_name
from fedlib.experiments import runner
from fedlib.experiments.artifact import PROFILES, Artifact
from fedlib.experiments.budget import Budget, BudgetExhausted
from fedlib.experiments.durations import Expected, Timings, expected_measurement
from fedlib.experiments.measurements import compute_measurement, load_measurement
from fedlib.experiments.progress import NotebookProgress
from fedlib.experiments.selection import expand, group
from fedlib.experiments.store import StaleRowsWarning, Store
from fedlib.papers import PAPERS, artifacts, find_artifact, largest
from fedlib.plotting.forest import plot_claims
from fedlib.reporting import display
from fedlib.reporting.claims_page import ENOUGH_POWER, stored_seeds, weak_rules
from fedlib.reporting.parameters import (
    cells_before,
    check_parameter_names,
    execution_id,
    seed_list,
    time_budget,
)
from fedlib.reporting.verdict_cache import Record
from fedlib.reporting.verdicts import effects, loader, published_first, records
from fedlib.run import Run
from fedlib.words import counted

SHOWN = ("largest", "mine")
COMPUTE = ("shown", "all")


@dataclass(frozen=True)
class Session:
    """Session of a notebook: what to compute and to show."""

    paper: str
    profile: str
    seeds: tuple[int, ...] | None  # None: each artifact's own number at this profile
    device: str = "auto"
    shown: str = "largest"  # rows of the largest profile stored, or "mine": only the runs of these parameters
    compute: str = "shown"  # what the tables lack, or "all": every artifact at this profile
    budget: Budget = field(default_factory=Budget)
    live: tuple[str, ...] = ()  # artifacts that are trained here at the parameters, whatever is shown
    store: Store = field(default_factory=Store)
    # execution of a cell, and the line that it displayed last
    announced: list[tuple[str | None, str]] = field(default_factory=list, compare=False, repr=False)

    def rows(self, artifact_id: str, *, mine: bool = False) -> pd.DataFrame:
        """A copy of `rows_of`, the caller's own."""
        return self.rows_of(artifact_id, mine=mine).copy()

    def rows_of(self, artifact_id: str, *, mine: bool = False) -> pd.DataFrame:
        """Finished rows of an artifact: of the largest profile, or of this session's parameters only.

        Largest: the largest profile whose grid is complete, else that with the largest share of its grid.
        Every call returns the same frame, which nobody may change: what is computed from it is kept with it
        (`fedlib.analysis.memo`).
        """
        return _rows(self, artifact_id, mine or self.shown == "mine")

    def asked(self, *, mine: bool = False) -> str:
        """The parameters in words, e.g. `smoke, seeds 0, 1`."""
        if mine or self.shown == "mine":
            return f"{self.profile}, {self._seed_words()}"
        return "largest profile stored"

    def figure(self, *artifact_ids: str, mine: bool = False) -> None:
        """Display the figures of artifacts, each below the line of what is asked and shown.

        A table of the same rows, next in the same cell, shares the line.
        """
        for artifact_id in artifact_ids:
            rows = self.rows_of(artifact_id, mine=mine)
            self._announce(artifact_id, rows, mine)
            artifact = find_artifact(artifact_id)
            check(
                artifact.plot is not None,
                f"{artifact_id} has no figure; allowed: session.show, session.table",
            )
            if len(rows):
                display.show_figure(artifact.plot(rows), artifact.title)

    def table(
        self, artifact_id: str, *makers: display.Maker, captions: Sequence[str] = (), mine: bool = False
    ) -> None:
        """Display the tables that functions make of an artifact's rows, by default its own.

        captions: a line above each.
        """
        makers = makers or find_artifact(artifact_id).tables
        if captions:
            check(len(captions) == len(makers), f"{len(captions)} captions given for {len(makers)} tables")
        rows = self.rows_of(artifact_id, mine=mine)
        made = display.make_tables(rows, makers)
        self._announce(artifact_id, rows if made else rows.iloc[:0], mine)
        display.show_tables(artifact_id, rows, made, captions)

    def show(self, *artifact_ids: str, mine: bool = False) -> None:
        """Display the figure and the tables that artifacts have."""
        for artifact_id in artifact_ids:
            artifact, rows = find_artifact(artifact_id), self.rows_of(artifact_id, mine=mine)
            self._announce(artifact_id, rows, mine)
            if len(rows) and artifact.plot is not None:
                display.show_figure(artifact.plot(rows), artifact.title)
            display.show_tables(artifact_id, rows, display.make_tables(rows, artifact.tables))

    def fold(
        self, head: str, artifact_id: str, *makers: display.Maker, sentences: Sequence[str] = (),
        mine: bool = False,
    ) -> None:  # fmt: skip
        """Display a line that opens to sentences and an artifact's tables, by default its own."""
        rows = self.rows_of(artifact_id, mine=mine)
        made = display.make_tables(rows, makers or find_artifact(artifact_id).tables)
        line = self._line(artifact_id, rows if made else rows.iloc[:0], mine)
        tables = display.tables_as_html(artifact_id, rows, made)
        display.show_block(head, sentences, [line, *tables.values()])

    def _announce(self, artifact_id: str, rows: pd.DataFrame, mine: bool) -> None:
        """Display the line of what is asked and shown, unless this cell displayed it as its last one."""
        line, cell = self._line(artifact_id, rows, mine), execution_id()
        if cell is None or self.announced != [(cell, line)]:
            display.show_line(line)
        self.announced[:] = [(cell, line)]

    def _line(self, artifact_id: str, rows: pd.DataFrame, mine: bool) -> str:
        """HTML line of what is asked and shown."""
        artifact = find_artifact(artifact_id)
        profile = self.profile if self.profile in artifact.profiles else artifact.profiles[0]
        given = self.seeds and artifact.runs(profile)
        seeds = f" --seeds {','.join(map(str, self.seeds))}" if given else ""
        command = f"python -m fedlib run {artifact_id} --profile {profile}{seeds}"
        return display.line_of(artifact, rows, self.asked(mine=mine), command=command)

    def verdicts(self) -> list[Record]:
        """Every claim of the paper with its verdict as plain values, from stored rows."""
        with _without_stale_rows():
            return records(self.paper, store=self.store)

    def forest(self, *, ours: bool = False) -> None:
        """Display the effects behind the paper's claims, or ours, with intervals and published values."""
        with _without_stale_rows():
            found = effects(self.paper, store=self.store)
        if len(found):
            found = found[found.ours] if ours else published_first(found)
        if len(found) and found.effect.notna().any():
            display.show_figure(
                plot_claims(found), "effects of our claims" if ours else "effects of the claims"
            )

    def claims(self, *names: str) -> None:
        """Display every claim, or these (`FEDDISK-C1`), in a line each that opens to its evidence."""
        known = {one["claim"]: one for one in self.verdicts()}
        display.show_claims([known[check_name("claim", name, known)] for name in names or known])

    def undecided(self) -> None:
        """Display which claims are inconclusive, the seeds that they have and those that 80 % power takes."""
        needed = stored_seeds()
        parts = [
            f"{one['claim']} ({one['seeds']}; {needed.get(one['claim'], 'not simulated')})"
            for one in self.verdicts()
            if one["verdict"] == INCONCLUSIVE
        ]
        if parts:
            display.show_sentences(
                f"Inconclusive: {', '.join(parts)}. In brackets are the seeds of the rows, and those that "
                "decide a claim at 80 % power ([docs/claims.md](../docs/claims.md)). The true effect is then "
                "taken as the printed one, or as twice the margin where none is printed. Where the rows have "
                "as many seeds, the true effect may be smaller."
            )

    def weak_rules(self) -> None:
        """Display which inconclusive claims' rules have too little power, as docs/claims.md flags them."""
        own = {one["claim"] for one in self.verdicts() if one["verdict"] == INCONCLUSIVE}
        if found := [name for name in weak_rules() if name in own]:
            display.show_sentences(
                f"Power below {100 * ENOUGH_POWER:.0f} % at an effect as printed, else at twice the margin "
                f"([docs/claims.md](../docs/claims.md)): {', '.join(found)}. With the seeds at hand these "
                "would rarely be *supported* even if true: that they are *inconclusive* says nothing."
            )

    def findings(self, *sentences: str) -> None:
        """Display what the rows say: sentences computed from them, the count of verdicts, data and scale."""
        display.show_findings(sentences, self.verdicts(), paper=self.paper)

    def plan(self) -> pd.DataFrame:
        """Artifact, what is missing, expected time: one row per artifact that `run` is going to compute."""
        timings, lines, planned, measured = Timings(), [], set(), set()
        for artifact in self._wanted():
            missing = [run for run in self._missing_runs(artifact) if run.key not in planned]
            planned |= {run.key for run in missing}  # artifacts share runs
            if missing:
                lines.append((artifact.id, counted(len(missing), "run"), timings.of_runs(missing)))
            elif self._lacks_measurement(artifact) and (found := artifact.measurement).id not in measured:
                measured.add(found.id)  # and measurements
                lines.append((artifact.id, "measurement", expected_measurement(found, self.profile)))
        return pd.DataFrame(lines, columns=["artifact", "missing", "expected"])

    def run(self) -> None:
        """Print the plan and its expected time, compute it under one progress bar, print one summary line.

        Raises UsageError if a run failed. A used-up time budget ends the computing, not the notebook.
        """
        plan = self.plan()
        print(self._plan_words(plan))
        if plan.empty:
            return
        progress = NotebookProgress()
        try:
            with progress:
                self._compute([find_artifact(name) for name in plan.artifact], progress)
        except BudgetExhausted as error:
            print(f"{progress.summary()}; {error}; the rest resumes")
        else:
            print(progress.summary())
        _rows.cache_clear()

    def _plan_words(self, plan: pd.DataFrame) -> str:
        where = f"profile {self.profile}, {self._seed_words()}"
        if plan.empty:
            return f"{where}: everything is stored, nothing to compute"
        parts = [f"{name} ({what})" for name, what in zip(plan.artifact, plan.missing, strict=True)]
        return f"{where}: {', '.join(parts)}; {sum(plan.expected, Expected()).text()}"

    def _seed_words(self) -> str:
        return seed_words(self.seeds) if self.seeds else "the profile's own seeds"

    def _wanted(self) -> list[Artifact]:
        known = [a for a in artifacts(self.paper).values() if self.profile in a.profiles]
        if self.compute == "all" or self.shown == "mine":
            return known
        stored = [a for a in known if a.compute is None]
        return [a for a in stored if a.id in self.live or _rows(self, a.id, False).empty]

    def _runs(self, artifact: Artifact) -> list[Run]:
        return expand(artifact, self.profile, seeds=self.seeds) if artifact.runs(self.profile) else []

    def _missing_runs(self, artifact: Artifact) -> list[Run]:
        return [run for run in self._runs(artifact) if self.store.get(run) is None]

    def _lacks_measurement(self, artifact: Artifact) -> bool:
        found = artifact.measurement
        return found is not None and load_measurement(found, self.profile, self.store) is None

    def _compute(self, wanted: Sequence[Artifact], progress: NotebookProgress) -> None:
        missing = {artifact.id: self._missing_runs(artifact) for artifact in wanted}
        runs = [run for artifact in wanted for run in missing[artifact.id]]
        may_fail = {run.key for artifact in wanted if artifact.counts_failed for run in missing[artifact.id]}
        measured = [artifact for artifact in wanted if self._lacks_measurement(artifact)]
        progress.expect(len(group(runs)) + len(measured))
        late = self._measure(measured, progress)
        found = runner.run_runs(
            runs, device=self.device, store=self.store, budget=self.budget, progress=progress
        )
        failed = [stored for stored in found.failed if stored.run.key not in may_fail]
        reasons = {stored.reason for stored in failed}
        check(not failed, f"{counted(len(failed), 'run')} failed: {'; '.join(map(str, reasons))}")
        if late:
            raise late[0]

    def _measure(self, measured: Sequence[Artifact], progress: NotebookProgress) -> list[BudgetExhausted]:
        """Compute measurements; returns why some were not begun, as runs may still fit."""
        late = []
        for artifact in measured:
            try:
                with progress.measuring(artifact.id):
                    given = {"budget": self.budget, "progress": progress}
                    compute_measurement(artifact.measurement, self.profile, self.store, **given)
            except BudgetExhausted as error:
                late.append(error)
        return late


def begin(
    paper: str,
    *,
    profile: str = "smoke",
    seeds: int | str = 2,
    device: str = "auto",
    shown: str = "largest",
    compute: str = "shown",
    budget_minutes: float = 0.0,
    live: Iterable[str] = (),
) -> Session:
    """Check a notebook's parameters and return its session.

    seeds: a count (3), a list ("0,1,2"), or "own", the profile's own number for each artifact.
    budget_minutes: 0 is no limit.
    live: names of artifacts that the notebook trains at these parameters, e.g. `small_setting`.
    Raises UsageError, one line, for a misspelt name or a value that is not allowed.
    """
    check_parameter_names(cells_before())
    check_name("paper", paper, PAPERS)
    trained = tuple(find_artifact(f"{paper}/{name}").id for name in live)
    check_name("profile", profile, PROFILES)
    check_name("value of shown", shown, SHOWN)
    check_name("value of compute", compute, COMPUTE)
    runner.resolve_device(device)
    chosen = seed_list(seeds)
    return Session(
        paper=paper,
        profile=profile,
        seeds=None if chosen is None else tuple(chosen),
        device=device,
        shown=shown,
        compute=compute,
        budget=time_budget(budget_minutes),
        live=trained,
    )


@functools.lru_cache(maxsize=256)
def _rows(session: Session, artifact_id: str, mine: bool) -> pd.DataFrame:
    if mine:
        return _mine(session, artifact_id)
    load = loader(session.store)
    with _without_stale_rows():
        return load(artifact_id, largest(artifact_id, load))


@contextmanager
def _without_stale_rows() -> Iterator[None]:
    """Do not warn that runs of an earlier grid are left out: `fedlib list` counts what there is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleRowsWarning)
        yield


def _mine(session: Session, artifact_id: str) -> pd.DataFrame:
    with _without_stale_rows():
        rows = loader(session.store)(artifact_id, session.profile)
    known = len(rows) and "run" in rows and session.seeds is not None
    return rows[rows.seed.isin(session.seeds)] if known else rows
