"""Checkpoints of a group: replicas that train together share one state, so they share one file.

    <artifact>/groups/<group>/checkpoint-<round>.pt

`<group>` is the hash of the members' keys. A file is one header line (JSON: format, round, members,
code, sha256 of what follows) and a `torch.save` archive of tensors and plain Python values, so it
is complete in itself: whatever instant a process is killed at, each file that has its final
name is a whole resume point. The newest is kept, and the one before it in case the newest
turns out to be damaged.

A group resumes as the same group, even when only some of its members are asked for: on most
devices stacked arithmetic rounds differently for another number of replicas, and a resumed
run has to end bit-for-bit where the uninterrupted one would have.
"""

import contextlib
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedlib.experiments import provenance
from fedlib.experiments.store import (
    CorruptFile,
    Store,
    StoreWarning,
    check_format,
    remove_left_overs,
    set_aside,
)
from fedlib.files import telling, write_atomically
from fedlib.run import Run, from_description

FORMAT = 1  # of a checkpoint; headers without a number are of format 1
_KEPT = 2
_CHECKPOINT = re.compile(r"checkpoint-(-?[0-9]{1,9})\.pt")  # rounds of a method before round 1 are negative


@dataclass
class Checkpoint:
    """State of a group after `round` rounds."""

    round: int
    rows: list[list[dict[str, Any]]]  # per member, of the rounds so far
    failed: dict[int, str]  # member -> reason
    segments: list[dict[str, Any]]  # one per process that worked on the group: device, start, wall seconds
    state: dict[str, Any] = field(repr=False, default_factory=dict)  # of fedlib.federation, opaque here


def group_name(runs: Sequence[Run]) -> str:
    """16 hex digits naming a group: the hash of its members' keys, in order."""
    return hashlib.sha256(" ".join(run.key for run in runs).encode()).hexdigest()[:16]


class GroupFolder:
    """The checkpoints of one group of runs that train as replicas."""

    def __init__(self, store: Store, runs: Sequence[Run]):
        self.runs = list(runs)
        self.path = store.artifact_folder(runs[0].id) / "groups" / group_name(runs)

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint; older ones than its predecessor are deleted only afterwards."""
        payload = _pack(checkpoint)
        header = {
            "format": FORMAT,
            "round": checkpoint.round,
            "runs": [run.describe() for run in self.runs],
            "sha256": hashlib.sha256(payload).hexdigest(),
            "code": provenance.code(),
            "own": checkpoint.segments[-1].get("own", {}) if checkpoint.segments else {},
        }
        path = self.path / f"checkpoint-{checkpoint.round}.pt"
        write_atomically(path, json.dumps(header).encode() + b"\n" + payload)
        for old in _newest_first(self.path)[_KEPT:]:
            old.unlink(missing_ok=True)
        return path

    def other_code(self) -> str:
        """In which code the newest checkpoint differs from what runs now, in words; empty if in none."""
        header = self._newest_header()
        return provenance.difference(header["code"], provenance.code()) if header else ""

    def own_files(self) -> dict[str, str]:
        """Digests of the user's own files behind the newest checkpoint, by name (`experiments.own_files`)."""
        return self._newest_header().get("own", {})

    def _newest_header(self) -> dict[str, Any]:
        """The header of the newest checkpoint of the group that has one; empty without one."""
        for path in _newest_first(self.path):
            # damaged, or deleted meanwhile by the process at work on it
            with contextlib.suppress(CorruptFile, FileNotFoundError):
                _runs_of(path)
                return _header(path)
        return {}

    def load(self, *, repair: bool = True) -> Checkpoint | None:
        """The newest whole checkpoint, tensors on the CPU; damaged ones are set aside with a warning.

        repair: False for a reader that does not hold the members' locks: it deletes and sets aside nothing,
        and warns.
        """
        if repair:
            remove_left_overs(self.path)
        for path in _newest_first(self.path):
            try:
                with contextlib.suppress(TypeError):  # of a version whose runs had other fields
                    _runs_of(path)
                return _unpack(path)
            except FileNotFoundError:  # deleted meanwhile by the process at work on it
                continue
            except CorruptFile as damage:
                if repair:
                    _warn_and_set_aside(damage)
                else:
                    _warn_of(damage)
        return None

    def remove(self) -> None:
        """Delete the checkpoints of a group whose members are done. Damaged files stay, to be looked at."""
        with telling(self.path):
            for path in _newest_first(self.path):
                if path.is_dir():
                    set_aside(path)
                else:
                    path.unlink(missing_ok=True)
            if not any(self.path.glob("*.damaged-*")):
                shutil.rmtree(self.path, ignore_errors=True)


