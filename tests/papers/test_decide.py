"""Verdicts from intervals, variants from options, printed tables: worked by hand."""

import math

import pandas as pd
import pytest

from fedlib.errors import UsageError
from fedlib.intervals import Interval
from fedlib.papers import Verdict, decide
from fedlib.papers.published import errata_table, load_published
from fedlib.papers.variants import with_variant


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
    assert decide.final(ROWS).tolist() == [50, 40]  # the last round that was evaluated
    assert decide.best(ROWS).tolist() == [60, 40]
    assert decide.best(ROWS, "loss", percent=False, smallest=True).tolist() == [1, 4]


def test_rows_of_two_methods_are_refused():
    with pytest.raises(UsageError, match="more than one row for seed 0, round 1"):
        decide.final(pd.concat([ROWS, ROWS]))


def test_paired_by_hand():
    found = decide.paired(series(3, 5, 7), series(1, 2, 3, 99))  # differences 2, 3, 4: s = 1
    assert (found.mean, found.n) == (3, 3)
    assert found.low == pytest.approx(3 - 4.302653 / math.sqrt(3))
    with pytest.raises(UsageError, match="no seed in common"):
        decide.paired(series(1), pd.Series([1.0], index=[7]))


def test_pooled_averages_cells_before_seeds():
    cells = [(series(1, 2), series(0, 0)), (series(3, 6), series(0, 0))]
    found = decide.pooled(cells)  # per seed: 2, 4
    assert (found.mean, found.n) == (3, 2)


@pytest.mark.parametrize(
    ("values", "margin", "verdict"),
    [
        ((1, 1.1, 1.2), 0, "supported"),
        ((-1, -1.1, -1.2), 0, "not supported"),
        ((-1, 0, 1), 0, "mixed"),
        ((1, 1.1, 1.2), 2, "not supported"),
        ((5,), 0, "not testable at this scale"),
    ],
)
def test_by_sign(values, margin, verdict):
    interval = decide.mean_interval(series(*values))
    found = decide.by_sign(interval, decide.words(interval), margin=margin)
    assert found.verdict == verdict
    assert f"{len(values)} seed" in found.evidence


@pytest.mark.parametrize(
    ("flags", "verdict"),
    [
        ([True, True], "supported"),
        ([False], "not supported"),
        ([True, False], "mixed"),
        ([], "not testable at this scale"),
    ],
)
def test_by_count(flags, verdict):
    assert decide.by_count(flags, "").verdict == verdict


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        (["supported", "supported"], "supported"),
        (["supported", "mixed"], "mixed"),
        (["supported", "not supported", "mixed"], "not supported"),
        (["not supported", "not testable at this scale"], "not testable at this scale"),
    ],
)
def test_a_claim_of_several_parts(parts, verdict):
    found = decide.all_of(Verdict(name, str(at)) for at, name in enumerate(parts))
    assert found == Verdict(verdict, "; ".join(map(str, range(len(parts)))))


def test_the_interval_that_refuted_is_the_one_shown():
    """A wide cell with the smaller mean holds 0 and decides nothing; the narrow one beside it does."""
    found = {"wide": interval(-9, -20, 2), "narrow": interval(-1, -1.5, -0.5), "ahead": interval(1, 0.5, 1.5)}
    decided = decide.in_every_cell(found, "ours - theirs", "points")
    assert decided.verdict == "not supported"
    assert "at least 0 in 1, clearly below in 1 of 3 cells (0.1 by chance" in decided.evidence
    assert decided.evidence.endswith("decided by narrow, -1.00 points [-1.50, -0.50], 3 seeds")


def test_the_interval_that_keeps_a_claim_from_holding_is_the_one_shown():
    """Nothing is clearly below 0; what is not supported is not the smallest mean but the lowest end."""
    found = {"wide": interval(3, -2, 8), "narrow": interval(1, 0.5, 1.5)}
    decided = decide.in_every_cell(found, "ours - theirs", "points")
    assert decided.verdict == "mixed"
    assert "decided by wide, +3.00 points" in decided.evidence
    found["one seed"] = decide.mean_interval(series(5))
    assert "decided by one seed, +5.00 points, 1 seed" in decide.in_every_cell(found, "it", "points").evidence


def test_cells_that_are_not_there_cannot_support():
    found = {"a": interval(1, 0.5, 1.5), "b": interval(2, 0.1, 3.9)}
    assert decide.in_every_cell(found, "it", "points").verdict == "supported"
    decided = decide.in_every_cell(found, "it", "points", 3)
    assert decided.verdict == "mixed"
    assert "1 of 3 cells not among these; decided by b" in decided.evidence
    assert decide.in_every_cell({}, "it", "points", 3).verdict == "not testable at this scale"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.5, 2.5, "supported"),
        (2.5, 2.7, "supported"),
        (5, 8, "mixed"),  # larger than printed
        (-1, 2.5, "mixed"),
        (0.5, 1.5, "not supported"),
    ],
)
def test_a_printed_size_has_two_ends(low, high, verdict):
    decided = decide.against_printed(interval((low + high) / 2, low, high), 2, "gain", 3)
    assert decided.verdict == verdict
    assert decided.evidence.endswith("printed 2 to 3 %")


def test_a_printed_number_is_exceeded_by_an_interval_above_it():
    assert decide.against_printed(interval(2.4, 2.2, 2.6), 2.17, "gain").verdict == "mixed"
    assert decide.against_printed(interval(2.2, 1.9, 2.5), 2.17, "gain").verdict == "supported"
    assert decide.against_printed(None, 2.17, "gain").verdict == "not testable at this scale"


def test_words():
    assert decide.words(decide.mean_interval(series(1, 1))) == "+1.00 points [+1.00, +1.00], 2 seeds"
    assert decide.words(decide.mean_interval(series(0.5)), "s", 1) == "+0.5 s, 1 seed"


def test_variants_by_method_and_options():
    rows = pd.DataFrame(
        {
            "method": ["fedavg", "fedavg", "feddrl", "fedprox"],
            "method_options": ["{}", '{"weights": "uniform"}', '{"mode": "online", "b": 1}', None],
        }
    )
    named = with_variant(
        rows,
        {"uniform": ("fedavg", {"weights": "uniform"}), "feddrl_online": ("feddrl", {"mode": "online"})},
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
