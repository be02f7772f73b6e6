"""Papermill engine that runs a notebook on the interpreter that called it, and watches the kernel.

Why an engine of its own:

- A kernel called `python3` may be registered by the user or the system for another interpreter, one
  without fedlib. Here `python3` always means `sys.executable`, and nothing is installed for it.
- The kernel's process is known while it runs, so that the memory of its whole process tree can be
  sampled, and a silent long cell still says every minute that it is alive.
- Several notebooks run side by side, each in a thread. Papermill changes the folder of the whole process
  for the kernel's sake, and signals reach the main thread only: here a kernel gets its folder and its
  environment as arguments, and `KernelWatch.abandon` ends a running cell from another thread.

References: papermill (https://papermill.readthedocs.io), engines; nbclient's NotebookClient;
Jupyter's kernel specifications (https://jupyter-client.readthedocs.io).
"""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import zmq
from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop, run_sync
from nbclient.exceptions import CellExecutionError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines
from papermill.log import logger

ENGINE = "fedlib"
_MIB = 2**20


class CurrentInterpreter(KernelSpecManager):
    """Knows one kernel, `sys.executable`, under whatever name it is asked for."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return self.kernel_spec_class(resource_dir=RESOURCES, **get_kernel_dict())


class KernelWatch:
    """Samples the memory of a kernel's process tree from a thread, while used as a context.

    say: called with one line every `say_every` seconds, None for silence.
    peak_mib: largest resident set seen, summed over the kernel and its children [MiB].
    execution: number of the code cell that runs, as in `In [n]`; 0 before the first.
    abandoned: whether nobody waits for the notebook any more.
    """

    def __init__(
        self, say: Callable[[str], None] | None = None, *, sample_every: float = 0.2, say_every: float = 60.0
    ):
        self.peak_mib = 0.0
        self.execution = 0
        self.abandoned = False
        self.manager: AsyncKernelManager | None = None
        self.cell_loop: asyncio.AbstractEventLoop | None = None  # of the cell that runs
        self._say, self._sample_every, self._say_every = say, sample_every, say_every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kernel-watch", daemon=True)

    def __enter__(self) -> "KernelWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def abandon(self) -> None:
        """Have the notebook end with KeyboardInterrupt in its own thread; callable from any."""
        self.abandoned = True
        loop = self.cell_loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # closed meanwhile
                loop.call_soon_threadsafe(self._cancel_cell)

    def _cancel_cell(self) -> None:
        """Cancel what a cell waits for; not what ends the kernel, which runs in the same loop."""
        if self.cell_loop is not None:
            for task in asyncio.all_tasks(self.cell_loop):
                task.cancel()

    def _watch(self) -> None:
        start = said = time.monotonic()
        while not self._done.wait(self._sample_every):
            self.peak_mib = max(self.peak_mib, self._tree_mib())
            now = time.monotonic()
            if self._say is not None and now - said >= self._say_every:
                self._say(f"In [{self.execution}] after {now - start:.0f} s, {self.peak_mib:.0f} MiB at most")
                said = now

    def _tree_mib(self) -> float:
        provisioner = self.manager.provisioner if self.manager is not None else None
        pid = getattr(provisioner, "pid", None)
        return tree_memory_mib(pid) if pid else 0.0


def tree_memory_mib(pid: int) -> float:
    """Resident memory [MiB] of a process and all its children; 0 for one that has ended."""
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0.0
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.Error:  # it ended between the listing and the question
            continue
    return total / _MIB


def _encryption() -> dict[str, str]:
    """CurveZMQ keys between us and the kernel, which warns without them; older jupyter_client has none."""
    known = "transport_encryption" in AsyncKernelManager.class_trait_names() and zmq.has("curve")
    return {"transport_encryption": "auto"} if known else {}


class QuietlyEnded(AsyncKernelManager):
    """Ends a kernel between two cells, where it has nothing to tell.

    jupyter_client interrupts a kernel and asks it to end in one go. Idle, it tells the interrupt as an error;
    amid a cell, its reply finds the socket closed, and a checkpoint may not be written to its end. A kernel
    whose cell was interrupted has nothing left to do: it is killed, since its farewell meets that socket too.
    """

    idle = False

    async def shutdown_kernel(self, now: bool = False, restart: bool = False) -> None:
        if not now and await self.is_alive():
            if self.idle:
                await self.request_shutdown(restart=restart)
                await self.finish_shutdown(restart=restart)
            else:
                await self._interrupt_cell()
                now = True
        await super().shutdown_kernel(now=now, restart=restart)

    async def _interrupt_cell(self) -> None:
        """Interrupt the running cell and wait until the kernel answers again, or will not."""
        await self.interrupt_kernel()
        client = self.client()
        client.start_channels()
        with contextlib.suppress(RuntimeError):
            await client.wait_for_ready(timeout=self.shutdown_wait_time)
        client.stop_channels()


class _Client(PapermillNotebookClient):
    """The notebook client, with our kernel and a watch that knows the running cell."""

    def __init__(self, nb_man: Any, *, watch: KernelWatch, **options: Any):
        super().__init__(nb_man, **options)
        self.watch = watch

    def create_kernel_manager(self) -> AsyncKernelManager:
        self.km = QuietlyEnded(
            kernel_name=self.kernel_name, kernel_spec_manager=CurrentInterpreter(parent=self), **_encryption()
        )
        self.watch.manager = self.km
        return self.km

    def execute_cell(self, cell: Any, cell_index: int, **options: Any) -> Any:
        if cell.cell_type == "code" and cell.source.strip():
            self.watch.execution += 1
        self.km.idle = False
        try:
            executed = run_sync(self._execute)(cell, cell_index, **options)
        except CellExecutionError:
            self.km.idle = True
            raise
        if self.watch.abandoned:
            raise KeyboardInterrupt
        self.km.idle = True  # not where a cell ran too long or was interrupted
        return executed

    async def _execute(self, *cell: Any, **options: Any) -> Any:
        """A cell; once nobody waits for it any more, how it ends is no error of its own."""
        if self.watch.abandoned:
            return None
        self.watch.cell_loop = asyncio.get_running_loop()
        try:
            return await self.async_execute_cell(*cell, **options)
        except (CellExecutionError, DeadKernelError, asyncio.CancelledError):
            if self.watch.abandoned:
                return None
            raise
        finally:
            self.watch.cell_loop = None


class CurrentInterpreterEngine(NBClientEngine):
    """Papermill's engine on the calling interpreter, with options of its own.

    watch: of this notebook. folder: where the kernel works. environment: of the kernel, beside ours.
    """

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        *,
        watch: KernelWatch,
        folder: Path,
        environment: Mapping[str, str],
        start_timeout: int = 60,
        execution_timeout: int | None = None,
        **_: Any,
    ) -> Any:
        client = _Client(
            nb_man,
            watch=watch,
            timeout=execution_timeout,
            startup_timeout=start_timeout,
            kernel_name=kernel_name,
            log=logger,
            extra_arguments=["--HistoryManager.enabled=False"],  # no line of ours in the user's history
        )
        with contextlib.closing(ensure_event_loop()):  # of this thread
            return client.execute(cwd=str(folder), env={**os.environ, **environment})


def register() -> str:
    """Make the engine known to papermill; returns its name."""
    papermill_engines.register(ENGINE, CurrentInterpreterEngine)
    return ENGINE
