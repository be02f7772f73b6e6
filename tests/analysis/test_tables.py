"""Tables and captions against lines written out by hand."""

import numpy as np
import pandas as pd

from fedlib.analysis import tables
from fedlib.analysis.intervals import Interval, by_side


def test_format_table_by_hand():
    frame = pd.DataFrame(
        {"method": ["fedavg", "x"], "best_accuracy": [0.5, np.nan], "is_best": [True, False]}
    )
    assert tables.format_table(frame).splitlines() == [
        "method  best accuracy  is best",
        "------  -------------  -------",
        "fedavg            0.5  yes",
        "x                   -  no",
    ]


def test_lists_in_json_are_read_in_their_order_whatever_their_length():
    assert tables.json_lists(pd.Series(["[1, 2.5]", "[]", "[3]"], index=[7, 7, 1])) == [[1, 2.5], [], [3]]
    assert tables.json_lists(pd.Series([], dtype="str")) == []


def test_summarise_seeds_by_hand():
    """1, 2, 3: mean 2, s = 1, t(2) = 4.3027, half width 4.3027 / sqrt(3) = 2.4842."""
    frame = pd.DataFrame({"method": ["a"] * 3 + ["b"], "acc": [1.0, 2.0, 3.0, 7.0]})
    table = tables.summarise_seeds(frame, "method", "acc")
    assert table[["method", "mean", "n"]].values.tolist() == [["a", 2.0, 3], ["b", 7.0, 1]]
    np.testing.assert_allclose(
        table.loc[0, ["low", "high"]].astype(float), [2 - 2.4842, 2 + 2.4842], atol=1e-4
    )
    assert table.loc[1, ["low", "high"]].isna().all()


def test_compare_keeps_what_was_published_but_not_run():
    published = pd.DataFrame({"method": ["a", "b"], "value": [3.0, 4.0]})
    ours = pd.DataFrame({"method": ["a"], "mean": [2.5], "low": [2.0], "high": [3.0], "n": [3]})
    table = tables.compare(published, ours, ["method"])
    assert list(table.columns) == ["method", "published", "ours", "low", "high", "difference", "n"]
    assert table.difference[0] == -0.5
    assert np.isnan(table.ours[1])


def test_compare_leaves_the_difference_of_generated_data_empty():
    published = pd.DataFrame({"method": ["a", "b", "c"], "value": [3.0, 4.0, 5.0]})
    bounds = {"mean": [2.5, 4.5], "low": [2.0, 4.0], "high": [3.0, 5.0], "n": [3, 3]}
    ours = pd.DataFrame({"method": ["a", "b"], **bounds, "stand_in": [True, False]})
    table = tables.compare(published, ours, ["method"])
    assert list(table.columns) == ["method", "published", "ours", "low", "high", "difference", "n"]
    np.testing.assert_equal(table.ours.tolist(), [2.5, 4.5, np.nan])
    np.testing.assert_equal(table.difference.tolist(), [np.nan, 0.5, np.nan])


def test_provenance_line_names_stand_ins_profile_seeds_and_commit():
    rows = pd.DataFrame(
        {
            "dataset": ["mnist", "standin-xray"],
            "stand_in": [False, True],
            "profile": "reduced",
            "seed": [1, 0],
            "device_name": "CPU",
            "torch": "2.13.0",
            "commit": "0123456789abcdef",
        }
    )
    assert tables.provenance_line(rows) == (
        "data mnist, standin-xray (stand-in); profile reduced; 2 seeds (0, 1); "
        "CPU; torch 2.13.0; commit 0123456789"
    )


def test_threads_are_told_where_no_device_name_tells_them():
    rows = pd.DataFrame({"profile": ["reduced"] * 2, "device_name": "a GPU", "threads": 2})
    assert tables.machine_words(rows) == "a GPU, 2 CPU threads"
    assert tables.machine_words(rows.assign(device_name="a CPU, 2 threads")) == "a CPU, 2 threads"
    assert tables.provenance_line(rows) == "profile reduced; a GPU, 2 CPU threads"
    assert tables.provenance_line(rows.assign(device_name=None)) == "profile reduced"


def test_provenance_line_says_how_much_of_the_data_was_used():
    def line(*options):
        rows = pd.DataFrame({"dataset": "mnist", "dataset_options": options, "profile": "reduced"})
        return tables.provenance_line(rows).removesuffix("; profile reduced")

    few, more = '{"train_per_class": 600}', '{"test_per_class": 5, "train_per_class": 1500}'
    assert line("{}", '{"test_per_class": 5}') == "data mnist"
    assert line(more, more) == "data mnist, 1,500 training images per label"
    assert line(few, more) == "data mnist, 600 to 1,500 training images per label"
    assert line('{"train_per_class": null}') == "data mnist"
    assert line(few, "{}") == "data mnist, 600 training images per label (of some all)"


def test_json_columns_become_lists():
    assert tables.json_column(pd.Series(["[1, 2]", None])).tolist() == [[1, 2], None]


def test_effects_by_their_side_of_0():
    effects = {"A": (1.0, 0.5, 1.5), "B": (0.1, -0.5, 0.7), "C": (2.0, 1.0, 3.0)}
    found = {name: Interval(*bounds, 5) for name, bounds in effects.items()}
    assert by_side(found, above="ahead", below="behind") == {
        "ahead": ["A", "C"], "behind": [], "undecided": ["B"]
    }  # fmt: skip
    told = tables.side_words(found, "ahead", "behind", "nats")
    ahead = "ahead, +1.00 [+0.50, +1.50] nats on A and +2.0 [+1.0, +3.0] nats on C"
    assert told == f"{ahead}; undecided, +0.10 [−0.50, +0.70] nats on B"


def test_sentences_have_titles_of_data_sets():
    rows = pd.DataFrame({"dataset": ["fmnist", "standin-xray", "fmnist"]})
    assert tables.dataset_titles(rows) == ["Fashion-MNIST", "chest X-rays (stand-in)"]


def test_seeds_of_rows_tell_that_some_descriptions_have_fewer():
    rows = pd.DataFrame({"seed": [0, 1, 2, 0, 1], "group": ["a", "a", "a", "b", "b"]})
    assert tables.seeds_of_rows(rows) == "2 to 3 seeds (0 to 2)"
    assert tables.seeds_of_rows(rows[rows.group == "a"]) == "3 seeds (0 to 2)"
    assert tables.seeds_of_rows(rows.drop(columns="group")) == "3 seeds (0 to 2)"
