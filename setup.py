"""Install the files of data/ below share/fedlib, every folder but the git-ignored downloads."""

from pathlib import Path

from setuptools import setup

DOWNLOADS = {"cache", "raw"}
FILES = [path for path in Path("data").rglob("*") if path.is_file() and path.parts[1] not in DOWNLOADS]

setup(data_files=[(f"share/fedlib/{path.parent.relative_to('data')}", [str(path)]) for path in sorted(FILES)])
