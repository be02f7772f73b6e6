"""Eqs. (5) to (7) and constraint (6) by hand, for K = 3."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlib.methods.feddrl.mdp import (
    centre,
    explore,
    gaussians,
    impact_factors,
    observe,
    reward,
    shuffle_slots,
)

BEFORE, AFTER = torch.tensor([[1.0, 2.0, 5.0]]), torch.tensor([[0.5, 0.5, 1.0]])
SIZES = torch.tensor([[10.0, 30.0, 60.0]])


def test_state_by_hand():
    shares = [1 / 8, 2 / 8, 5 / 8, 0.25, 0.25, 0.5, 0.1, 0.3, 0.6]
    torch.testing.assert_close(observe(BEFORE, AFTER, SIZES), torch.tensor([shares]))
    losses = [1, 2, 5, 0.5, 0.5, 1, 0.1, 0.3, 0.6]
    torch.testing.assert_close(observe(BEFORE, AFTER, SIZES, "losses"), torch.tensor([losses]))
    assert observe(BEFORE, AFTER, SIZES, "raw").tolist() == [[1, 2, 5, 0.5, 0.5, 1, 10, 30, 60]]


def test_state_of_perfect_clients_is_zero_not_nan():
    state = observe(BEFORE, torch.zeros(1, 3), SIZES)
    assert state[0, 3:6].tolist() == [0, 0, 0]


def test_shuffling_moves_a_client_in_all_three_blocks():
    state = observe(BEFORE, AFTER, SIZES, "raw")
    shuffled = shuffle_slots(state, torch.tensor([[2, 0, 1]]))
    assert shuffled.tolist() == [[5, 1, 2, 1, 0.5, 0.5, 60, 10, 30]]


def test_reward_by_hand():
    """Eq. (7): mean 8/3, gap 4; as a reward negated (FEDDRL-A1)."""
    assert reward(BEFORE).item() == pytest.approx(-(8 / 3 + 4))


def test_head_by_hand():
    """u = (0, ln 3, -ln 3) gives mu = (1/2, 3/4, 1/4); v = 0 gives sigma = beta * mu / 2."""
    outputs = torch.tensor([0.0, math.log(3), -math.log(3), 0.0, 0.0, 0.0])
    expected = [0.5, 0.75, 0.25, 0.05, 0.075, 0.025]
    torch.testing.assert_close(gaussians(outputs, beta=0.2), torch.tensor(expected))


def test_exploration_by_hand():
    """mu + noise clipped to [0, 1]; sigma clipped to [0, beta mu], beta = 0.5."""
    action = torch.tensor([[0.5, 0.9, 0.1, 0.10, 0.10, 0.05]])
    noise = torch.tensor([[0.1, 0.3, -0.3, 0.05, 0.60, 0.10]])
    torch.testing.assert_close(
        explore(action, noise, beta=0.5), torch.tensor([[0.6, 1.0, 0.0, 0.15, 0.5, 0.0]])
    )


def test_impact_factors_by_hand():
    """z = mu + sigma * draw = (ln 2, 0, ln 1) -> exp(z) = (2, 1, 1): alpha = (1/2, 1/4, 1/4)."""
    action = torch.tensor([[math.log(2) - 0.1, 0.2, 0.0, 0.1, 0.1, 0.0]])
    draw = torch.tensor([[1.0, -2.0, 5.0]])
    torch.testing.assert_close(impact_factors(action, draw), torch.tensor([[0.5, 0.25, 0.25]]))


@given(
    st.lists(st.floats(-30, 30, width=32), min_size=6, max_size=6),
    st.lists(st.floats(-3, 3, width=32), min_size=6, max_size=6),
    st.floats(0, 1),
)
def test_constraint_6_always_holds(outputs, noise, beta):
    """sigma <= beta mu and mu in [0, 1], for the policy's answer and after exploration."""
    answer = gaussians(torch.tensor([outputs]), beta)
    for action in (answer, explore(answer, torch.tensor([noise]), beta)):
        mu, sigma = action.chunk(2, dim=1)
        assert (sigma <= beta * mu + 1e-7).all()
        assert (sigma >= 0).all()
        assert ((mu >= 0) & (mu <= 1)).all()
        alpha = impact_factors(action, torch.tensor([noise[:3]]))
        assert alpha.sum().item() == pytest.approx(1, abs=1e-5)
        assert (alpha > 0).all()


def test_range_of_impact_factors_for_ten_clients():
    """FEDDRL-A8: with mu in [0, 1] and sigma = 0, alpha lies in [1 / (1 + 9 e), e / (e + 9)]."""
    low, high = 1 / (1 + 9 * math.e), math.e / (math.e + 9)
    assert (round(low, 3), round(high, 3)) == (0.039, 0.232)
    for favourite in (0.0, 1.0):
        mu = torch.full((1, 10), 1 - favourite)
        mu[0, 0] = favourite
        alpha = impact_factors(torch.cat([mu, torch.zeros(1, 10)], dim=1), torch.randn(1, 10))
        assert alpha[0, 0].item() == pytest.approx(high if favourite else low)
    random = torch.rand(500, 10, generator=torch.Generator().manual_seed(0))
    alpha = impact_factors(torch.cat([random, torch.zeros_like(random)], dim=1), torch.zeros(500, 10))
    assert low < alpha.min()
    assert alpha.max() < high


def test_centring_by_hand():
    """Rewards -3, -2, -2 at rate 0.5: means -3, -2.5; stored 0, 1, 0.5."""
    mean, stored = None, []
    for earned in (-3.0, -2.0, -2.0):
        left, mean = centre(torch.tensor([earned]), mean, 0.5)
        stored.append(left.item())
    assert stored == [0, 1, 0.5]


def test_centring_at_rate_1_is_the_change_of_the_reward():
    _, mean = centre(torch.tensor([-3.0]), None, 1.0)
    left, mean = centre(torch.tensor([-2.0]), mean, 1.0)
    assert (left.item(), mean.item()) == (1, -2)
