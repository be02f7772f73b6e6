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


class TensorBoard:
    """Every number of a row as a scalar at its round, `<folder>/<paper>/<artifact>/<run>` for each run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, runs: Sequence[Run], rows: Sequence[Sequence[dict[str, Any]]]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        for run, new in zip(runs, rows, strict=True):
            if new:
                with SummaryWriter(str(self.folder / run.id / run.key)) as writer:
                    self._write(writer, new)

    def _write(self, writer: Any, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            for name, value in row.items():
                if isinstance(value, int | float) and name != "round":
                    writer.add_scalar(name, value, row["round"])
