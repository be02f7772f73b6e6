"""Rows as scalars of an experiment tracker while a run goes on (`--log tensorboard`), beside the store."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fedlib.errors import UsageError, check_name
from fedlib.run import Run

TRACKERS = ("tensorboard",)
Tracker = Callable[[Sequence[Run], Sequence[Sequence[dict[str, Any]]]], None]


def make_tracker(name: str | None, folder: Path) -> Tracker | None:
    """The tracker of this name, writing below `folder`; None for None."""
    if name is None:
        return None
    check_name("tracker", name, TRACKERS)
    if importlib.util.find_spec("tensorboard") is None:
        raise UsageError(
            "--log tensorboard needs tensorboard, which is not installed; pip install tensorboard"
        )
    return TensorBoard(folder)


def close(tracker: Tracker | None) -> None:
    """Close the files that a tracker keeps open for the runs it has seen; a plain function has none."""
    if isinstance(tracker, TensorBoard):
        tracker.close()


class TensorBoard:
    """Every number of a row as a scalar at its round, `<folder>/<paper>/<artifact>/<run>` for each run.

    One file per run and process, open until `close`: readers see every round's scalars at once.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writers: dict[str, Any] = {}  # by the run's key

    def __call__(self, runs: Sequence[Run], rows: Sequence[Sequence[dict[str, Any]]]) -> None:
        for run, new in zip(runs, rows, strict=True):
            if new:
                writer = self._writer(run)
                self._write(writer, new)
                writer.flush()

    def close(self) -> None:
        while self._writers:
            self._writers.popitem()[1].close()

    def _writer(self, run: Run) -> Any:
        from torch.utils.tensorboard import SummaryWriter

        if run.key not in self._writers:
            self._writers[run.key] = SummaryWriter(str(self.folder / run.id / run.key))
        return self._writers[run.key]

    def _write(self, writer: Any, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            for name, value in row.items():
                if isinstance(value, int | float) and name != "round":
                    writer.add_scalar(name, value, row["round"])
