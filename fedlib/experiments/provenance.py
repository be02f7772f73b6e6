"""Provenance of a result: versions, device, commit, time and memory.

Everything here is looked up once per process and costs milliseconds; nothing fails because
git or a package is missing, the field is then None. A commit that git refuses to tell is `unknown`.
"""

import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import resource
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fedlib
from fedlib.files import is_hidden

if TYPE_CHECKING:
    import torch

UNKNOWN = "unknown"  # the commit of a checkout that git refuses to read
THEN = " then "  # between the commits of a run that was resumed under another one
_MACHINE = ("device", "device_name")
ORIGIN = (*_MACHINE, "torch", "fedlib", "commit", "dirty")  # columns of machine and code
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

    `FEDLIB_COMMIT` names the commit of a copy without `.git`, or beside one of another commit, as on a bare
    GPU machine; whether such a copy is dirty cannot be known.
    """
    package, named = Path(fedlib.__file__).parent, os.environ.get("FEDLIB_COMMIT") or None
    try:
        # An installed package may lie inside another project's checkout: it must be tracked to count.
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        head = _git(package, "rev-parse", "HEAD")
        if named and not head.startswith(named):
            return {"commit": named, "dirty": None}
        return {"commit": head, "dirty": bool(_git(package, "status", "--porcelain", "--", "."))}
    except subprocess.CalledProcessError as error:
        if "dubious ownership" not in error.stderr:
            return {"commit": named, "dirty": None}
    except (OSError, subprocess.SubprocessError):
        return {"commit": named, "dirty": None}
    if named is None:
        warnings.warn(
            f"git refuses to read {package.parent}, which belongs to another user: results have no commit; "
            f"`git config --global --add safe.directory {package.parent}` or FEDLIB_COMMIT names it",
            stacklevel=2,
        )
    return {"commit": named or UNKNOWN, "dirty": None}


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, env=environment)
    return done.stdout.strip()


def source_files(package: Path) -> list[Path]:
    """Files of a package that can change results: its modules and data, without caches and page templates."""
    return sorted(
        path
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".html" and not is_hidden(path.relative_to(package))
    )


@functools.cache
def source_digest(without: str = "") -> str:
    """16 hex digits of the package's modules and data, which a commit with changes does not tell.

    without: regular expression of the paths, relative to the package, that do not count.
    """
    digest, package = hashlib.sha256(), Path(fedlib.__file__).parent
    for path in source_files(package):
        name = path.relative_to(package)
        if not (without and re.match(without, name.as_posix())):
            digest.update(f"{name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def code() -> dict[str, Any]:
    """Identity of the code: commit, source digest and versions. A run that mixes two equals neither's."""
    return {**commit(), "source": source_digest(), "versions": versions()}


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """In which code two segments differ, in words; empty where it is the same."""
    if before.get("source") is None:
        return "an unknown commit"
    words = []
    if before["commit"] != now["commit"]:
        words = [f"commit {str(before['commit'])[:10]} (now {str(now['commit'])[:10]})"]
    elif before["source"] != now["source"]:
        words = [f"commit {str(now['commit'])[:10]} with other changes in fedlib's source"]
    for name, version in now["versions"].items():
        if (other := before["versions"].get(name)) != version:
            words.append(f"{name} {other} (now {version})")
    return ", ".join(words)


def codes_of(provenance: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The code of a run's segments, each once, in order: several where it was resumed across commits."""
    segments = provenance.get("segments", ())
    found: list[Mapping[str, Any]] = []
    for segment in segments if any("source" in s for s in segments) else [provenance]:
        one = {name: segment.get(name) for name in ("commit", "dirty", "source", "versions")}
        found += [one] if one not in found else []
    return found


def code_columns(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """commit, dirty, torch and fedlib of a run; `a then b` where it was resumed across commits."""
    codes = codes_of(provenance)
    if len(codes) == 1:
        versions, commits = codes[0]["versions"], codes[0]["commit"]
        return {"torch": versions["torch"], "fedlib": versions["fedlib"], "commit": commits,
                "dirty": codes[0]["dirty"]}  # fmt: skip
    known = [code["versions"] or {} for code in codes]
    return {
        **{name: THEN.join(dict.fromkeys(str(v.get(name)) for v in known)) for name in ("torch", "fedlib")},
        "commit": THEN.join(dict.fromkeys(str(code["commit"] or UNKNOWN) for code in codes)),
        "dirty": any(code["dirty"] for code in codes),
    }


def machine_and_code(segments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Columns of rows for a run that may be unfinished: `a then b` where several processes differ."""
    return {**_machine_columns(segments), **code_columns({"segments": segments})}


def of_finished_run(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of rows for a finished run: machine and code, `a then b` where several processes differ."""
    last = {name: provenance[name] for name in _MACHINE}  # a store of before segments had their device's name
    *earlier, final = provenance.get("segments") or [{}]
    return {**_machine_columns([*earlier, {**last, **final}]), **code_columns(provenance)}


def _machine_columns(segments: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {
        name: THEN.join(dict.fromkeys(str(segment.get(name, UNKNOWN)) for segment in segments))
        for name in _MACHINE
    }


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
    return f"{names}; {device.type}: {device_name(device).replace(', 1 threads', ', 1 thread')}"
