"""A contestant in another interpreter: it does one repeat whenever it is asked to, so that all alternate.

The child is a script of this folder. It prints `ready` after its warm-up, then for each line `run` the
seconds that one repeat took, and for the line `peak` the most memory it has held, in MiB.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path


class Child:
    """A running child; use as a context."""

    def __init__(
        self, interpreter: str, script: str, arguments: Sequence[object], python_path: Path | None = None
    ) -> None:
        path = Path(__file__).parent / script
        known = {} if python_path is None else {"PYTHONPATH": str(python_path)}
        self.process = subprocess.Popen(
            [interpreter, str(path), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=python_path,
            env={**os.environ, **known},
        )

    def __enter__(self) -> "Child":
        self._answer_after("ready")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, what: str) -> float:
        """`run`: seconds; `peak`: MiB."""
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return float(self._answer_after(what))

    def _answer_after(self, word: str) -> str:
        for line in self.process.stdout:  # libraries may print lines of their own
            if line.startswith(f"{word}:"):
                return line.split(":", 1)[1]
        raise RuntimeError(f"{self.process.args[1]} ended without an answer (status {self.process.wait()})")
