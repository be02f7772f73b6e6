"""Aggregation against hand-worked numbers and invariants."""

import warnings
from dataclasses import dataclass

import pytest
import torch
from worlds import make_world

from fedlib.errors import UsageError
from fedlib.federation import (
    Method,
    client_updates,
    finish_round,
    initial_state,
    model_bytes,
    rounds,
    train_and_average,
    train_cohort,
    weighted_mean,
)
from fedlib.methods.fedddrl.device_costs import DeviceCosts


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
    assert mean.tolist() == [[6]]
    of_25 = torch.full((1, 25), 1 / 25)
    assert of_25.double().sum() < 1  # in float32 no 25 equal shares sum to 1
    assert weighted_mean(torch.full((25,), 1000), of_25).tolist() == [1000]


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


@dataclass(frozen=True)
class Given(Method):
    """Averages with the weights that it is given, the same ones in every round."""

    weights: object

    def init(self, task):
        return initial_state(task)

    def apply(self, task, state, cohort):
        return finish_round(task, state, cohort, train_cohort(task, state, cohort), self.weights)


@dataclass(frozen=True)
class Averaged(Given):
    def apply(self, task, state, cohort):
        return train_and_average(task, state, cohort, self.weights)


@dataclass(frozen=True)
class Shrinking(Given):
    weights_sum_to_1 = False


def play(method, seeds=(0, 1)):
    return [*rounds(make_world(seeds=seeds, client_eval="none"), method)]


@pytest.mark.parametrize("method", [Given, Averaged])
@pytest.mark.parametrize(
    ("weights", "given"),
    [
        (torch.full((4,), 0.25), r"\(4,\)"),
        (torch.full((1, 4), 0.25), r"\(1, 4\)"),
        (torch.full((2, 4), 0.25).numpy(), "ndarray"),
    ],
)
def test_weights_of_another_shape_are_refused(method, weights, given, monkeypatch):
    monkeypatch.setattr(client_updates, "LOCAL_MODELS_BYTES", 1)  # part by part
    with pytest.raises(UsageError, match=rf"weights given: {given}; allowed: a tensor \[R, K\] = \[2, 4\]"):
        play(method(weights))


def test_weights_that_do_not_sum_to_1_are_told_once_a_run():
    sizes = torch.tensor([[0.25] * 4, [0.1] * 4])
    said = r"the weights of Given sum to 0\.4 in round 1 and are used as they are; .*weights_sum_to_1 = False"
    with pytest.warns(UserWarning, match=said) as told:
        assert play(Given(sizes))[-1].round == 3
    assert len(told) == 1
    with pytest.warns(UserWarning, match=said):
        play(DeviceCosts(Given(sizes)))


@pytest.mark.parametrize("method", [Shrinking(torch.full((2, 4), 0.1)), Given(torch.full((2, 4), 0.2501))])
def test_weights_that_mean_it_or_are_rounded_are_not_told(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert play(method)[-1].round == 3
