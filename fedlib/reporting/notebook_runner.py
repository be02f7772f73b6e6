"""Runs the notebooks headless, and judges each by what happened rather than by what it shows.

Papermill executes, on the engine of `fedlib.reporting.kernels`. Its traps, and what is done about them:

- An unknown parameter is only logged by papermill, and the notebook runs with its defaults: names are
  compared with the parameters cell of every notebook before the first one starts.
- A killed kernel leaves a file in which every cell looks completed: the status comes from the exception
  (`dead`), and a notebook that ended itself early with exit status 0 counts as `failed`.
- There is no time limit by default: each profile has one per cell.
- Relative paths would start at the caller's folder: the kernel starts in the notebook's folder.
- Executed copies go to `build/notebooks`, never over the source; an HTML page lies beside each.

A notebook that fails does not stop the next one; the exit status tells at the end.

References: papermill (https://papermill.readthedocs.io); nbconvert (https://nbconvert.readthedocs.io).
"""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError

from fedlib.errors import UsageError, check, check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.files import telling, write_atomically
from fedlib.papers import PAPERS
from fedlib.paths import project_root
from fedlib.reporting.kernels import KernelWatch, register
from fedlib.reporting.notebook_pages import with_mathml

Scalar = str | int | float | bool

CELL_SECONDS: dict[str, int | None] = {"smoke": 300, "reduced": 3600, "extended": None, "paper": None}
KERNEL_NAME = "python3"
RESULTS_FILE = "results.json"


@dataclass(frozen=True, kw_only=True)
class NotebookResult:
    """Result of running a notebook."""

    name: str  # file name without suffix
    profile: str
    status: str  # ok, failed (a cell raised), timeout (a cell ran too long), dead (the kernel ended)
    seconds: float  # wall time, kernel start included
    peak_memory_mib: float  # resident memory of the kernel's process tree at its largest sample
    error: str = ""  # one line; empty when ok
    executed: str = ""  # file name of the executed copy in the output folder
    html: str = ""  # file name of its HTML page in the output folder


def notebooks_folder() -> Path:
    """Folder of the project's notebooks."""
    return project_root() / "notebooks"


def output_folder() -> Path:
    """Folder of executed copies."""
    return project_root() / "build" / "notebooks"


def paper_key(path: Path) -> str:
    """The paper of a notebook file: `01_feddrl` -> feddrl, `04_frl_report` -> frl; else its second word."""
    words = path.stem.partition("_")[2] or path.stem
    return next((key for key in PAPERS if f"{words}_".startswith(f"{key}_")), words.split("_")[0])


def find_notebooks(names: Iterable[str | Path] = (), folder: Path | None = None) -> list[Path]:
    """Notebook files for paths, stems (`01_feddrl`), or paper keys (`feddrl`); all of `folder` without names.

    Sorted as named, each once. Raises UsageError for a name that is none of these.
    """
    folder = folder or notebooks_folder()
    known = sorted(folder.glob("[0-9]*.ipynb"))
    names = list(names)
    check(bool(names or known), f"no notebook (NN_name.ipynb) in {folder}")
    found = [path for name in names for path in _resolve(name, known)] if names else known
    return list(dict.fromkeys(found))


def _resolve(name: str | Path, known: list[Path]) -> list[Path]:
    if str(name).endswith(".ipynb"):
        path = Path(name)
        check(path.is_file(), f"no notebook {str(name)!r}; allowed: the path of a file, or a paper's key")
        return [path.resolve()]
    stems = [path for path in known if path.stem == name]
    if stems:
        return stems
    check_name("notebook", str(name), [*dict.fromkeys(map(paper_key, known)), *(path.stem for path in known)])
    return [path for path in known if paper_key(path) == name]


def check_parameters(path: Path, parameters: Mapping[str, Scalar]) -> None:
    """Refuse a parameter that the notebook's cell tagged `parameters` does not define (UsageError)."""
    try:
        _check_is_notebook(path)
        allowed = papermill.inspect_notebook(path)
    except ValueError as error:  # nbformat's and papermill's way to say that they cannot read it
        raise UsageError(f"{path.name} is not a notebook with kernel {KERNEL_NAME}: {error}") from error
    for name in parameters:
        try:
            check_name("parameter", name, allowed)
        except UsageError as error:
            raise UsageError(f"{path.name}: {error}") from None


def _check_is_notebook(path: Path) -> None:
    """ValueError unless the file is JSON with a list of cells."""
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise ValueError("it holds no cells")


