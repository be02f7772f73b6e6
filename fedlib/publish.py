"""What `make reproduce` does after the installation: notebooks, verdicts, report."""

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from fedlib import provenance
from fedlib.errors import EXIT_FAILED, DataError, check_name
from fedlib.notebooks import NotebookResult, run_notebooks
from fedlib.papers import PAPERS, PROFILES, artifacts
from fedlib.report import write_report
from fedlib.results import finished_rows, load_rows, stored_counts
from fedlib.store import Store, project_root
from fedlib.tables import format_table
from fedlib.verdicts import verdict_table


def reproduce(profile: str = "smoke", paper: str | None = None) -> int:
    """Run the notebooks headless, print what ran and every verdict, write the report; exit status."""
    check_name("profile", profile, PROFILES)
    results = run_notebooks([paper] if paper else [], profile)
    page = publish(results, paper)
    print(f"\n{format_table(results_table(results))}\n")
    print(format_table(verdict_table(paper).drop(columns="statement")))
    print(f"\nreport: {page.relative_to(project_root())}")
    return EXIT_FAILED if any(r.status != "ok" for r in results) else 0


def publish(results: Sequence[NotebookResult] = (), paper: str | None = None) -> Path:
    """Write build/report/index.html from what is stored; returns its path."""
    import torch

    store = Store(None)
    figures = sorted((project_root() / "figures").glob(f"{paper or '*'}/*.png"))
    return write_report(
        verdicts=verdict_table(paper, store=store),
        artifacts=artifact_table(paper, store),
        notebooks=results,
        figures=figures,
        provenance=f"{provenance.now()}; {provenance.one_line(torch.device('cpu'))}; {_commit()}",
    )


def _commit() -> str:
    known = provenance.commit()
    return f"commit {str(known['commit'])[:10]}{' with changes' if known['dirty'] else ''}"


def results_table(results: Sequence[NotebookResult]) -> pd.DataFrame:
    """One row per notebook that ran."""
    rows = [(r.name, r.status, round(r.seconds), round(r.peak_memory_mib), r.error) for r in results]
    return pd.DataFrame(rows, columns=["notebook", "status", "seconds", "peak_mib", "error"])


def artifact_table(paper: str | None, store: Store) -> pd.DataFrame:
    """One row per artifact: id, kind, title, profiles with stored results."""
    rows = []
    for artifact in artifacts(paper).values():
        stored = ", ".join(f"{name}: {what}" for name, what in stored_counts(artifact, store).items())
        stored = "computed on demand" if artifact.compute and not artifact.keep else stored or "none"
        rows.append((artifact.id, artifact.kind, artifact.title, stored))
    return pd.DataFrame(rows, columns=["artifact", "kind", "title", "stored"])


def draw_figures(
    papers: Sequence[str] = (),
    *,
    profile: str | None = None,
    store: Store | Path | str | None = None,
    folder: Path | None = None,
) -> Iterator[str]:
    """Draw every figure of the papers (default: all) from stored rows; yields one line per figure.

    A figure takes the largest profile that has rows; one without rows is named and left out.
    Raises UsageError for an unknown paper or profile.
    """
    from fedlib import figures

    for paper in papers:
        check_name("paper", paper, PAPERS)
    profiles = [check_name("profile", profile, PROFILES)] if profile else list(reversed(PROFILES))
    figures.use_style()
    for paper in papers or PAPERS:
        drawing = importlib.import_module(f"fedlib.papers.{paper}_figures").FIGURES
        for name, draw in drawing.items():
            rows = _rows_to_draw(f"{paper}/{name}", profiles, store)
            path = draw(rows, folder or project_root() / "figures") if len(rows) else None
            yield f"{paper}/{name}: {path or 'no rows stored at ' + ' or '.join(profiles)}"


def _rows_to_draw(
    artifact_id: str, profiles: Sequence[str], store: Store | Path | str | None
) -> pd.DataFrame:
    """Finished rows at the first of these profiles that has any."""
    for profile in profiles:
        try:
            rows = finished_rows(load_rows(artifact_id, profile=profile, store=store))
        except DataError:
            continue
        if len(rows):
            return rows
    return pd.DataFrame()
