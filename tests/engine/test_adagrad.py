"""Adagrad on stacked parameters, lane by lane against torch.optim."""

import pytest
import torch

from fedlib.engine import make_optimizer


@pytest.mark.parametrize("rate", [0.05, (0.05, 0.02, 0.05)])
def test_lanes_are_those_of_torch(rate):
    generator = torch.Generator().manual_seed(0)
    params = [torch.randn(3, 4, 5, generator=generator), torch.randn(3, 5, generator=generator)]
    rates = rate if isinstance(rate, tuple) else (rate,) * 3
    alone = [[p[lane].clone().requires_grad_() for p in params] for lane in range(3)]
    theirs = [torch.optim.Adagrad(own, lr=r) for own, r in zip(alone, rates, strict=True)]
    ours = make_optimizer("adagrad")
    state, steps = ours.init(params), torch.zeros(3)
    given = torch.tensor(rate) if isinstance(rate, tuple) else rate
    for _ in range(4):
        gradients, steps = [torch.randn(p.shape, generator=generator) for p in params], steps + 1
        for lane, own in enumerate(alone):
            for p, gradient in zip(own, gradients, strict=True):
                p.grad = gradient[lane].clone()
            theirs[lane].step()
        ours.update(params, gradients, state, given, steps)
    for lane, own in enumerate(alone):
        for p, expected in zip(params, own, strict=True):
            torch.testing.assert_close(p[lane], expected.detach())


def test_views_of_some_lanes_and_gradients_in_another_layout():
    """What the engine hands over: first lanes of larger tensors, gradients that are transposed products."""
    generator = torch.Generator().manual_seed(0)
    whole = torch.randn(3, 4, 5, generator=generator)
    before, plain = whole.clone(), whole[:2].clone().requires_grad_()
    gradient = torch.randn(2, 5, 4, generator=generator).transpose(1, 2)
    theirs, ours = torch.optim.Adagrad([plain], lr=0.05), make_optimizer("adagrad")
    state = ours.init([whole])
    for step in range(3):
        plain.grad = gradient.clone()
        theirs.step()
        views = {slot: [t[:2] for t in tensors] for slot, tensors in state.items()}
        ours.update([whole[:2]], [gradient], views, 0.05, torch.full((2,), step + 1.0))
    torch.testing.assert_close(whole[:2], plain.detach())
    assert torch.equal(whole[2], before[2])
    assert not state["sum"][0][2].any()
