"""Simulated devices: latency and cost by hand, draws by (seed, client), the FRL report's times."""

import numpy as np
import pytest

from fedlib import seeds
from fedlib.errors import UsageError
from fedlib.system import (
    COMPUTE_SECONDS,
    UPLOAD_SECONDS,
    Clock,
    Devices,
    Workers,
    draw_devices,
    draw_workers,
    empty_history,
    latency_unit,
    recent,
    record,
    round_cost,
    round_latency,
    worker_times,
)

THREE = Devices(np.array([0.25, 0.50, 0.75]), np.array([2.00, 1.00, 1.25]))
CLIENTS, SIZES, EPOCHS = np.array([0, 1, 2]), np.array([100, 40, 60]), np.array([7, 5, 3])


def test_latency_of_three_clients_by_hand():
    """H^c = (0.25*100*7, 0.5*40*5, 0.75*60*3) = (175, 100, 135); H^c + H^u = (177, 101, 136.25).

    H^p = (25, 20, 45); the rest with the upload = (152, 81, 91.25).
    """

    def latency(kept, rule):
        return float(round_latency(THREE, CLIENTS, SIZES, EPOCHS, np.array(kept), rule=rule))

    assert latency([1, 1, 1], "printed") == 177.0
    assert latency([0, 1, 1], "printed") == 136.25
    assert latency([0, 1, 0], "printed") == 101.0
    assert latency([1, 1, 1], "fedmarl") == 45.0 + 152.0
    assert latency([0, 1, 0], "fedmarl") == 45.0 + 81.0  # the dropped clients' probes are waited for
    assert latency([0, 0, 0], "printed") == 0.0


def test_latency_and_cost_of_replicas_are_those_of_each_alone():
    kept = np.array([[1, 1, 1], [0, 1, 0]])
    both = round_latency(THREE, np.tile(CLIENTS, (2, 1)), np.tile(SIZES, (2, 1)), EPOCHS, kept)
    assert both.tolist() == [177.0, 101.0]
    assert round_cost(kept).tolist() == [3.0, 1.0]
    assert round_cost(kept, np.array([1.0, 0.5, 2.0])).tolist() == [3.5, 0.5]


def test_a_dearer_sample_scales_computing_but_not_the_upload():
    assert float(round_latency(THREE, CLIENTS, SIZES, EPOCHS, np.ones(3), factor=1.1)) == pytest.approx(
        192.5 + 2
    )


def test_latency_unit_of_mnist():
    """K = 100 clients of 600 samples: 5 * 0.75 * 600 + 2 = 2252 s is the slowest client at E = 5."""
    assert latency_unit(600) == 2252.0
    slowest = Devices(np.array([0.75]), np.array([2.0]))
    assert round_latency(slowest, np.array([0]), np.array([600]), 5, np.array([1])) == 2252.0


def test_devices_depend_on_seed_and_client_alone():
    few, many = draw_devices(3, 10), draw_devices(3, 400)
    np.testing.assert_array_equal(few.compute_seconds, many.compute_seconds[:10])
    np.testing.assert_array_equal(few.upload_seconds, many.upload_seconds[:10])
    assert not np.array_equal(draw_devices(4, 400).compute_seconds, many.compute_seconds)
    for values, allowed in (
        (many.compute_seconds, COMPUTE_SECONDS), (many.upload_seconds, UPLOAD_SECONDS)
    ):  # fmt: skip
        shares = np.array([(values == value).mean() for value in allowed])
        assert shares.sum() == 1
        np.testing.assert_allclose(shares, 1 / len(allowed), atol=0.08)  # 3 standard errors of 400


