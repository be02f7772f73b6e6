"""`make reproduce` after the installation: notebooks, verdicts, report."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fedlib.analysis.tables import format_table
from fedlib.errors import EXIT_FAILED, check_name
from fedlib.experiments import provenance
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.results import stored_counts
from fedlib.experiments.store import Store
from fedlib.papers import artifacts
from fedlib.paths import project_root
from fedlib.reporting.notebook_runner import NotebookResult, run_notebooks
from fedlib.reporting.parameters import OWN
from fedlib.reporting.site import write_site
from fedlib.reporting.verdicts import effects, records, verdict_table


def reproduce(profile: str = "smoke", paper: str | None = None, jobs: int | None = None) -> int:
    """Run the notebooks headless, print what ran and every verdict, write the report; exit status."""
    check_name("profile", profile, PROFILES)
    # At smoke the notebooks show the committed results; a larger profile is asked for to see its own.
    parameters = {} if profile == "smoke" else {"shown": "mine", "seeds": OWN}
    results = run_notebooks([paper] if paper else [], profile, parameters=parameters, jobs=jobs)
    page = publish(results, paper)
    print(f"\n{format_table(results_table(results))}\n")
    short = ["claim", "verdict", "effect", "unit", "printed", "profile", "seeds"]
    print(format_table(verdict_table(paper)[short]))
    print(f"\nreport: {page.relative_to(project_root())}")
    return EXIT_FAILED if any(r.status != "ok" for r in results) else 0


def publish(results: Sequence[NotebookResult] = (), paper: str | None = None) -> Path:
    """Write the site build/report from what is stored; returns its index."""
    import torch

    store = Store(None)
    return write_site(
        found=records(paper, store=store),
        effects=effects(paper, store=store),
        artifacts=artifact_table(paper, store),
        results=results,
        provenance=f"{provenance.now()}; {provenance.one_line(torch.device('cpu'))}; {_commit()}",
    )


def _commit() -> str:
    known = provenance.commit()
    return (
        f"commit {str(known['commit'] or provenance.UNKNOWN)[:10]}{' with changes' if known['dirty'] else ''}"
    )


def results_table(results: Sequence[NotebookResult]) -> pd.DataFrame:
    """Table with a row per notebook that ran."""
    rows = [(r.name, r.status, round(r.seconds), round(r.peak_memory_mib), r.error) for r in results]
    return pd.DataFrame(rows, columns=["notebook", "status", "seconds", "peak_mib", "error"])


def artifact_table(paper: str | None, store: Store) -> pd.DataFrame:
    """Table with a row per artifact: id, kind, title, profiles with stored results."""
    rows, scans = [], {}
    for artifact in artifacts(paper).values():
        counts = stored_counts(artifact, store, scans)
        stored = ", ".join(f"{name}: {what}" for name, what in counts.items())
        stored = "computed on demand" if artifact.compute else stored or "none"
        rows.append((artifact.id, artifact.kind, artifact.title, stored))
    return pd.DataFrame(rows, columns=["artifact", "kind", "title", "stored"])
