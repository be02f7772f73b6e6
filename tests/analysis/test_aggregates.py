"""Aggregates over settings against values worked out by hand and against scipy."""

import numpy as np
import pytest
from scipy import stats

from fedlib.analysis import aggregates


def test_interquartile_mean_drops_a_quarter_on_each_side():
    assert aggregates.interquartile_mean(np.array([[0.0, 1.0, 2.0, 100.0]])) == 1.5
    assert aggregates.interquartile_mean(np.arange(8.0).reshape(2, 4)) == 3.5


def test_probability_of_improvement_is_mann_whitney_in_one_setting():
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(0.3, 1, (1, 7)), rng.normal(0, 1, (1, 5))
    statistic = stats.mannwhitneyu(ours[0], theirs[0]).statistic / 35
    assert aggregates.probability_of_improvement(ours, theirs) == pytest.approx(statistic)


def test_probability_of_improvement_averages_over_settings():
    """Setting 1: always better. Setting 2: one tie of two, one worse: (0.5 + 0) / 2."""
    ours = np.array([[2.0, 3.0], [1.0, 0.0]])
    theirs = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert aggregates.probability_of_improvement(ours, theirs) == pytest.approx((1 + 0.25) / 2)


def test_interval_covers_the_mean_of_normal_scores():
    """Of 200 experiments some 95 % cover; a bootstrap of 10 seeds covers somewhat less."""
    rng = np.random.default_rng(1)
    covered = 0

    def mean(scores):
        return scores.mean(axis=(-1, -2))

    for trial in range(200):
        scores = rng.normal(0, 1, (3, 10))
        found = aggregates.stratified_interval(mean, scores, resamples=200, seed=trial)
        covered += found.low <= 0 <= found.high
    assert 170 <= covered <= 200


def test_pairs_stay_together():
    """The difference of scores that differ by a constant has no spread, and so no bounds."""
    base = np.random.default_rng(2).integers(0, 9, (2, 8)).astype(float)

    def difference(a, b):
        return (a - b).mean(axis=(-1, -2))

    together = aggregates.stratified_interval(difference, base + 1, base, resamples=50)
    assert (together.mean, np.isnan(together.low), np.isnan(together.high)) == (1, True, True)
    apart = aggregates.stratified_interval(difference, base + 1, base, resamples=50, independent=True)
    assert apart.low < 1 < apart.high


def test_improvement_draws_the_seeds_of_both_by_themselves():
    """A method against itself, two seeds: the same draws give one half always, own draws 0 to 1.

    Of the 16 equally likely pairs of draws two give 0 (1, 1 against 2, 2) or 1: an eighth in all, so that
    the 2.5 % and 97.5 % quantiles are 0 and 1.
    """
    scores, statistic = np.array([[1.0, 2.0]]), aggregates.probability_of_improvement
    together = aggregates.stratified_interval(statistic, scores, scores)
    apart = aggregates.stratified_interval(statistic, scores, scores, independent=True)
    assert together.mean == 0.5
    assert np.isnan([together.low, together.high]).all()
    assert (apart.low, apart.mean, apart.high) == (0, 0.5, 1)


def test_ranks():
    scores = np.array([[[3.0, 1.0]], [[2.0, 1.0]], [[1.0, 5.0]]])
    assert aggregates.mean_ranks(scores).tolist() == [(1 + 2.5) / 2, (2 + 2.5) / 2, (3 + 1) / 2]


def test_published_example_of_rliable():
    """Scores of rliable's own test (tests/rliable/metrics_test.py), there [runs, settings]: 1.5, 2, 1/3."""
    x = np.array([[1, 2], [2, 2], [1, 1], [2, 1]]).T
    y = np.array([[1, 1], [2, 2], [3, 3]]).T
    assert aggregates.interquartile_mean(x) == 1.5
    assert aggregates.interquartile_mean(y) == 2
    assert aggregates.probability_of_improvement(x, y) == pytest.approx(1 / 3)


def test_published_example_of_ranks():
    """The documented example of scipy.stats.rankdata: 0, 2, 3, 2 have the ranks 1, 2.5, 4, 2.5."""
    errors = np.array([0.0, 2.0, 3.0, 2.0])
    assert aggregates.mean_ranks(-errors[:, None, None]).tolist() == [1, 2.5, 4, 2.5]


def test_intervals_of_ranks():
    """A leads B in seed 0 and is behind it in seed 1; C is last throughout: its rank has no spread.

    No bounds then: that A beats C in two seeds of two does not say that it always would.
    """
    scores = np.array([[[3.0, 2.0]], [[2.0, 3.0]], [[1.0, 1.0]]])
    first, second, third = aggregates.rank_intervals(scores)
    assert (first.mean, first.low, first.high, first.n) == (1.5, 1, 2, 2)
    assert (second.mean, second.low, second.high) == (1.5, 1, 2)
    assert third.mean == 3
    assert np.isnan([third.low, third.high]).all()


def test_one_seed_has_no_bounds():
    """Resamples of one seed are that seed: a percentile interval would have no width, and look certain."""
    scores = np.array([[1.0], [2.0]])
    found = [aggregates.stratified_interval(aggregates.interquartile_mean, scores)]
    found += aggregates.rank_intervals(np.stack([scores, scores + 1]))
    assert [one.mean for one in found] == [1.5, 2, 1]
    assert np.isnan([[one.low, one.high] for one in found]).all()
    assert [one.n for one in found] == [1, 1, 1]
