"""Tables of the ablations on rows made by hand."""

import numpy as np
import pandas as pd
import pytest

from fedlib.analysis.variants import with_variant
from fedlib.papers import find_artifact
from fedlib.papers.feddisk import ablation_tables
from fedlib.papers.feddisk.runs import ABLATIONS
from fedlib.reporting.figure_files import draw_figure
from tests.papers.feddisk.test_figures import run


@pytest.fixture(scope="module")
def rows():
    """FedAvg: 50 and 54 % (its trials differ); FedDisk: 2 points more in each, all others one less."""
    found = []
    for seed, base in enumerate((0.50, 0.54)):
        found += [*run("fedavg", seed, accuracy=base), *run("feddisk", seed, accuracy=base + 0.02)]
        for method, options in ABLATIONS.values():
            found += run(method, seed, options, base - 0.01)
    return pd.DataFrame(found)


def test_ablations_are_held_to_fedavg_by_trial(rows):
    """Those of two steps are held to each other: no difference."""
    table = ablation_tables.ablation_table(rows).set_index("variant")
    assert list(table.index) == ["feddisk", *(name for name in ABLATIONS if name != "fedavg_2_steps")]
    assert table.accuracy["feddisk"] == pytest.approx(54)
    np.testing.assert_allclose(table["mean"], [2, -1, -1, -1, -1, 0], atol=1e-9)
    np.testing.assert_allclose(table.high - table.low, 0, atol=1e-9)
    shown = ablation_tables.ablations_shown(rows).set_index("variant")
    assert shown["less FedAvg's (points)"]["feddisk"] == pytest.approx(2)
    assert shown["FedAvg's of as many steps (%)"]["feddisk"] == pytest.approx(52)


def test_weights_are_worth_what_they_add_to_weights_of_the_same_mean(rows):
    """FedDisk 2 points more, its weights on other samples one less; raw odds and their mean both one less."""
    worth = ablation_tables.weights_worth(rows)
    assert worth.less.tolist() == ["feddisk_shuffled", "feddisk_mean"]
    np.testing.assert_allclose(worth["mean"], [3, 0], atol=1e-9)
    assert ablation_tables.worth_shown(rows)["difference (points)"].tolist() == pytest.approx([3, 0])
    half = with_variant(rows, ABLATIONS).query("variant != 'feddisk_mean'")
    assert ablation_tables.weights_worth(half).variant.tolist() == ["feddisk"]


def test_weights_are_worth_as_much_at_length_with_two_mini_batches_a_round():
    settings = (({}, 0.6), ({"control": "shuffled"}, 0.57))
    rows = [
        row
        for options, accuracy in settings
        for row in run("feddisk", 0, {**options, "run.local_steps": 2}, accuracy)
    ]
    at_length = ablation_tables.weights_worth_at_length(pd.DataFrame(rows))
    assert at_length.less.tolist() == ["feddisk_shuffled"]
    assert at_length.variant.tolist() == ["feddisk"]
    np.testing.assert_allclose(at_length["mean"], [3], atol=1e-9)


def test_it_is_told_whether_the_weights_do_more_than_change_the_step(rows):
    """Three points more in both trials; no rows at the paper's length."""
    told, of_odds = ablation_tables.beyond_the_step(rows, rows.iloc[:0])
    assert of_odds.startswith("As raw odds the weights shorten every step.")
    assert of_odds.endswith(" worth +0.00 [+0.00, +0.00] points: a gain of half a point is excluded.")
    assert told.startswith("FedDisk's accuracy less that with the same weights on other samples: +3.00")
    assert told.endswith(" points in the short runs (more).")
    assert ablation_tables.beyond_the_step(rows.iloc[:0], rows.iloc[:0]) == []


def test_ablations_are_drawn(rows, tmp_path):
    assert draw_figure(find_artifact("feddisk/ablations"), rows, tmp_path).stat().st_size > 8_000
