"""Croissant metadata of results: every file with its checksum and columns, accepted by mlcroissant."""

import hashlib
import json

import pandas as pd
import pytest

from fedlib.paths import results_folder
from fedlib.reporting.croissant import COLUMNS, croissant, results_files


def test_every_committed_file_is_described():
    folder = results_folder()
    found = croissant(folder)
    assert len(found["distribution"]) == len(results_files(folder)) > 30
    assert len(found["recordSet"]) > 20
    fields = {field["name"] for one in found["recordSet"] for field in one["field"]}
    assert fields == set(COLUMNS)


def small(folder):
    rows = pd.DataFrame({"run": ["a", "a"], "round": [0, 1], "test_accuracy": [0.1, 0.5], "other": [1, 2]})
    (folder / "feddrl").mkdir()
    rows.to_csv(folder / "feddrl" / "table3-reduced.csv", index=False)
    rows.to_parquet(folder / "feddrl" / "table4-reduced.parquet")
    rows[["other"]].to_csv(folder / "feddrl" / "timing-reduced.csv", index=False)
    return croissant(folder)


def test_columns_are_read_without_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(pd, "read_parquet", None)
    assert len(small(tmp_path)["recordSet"]) == 2


def test_records_are_those_of_runs_with_the_columns_that_are_there(tmp_path):
    found = small(tmp_path)
    names = [field["name"] for field in found["recordSet"][0]["field"]]
    assert names == ["run", "round", "test_accuracy"]
    assert [one["@id"] for one in found["recordSet"]] == ["feddrl/table3-reduced", "feddrl/table4-reduced"]
    digest = hashlib.sha256((tmp_path / "feddrl" / "table3-reduced.csv").read_bytes()).hexdigest()
    assert found["distribution"][0]["sha256"] == digest


@pytest.mark.filterwarnings("ignore")  # of rdflib and mlcroissant themselves
def test_mlcroissant_accepts_it_and_reads_the_records(tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is an extra: make extras")
    (tmp_path / "croissant.json").write_text(json.dumps(small(tmp_path)))
    dataset = mlcroissant.Dataset(tmp_path / "croissant.json")
    assert dataset.metadata.issues.errors == set()
    for name in ("feddrl/table3-reduced", "feddrl/table4-reduced"):
        records = list(dataset.records(name))
        assert [record[f"{name}/round"] for record in records] == [0, 1]
        assert [record[f"{name}/test_accuracy"] for record in records] == [0.1, 0.5]
