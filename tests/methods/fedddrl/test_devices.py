"""Simulated devices: latency and cost by hand, draws by (seed, client), histories."""

import numpy as np
import pytest

from fedlib.errors import UsageError
from fedlib.methods.fedddrl.devices import (
    COMPUTE_SECONDS,
    UPLOAD_SECONDS,
    Devices,
    draw_devices,
    empty_history,
    latency_unit,
    recent,
    record,
    round_cost,
    round_latency,
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


def test_latency_unit_of_mnist():
    """N = 100 clients of 600 samples: 5 * 0.75 * 600 + 2 = 2252 s is the slowest client at E = 5."""
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


def test_bad_input_is_one_line():
    with pytest.raises(UsageError, match="unknown latency rule 'max'; allowed: printed, fedmarl"):
        round_latency(THREE, CLIENTS, SIZES, EPOCHS, np.ones(3), rule="max")
    with pytest.raises(UsageError, match="history of 0 values given"):
        empty_history(1, 1, 0)
