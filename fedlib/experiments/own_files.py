"""Digests of what a user supplies: modules, as `package.module:name`, names of a session, `.npz`, divisions.

They lie outside fedlib's commit and source digest, so a run stores theirs: another rule, other images or
another division under an old name give no further seeds of the old runs.
"""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from fedlib.data import is_own, load_dataset
from fedlib.errors import check
from fedlib.experiments.checkpoints import unfinished_groups
from fedlib.experiments.own_imports import NOT_OWN, own_imports
from fedlib.experiments.store import Store
from fedlib.methods import method_class
from fedlib.models import model_builder
from fedlib.partition import partition_file, partition_function
from fedlib.run import Run

# Name of a module of the user's -> its spec, which a reload replaces, and its file's digest when first seen
_loaded: dict[str, tuple[ModuleSpec | None, str]] = {}


def own_files(run: Run) -> dict[str, str]:
    """Map each own name of a run to 16 hex digits of what it stands for.

    Of a module the file as this process imported it, with the user's modules that it imports; of what a
    session put into `METHODS`, `PARTITIONS` or `MODELS`, or a notebook defines, its source; of a division
    the file; of a data set the arrays. Left out are what has no source and a division's file that is gone.
    """
    found = {}
    for name, of in (
        (run.method, method_class),
        (run.partition, partition_function),
        (run.model, model_builder),
    ):
        module = _module_of(name)
        if digest := _module_digest(module) if module else _source_digest(of(name)):
            found[name] = digest
    if run.partition == "from_file":
        given = run.partition_options["path"]
        if (divided := partition_file(given)).is_file():
            found[f"partition.path={given}"] = _digest(divided.read_bytes())
    if is_own(run.dataset):
        found[run.dataset] = load_dataset(run.dataset).checksum[:16]
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _module_of(name: str) -> ModuleType | None:
    """The module of `package.module:name`, if it has a file; None for other names."""
    module = importlib.import_module(name.partition(":")[0]) if ":" in name else None
    return module if getattr(module, "__file__", None) else None


def _module_digest(module: ModuleType) -> str:
    """Digest of a module and of the user's modules that it imports; that of its file if there are none."""
    own, *imported = (_as_loaded(name, path) for name, path in _files_of(module).items())
    return _digest(" ".join([own, *imported]).encode()) if imported else own


def _files_of(module: ModuleType) -> dict[str, Path]:
    """Names and files of a module and of the user's modules that it imports."""
    return {module.__name__: Path(str(module.__file__)), **own_imports(module)}


def _as_loaded(name: str, path: Path) -> str:
    """Digest of a module's file when this process first saw it as it is loaded now."""
    module = sys.modules.get(name)
    if module and (known := _loaded.get(name)) and known[0] is module.__spec__:
        return known[1]
    digest = _digest(path.read_bytes())
    if module:
        _loaded[name] = module.__spec__, digest
    return digest


def _source_digest(found: Any) -> str:
    """Digest of the source of a class or function, with what a class of the user's inherits from others.

    Empty for fedlib's own, and where no source is at hand.
    """
    parts = found.__mro__ if inspect.isclass(found) else [found]
    own = [p for p in parts if getattr(p, "__module__", "fedlib").partition(".")[0] not in NOT_OWN]
    text = "\n".join(line for part in own for line in _sources(part))
    return _digest(text.encode()) if text else ""


def _sources(part: Any) -> Iterator[str]:
    """Source of a function, or of a class's functions, with its plain values; a notebook's class has none."""
    values = vars(part).items() if inspect.isclass(part) else [(part.__name__, part)]
    for name, value in values:
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if isinstance(function, bool | int | float | str | tuple) and not name.startswith("__"):
            yield f"{name} = {function!r}"
        try:
            yield inspect.getsource(function)
        except (OSError, TypeError):  # made by exec, as a dataclass's __init__, or no function
            continue


def refuse_other_files(store: Store, runs: Sequence[Run]) -> None:
    """UsageError if what the user supplies to these runs has changed since it was imported, or last run.

    Held to every stored run of the same artifacts, which tables show together, and to begun ones.
    """
    now: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(name for run in runs for name in (run.method, run.partition, run.model)):
        module = _module_of(name)
        for part, path in _files_of(module).items() if module else ():
            check(
                not path.is_file() or _as_loaded(part, path) == _digest(path.read_bytes()),
                f"{path} has changed since this process imported it, whose {name} would run as it was; "
                "allowed: a new process (in Jupyter: restart the kernel), or the file as it was",
            )
    for run in {run.group_key: run for run in runs}.values():
        now.setdefault(run.id, {}).update(own_files(run))
    for artifact_id, own in now.items():
        keys = {run.group_key for run in runs if run.id == artifact_id}
        for run, before, begun in _of_stored(store, artifact_id, keys) if own else ():
            changed = [name for name, digest in own.items() if before.get(name, digest) != digest]
            stored = f"what was computed (`python -m fedlib results {artifact_id} --delete` and its filters)"
            done = "begun" if begun else "computed"
            check(
                not changed,
                f"{', '.join(changed)} has changed since {run.label()} was {done}: these would be no seeds "
                "of one experiment; allowed: what it was, another name, another --store, or deleting "
                f"{begun or stored}",
            )


def _of_stored(
    store: Store, artifact_id: str, group_keys: set[str]
) -> Iterator[tuple[Run, Mapping[str, str], Path | None]]:
    """Stored runs of an artifact, and begun ones of these descriptions, with their own names' digests.

    Third, the folder of a begun group; None for a stored run.
    """
    for stored in store.scan(artifact_id):
        data = {stored.run.dataset: stored.provenance["dataset"]["checksum"][:16]}
        yield stored.run, data | stored.provenance.get("own", {}), None
    for folder in unfinished_groups(store, artifact_id, *group_keys):
        yield folder.runs[0], folder.own_files(), folder.path
