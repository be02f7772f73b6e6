"""What a result must say about itself: versions, device, commit, time and memory.

Everything here is looked up once per process and costs milliseconds; nothing fails because
git or a package is missing, the field is then None.
"""

import functools
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fedlib

if TYPE_CHECKING:
    import torch

_PACKAGES = ("torch", "torchvision", "numpy", "pandas")


@functools.cache
def versions() -> dict[str, str | None]:
    """Versions of fedlib, Python and the packages that decide numbers; None for one that is not installed."""
    found: dict[str, str | None] = {"fedlib": fedlib.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


@functools.cache
def commit() -> dict[str, Any]:
    """`commit` (hex) and `dirty` (the package differs from it); both None outside a checkout.

    `FEDLIB_COMMIT` names the commit for a copy without `.git`, as on a bare GPU machine; whether
    such a copy is dirty cannot be known.
    """
    package = Path(fedlib.__file__).parent
    # An installed package may lie inside another project's checkout: it must be tracked to count.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return {"commit": os.environ.get("FEDLIB_COMMIT") or None, "dirty": None}
    changes = _git(package, "status", "--porcelain", "--", ".")
    return {"commit": _git(package, "rev-parse", "HEAD"), "dirty": bool(changes)}


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@functools.cache
def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def device_name(device: "torch.device") -> str:
    """The device in words: the GPU's name, or the CPU's name with the number of threads in use."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{_cpu_name()}, {threads()} threads"


def threads() -> int:
    """Threads that torch computes with on a CPU: another number may change the last digits."""
    import torch

    return torch.get_num_threads()


def peak_memory_bytes(device: "torch.device") -> int:
    """The most memory this process has held: on the GPU what torch allocated, on a CPU the resident set."""
    import torch

    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # kilobytes on Linux, bytes on macOS


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def environment(device: "torch.device") -> dict[str, Any]:
    """Versions, commit, platform and device, as stored with every run."""
    return {
        "versions": versions(),
        **commit(),
        "platform": platform.platform(),
        "device": device.type,
        "device_name": device_name(device),
    }


def one_line(device: "torch.device") -> str:
    """Versions and device for the head of a notebook or a log."""
    found = versions()
    names = ", ".join(f"{name} {found[name]}" for name in ("fedlib", "python", "torch", "numpy"))
    return f"{names}; {device.type}: {device_name(device)}"
