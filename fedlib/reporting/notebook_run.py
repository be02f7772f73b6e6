"""Execution of one notebook headless, in a kernel of its own, and what became of it.

Papermill executes, on the engine of `fedlib.reporting.kernels`. Of its traps (the others:
`fedlib.reporting.notebook_runner`):

- A killed kernel leaves a file in which every cell looks completed: the status comes from the exception
  (`dead`), and a notebook that ended itself early with exit status 0 counts as `failed`.
- Relative paths would start at the caller's folder: the kernel starts in the notebook's folder.

References: papermill (https://papermill.readthedocs.io); nbconvert (https://nbconvert.readthedocs.io).
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError

from fedlib.files import telling, write_atomically
from fedlib.reporting.kernels import KernelWatch, register
from fedlib.reporting.notebook_pages import with_mathml

Scalar = str | int | float | bool

KERNEL_NAME = "python3"


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


class NotebookRun:
    """A notebook to be executed once.

    path: of the source, which stays as it is. parameters: to inject, `profile` among them. out: folder of
    the executed copy and its page. limit: most seconds for one cell, None for none. environment: of the
    kernel, beside ours. say: takes one line of progress.
    """

    def __init__(
        self,
        path: Path,
        parameters: Mapping[str, Scalar],
        out: Path,
        *,
        limit: int | None,
        environment: Mapping[str, str],
        say: Callable[[str], None],
    ):
        self.path, self.parameters, self.out, self.limit = path.resolve(), parameters, out, limit
        self.environment, self.say = environment, say
        self.watch = KernelWatch(say)

    def abandon(self) -> None:
        """Have `execute` end soon, with KeyboardInterrupt in the thread that called it."""
        self.watch.abandon()

    def execute(self) -> NotebookResult:
        """Execute the notebook, from a file beside its copy that papermill rewrites after every cell."""
        name = self.path.stem
        executed, page = self.out / self.path.name, self.out / f"{name}.html"
        running = self.out / f".{name}.running.ipynb"
        for stale in (executed, page, running):
            stale.unlink(missing_ok=True)
        self.say(f"running at profile {self.parameters['profile']}")
        start = time.monotonic()
        with self.watch, telling(executed):
            status, error = self._status(running)
        seconds = time.monotonic() - start
        if running.is_file():
            os.replace(running, executed)
            convert_to_html(executed, page)
        result = NotebookResult(
            name=name,
            profile=str(self.parameters["profile"]),
            status=status,
            seconds=round(seconds, 2),
            peak_memory_mib=round(self.watch.peak_mib, 1),
            error=error,
            executed=executed.name if executed.is_file() else "",
            html=page.name if page.is_file() else "",
        )
        self.say(_summary(result))
        return result

    def _status(self, running: Path) -> tuple[str, str]:
        """(status, error line) of the execution; see the module's docstring for what decides."""
        try:
            notebook = papermill.execute_notebook(
                self.path,
                running,
                parameters=dict(self.parameters),
                engine_name=register(),
                kernel_name=KERNEL_NAME,
                progress_bar=False,
                execution_timeout=self.limit,
                watch=self.watch,
                folder=self.path.parent,
                environment=self.environment,
            )
        except PapermillExecutionError as error:
            return "failed", _one_line(f"In [{error.exec_count}]: {error.ename}: {error.evalue}")
        except CellTimeoutError:
            return "timeout", f"In [{self.watch.execution}] ran longer than {self.limit} s"
        except DeadKernelError:
            ended = "killed, out of memory, or it ended itself"
            return "dead", f"the kernel died in In [{self.watch.execution}] ({ended})"
        except RuntimeError as error:
            if self.watch.execution:
                raise
            return "dead", _one_line(f"the kernel did not start: {error}")
        return _check_complete(notebook)


def _summary(result: NotebookResult) -> str:
    text = f"{result.status} in {result.seconds:.1f} s, {result.peak_memory_mib:.0f} MiB"
    return f"{text}; {result.error}" if result.error else text


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
