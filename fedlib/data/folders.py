"""Where data live: the data folder, and the small data that are committed with the code."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EMBEDDED = REPOSITORY / "data" / "embedded"


def data_folder() -> Path:
    """`$FEDLIB_DATA` if set, else `data/cache` of the repository (git-ignored)."""
    chosen = os.environ.get("FEDLIB_DATA")
    return Path(chosen).expanduser() if chosen else REPOSITORY / "data" / "cache"
