"""The verdict table of design section 5, case by case, and Holm's correction worked by hand."""

import numpy as np
import pytest

from fedlib.analysis import decisions
from fedlib.analysis.decisions import (
    EQUIVALENCE,
    EVERYWHERE,
    INCONCLUSIVE,
    NOT_TESTABLE,
    PARTLY,
    REFUTED,
    SMALLER,
    SUPERIORITY,
    SUPPORTED,
    above_zero,
    combine,
    decide,
    holm,
)
from fedlib.analysis.intervals import Interval, mean_interval, t_quantile
from fedlib.errors import UsageError

T2 = 4.302653  # 97.5 % quantile of t with 2 degrees of freedom


def three_seeds(low, high):
    """Three seeds of one cell whose 95 % t interval is [low, high]."""
    mean, deviation = (low + high) / 2, (high - low) / 2 * np.sqrt(3) / T2
    return np.array([[mean - deviation], [mean], [mean + deviation]])


def test_t_bounds_by_hand():
    mean, low, high = decisions.t_bounds(three_seeds(-1, 3)[:, 0])
    assert (mean, low, high) == (pytest.approx(1), pytest.approx(-1), pytest.approx(3))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 3.0, SUPPORTED),  # above 0, reaching the margin
        (1.5, 3.0, SUPPORTED),
        (0.1, 0.9, SMALLER),  # above 0 and below the margin
        (-0.5, 0.9, REFUTED),  # below the margin, whatever its sign
        (-3.0, -1.0, REFUTED),
        (-0.5, 1.5, INCONCLUSIVE),
        (-0.01, 1.01, INCONCLUSIVE),
    ],
)
def test_superiority_with_margin_one(low, high, verdict):
    assert decide(three_seeds(low, high), SUPERIORITY, 1.0) == verdict


def test_a_small_superiority_without_printed_size_is_plainly_supported():
    assert decide(three_seeds(0.1, 0.9), SUPERIORITY, 1.0, sized=False) == SUPPORTED


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.9, 0.9, SUPPORTED),
        (0.1, 0.9, SUPPORTED),  # a difference that is there and does not matter
        (1.1, 3.0, REFUTED),
        (-3.0, -1.1, REFUTED),
        (-0.5, 1.5, INCONCLUSIVE),
        (-1.5, 1.5, INCONCLUSIVE),
    ],
)
def test_equivalence_with_margin_one(low, high, verdict):
    assert decide(three_seeds(low, high), EQUIVALENCE, 1.0) == verdict


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ([(-0.9, 2), (0.1, 3)], SUPPORTED),
        ([(-1.1, 2), (0.1, 3)], INCONCLUSIVE),
        ([(-9.0, -5.0), (0.1, 3)], REFUTED),
        ([(-3.0, -1.05), (0.1, 3)], INCONCLUSIVE),  # below -1 alone, but not among two with Holm
        ([(-3.0, -1.05)], REFUTED),
    ],
)
def test_everywhere_with_margin_one(cells, verdict):
    samples = np.concatenate([three_seeds(*cell) for cell in cells], axis=1)
    assert decide(samples, EVERYWHERE, 1.0) == verdict


def test_one_seed_decides_nothing():
    for kind in (SUPERIORITY, EQUIVALENCE, EVERYWHERE):
        assert decide(np.array([[5.0, 6.0]]), kind, 1.0) == NOT_TESTABLE


def test_cells_are_pooled_before_seeds():
    samples = np.array([[10.0, -9.0], [-9.0, 10.0], [10.0, -8.9]])  # mean over cells 0.5, 0.5, 0.55
    assert decide(samples, SUPERIORITY, 2.0) == SMALLER


def test_many_experiments_at_once():
    samples = np.stack([three_seeds(1.5, 3), three_seeds(-3, 0.5)])
    assert decide(samples, SUPERIORITY, 1.0).tolist() == [SUPPORTED, REFUTED]


def test_without_spread():
    assert decide(np.zeros((3, 1)), SUPERIORITY, 1.0) == REFUTED
    assert decide(np.zeros((3, 2)), EQUIVALENCE, 1.0) == SUPPORTED
    assert decide(np.full((3, 2), -1.0), EVERYWHERE, 1.0) == INCONCLUSIVE  # exactly at the margin
    assert decide(np.full((3, 2), -1.1), EVERYWHERE, 1.0) == REFUTED


def test_an_unknown_kind():
    with pytest.raises(UsageError, match="unknown kind of claim 'better'; allowed: superiority"):
        decide(np.zeros((3, 1)), "better", 1.0)


def test_means_above_zero_by_hand():
    """One-sided p of five values with t = 4, 3 and -4 (4 degrees of freedom): 0.0081, 0.0200 and 0.9919.

    Holm allows 0.025 / 3 and then 0.025 / 2. Two values that are equal have t infinite; one value never.
    """
    four, three, below = (Interval(t, t - t_quantile(4), t + t_quantile(4), 5) for t in (4.0, 3.0, -4.0))
    assert above_zero([three, below, four]) == [False, False, True]
    assert above_zero([three]) == [True]
    assert above_zero([mean_interval(np.full(2, 1.0)), mean_interval(np.ones(1))]) == [True, False]
    assert above_zero([mean_interval(np.full(2, -1.0)), mean_interval(np.zeros(3))]) == [False, False]


def test_holm_by_hand():
    # 0.01 <= 0.05/4, 0.013 <= 0.05/3, 0.02 <= 0.05/2, 0.3 > 0.05; Bonferroni would keep the second
    assert holm(np.array([0.02, 0.01, 0.3, 0.013]), 0.05).tolist() == [True, True, False, True]
    assert holm(np.array([0.02, 0.04]), 0.05).tolist() == [True, True]
    assert holm(np.array([0.03, 0.04]), 0.05).tolist() == [False, False]  # the first keeps the rest


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([SUPPORTED, SUPPORTED, SUPPORTED], SUPPORTED),
        ([SUPPORTED, SMALLER], SMALLER),
        ([SUPPORTED, REFUTED], PARTLY),
        ([SMALLER, REFUTED, INCONCLUSIVE], PARTLY),
        ([SUPPORTED, REFUTED, NOT_TESTABLE], PARTLY),
        ([REFUTED, REFUTED], REFUTED),
        ([REFUTED, INCONCLUSIVE], REFUTED),
        ([REFUTED, NOT_TESTABLE], REFUTED),  # a refutation outranks what could not be tested
        ([SUPPORTED, INCONCLUSIVE], INCONCLUSIVE),
        ([SUPPORTED, NOT_TESTABLE], INCONCLUSIVE),
        ([INCONCLUSIVE, NOT_TESTABLE], INCONCLUSIVE),
        ([NOT_TESTABLE, NOT_TESTABLE], NOT_TESTABLE),
    ],
)
def test_parts(parts, verdict):
    assert combine(parts) == verdict
    assert combine(parts[::-1]) == verdict


def test_parts_of_many_experiments():
    assert combine(np.array([[SUPPORTED, REFUTED], [REFUTED, REFUTED]])).tolist() == [PARTLY, REFUTED]


def test_samples_may_be_lists():
    assert decide([[1.0], [2.0], [3.0]], EVERYWHERE, 9.0) == SUPPORTED
    assert decide([[1.0]], EVERYWHERE, 9.0) == NOT_TESTABLE