def test_history_belongs_to_the_client_and_is_padded_with_the_current_value():
    """Client 2 sits in slot 0, then client 5, then client 2 again in slot 1."""
    history = empty_history(1, 6, 3)
    history = record(history, np.array([[2, 4]]), np.array([[10.0, 40.0]]))
    assert recent(history, np.array([[2, 4]])).tolist() == [[[10, 10, 10], [40, 40, 40]]]
    history = record(history, np.array([[5, 2]]), np.array([[50.0, 11.0]]))
    assert recent(history, np.array([[5, 2]])).tolist() == [[[50, 50, 50], [11, 10, 11]]]
    for value in (12.0, 13.0):
        before, history = history, record(history, np.array([[2]]), np.array([[value]]))
    assert recent(history, np.array([[2]])).tolist() == [[[11, 12, 13]]]
    assert recent(before, np.array([[2]])).tolist() == [[[10, 11, 12]]]  # the old state is untouched


def test_clock_moves_only_forward():
    assert Clock().advance(1.5).advance(0.25).seconds == 1.75
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match=r"the clock was moved by .* s; allowed: 0 or more, finite"):
            Clock().advance(wrong)


def test_times_of_the_report_by_hand():
    """3,000 samples: floor(3000 / 64) = 46 batches, 138 in 3 epochs; 38.396 Mb at 8, 0.5, 30, 5 Mb/s.

    T^c = 69 and 138 s; T^u = 4.7995 and 76.7924 s; T^d = 1.2799 and 7.6792 s.
    """
    workers = Workers(np.array([0.5, 1.0]), np.array([8.0, 0.5]), np.array([30.0, 5.0]))
    times = worker_times(workers, [600, 600])
    np.testing.assert_allclose(times, [[69, 4.7995, 1.2799], [138, 76.7924, 7.6792]], atol=1e-4)
    single = worker_times(workers, [600, 30], data_factor=1, epochs=1)
    np.testing.assert_allclose(single[:, 0], [0.5 * 9, 1.0])  # 30 samples are one small batch


def test_median_round_of_ten_random_workers_is_the_reports():
    """FRL-A16: the maximum over 10 random workers has median 257 s, quartiles 224 and 327."""
    workers = draw_workers(0, 4000)
    total = worker_times(workers, np.full(4000, 600)).sum(axis=1)
    slowest = total[seeds.rng(0, "test").integers(0, 4000, (20_000, 10))].max(axis=1)
    np.testing.assert_allclose(np.quantile(slowest, [0.25, 0.5, 0.75]), [224, 257, 327], rtol=0.04)


def test_links_are_fast_or_slow_together_and_draws_repeat():
    workers = draw_workers(1, 500)
    slow = workers.download_mbps < 11  # 6 and 3.8 standard deviations away
    assert 0.4 < slow.mean() < 0.6
    assert workers.upload_mbps[slow].max() < 1.6 < workers.upload_mbps[~slow].min()
    assert workers.upload_mbps.min() >= 0.02
    same = draw_workers(1, 20, round_index=7)
    np.testing.assert_array_equal(same.upload_mbps, workers.upload_mbps[:20])


def test_draws_per_round_keep_the_workers_kind():
    first, second = (draw_workers(1, 200, round_index=r, draws="round") for r in (1, 2))
    assert not np.array_equal(first.batch_seconds, second.batch_seconds)
    np.testing.assert_allclose(first.batch_seconds, second.batch_seconds, atol=0.15)
    np.testing.assert_array_equal(first.download_mbps < 11, second.download_mbps < 11)


def test_bad_input_is_one_line():
    workers = Workers(np.array([0.5, 1.0]), np.array([8.0, 0.0]), np.array([30.0, 5.0]))
    with pytest.raises(UsageError, match=r"worker 1 has upload bandwidth 0\.0 Mb/s; allowed: above 0"):
        worker_times(workers, [600, 600])
    with pytest.raises(UsageError, match="worker 0 has 0 samples; allowed: 1 or more"):
        worker_times(workers, [0, 600])
    with pytest.raises(UsageError, match=r"least bandwidth 0 Mb/s given; allowed: above 0"):
        draw_workers(0, 2, floor_mbps=0)
    with pytest.raises(UsageError, match="unknown latency rule 'max'; allowed: printed, fedmarl"):
        round_latency(THREE, CLIENTS, SIZES, EPOCHS, np.ones(3), rule="max")
    with pytest.raises(UsageError, match="history of 0 values given"):
        empty_history(1, 1, 0)
