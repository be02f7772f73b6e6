"""Partitions from JSON files, good and bad."""

import json

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.partition import make_partition, partition_from_file

LABELS = np.zeros(20, dtype=int)


def load(path, num_clients=2, **options):
    rng = np.random.default_rng(0)
    return make_partition(
        "from_file", labels=LABELS, num_classes=1, num_clients=num_clients, rng=rng, path=str(path), **options
    )


@pytest.fixture
def write(tmp_path):
    def _write(content):
        path = tmp_path / "clients.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return _write


def test_clients_come_in_the_order_of_their_numbers(write):
    content = {str(client): [19 - client] for client in reversed(range(12))}
    partition = load(write(content), num_clients=12)
    assert [indices.tolist() for indices in partition] == [[19 - client] for client in range(12)]


def test_named_clients_keep_the_files_order_and_indices_are_sorted(write):
    partition = load(write({"zoe": [3, 1, 2], "ann": [0]}))
    assert [indices.tolist() for indices in partition] == [[1, 2, 3], [0]]
    assert partition[0].dtype == np.int64


def test_repeats_only_when_asked_for(write):
    path = write({"0": [1, 2], "1": [2, 2]})
    with pytest.raises(UsageError, match=r"index 2 occurs twice, in client 0 and client 1; .*allow_repeats"):
        load(path)
    assert [indices.tolist() for indices in load(path, allow_repeats=True)] == [[1, 2], [2, 2]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[[1], [2]]", "not of the form"),
        ({"0": [1], "1": "2"}, "not of the form"),
        ({"0": [1], "1": [20]}, "client 1 has index 20; allowed: 0 to 19"),
        ({"0": [-1], "1": [2]}, "client 0 has index -1; allowed: 0 to 19"),
        ({"0": [1.0], "1": [2]}, "client 0 has index 1.0"),
        ({"0": [True], "1": [2]}, "client 0 has index True"),
        ({"0": [1, 1], "1": [2]}, "index 1 occurs twice, in client 0 and client 0"),
        ({"0": [1]}, "1 clients; allowed: 2"),
        ({"0": [1], "1": []}, "leaves client 1 of 2 without images"),
    ],
)
def test_bad_files(write, content, message):
    with pytest.raises(UsageError, match=message) as error:
        load(write(content))
    assert "\n" not in str(error.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(UsageError, match=r"absent\.json: No such file or directory"):
        load(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="Is a directory"):
        load(tmp_path)


def test_bytes_that_are_not_text(tmp_path):
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(UsageError, match="is not JSON"):
        load(path)


def test_a_file_is_looked_for_below_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDLIB_DATA", str(tmp_path))
    (tmp_path / "cuts").mkdir()
    (tmp_path / "cuts" / "two.json").write_text('{"0": [1], "1": [0]}')
    assert [c.tolist() for c in partition_from_file(LABELS, num_clients=2, path="cuts/two.json")] == [
        [1],
        [0],
    ]