def run_notebooks(
    names: Iterable[str | Path] = (),
    profile: str = "smoke",
    *,
    parameters: Mapping[str, Scalar] | None = None,
    timeout: int | None = None,
    out: Path | None = None,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> list[NotebookResult]:
    """Execute notebooks one after the other, with `profile` and `parameters` injected.

    names: as for `find_notebooks`; none means all. timeout: whole seconds per cell, default from
    `CELL_SECONDS`. out: folder of the executed copies and of `results.json`, in which results of
    other notebooks stay. say: takes one line of progress.

    Raises UsageError before the first notebook starts if a name or parameter is wrong. A failure
    inside a notebook is in its result instead.
    """
    check_name("profile", profile, PROFILES)
    check(timeout is None or timeout >= 1, f"cell timeout {timeout} s given; allowed: 1 or more")
    paths = find_notebooks(names, folder)
    given = {"profile": profile, **(parameters or {})}
    out = (out or output_folder()).resolve()
    for path in paths:
        check(path.parent.resolve() != out, f"executed copies in {out} would overwrite their sources")
        check_parameters(path, given)
    with telling(out):
        out.mkdir(parents=True, exist_ok=True)
    limit = CELL_SECONDS[profile] if timeout is None else timeout
    results = []
    for number, path in enumerate(paths, 1):
        prefix = f"[{number}/{len(paths)}] {path.stem}"
        say(f"{prefix}: running at profile {profile}")
        results.append(
            _run_one(path, given, out, limit, lambda line, prefix=prefix: say(f"{prefix}: {line}"))
        )
        save_results(results[-1:], out)
        say(f"{prefix}: {_summary(results[-1])}")
    return results


def _summary(result: NotebookResult) -> str:
    text = f"{result.status} in {result.seconds:.1f} s, {result.peak_memory_mib:.0f} MiB"
    return f"{text}; {result.error}" if result.error else text


def _run_one(
    path: Path,
    parameters: Mapping[str, Scalar],
    out: Path,
    limit: int | None,
    say: Callable[[str], None],
) -> NotebookResult:
    executed, page = out / path.name, out / f"{path.stem}.html"
    running = out / f".{path.stem}.running.ipynb"  # papermill rewrites it after every cell
    for stale in (executed, page, running):
        stale.unlink(missing_ok=True)
    start = time.monotonic()
    # On a terminal papermill's bar shows life; elsewhere a line a minute does.
    with KernelWatch(None if sys.stderr.isatty() else say) as watch, telling(executed):
        status, error = _execute(path, running, parameters, limit, watch)
    seconds = time.monotonic() - start
    if running.is_file():
        os.replace(running, executed)
        convert_to_html(executed, page)
    return NotebookResult(
        name=path.stem,
        profile=str(parameters["profile"]),
        status=status,
        seconds=round(seconds, 2),
        peak_memory_mib=round(watch.peak_mib, 1),
        error=error,
        executed=executed.name if executed.is_file() else "",
        html=page.name if page.is_file() else "",
    )


def _execute(
    path: Path, executed: Path, parameters: Mapping[str, Scalar], limit: int | None, watch: KernelWatch
) -> tuple[str, str]:
    """(status, error line) of one execution; see the module's docstring for what decides."""
    try:
        notebook = papermill.execute_notebook(
            path.resolve(),
            executed,
            parameters=dict(parameters),
            engine_name=register(),
            kernel_name=KERNEL_NAME,
            cwd=path.resolve().parent,
            progress_bar={"desc": path.stem, "leave": False} if sys.stderr.isatty() else False,
            execution_timeout=limit,
            watch=watch,
        )
    except PapermillExecutionError as error:
        return "failed", _one_line(f"In [{error.exec_count}]: {error.ename}: {error.evalue}")
    except CellTimeoutError:
        return "timeout", f"In [{watch.execution}] ran longer than {limit} s"
    except DeadKernelError:
        return (
            "dead",
            f"the kernel died in In [{watch.execution}] (killed, out of memory, or it ended itself)",
        )
    except RuntimeError as error:
        if watch.execution:
            raise
        return "dead", _one_line(f"the kernel did not start: {error}")
    return _check_complete(notebook)


def _check_complete(notebook: Any) -> tuple[str, str]:
    """A cell that calls `sys.exit(0)` ends the run without an error; the cells after it have not run."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    left = [cell for cell in cells if cell.execution_count is None]
    if left:
        return "failed", f"stopped after In [{len(cells) - len(left)}]; {len(left)} cells did not run"
    return "ok", ""


def _one_line(text: str, width: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def convert_to_html(notebook: Path, page: Path) -> Path:
    """Write the executed `notebook` as one HTML page that needs no network; returns `page`."""
    executed = nbformat.read(notebook, as_version=4)
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            cell.source = with_mathml(cell.source)
    exporter = HTMLExporter(embed_images=True, mathjax_url="", require_js_url="")
    body, _ = exporter.from_notebook_node(executed)
    write_atomically(page, body.encode())
    return page


def save_results(results: Iterable[NotebookResult], out: Path | None = None) -> Path:
    """Merge results into `results.json` of the output folder, the newest of each notebook."""
    out = out or output_folder()
    merged = {result.name: result for result in [*load_results(out), *results]}
    rows = [dataclasses.asdict(merged[name]) for name in sorted(merged)]
    write_atomically(out / RESULTS_FILE, (json.dumps(rows, indent=2) + "\n").encode())
    return out / RESULTS_FILE


def load_results(out: Path | None = None) -> list[NotebookResult]:
    """The last result of every notebook that was run into this folder; empty if none was."""
    file = (out or output_folder()) / RESULTS_FILE
    if not file.is_file():
        return []
    try:
        return [NotebookResult(**row) for row in json.loads(file.read_bytes())]
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{file} is damaged ({error}); delete it and run the notebooks again") from error
