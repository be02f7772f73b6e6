"""The release archive: rows, figures, report and trained agents in one zip file, each with its checksum.

The rows have Croissant metadata beside them, made for the archive.

The same files give the same bytes: entries are sorted and have no times of their own.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from fedlib.errors import DataError
from fedlib.experiments.store import to_json
from fedlib.files import is_hidden, write_atomically
from fedlib.paths import project_root
from fedlib.reporting.croissant import croissant

CONTENTS = (
    "CITATION.cff",
    "LICENSE",
    "README.md",
    "codemeta.json",
    "constraints.txt",
    "data/agents",
    "data/embedded",
    "data/published",
    "data/results",
    "docs",
    "figures",
    "build/report",
)
CHECKSUMS, CROISSANT = "SHA256SUMS", "data/results/croissant.json"
_TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold
_MODE = 0o644 << 16


def files_of_release(root: Path) -> list[Path]:
    """Paths of all files that go into an archive, relative to the checkout, sorted."""
    found = []
    for name in CONTENTS:
        path = root / name
        found += [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return sorted(p.relative_to(root) for p in found if not is_hidden(p.relative_to(root)))


def absent_parts(root: Path) -> list[str]:
    """Parts of an archive that the checkout does not have."""
    return [name for name in CONTENTS if not (root / name).exists()]


def write_archive(path: Path, root: Path | None = None) -> Path:
    """Write the archive of a checkout, whole or not at all; DataError outside of one."""
    root = project_root() if root is None else root
    if not (root / "data" / "results").is_dir():
        raise DataError(f"no data/results in {root}; an archive is built in a checkout of the repository")
    contents = {name.as_posix(): (root / name).read_bytes() for name in files_of_release(root)}
    contents[CROISSANT] = to_json(croissant(root / "data" / "results"))
    contents = dict(sorted(contents.items()))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            _add(archive, name, data)
        _add(archive, CHECKSUMS, checksums(contents).encode())
    write_atomically(path, packed.getvalue())
    return path


def checksums(contents: Mapping[str, bytes]) -> str:
    """Checksum lines, a file each, as `sha256sum --check` reads them."""
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.external_attr, entry.compress_type = _MODE, zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
