"""Stacked networks against nn.Sequential, Adam against torch.optim, parameter counts of the papers."""

import pytest
import torch
from torch import nn

from fedlib.rl import Mlp
from fedlib.rl.networks import Layers, adam_, soft_update_


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def as_sequential(network, flat):
    """The same network as a plain torch module; flat [P]."""
    layers, at = [], 0
    for inputs, outputs in network.layers:
        linear = nn.Linear(inputs, outputs)
        with torch.no_grad():
            linear.weight.copy_(flat[at : at + inputs * outputs].view(inputs, outputs).t())
            at += inputs * outputs
            linear.bias.copy_(flat[at : at + outputs])
            at += outputs
        layers += [linear, nn.LeakyReLU(network.slope)]
    assert at == network.parameters
    return nn.Sequential(*layers[:-1])


@pytest.mark.parametrize(
    ("slots", "policy", "deep_policy", "critic"),
    [
        (10, 78_868, 144_660, 79_105),
        (20, 91_688, 157_480, 91_905),
        (30, 104_508, 170_300, 104_705),
        (40, 117_328, 183_120, 117_505),
        (50, 130_148, 195_940, 130_305),
    ],
)
def test_parameter_counts_of_feddrl(slots, policy, deep_policy, critic):
    assert Mlp((3 * slots, 256, 256, 2 * slots)).parameters == policy
    assert Mlp((3 * slots, 256, 256, 256, 2 * slots)).parameters == deep_policy
    assert Mlp((3 * slots, 256, 256, 1), action_size=2 * slots).parameters == critic


def test_parameter_counts_of_the_frl_report():
    """Its critic takes the 100 actions in the third layer: 300-128-128, then 228-128-1."""
    assert Mlp((300, 128, 128, 128, 100), slope=0).parameters == 84_452
    assert Mlp((300, 128, 128, 128, 1), slope=0, action_size=100, action_layer=2).parameters == 84_481


def test_one_pass_by_hand():
    """1-1-1, LeakyReLU slope 0.01: x = 2, w = -1.5, b = 1 -> -2 -> -0.02; then 10 * -0.02 + 5 = 4.8."""
    out = Mlp((1, 1, 1))(torch.tensor([[-1.5, 1.0, 10.0, 5.0]]), torch.tensor([[[2.0]]]))
    assert out.item() == pytest.approx(4.8)


@pytest.mark.parametrize("action_layer", [0, 1, 2])
def test_replicas_are_separate_networks(action_layer):
    network = Mlp((5, 7, 6, 2), action_size=3, action_layer=action_layer, last_bound=None)
    flat = torch.stack([network.init(generator(r)) for r in range(3)])
    x, action = torch.randn(3, 4, 5, generator=generator()), torch.randn(3, 4, 3, generator=generator())
    ours = network(flat, x, action)
    for r in range(3):
        hidden, layers = x[r], as_sequential(network, flat[r])
        for i in range(3):
            joined = torch.cat([hidden, action[r]], dim=1) if i == action_layer else hidden
            hidden = layers[2 * i : 2 * i + 2](joined)
        torch.testing.assert_close(ours[r], hidden)


def test_last_layer_starts_small_and_the_others_as_in_nn_linear():
    network = Mlp((30, 256, 256, 20))
    flat = network.init(generator())
    first, second = flat[: 31 * 256], flat[31 * 256 : 31 * 256 + 257 * 256]
    last = flat[-257 * 20 :]
    for part, bound in ((first, 30**-0.5), (second, 1 / 16), (last, 0.003)):
        assert 0.99 * bound < part.abs().max() <= bound
        assert part.abs().mean() == pytest.approx(bound / 2, rel=0.05)
    assert torch.equal(network.init(generator()), flat)
    assert not torch.equal(network.init(generator(1)), flat)


def test_adam_is_torch_adam():
    flat = torch.randn(2, 50, generator=generator())
    theirs = flat.clone().requires_grad_()
    optimizer = torch.optim.Adam([theirs], lr=0.01)
    moments = torch.zeros(2, 2, 50)
    for step in range(1, 20):
        gradient = torch.randn(2, 50, generator=generator(step))
        theirs.grad = gradient.clone()
        optimizer.step()
        adam_(flat, moments, gradient, rate=0.01, step=step)
    torch.testing.assert_close(flat, theirs.detach(), rtol=1e-5, atol=1e-6)


def test_soft_update_by_hand():
    """rho = 0.02 weighs the main network (FEDDRL-A16): 0.98 * 1 + 0.02 * 51 = 2."""
    target = torch.tensor([[1.0, 0.0]])
    soft_update_(target, torch.tensor([[51.0, 100.0]]), 0.02)
    torch.testing.assert_close(target, torch.tensor([[2.0, 2.0]]))
    soft_update_(target, torch.tensor([[7.0, 9.0]]), 1.0)
    torch.testing.assert_close(target, torch.tensor([[7.0, 9.0]]))


def test_a_network_of_slots_by_autograd():
    """Blocks (a1 a2 | b1 b2) are two slots (a1, b1) and (a2, b2) of one network."""
    network = Mlp((2, 5, 3), slots=2, last_bound=None)
    flat = network.init(generator()).unsqueeze(0)
    x = torch.randn(1, 4, 4, generator=generator(1))
    plain = as_sequential(network, flat[0])
    slots = [plain(x[0, :, [i, 2 + i]]) for i in range(2)]
    expected = torch.stack([slots[i][:, j] for j in range(3) for i in range(2)], dim=1)
    layers, gradients = Layers(network, flat), torch.empty_like(flat)
    out, trace = layers.forward(x)
    torch.testing.assert_close(out[0], expected)
    weights = torch.randn(out.shape, generator=generator(2))
    layers.parameter_gradients(trace, weights, Layers(network, gradients))
    (expected * weights[0]).sum().backward()
    own = torch.cat(
        [part.flatten() for p in plain.parameters() for part in (p.grad.t() if p.dim() > 1 else p.grad,)]
    )
    torch.testing.assert_close(gradients[0], own)
