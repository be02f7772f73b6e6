"""Runs the notebooks headless, some side by side, and judges each by what happened, not by what it shows.

`fedlib.reporting.notebook_run` executes one of them, by papermill. Its traps, and what is done about them:

- An unknown parameter is only logged by papermill, and the notebook runs with its defaults: names are
  compared with the parameters cell of every notebook before the first one starts.
- There is no time limit by default: each profile has one per cell.
- Two kernels with a thread per processor each would be in each other's way: they share the processors.
- Executed copies go to `build/notebooks`, never over the source; an HTML page lies beside each.

A notebook that fails does not stop the next one; the exit status tells at the end.
"""

import dataclasses
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

import papermill

from fedlib.errors import UsageError, check, check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.files import telling, write_atomically
from fedlib.papers import PAPERS
from fedlib.paths import project_root
from fedlib.processors import cores
from fedlib.reporting.notebook_run import KERNEL_NAME, NotebookResult, NotebookRun, Scalar

CELL_SECONDS: dict[str, int | None] = {"smoke": 300, "reduced": 3600, "extended": None, "paper": None}
SIDE_BY_SIDE = 2  # notebooks at once at smoke; at the other profiles their times shall be comparable
RESULTS_FILE = "results.json"


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
    jobs: int | None = None,
    out: Path | None = None,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> list[NotebookResult]:
    """Execute notebooks with `profile` and `parameters` injected; their results, in the order of the names.

    names: as for `find_notebooks`; none means all. timeout: whole seconds per cell, default from
    `CELL_SECONDS`. jobs: notebooks at once, default from `default_jobs`. out: folder of the executed
    copies and of `results.json`, in which results of other notebooks stay. say: takes one line of progress.

    Raises UsageError before the first notebook starts if a name or parameter is wrong. A failure
    inside a notebook is in its result instead.
    """
    check_name("profile", profile, PROFILES)
    check(timeout is None or timeout >= 1, f"cell timeout {timeout} s given; allowed: 1 or more")
    check(jobs is None or jobs >= 1, f"{jobs} notebooks at once given; allowed: 1 or more")
    paths = find_notebooks(names, folder)
    given = {"profile": profile, **(parameters or {})}
    out = (out or output_folder()).resolve()
    for path in paths:
        check(path.parent.resolve() != out, f"executed copies in {out} would overwrite their sources")
        check_parameters(path, given)
    with telling(out):
        out.mkdir(parents=True, exist_ok=True)
    limit = CELL_SECONDS[profile] if timeout is None else timeout
    jobs = min(jobs or default_jobs(profile), len(paths))
    environment, lock = _share(jobs), threading.Lock()

    def tell(prefix: str, line: str) -> None:
        with lock:
            say(f"{prefix}: {line}")

    runs = [
        NotebookRun(
            path,
            given,
            out,
            limit=limit,
            environment=environment,
            say=partial(tell, f"[{number}/{len(paths)}] {path.stem}"),
        )
        for number, path in enumerate(paths, 1)
    ]
    return _side_by_side(runs, jobs)


def default_jobs(profile: str) -> int:
    """Notebooks at once: SIDE_BY_SIDE at smoke on as many processors, else one."""
    return min(SIDE_BY_SIDE, cores()) if profile == "smoke" else 1


def _share(jobs: int) -> dict[str, str]:
    """Environment that gives each of `jobs` kernels its share of the processors; the user's own stands."""
    threads = max(1, cores() // jobs)
    return {} if jobs == 1 else {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads))}


def _side_by_side(runs: Sequence[NotebookRun], jobs: int) -> list[NotebookResult]:
    """Execute `jobs` of the runs at once; whatever ends this early ends them too."""
    with ThreadPoolExecutor(jobs, thread_name_prefix="notebook") as pool:
        futures = [pool.submit(run.execute) for run in runs]
        try:
            for future in as_completed(futures):
                save_results([future.result()], runs[0].out)
        finally:
            for run in runs:
                run.abandon()
            pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


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
