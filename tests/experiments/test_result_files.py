"""Files of committed rows: a flipped bit is told, by the list of their checksums and by each page's own."""

import subprocess

import fake_federation
import pandas as pd
import pyarrow.parquet
import pytest

from fedlib.errors import UsageError
from fedlib.experiments.result_files import listed_sums, read_details, read_rows, results_file, write_rows

ROWS = pd.DataFrame({"round": range(200), "test_accuracy": [(7 * i % 97) / 97 for i in range(200)]})
DETAILS = {"runs": {"a": {"description": {}, "provenance": {}}}}


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    fake_federation.install_for(monkeypatch, tmp_path)
    return tmp_path / "results"


def flip_a_value(path):
    """In the last byte of the column's only page."""
    column = pyarrow.parquet.read_metadata(path).row_group(0).column(1)
    first = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)))
    data = bytearray(path.read_bytes())
    data[first + column.total_compressed_size - 1] ^= 1
    path.write_bytes(data)


def test_a_flipped_bit_in_a_listed_file_is_told_and_the_file_named(folder):
    path = write_rows(results_file("fake/grid", "reduced"), ROWS, DETAILS)
    assert read_rows(path).equals(
        ROWS.assign(test_accuracy=ROWS.test_accuracy.map(lambda x: float(f"{x:.6g}")))
    )
    flip_a_value(path)
    told = (
        r"grid-reduced.parquet cannot be read \(its sha256 is not the one in SHA256SUMS\); .*`git checkout`$"
    )
    for read in (read_rows, read_details):
        with pytest.raises(UsageError, match=told):
            read(path)


@pytest.mark.parametrize("where", ["elsewhere", "not listed"])
def test_a_flipped_bit_in_another_file_fails_its_page(folder, tmp_path, where):
    path = tmp_path / "rows.parquet" if where == "elsewhere" else results_file("fake/grid", "reduced")
    write_rows(path, ROWS, DETAILS)
    (folder / "SHA256SUMS").unlink(missing_ok=True)
    assert len(read_rows(path)) == 200
    flip_a_value(path)
    with pytest.raises(UsageError, match=r"\.parquet cannot be read .*CRC.*; restore it with `git checkout`"):
        read_rows(path)


def test_the_list_is_sorted_as_sha256sum_has_it_and_covers_its_folder_alone(folder, tmp_path):
    for place in ("fake/b", "fake/a", "another/c", "fake/b"):
        write_rows(results_file(place, "reduced"), ROWS, DETAILS)
    write_rows(tmp_path / "mine.parquet", ROWS, DETAILS)
    names = ["another/c-reduced.parquet", "fake/a-reduced.parquet", "fake/b-reduced.parquet"]
    assert list(listed_sums()) == names
    made = subprocess.run(["sha256sum", *names], cwd=folder, capture_output=True, text=True, check=True)
    assert (folder / "SHA256SUMS").read_text() == made.stdout


def test_a_file_that_was_replaced_but_for_its_sum_is_read(monkeypatch):
    """As a kill leaves it between both."""
    path = write_rows(results_file("fake/grid", "reduced"), ROWS, DETAILS)
    write, done = fake_federation.result_files.write_atomically, []

    def killed(target, data):
        if path in done:
            raise KeyboardInterrupt
        write(target, data)
        done.append(target)

    monkeypatch.setattr(fake_federation.result_files, "write_atomically", killed)
    with pytest.raises(KeyboardInterrupt):
        write_rows(path, ROWS[:9], DETAILS)
    assert len(read_rows(path)) == 9
    assert listed_sums() == {}


def test_whole_numbers_of_two_files_stay_numbers():
    """A store reads 2, a committed file with missing values 2.0: joined they are of no one type."""
    rows = ROWS.assign(steps=pd.Series([2, 2.0, None, *[2] * (len(ROWS) - 3)], dtype=object))
    found = read_rows(write_rows(results_file("fake/grid", "reduced"), rows, DETAILS))
    assert found.steps.dtype == float
    assert found.steps.dropna().tolist() == [2.0] * (len(ROWS) - 1)
