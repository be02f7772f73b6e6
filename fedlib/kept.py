"""Rows of computations that are kept: timings, searches, embeddings, whatever takes long without being a run.

    <root>/<paper>/<artifact>/kept-<profile>.csv     the rows
                              kept-<profile>.json    their sha256, settings, provenance and wall seconds,
                                                     written last

A kept computation is done when the JSON vouches for the CSV and has the settings of today
(`Artifact.settings`); it is then never repeated unless asked for.
"""

import hashlib
import json
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedlib import provenance
from fedlib.papers import Artifact
from fedlib.store import Store, StoreWarning, read_csv_exactly, set_aside, to_json, write_atomically

if TYPE_CHECKING:
    import pandas as pd


def kept_path(artifact: Artifact, profile: str, store: Store) -> Path:
    """Where the rows of a kept computation lie in a store."""
    return store.artifact_folder(artifact.id) / f"kept-{profile}.csv"


def compute_kept(artifact: Artifact, profile: str, store: Store, *, again: bool = False) -> "pd.DataFrame":
    """The rows of a kept artifact, computed and stored unless they are there already.

    Another process at work on the same artifact is waited for. again: compute even if stored.
    """
    path = kept_path(artifact, profile, store)
    with store.claiming(artifact.id):
        if not again and _whole(path, repair=True) and is_current(artifact, profile, path):
            return load_kept(artifact, profile, store)
        began = time.monotonic()
        rows = artifact.compute(profile)
        _write(path, rows, settings_of(artifact, profile), time.monotonic() - began)
    return load_kept(artifact, profile, store)


def load_kept(artifact: Artifact, profile: str, store: Store) -> "pd.DataFrame | None":
    """The stored rows with their provenance in columns, or None if there are none."""
    path = kept_path(artifact, profile, store)
    if not _whole(path, repair=False) or not is_current(artifact, profile, path):
        return None
    found = kept_provenance(path)
    columns = {k: found[k] for k in ("device", "device_name", "commit", "dirty")}
    columns |= {k: found["versions"][k] for k in ("torch", "fedlib")}
    return read_csv_exactly(path).assign(**columns)


def kept_provenance(path: Path) -> dict[str, Any]:
    """Versions, device, commit and times that the kept rows at `path` were computed with."""
    return json.loads(path.with_suffix(".json").read_text())["provenance"]


def settings_of(artifact: Artifact, profile: str) -> dict[str, Any]:
    """What the JSON of kept rows says about the settings they were computed with."""
    if artifact.settings is None:
        return {}
    return {"settings": json.loads(to_json(artifact.settings(profile)))}


def is_current(artifact: Artifact, profile: str, path: Path) -> bool:
    """Whether the JSON of the rows at `path` has the settings of today, or none; False with a warning."""
    details = path.with_suffix(".json")
    about = json.loads(details.read_text()) if details.is_file() else {}
    now = settings_of(artifact, profile)
    if "settings" not in about or not now or about["settings"] == now["settings"]:
        return True
    warnings.warn(
        StoreWarning(f"{path} was computed with other settings; left out, run {artifact.id} again"),
        stacklevel=3,
    )
    return False


def _write(path: Path, rows: "pd.DataFrame", settings: dict[str, Any], seconds: float) -> None:
    import torch

    data = rows.to_csv(index=False, lineterminator="\n").encode()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    about = {
        **provenance.environment(device),
        "finished": provenance.now(),
        "wall_seconds": round(seconds, 3),
    }
    write_atomically(path, data)
    vouching = {"sha256": hashlib.sha256(data).hexdigest(), **settings, "provenance": about}
    write_atomically(path.with_suffix(".json"), to_json(vouching))


def _whole(path: Path, *, repair: bool) -> bool:
    """Are rows there that their JSON vouches for? repair: set a damaged file aside."""
    about = path.with_suffix(".json")
    if not about.is_file():
        return False
    try:
        expected = json.loads(about.read_text())["sha256"]
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == expected:
            return True
        damaged = path if path.is_file() else about
    except (ValueError, KeyError, TypeError):
        damaged = about
    what = f"set aside as {set_aside(damaged).name}, computed again" if repair else "left out"
    warnings.warn(StoreWarning(f"{damaged} is damaged; {what}"), stacklevel=3)
    return False
