"""Committed results: every column is described, and a plain import reads them."""

import hashlib
import os
import re
import subprocess
import sys

import pyarrow.parquet
import pytest
from project_files import ROOT

import fedlib
from fedlib.errors import UsageError
from fedlib.experiments.result_files import CHECKSUMS, listed_sums, read_details

FILES = sorted((ROOT / "data" / "results").glob("*/*.parquet"))
LINES = re.findall(r"^\|.*$", (ROOT / "docs" / "results.md").read_text(), re.MULTILINE)
DESCRIBED = set(re.findall(r"`(\w+)`", "".join(LINES)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_column_is_described_and_every_run_has_its_details(path):
    rows = pyarrow.parquet.read_table(path)
    assert set(rows.column_names) <= DESCRIBED
    details = read_details(path)
    if "run" in rows.column_names:
        assert set(rows["run"].to_pylist()) <= set(details["runs"])
    else:
        assert details["provenance"]["device"]


def test_every_file_is_as_the_list_of_checksums_has_it():
    folder = ROOT / "data" / "results"
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in FILES}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in found.items()}
    assert listed_sums() == digests, "after files come in by other ways than `export`: see docs/results.md"
    lines = (folder / CHECKSUMS).read_text().splitlines()
    assert lines == [f"{digest}  {name}" for name, digest in sorted(digests.items())]


def test_every_commit_of_a_row_is_in_the_history_or_named_as_lost():
    git = ["git", "-C", str(ROOT)]
    done = subprocess.run([*git, "rev-list", "HEAD"], capture_output=True, text=True, check=False)
    history = set(done.stdout.split())
    if len(history) < 1000:
        pytest.skip("no checkout with the whole history")
    named = set(re.findall(r"^\| ([0-9a-f]{40}) ", (ROOT / "docs" / "results.md").read_text(), re.MULTILINE))
    found = set()
    for path in FILES:
        if "commit" in pyarrow.parquet.read_schema(path).names:
            column = pyarrow.parquet.read_table(path, columns=["commit"])["commit"].unique().to_pylist()
            found |= {one for words in column if words for one in re.findall(r"[0-9a-f]{40}", words)}
    assert found - history == named


def test_results_load_with_one_import():
    code = (
        "import fedlib, sys; print(set(fedlib.load_results('start/sanity').profile), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'reduced'} False\n"


def test_every_column_of_loaded_rows_is_described():
    assert set(fedlib.load_results("start/sanity").columns) <= DESCRIBED


def test_a_grid_that_was_only_begun_loads_where_it_is_asked_for():
    assert set(fedlib.load_results("fedddrl/episodes").profile) == {"reduced"}
    assert set(fedlib.load_results("fedddrl/episodes", "extended").profile) == {"extended"}


def test_a_figure_loads_the_runs_that_it_shares_with_a_table():
    rows = fedlib.load_results("feddrl/fig6")
    assert set(rows["artifact"]) == {"table3"}
    assert set(rows["num_clients"]) == {10}


def test_what_does_not_exist_is_named(tmp_path):
    with pytest.raises(UsageError, match="unknown artifact 'feddrl/table9'"):
        fedlib.load_results("feddrl/table9")
    with pytest.raises(UsageError, match="unknown profile 'huge'"):
        fedlib.load_results("feddrl/table3", "huge")
    with pytest.raises(UsageError, match="start/curves at smoke has no rows in data/results"):
        fedlib.load_results("start/curves", "smoke")
    with pytest.raises(
        UsageError, match=re.escape(f"computes some, store={os.environ['FEDLIB_STORE']!r} reads")
    ):
        fedlib.load_results("start/curves", "smoke")
    with pytest.raises(
        UsageError, match=f"smoke --store {tmp_path}` computes some, store='{tmp_path}' reads"
    ):
        fedlib.load_results("start/curves", "smoke", store=tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'load_result'"):
        fedlib.load_result  # noqa: B018
