"""Folders: the repository, data, committed results and the run store."""

import os
from pathlib import Path

from fedlib.errors import UsageError, check, shortened

REPOSITORY = Path(__file__).resolve().parents[1]


def chosen_folder(what: str, given: str | Path) -> Path:
    """A folder that a user named, there already or not; UsageError for what cannot be one."""
    try:
        path = Path(given).expanduser()
        whole = path.absolute()
        there = next(found for found in (whole, *whole.parents) if found.exists())
        fits = bool(str(given)) and there.is_dir() and path.is_symlink() <= path.exists()
    except (OSError, RuntimeError) as error:  # too long, or the home folder of nobody
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise UsageError(f"the {what} {shortened(str(given), 250)!r} cannot be used: {reason}") from error
    blocked = "" if there.is_dir() else f": {there} is a file"
    check(fits, f"the {what} {shortened(str(given), 250)!r} is not a folder{blocked}")
    return path


def data_folder() -> Path:
    """`$FEDLIB_DATA` if set, else `data/cache` of the project (git-ignored)."""
    chosen = os.environ.get("FEDLIB_DATA")
    return chosen_folder("data folder", chosen) if chosen else project_root() / "data" / "cache"


def project_root() -> Path:
    """The checkout that this package runs from, or the working directory when it is installed elsewhere."""
    return REPOSITORY if (REPOSITORY / "pyproject.toml").is_file() else Path.cwd()


def default_root() -> Path:
    """The store's folder: `FEDLIB_STORE` if set, else `build/runs` of the project."""
    moved = os.environ.get("FEDLIB_STORE")
    return chosen_folder("run store", moved) if moved else project_root() / "build" / "runs"


def _committed(name: str) -> Path:
    """A folder of data that are committed: the checkout's, or that of the installed package."""
    own = project_root() / "data" / name
    if own.is_relative_to(REPOSITORY):
        return own
    # Not `sys.prefix`: pip's --user and --target, and Debian's pip, install below other folders.
    shared = (folder / "share" / "fedlib" / name for folder in Path(__file__).parents)
    return next(filter(Path.is_dir, shared), own)


def results_folder() -> Path:
    """The folder of committed rows."""
    return _committed("results")


def published_folder() -> Path:
    """The folder of the papers' printed tables."""
    return _committed("published")


def agents_folder() -> Path:
    """The folder of trained agents."""
    return _committed("agents")


def embedded_folder() -> Path:
    """The folder of the embedded data set."""
    return _committed("embedded")
