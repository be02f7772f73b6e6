"""Files that are whole or not there: every write goes to a temporary name first, then is renamed."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedlib.errors import UsageError, WriteError


def is_hidden(relative: Path) -> bool:
    """Whether a file, or a folder on the way to it, is hidden or a cache of Python's."""
    return any(part.startswith((".", "__pycache__")) for part in relative.parts)


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn an operating-system error of the block (disk full, no permission) into one line about `path`."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise WriteError(f"cannot write {path}: {reason}; everything stored before it is kept") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` so that `path` holds either its old content or all of the new, even after a power cut."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with telling(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def read_json(path: Path, *needed: str) -> dict[str, Any]:
    """The JSON object in a file, with the fields `needed`; UsageError that names the file otherwise."""
    try:
        content = json.loads(path.read_bytes())
        return {**content, **{name: content[name] for name in needed}}
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); restore it") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{path} is damaged ({type(error).__name__}: {error}); restore it") from error


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable, where the system lets a folder be synced at all."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
