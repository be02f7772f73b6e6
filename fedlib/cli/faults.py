"""Signals, warnings and errors of a command that no line of its own explains."""

import os
import signal
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from fedlib import __version__
from fedlib.cli.output import tell


def interrupt_on(*names: str) -> None:
    """A killed scheduler job or a lost connection leaves its checkpoint, as after Ctrl-C; not below nohup."""
    for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def show_each_once() -> Callable[..., None]:
    """Make what takes the place of `warnings.showwarning`: a warning as one line, told but once."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if (text := str(message)) not in told:
            told.add(text)
            tell(f"fedlib: warning: {text}")

    return show


def show_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write the traceback, and whose code failed: a method's of the user, or fedlib's, to be reported."""
    sys.__excepthook__(kind, error, trace)
    own = _outside_of_fedlib(trace)
    if own is None:
        report = "please report it: the lines above and the command"
        tell(f"fedlib: this is a fault of fedlib {__version__}, {report}")
    else:
        text = f"{own.name} of {own.filename}, line {own.lineno}: {kind.__name__}: {error}"
        tell(f"fedlib: error: code of yours failed in {text}; what was finished is stored")


def _outside_of_fedlib(trace: TracebackType | None) -> traceback.FrameSummary | None:
    """The innermost frame below fedlib's that belongs to no installed package, such as a method's."""
    package, paths = f"{Path(__file__).parents[1]}{os.sep}", sysconfig.get_paths()
    known = (package, "<", *(paths[name] for name in ("stdlib", "platlib", "purelib")))
    frames = traceback.extract_tb(trace)
    first = next((at for at, frame in enumerate(frames) if frame.filename.startswith(package)), len(frames))
    return next((f for f in reversed(frames[first:]) if not f.filename.startswith(known)), None)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory, of the machine or of the GPU, did not suffice."""
    if isinstance(error, MemoryError) or "torch" not in sys.modules:
        return isinstance(error, MemoryError)
    from fedlib.engine.hardware.device import is_out_of_memory as torch_ran_out

    return torch_ran_out(error)
