"""Files of figures, drawn from stored rows, and which committed ones are out of date."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import PIL.Image
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.errors import UsageError, check_name
from fedlib.experiments.artifact import PROFILES, Artifact
from fedlib.experiments.store import Store
from fedlib.papers import PAPERS, artifacts, largest
from fedlib.paths import project_root
from fedlib.plotting.forest import plot_published
from fedlib.reporting.verdicts import effects, loader


def draw_figures(
    papers: Sequence[str] = (),
    *,
    profile: str | None = None,
    store: Store | Path | str | None = None,
    folder: Path | None = None,
) -> Iterator[str]:
    """Draw every figure of the papers (default: all, and README's) from stored rows; a line per figure.

    A figure takes the rows that notebooks show (`papers.largest`); one without rows is named and left out.
    Raises UsageError for an unknown paper or profile.
    """
    chosen = [one for paper in papers or PAPERS for one in artifacts(paper).values() if one.plot]
    if profile:
        check_name("profile", profile, PROFILES)
    load = loader(store)
    plotting.use_style()
    if not papers and (found := effects(store=store, profile=profile)).size:
        figure = plot_published(found, {name.upper(): paper.title for name, paper in PAPERS.items()})
        yield f"README: {_saved(figure, 'published-against-ours', folder or figures_folder())}"
    for artifact in chosen:
        rows = load(artifact.id, profile or largest(artifact.id, load))
        if not len(rows):
            yield f"{artifact.id}: no rows stored at {profile or 'any profile'}"
            continue
        try:
            yield f"{artifact.id}: {draw_figure(artifact, rows, folder or figures_folder())}"
        except UsageError as error:  # of an incomplete grid
            yield f"{artifact.id}: left out: {error}"


def draw_figure(artifact: Artifact, rows: pd.DataFrame, folder: Path) -> Path:
    """Draw an artifact's figure from these rows as `<folder>/<id>.png`."""
    return _saved(artifact.plot(rows), artifact.id, folder)


def figures_folder() -> Path:
    """Folder of the committed figures."""
    return project_root() / "figures"


def _saved(figure: Figure, name: str, folder: Path) -> Path:
    path = plotting.save_figure(figure, name, folder)
    plt.close(figure)
    return path


def stale_figures(papers: Sequence[str] = (), *, store: Store | Path | str | None = None) -> Iterator[str]:
    """Draw the figures again in a temporary folder; yields one line for each that the committed one is not.

    A committed one of a paper that is not drawn any more is named too.

    Tolerance: at most 1 % of the pixels differ by more than a tenth of the range, and they fill no square of
    4 x 4 pixels, so that library builds may move an antialiased edge, and a number may not move a marker.
    """
    with tempfile.TemporaryDirectory() as fresh:
        for _ in draw_figures(papers, store=store, folder=Path(fresh)):
            pass
        for drawn in sorted(Path(fresh).rglob("*.png")):
            name = drawn.relative_to(fresh)
            found = picture_difference(drawn, figures_folder() / name)
            if found:
                yield f"{name}: {found}"
        for paper in papers or PAPERS:
            for committed in sorted((figures_folder() / paper).rglob("*.png")):
                name = committed.relative_to(figures_folder())
                if not (Path(fresh) / name).is_file():
                    yield f"{name}: committed, but not drawn now"


def picture_difference(fresh: Path, committed: Path) -> str:
    """Describe the difference of two pictures; empty within the tolerance of `stale_figures`."""
    if not committed.is_file():
        return "not committed"
    with PIL.Image.open(fresh) as one, PIL.Image.open(committed) as other:
        if one.size != other.size:
            return f"{one.size[0]}x{one.size[1]} pixels; committed {other.size[0]}x{other.size[1]}"
        gap = np.abs(np.asarray(one.convert("RGB"), int) - np.asarray(other.convert("RGB"), int)).max(axis=2)
    different = gap > 25
    if different.mean() <= 0.01 and not _fills_a_square(different):
        return ""
    return f"{different.mean():.2%} of the pixels differ"


def _fills_a_square(different: np.ndarray, side: int = 4) -> bool:
    height, width = (length // side for length in different.shape)
    squares = different[: height * side, : width * side].reshape(height, side, width, side)
    return bool(squares.all(axis=(1, 3)).any())
