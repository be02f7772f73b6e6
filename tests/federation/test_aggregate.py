"""Aggregation against hand-worked numbers and invariants."""

import torch

from fedlib.federation import model_bytes, weighted_mean


def test_weighted_mean_by_hand_for_two_replicas():
    stacked = torch.tensor([[1.0, 2.0], [3.0, 6.0], [10.0, 0.0], [20.0, 4.0]])
    weights = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    assert weighted_mean(stacked, weights).tolist() == [[2.5, 5.0], [15.0, 2.0]]


def test_a_client_of_weight_0_is_left_out_even_if_it_diverged():
    stacked = torch.tensor([[1.0, 2.0], [torch.nan, torch.inf], [3.0, 6.0], [4.0, 8.0]])
    mean = weighted_mean(stacked, torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    assert mean.tolist() == [[1.0, 2.0], [3.5, 7.0]]
    assert stacked[1].isnan().any()  # the local model stays as it was
    assert weighted_mean(stacked[:2], torch.tensor([[0.5, 0.5]])).isfinite().sum() == 0


def test_integer_buffers_keep_their_type():
    stacked = torch.tensor([[4], [7]])
    mean = weighted_mean(stacked, torch.tensor([[0.5, 0.5]]))
    assert mean.dtype == torch.int64
    assert mean.tolist() == [[5]]
    thirds = torch.full((1, 3), 1 / 3)
    assert weighted_mean(torch.tensor([6, 6, 6]), thirds).tolist() == [6]


def test_equal_models_stay_and_order_does_not_matter():
    values = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    weights = torch.softmax(torch.randn(1, 5, generator=torch.Generator().manual_seed(1)), dim=1)
    same = values[:1].expand(5, -1).contiguous()
    torch.testing.assert_close(weighted_mean(same, weights)[0], values[0])
    order = torch.tensor([3, 1, 4, 0, 2])
    torch.testing.assert_close(
        weighted_mean(values[order], weights[:, order]), weighted_mean(values, weights)
    )


def test_model_bytes_count_one_model():
    params = {"w": torch.zeros(3, 5, 2)}
    assert model_bytes(params, {"n": torch.zeros(3, dtype=torch.int64)}) == 5 * 2 * 4 + 8
