"""The committed notebooks under plain papermill: any folder; a wrong parameter computes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from fedlib.errors import UsageError
from fedlib.reporting.notebook_runner import notebooks_folder
from fedlib.reporting.session import begin

NOTEBOOKS = sorted(notebooks_folder().glob("[0-9]*.ipynb"))
PAPERMILL = [sys.executable, "-m", "papermill", "-k", "python3", "--no-progress-bar", "--log-level", "ERROR"]


def head_of(path: Path, folder: Path) -> Path:
    """A copy that ends after the session has begun, and computes nothing."""
    notebook = nbformat.read(path, 4)
    places = [i for i, cell in enumerate(notebook.cells) if "session.run()" in cell.source]
    assert len(places) == 1, f"{path.name} begins a session once"
    notebook.cells = notebook.cells[: places[0] + 1]
    source = notebook.cells[-1].source
    notebook.cells[-1].source = source.replace("session.run()", "print(session.store.root, session.seeds)")
    copy = folder / path.name
    nbformat.write(notebook, copy)
    return copy


def papermill(path: Path, folder: Path, *parameters: str) -> tuple[int, str, str]:
    """Exit status, error text and printed text of one run from `folder`."""
    out = folder / "out.ipynb"
    given = [part for name in parameters for part in ("-p", *name.split("="))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [*PAPERMILL, str(path), str(out), *given],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    cells = nbformat.read(out, 4).cells
    printed = "".join(o.get("text", "") for cell in cells for o in cell.get("outputs", []))
    return done.returncode, done.stderr, printed


PLACES = [*zip(NOTEBOOKS, (".", "far/below"), strict=False)]


@pytest.mark.parametrize(("path", "place"), PLACES)
def test_a_notebook_begins_from_any_folder_and_writes_nothing_there(path, place, tmp_path, monkeypatch):
    """The copy's own folder, and one far below it. All begin their session by the same call."""
    monkeypatch.delenv("FEDLIB_STORE", raising=False)
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    copy = head_of(path, tmp_path)
    status, error, printed = papermill(copy, folder, "seeds=0,2")
    assert status == 0, error
    assert str(notebooks_folder().parent / "build" / "runs") in printed
    assert "(0, 2)" in printed
    assert {file.name for file in folder.iterdir()} <= {"out.ipynb", path.name, "far"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_begins_one_session(path, tmp_path):
    head_of(path, tmp_path)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"seeds": "two"}, "seeds 'two' given; allowed: a count such as 3, or a list such as 0,1,2"),
        ({"profile": "smok"}, "unknown profile 'smok' (did you mean 'smoke'?)"),
        ({"shown": "all"}, "unknown value of shown 'all'; allowed: largest, mine"),
        ({"compute": "none"}, "unknown value of compute 'none'; allowed: "),
    ],
)
def test_a_wrong_value_is_one_clear_line(given, line):
    with pytest.raises(UsageError) as raised:
        begin("start", **given)
    assert str(raised.value).startswith(line)


def test_a_wrong_parameter_is_one_clear_line_and_nothing_is_computed(tmp_path, monkeypatch):
    """Through papermill, which injects a name that no cell has."""
    monkeypatch.setenv("FEDLIB_STORE", str(tmp_path / "store"))
    status, error, printed = papermill(head_of(NOTEBOOKS[0], tmp_path), tmp_path, "sedes=2")
    assert status != 0
    assert "UsageError: unknown parameter 'sedes' (did you mean 'seeds'?)" in error
    assert printed == ""
    assert not (tmp_path / "store").exists()
