"""Fully connected networks of R replicas, and Adam, on flat parameters.

The agents here are small, so their time goes into the number of operations, not into
arithmetic. All parameters of a network are one row of a tensor [R, P]: an update of Adam or of
a target network is a handful of operations for all layers and replicas, and a checkpoint is
that tensor. Passes are written out, forward and backward: with a handful of experiences
autograd's bookkeeping costs as much as the arithmetic. Same operations in the same order
as autograd's, so the same bits (benchmarks/NOTES.md, note 29).

D. P. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015,
https://arxiv.org/abs/1412.6980, Algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
leaky_relu_backward = torch.ops.aten.leaky_relu_backward


@dataclass(frozen=True)
class Mlp:
    """A multi-layer perceptron; a critic's action joins the inputs of one of its layers.

    sizes: units from the input to the output. slope: of LeakyReLU after every layer but the
    last (0: ReLU). action_size: width of the action, 0 for a policy. action_layer: the layer
    that takes it (0 in FedDRL; 2 in the FRL report's critic). last_bound: the last layer
    starts at U(-last_bound, last_bound) (FEDDRL-A15), None: like the others. slots: 0, or K: the same
    network is applied to each of K slots. Its inputs and outputs are then blocks of K values, one block
    per input and output of the network, and `sizes` counts those of one slot.
    """

    sizes: tuple[int, ...]
    slope: float = 0.01
    action_size: int = 0
    action_layer: int = 0
    last_bound: float | None = 0.003
    slots: int = 0

    @property
    def layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each layer."""
        joins = [self.action_size if i == self.action_layer else 0 for i in range(len(self.sizes) - 1)]
        return [(a + join, b) for a, b, join in zip(self.sizes, self.sizes[1:], joins, strict=False)]

    @property
    def parameters(self) -> int:
        """P, weights and biases."""
        return sum(a * b + b for a, b in self.layers)

    def init(self, generator: torch.Generator) -> Tensor:
        """[P] fresh parameters: U(-1, 1) / sqrt(inputs) as in nn.Linear, the last layer as said above."""
        parts = []
        for i, (inputs, outputs) in enumerate(self.layers):
            last = i == len(self.layers) - 1 and self.last_bound is not None
            bound = self.last_bound if last else 1 / math.sqrt(inputs)
            parts.append(bound * (2 * torch.rand(inputs * outputs + outputs, generator=generator) - 1))
        return torch.cat(parts)

    def __call__(self, flat: Tensor, x: Tensor, action: Tensor | None = None) -> Tensor:
        """Outputs [R, B, outputs] of networks flat [R, P] on inputs x [R, B, inputs], action [R, B, A]."""
        return Layers(self, flat).forward(x, action)[0]


def adam_(
    flat: Tensor,
    moments: Tensor,
    gradient: Tensor,
    *,
    rate: float,
    step: int,
    betas: tuple[float, float] = (BETA_1, BETA_2),
) -> None:
    """Take a descent step in place: flat [R, P], moments [2, R, P] (first, second), step 1, 2, ...

    betas: decay of the moments. DDPG has a fused step of its own (`ddpg._Network.descend`).
    """
    (first, second), (decay_1, decay_2) = moments, betas
    first.lerp_(gradient, 1 - decay_1)
    second.mul_(decay_2).addcmul_(gradient, gradient, value=1 - decay_2)
    spread = second.sqrt().div_(math.sqrt(1 - decay_2**step)).add_(EPSILON)
    flat.addcdiv_(first, spread, value=-rate / (1 - decay_1**step))


def soft_update_(target: Tensor, main: Tensor, rho: float) -> None:
    """`phi' <- (1 - rho) phi' + rho phi` in place (FEDDRL-A16; FRL F12: rho weighs the main network)."""
    target.lerp_(main, rho)


@dataclass(frozen=True)
class Trace:
    """Intermediate values for the backward pass: every layer's input and output before LeakyReLU."""

    inputs: list[Tensor]
    outputs: list[Tensor]


class Layers:
    """R networks by layer: weights [R, inputs, outputs] and biases [R, 1, outputs] of flat [R, P or more]."""

    def __init__(self, network: Mlp, flat: Tensor) -> None:
        self.network = network
        widths = [n for inputs, outputs in network.layers for n in (inputs * outputs, outputs)]
        parts = flat[:, : network.parameters].split(widths, dim=1)
        self.weights = [w.unflatten(1, shape) for w, shape in zip(parts[::2], network.layers, strict=True)]
        self.biases = [bias.unsqueeze(1) for bias in parts[1::2]]

    def forward(self, x: Tensor, action: Tensor | None = None) -> tuple[Tensor, Trace]:
        """Outputs [R, B, outputs] on inputs x [R, B, inputs] and action [R, B, A], and the trace."""
        trace, last, slots = Trace([], []), len(self.weights) - 1, self.network.slots
        if slots:
            x = _by_slot(x, slots)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if action is not None and i == self.network.action_layer:
                x = torch.cat([x, action], dim=2)
            trace.inputs.append(x)
            x = torch.baddbmm(bias, x, weight)
            trace.outputs.append(x)
            if i < last:
                x = F.leaky_relu(x, self.network.slope)
        return (_by_block(x, slots) if slots else x), trace

    def parameter_gradients(self, trace: Trace, gradient: Tensor, into: Layers) -> None:
        """The gradient of every weight and bias, written to `into`; gradient: that of the outputs."""
        if self.network.slots:
            gradient = _by_slot(gradient, self.network.slots)
        for i in reversed(range(len(self.weights))):
            _product_(into.weights[i], trace.inputs[i].transpose(1, 2), gradient)
            torch.sum(gradient, dim=1, keepdim=True, out=into.biases[i])
            if i > 0:
                gradient = self._below(i, trace, self._input_gradient(i, gradient))

    def action_gradient(self, trace: Trace, gradient: Tensor) -> Tensor:
        """The gradient [R, B, A] of the action that the forward pass was given."""
        joined = self.network.action_layer
        for i in reversed(range(joined + 1, len(self.weights))):
            gradient = self._below(i, trace, self._input_gradient(i, gradient))
        return self._input_gradient(joined, gradient)[..., -self.network.action_size :]

    def _input_gradient(self, layer: int, gradient: Tensor) -> Tensor:
        return torch.bmm(gradient, self.weights[layer].transpose(1, 2))

    def _below(self, layer: int, trace: Trace, gradient: Tensor) -> Tensor:
        """From the gradient of a layer's input to that of the outputs of the layer below."""
        below = trace.outputs[layer - 1]
        return leaky_relu_backward(gradient[..., : below.shape[2]], below, self.network.slope, False)


def _by_slot(x: Tensor, slots: int) -> Tensor:
    """Blocks of K values side by side -> one line per slot: [R, B, n K] -> [R, B K, n]."""
    return x.unflatten(2, (-1, slots)).transpose(2, 3).flatten(1, 2)


def _by_block(x: Tensor, slots: int) -> Tensor:
    """The other way round: [R, B K, n] -> [R, B, n K]."""
    return x.unflatten(1, (-1, slots)).transpose(2, 3).flatten(2, 3)


def _product_(out: Tensor, a: Tensor, b: Tensor) -> None:
    """a @ b, written to `out`; for R > 1, whose matrices do not lie side by side, as a copy.

    A product that writes there at once takes another path in the library, with other last digits.
    """
    if out.is_contiguous():
        torch.bmm(a, b, out=out)
    else:
        out.copy_(torch.bmm(a, b))
