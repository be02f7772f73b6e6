"""Verdicts from intervals, variants from options, printed tables: worked by hand."""

import math

import pandas as pd
import pytest

from fedlib.analysis import contrasts
from fedlib.analysis.intervals import Interval
from fedlib.analysis.published import load_published
from fedlib.analysis.variants import with_variant
from fedlib.errors import UsageError
from fedlib.papers import errata_table


def series(*values):
    return pd.Series(values, index=range(len(values)), dtype=float)


def interval(mean, low, high):
    return Interval(mean, low, high, 3)


ROWS = pd.DataFrame(
    {
        "seed": [0, 0, 0, 1, 1, 1],
        "round": [1, 2, 3, 1, 2, 3],
        "test_accuracy": [0.2, 0.6, 0.5, 0.3, 0.4, None],
        "loss": [3.0, 1.0, 2.0, 5.0, 4.0, None],
    }
)


def test_final_and_best_by_seed():
    assert contrasts.final(ROWS).tolist() == [50, 40]  # the last round that was evaluated
    assert contrasts.best(ROWS).tolist() == [60, 40]
    joined = pd.concat([ROWS[ROWS.seed == seed].reset_index(drop=True) for seed in (0, 1)])
    assert contrasts.final(joined).tolist() == [50, 40]  # labels that repeat make no further seed


def test_the_late_mean_is_over_the_last_tenth_of_the_rounds():
    """Of 25 rounds the last two, of 5 rounds the last one."""
    lengths = {0: 25, 1: 5}
    rows = pd.DataFrame(
        {"seed": seed, "round": at, "test_accuracy": at / 100}
        for seed, length in lengths.items()
        for at in range(length + 1)
    )
    assert contrasts.last_tenth_mean(rows).to_dict() == pytest.approx({0: 24.5, 1: 5})


def test_best_of_all_methods_at_once():
    other = ROWS.assign(test_accuracy=[0.1, 0.2, 0.3, None, None, None], method="b")
    found = contrasts.best_of_each(pd.concat([ROWS.assign(method="a"), other]), "method")
    assert found.a.tolist() == [60, 40]
    assert found.b.dropna().to_dict() == {0: 30}
    with pytest.raises(UsageError, match="more than one row for seed 0, round 1"):
        contrasts.best_of_each(pd.concat([ROWS.assign(method="a")] * 2), "method")


def test_rows_of_two_methods_are_refused():
    with pytest.raises(UsageError, match="more than one row for seed 0, round 1"):
        contrasts.final(pd.concat([ROWS, ROWS]))


def test_paired_by_hand():
    found = contrasts.paired(series(3, 5, 7), series(1, 2, 3, 99))  # differences 2, 3, 4: s = 1
    assert (found.mean, found.n) == (3, 3)
    assert found.low == pytest.approx(3 - 4.302653 / math.sqrt(3))
    with pytest.raises(UsageError, match="no seed in common"):
        contrasts.paired(series(1), pd.Series([1.0], index=[7]))


def test_pooled_averages_cells_before_seeds():
    cells = [(series(1, 2), series(0, 0)), (series(3, 6), series(0, 0))]
    found = contrasts.pooled(cells)  # per seed: 2, 4
    assert (found.mean, found.n) == (3, 2)


def test_variants_by_method_and_options():
    rows = pd.DataFrame(
        {
            "method": ["fedavg", "fedavg", "feddrl", "fedprox"],
            "method_options": ["{}", '{"weights": "uniform"}', '{"mode": "online", "b": 1}', None],
        }
    )
    named = with_variant(
        rows, {"uniform": ("fedavg", {"weights": "uniform"}), "feddrl_online": ("feddrl", {"mode": "online"})}
    )
    assert named["variant"].tolist() == ["fedavg", "uniform", "feddrl_online", "fedprox"]


def test_printed_tables_by_name():
    table = load_published("feddrl_table3")
    assert {"dataset", "method", "value", "unit", "note"} <= set(table)
    assert table["value"].dtype == float
    with pytest.raises(UsageError, match="unknown published table 'feddrl_table9'"):
        load_published("feddrl_table9")
    with pytest.raises(UsageError, match="unknown paper 'nonsense'"):
        errata_table("nonsense")
