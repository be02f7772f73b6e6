"""What a notebook shows of stored rows: tables as text and figures, each with where its rows come from."""

import importlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from fedlib.papers import PROFILES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def stored(artifact_id: str) -> "pd.DataFrame":
    """Finished rows of an artifact at the largest profile that has any; empty if none has."""
    from fedlib.results import finished_rows, load_rows

    for profile in reversed(PROFILES):
        rows = finished_rows(load_rows(artifact_id, profile=profile))
        if len(rows):
            return rows
    return rows


def shown(artifact_id: str, *makers: "Callable[[pd.DataFrame], pd.DataFrame]", digits: int = 2) -> str:
    """Tables made of an artifact's stored rows, as text, with where the rows come from below them."""
    from fedlib.tables import format_table, provenance_line

    rows = stored(artifact_id)
    if rows.empty:
        return _nothing(artifact_id)
    texts = [format_table(make(rows).round(digits)) for make in makers]
    return "\n\n".join([*texts, provenance_line(rows)])


def show(artifact_id: str, dpi: int = 80, colours: int = 48) -> None:
    """A figure of the paper's `PLOTS` from its artifact's stored rows; one line where there are none.

    colours: of the picture; few keep a notebook small while its figures stay large enough to read.
    """
    import matplotlib.pyplot as plt
    from IPython.display import Image, display

    rows = stored(artifact_id)
    if rows.empty:
        print(_nothing(artifact_id))
        return
    paper, name = artifact_id.split("/")
    figure = importlib.import_module(f"fedlib.papers.{paper}_figures").PLOTS[name](rows)
    picture = _picture(figure, dpi, colours)
    plt.close(figure)
    display(Image(picture))


def committed(paper: str, profile: str = "reduced") -> str:
    """What the repository holds of each artifact of a paper at a profile, and how long it took, as text."""
    import pandas as pd

    from fedlib.expected import Expected, committed_cost, minutes
    from fedlib.papers import artifacts
    from fedlib.tables import format_table

    lines, total = [], Expected()
    for artifact in artifacts(paper).values():
        what, cost = committed_cost(artifact, profile)
        lines.append({"artifact": artifact.id, "shows": artifact.title, f"committed at {profile}": what})
        total += cost
    if not total.runs:
        return format_table(pd.DataFrame(lines))
    took = f"{minutes(total.seconds)} in all on {', '.join(total.machines)}"
    return f"{format_table(pd.DataFrame(lines))}\n{took} (runs that trained together share their time)"


def _picture(figure: "Figure", dpi: int, colours: int) -> bytes:
    """A PNG with a palette."""
    import PIL.Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=dpi)
    with PIL.Image.open(drawn) as picture:
        picture.convert("RGB").quantize(colours).save(small, "PNG", optimize=True)
    return small.getvalue()


def _nothing(artifact_id: str) -> str:
    return f"no rows stored; python -m fedlib run {artifact_id} --profile reduced"
