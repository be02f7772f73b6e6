"""The papers' printed numbers, and their errata recomputed from them."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedlib.errors import check_name
from fedlib.papers import PAPERS
from fedlib.store import project_root

if TYPE_CHECKING:
    import pandas as pd


def published_folder() -> Path:
    """Where the printed tables lie."""
    return project_root() / "data" / "published"


def load_published(name: str) -> "pd.DataFrame":
    """A printed table, e.g. `feddrl_table3`: one row per printed number.

    Columns paper, artifact, dataset, partition, n_clients, method, metric, value, unit, note; `value` is
    numeric where every entry of the file is a number. Raises UsageError for an unknown name.
    """
    import pandas as pd

    known = sorted(path.stem for path in published_folder().glob("*.csv"))
    return pd.read_csv(published_folder() / f"{check_name('published table', name, known)}.csv")


@dataclass(frozen=True)
class Erratum:
    """Something in a paper that does not agree with itself, shown by computing it again."""

    id: str  # e.g. FEDDRL-E1
    statement: str  # what is claimed or printed, and where
    compute: Callable[[], tuple[str, str, bool]]  # -> printed, recomputed, do they agree


def errata_table(paper: str) -> "pd.DataFrame":
    """Columns erratum, statement, printed, recomputed, agrees; one row per erratum of the paper's sheet."""
    import pandas as pd

    check_name("paper", paper, PAPERS)
    errata = importlib.import_module(f"fedlib.papers.{paper}_errata").ERRATA
    rows = [(erratum.id, erratum.statement, *erratum.compute()) for erratum in errata]
    return pd.DataFrame(rows, columns=["erratum", "statement", "printed", "recomputed", "agrees"])
