"""What `make reproduce` does after the installation: notebooks, verdicts, report."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import PIL.Image
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.analysis.tables import format_table
from fedlib.errors import EXIT_FAILED, DataError, check_name
from fedlib.experiments import provenance
from fedlib.experiments.artifact import PROFILES, Artifact
from fedlib.experiments.results import finished_rows, load_rows, stored_counts
from fedlib.experiments.store import Store
from fedlib.papers import PAPERS, artifacts
from fedlib.paths import project_root
from fedlib.plotting.forest import plot_published
from fedlib.reporting.notebook_runner import NotebookResult, run_notebooks
from fedlib.reporting.parameters import OWN
from fedlib.reporting.site import write_site
from fedlib.reporting.verdicts import effects, records, verdict_table


def reproduce(profile: str = "smoke", paper: str | None = None) -> int:
    """Run the notebooks headless, print what ran and every verdict, write the report; exit status."""
    check_name("profile", profile, PROFILES)
    # At smoke the notebooks show the committed results; a larger profile is asked for to see its own.
    parameters = {} if profile == "smoke" else {"shown": "mine", "seeds": OWN}
    results = run_notebooks([paper] if paper else [], profile, parameters=parameters)
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
    """One row per notebook that ran."""
    rows = [(r.name, r.status, round(r.seconds), round(r.peak_memory_mib), r.error) for r in results]
    return pd.DataFrame(rows, columns=["notebook", "status", "seconds", "peak_mib", "error"])


def artifact_table(paper: str | None, store: Store) -> pd.DataFrame:
    """One row per artifact: id, kind, title, profiles with stored results."""
    rows = []
    for artifact in artifacts(paper).values():
        stored = ", ".join(f"{name}: {what}" for name, what in stored_counts(artifact, store).items())
        stored = "computed on demand" if artifact.compute else stored or "none"
        rows.append((artifact.id, artifact.kind, artifact.title, stored))
    return pd.DataFrame(rows, columns=["artifact", "kind", "title", "stored"])


def draw_figures(
    papers: Sequence[str] = (),
    *,
    profile: str | None = None,
    store: Store | Path | str | None = None,
    folder: Path | None = None,
) -> Iterator[str]:
    """Draw every figure of the papers (default: all, and README's) from stored rows; a line per figure.

    A figure takes the largest profile that has rows; one without rows is named and left out.
    Raises UsageError for an unknown paper or profile.
    """
    chosen = [one for paper in papers or PAPERS for one in artifacts(paper).values() if one.plot]
    profiles = [check_name("profile", profile, PROFILES)] if profile else list(reversed(PROFILES))
    plotting.use_style()
    if not papers and (found := effects(store=store, profile=profile)).size:
        yield f"README: {_saved(plot_published(found), 'published-against-ours', folder or figures_folder())}"
    for artifact in chosen:
        rows = _rows_to_draw(artifact, profiles, store)
        path = draw_figure(artifact, rows, folder or figures_folder()) if len(rows) else None
        yield f"{artifact.id}: {path or 'no rows stored at ' + ' or '.join(profiles)}"


def draw_figure(artifact: Artifact, rows: pd.DataFrame, folder: Path) -> Path:
    """Draw an artifact's figure from these rows as `<folder>/<id>.png`."""
    return _saved(artifact.plot(rows), artifact.id, folder)


def figures_folder() -> Path:
    """Where the committed figures lie."""
    return project_root() / "figures"


def _saved(figure: Figure, name: str, folder: Path) -> Path:
    path = plotting.save_figure(figure, name, folder)
    plt.close(figure)
    return path


def stale_figures(papers: Sequence[str] = (), *, store: Store | Path | str | None = None) -> Iterator[str]:
    """Draw the figures again in a temporary folder; yields one line for each that the committed one is not.

    Tolerance: at most 1 % of the pixels differ by more than a tenth of the range, so that library builds
    may move an antialiased edge, and a changed number may not.
    """
    with tempfile.TemporaryDirectory() as fresh:
        for _ in draw_figures(papers, store=store, folder=Path(fresh)):
            pass
        for drawn in sorted(Path(fresh).rglob("*.png")):
            name = drawn.relative_to(fresh)
            found = picture_difference(drawn, figures_folder() / name)
            if found:
                yield f"{name}: {found}"


def picture_difference(fresh: Path, committed: Path, share: float = 0.01) -> str:
    """What tells two pictures apart in words; empty if nothing does within the tolerance."""
    if not committed.is_file():
        return "not committed"
    with PIL.Image.open(fresh) as one, PIL.Image.open(committed) as other:
        if one.size != other.size:
            return f"{one.size[0]}x{one.size[1]} pixels; committed {other.size[0]}x{other.size[1]}"
        gap = np.abs(np.asarray(one.convert("RGB"), int) - np.asarray(other.convert("RGB"), int)).max(axis=2)
    different = float((gap > 25).mean())
    return f"{different:.1%} of the pixels differ" if different > share else ""


def _rows_to_draw(
    artifact: Artifact, profiles: Sequence[str], store: Store | Path | str | None
) -> pd.DataFrame:
    """Finished rows at the first of these profiles that has any."""
    for profile in profiles:
        try:
            rows = finished_rows(load_rows(artifact, profile=profile, store=store))
        except DataError:
            continue
        if len(rows):
            return rows
    return pd.DataFrame()
