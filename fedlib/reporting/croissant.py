"""Croissant metadata of the committed rows: a description that data-set search engines and loaders read.

M. Akhtar et al., "Croissant: A Metadata Format for ML-Ready Datasets", 2024,
https://arxiv.org/abs/2403.19546. One record set for each file of runs, with the columns that all of them
have; the other columns are described in docs/results.md.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet

import fedlib

# column -> (type, description)
COLUMNS = {
    "run": ("sc:Text", "Key of the run: hash of its description"),
    "dataset": ("sc:Text", "Name of the data set"),
    "partition": ("sc:Text", "How samples are divided among clients"),
    "num_clients": ("sc:Integer", "Clients N"),
    "method": ("sc:Text", "Federated algorithm"),
    "method_options": ("sc:Text", "Its options, as JSON"),
    "seed": ("sc:Integer", "Seed of data division, models, cohorts and the method's draws"),
    "round": ("sc:Integer", "Rounds finished"),
    "status": ("sc:Text", "ok, or why the run failed"),
    "test_accuracy": ("sc:Float", "Share of correct test images, 0 to 1"),
    "test_loss": ("sc:Float", "Mean cross-entropy on the test images, nats"),
}
_SUFFIXES = {".csv": "text/csv", ".gz": "text/csv", ".parquet": "application/x-parquet"}
_CROISSANT = "http://mlcommons.org/croissant/"
_TERMS = (
    "citeAs", "column", "conformsTo", "equivalentProperty", "extract", "field", "fileProperty", "fileObject",
    "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path",
    "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator", "source",
    "subField", "transform",
)  # fmt: skip
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": _CROISSANT,
    "rai": f"{_CROISSANT}RAI/",
    "dct": "http://purl.org/dc/terms/",
    **{term: f"cr:{term}" for term in _TERMS},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}


def results_files(folder: Path) -> list[Path]:
    """The files of rows in a results folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES)


def croissant(folder: Path) -> dict[str, Any]:
    """The metadata of a results folder as JSON-LD; paths are relative to the folder."""
    files = [(path, path.relative_to(folder).as_posix()) for path in results_files(folder)]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": f"{_CROISSANT}1.0",
        "name": "fedlib-results",
        "description": "Per-round results of federated runs: four papers on reinforcement learning in FL, "
        "reproduced with several seeds.",
        "license": "https://spdx.org/licenses/Apache-2.0",
        "version": fedlib.__version__,
        "citeAs": "The fedlib authors, fedlib: a reference suite for reinforcement learning inside federated "
        "learning",
        "distribution": [_file_object(path, name) for path, name in files],
        "recordSet": [one for path, name in files if (one := _record_set(path, name))],
    }


def _file_object(path: Path, name: str) -> dict[str, str]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": _SUFFIXES[path.suffix],
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _record_set(path: Path, name: str) -> dict[str, Any] | None:
    """None for a measurement, whose rows are not rounds of runs."""
    there = set(_columns(path))
    if not {"run", "round"} <= there:
        return None
    identity = name.split(".")[0]
    fields = [_field(identity, name, column) for column in COLUMNS if column in there]
    return {"@type": "cr:RecordSet", "@id": identity, "name": identity, "field": fields}


def _field(identity: str, file: str, column: str) -> dict[str, Any]:
    data_type, description = COLUMNS[column]
    return {
        "@type": "cr:Field",
        "@id": f"{identity}/{column}",
        "name": column,
        "description": description,
        "dataType": data_type,
        "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
    }


def _columns(path: Path) -> Iterable[str]:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_schema(path).names
    return pd.read_csv(path, nrows=0).columns
