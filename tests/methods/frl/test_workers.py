"""The FRL report's simulated workers: times by hand, links, draws by (seed, worker)."""

import numpy as np
import pytest

from fedlib import seeds
from fedlib.errors import UsageError
from fedlib.methods.frl.workers import Workers, draw_workers, worker_times


def test_times_of_the_report_by_hand():
    """3,000 samples: floor(3000 / 64) = 46 batches, 138 in 3 epochs; 38.396 Mb at 8, 0.5, 30, 5 Mb/s.

    T^c = 69 and 138 s; T^u = 4.7995 and 76.7924 s; T^d = 1.2799 and 7.6792 s.
    """
    workers = Workers(np.array([0.5, 1.0]), np.array([8.0, 0.5]), np.array([30.0, 5.0]))
    times = worker_times(workers, [600, 600])
    np.testing.assert_allclose(times, [[69, 4.7995, 1.2799], [138, 76.7924, 7.6792]], atol=1e-4)
    single = worker_times(workers, [600, 12], epochs=1)
    np.testing.assert_allclose(single[:, 0], [0.5 * 46, 1.0])  # 60 samples are one small batch


def test_median_round_of_ten_random_workers_is_the_reports():
    """FRL-A16: the maximum over 10 random workers has median 257 s, quartiles 224 and 327."""
    workers = draw_workers(0, 4000, 0)
    total = worker_times(workers, np.full(4000, 600)).sum(axis=1)
    slowest = total[seeds.rng(0, "test").integers(0, 4000, (20_000, 10))].max(axis=1)
    np.testing.assert_allclose(np.quantile(slowest, [0.25, 0.5, 0.75]), [224, 257, 327], rtol=0.04)


def test_links_are_fast_or_slow_together_and_draws_repeat():
    workers = draw_workers(1, 500, 0)
    slow = workers.download_mbps < 11  # 6 and 3.8 standard deviations away
    assert 0.4 < slow.mean() < 0.6
    assert workers.upload_mbps[slow].max() < 1.6 < workers.upload_mbps[~slow].min()
    assert workers.upload_mbps.min() >= 0.02
    same = draw_workers(1, 20, 0)
    np.testing.assert_array_equal(same.upload_mbps, workers.upload_mbps[:20])


def test_draws_per_round_keep_the_workers_kind():
    first, second = (draw_workers(1, 200, r) for r in (1, 2))
    assert not np.array_equal(first.batch_seconds, second.batch_seconds)
    np.testing.assert_allclose(first.batch_seconds, second.batch_seconds, atol=0.15)
    np.testing.assert_array_equal(first.download_mbps < 11, second.download_mbps < 11)


def test_bad_input_is_one_line():
    workers = Workers(np.array([0.5, 1.0]), np.array([8.0, 0.0]), np.array([30.0, 5.0]))
    with pytest.raises(UsageError, match=r"worker 1 has upload bandwidth 0\.0 Mb/s; allowed: above 0"):
        worker_times(workers, [600, 600])
    with pytest.raises(UsageError, match="worker 0 has 0 samples; allowed: 1 or more"):
        worker_times(workers, [0, 600])