def unfinished_groups(store: Store, artifact_id: str, *group_keys: str) -> Iterator[GroupFolder]:
    """Groups with a member of one of these descriptions, whatever their seeds, that left a checkpoint.

    A reader needs no lock: nothing is set aside. A group without a readable checkpoint is left out, with a
    warning.
    """
    for folder in sorted((store.artifact_folder(artifact_id) / "groups").glob("*")):
        runs = _members(folder)
        if any(run.group_key in group_keys for run in runs):
            yield GroupFolder(store, runs)


def _members(folder: Path) -> list[Run]:
    newest = None
    for path in _newest_first(folder):
        try:
            return _runs_of(path)
        except CorruptFile as damage:
            newest = newest or damage
        except FileNotFoundError:  # deleted meanwhile by the process at work on the group
            continue
        except TypeError:  # written by a version whose runs had other fields: nobody asks for such a run
            return []
    if newest:
        _warn_of(newest)
    return []


def _runs_of(path: Path) -> list[Run]:
    """The runs of a checkpoint; CorruptFile if they are not those of its folder."""
    runs = [from_description(item) for item in _header(path)["runs"]]
    if group_name(runs) != path.parent.name:
        raise CorruptFile(path, "does not belong to its folder")
    return runs


def _newest_first(folder: Path) -> list[Path]:
    try:
        names = map(_CHECKPOINT.fullmatch, os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):  # removed meanwhile, or no folder of a group
        return []
    return [folder / name[0] for name in sorted(filter(None, names), key=lambda name: -int(name[1]))]


def _warn_of(damage: CorruptFile) -> None:
    warnings.warn(StoreWarning(f"{damage}; left out"), stacklevel=3)


def _warn_and_set_aside(damage: CorruptFile) -> None:
    kept = set_aside(damage.path).name
    warnings.warn(StoreWarning(f"{damage}; set aside ({kept}), an earlier state is used"), stacklevel=3)


def _header(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            line = file.readline()
    except (IsADirectoryError, PermissionError) as error:
        raise CorruptFile(path, f"cannot be read: {error.strerror}") from error
    try:
        header = json.loads(line)
        check_format(path, header.get("format", 1), _writer(header), up_to=FORMAT)
        return {"code": {}, **{name: header[name] for name in ("round", "runs", "sha256")}, **header}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFile(path, "has no readable header") from error


def _writer(header: dict[str, Any]) -> str:
    """The version of fedlib that wrote a checkpoint."""
    return header.get("code", {}).get("versions", {}).get("fedlib", "of unknown version")


def _pack(checkpoint: Checkpoint) -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save(dict(vars(checkpoint)), buffer)
    return buffer.getvalue()


def _unpack(path: Path) -> Checkpoint:
    import torch

    header = _header(path)
    payload = path.read_bytes().partition(b"\n")[2]
    if hashlib.sha256(payload).hexdigest() != header["sha256"]:
        raise CorruptFile(path, "does not match its sha256")
    try:
        return Checkpoint(**torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True))
    except (RuntimeError, TypeError, EOFError, pickle.UnpicklingError) as error:
        raise CorruptFile(path, f"of fedlib {_writer(header)} is not readable in this version") from error
