"""The passes of `Mlp` written out: layer by layer forward, and the chain rule backward.

An agent learns from a handful of experiences at a time, where autograd's bookkeeping and the memory it
takes for every gradient cost as much as the arithmetic. Here weights are views of the flat parameters, made
once, and gradients go straight into flat memory that all updates share. Same operations in the same order
as autograd's, so the same bits (benchmarks/NOTES.md, note 29).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from fedlib.agents.networks import Mlp

leaky_relu_backward = torch.ops.aten.leaky_relu_backward


@dataclass(frozen=True)
class Trace:
    """What a forward pass leaves for the backward one: every layer's input and output before LeakyReLU."""

    inputs: list[Tensor]
    outputs: list[Tensor]


class Layers:
    """R networks by layer: weights [R, inputs, outputs] and biases [R, 1, outputs] of flat [R, P]."""

    def __init__(self, network: Mlp, flat: Tensor) -> None:
        self.network = network
        widths = [n for inputs, outputs in network.layers for n in (inputs * outputs, outputs)]
        parts = flat.split(widths, dim=1)
        self.weights = [w.unflatten(1, shape) for w, shape in zip(parts[::2], network.layers, strict=True)]
        self.biases = [bias.unsqueeze(1) for bias in parts[1::2]]

    def forward(self, x: Tensor, action: Tensor | None = None) -> tuple[Tensor, Trace]:
        """Outputs [R, B, outputs] on inputs x [R, B, inputs] and action [R, B, A], and the trace."""
        trace, last = Trace([], []), len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if action is not None and i == self.network.action_layer:
                x = torch.cat([x, action], dim=2)
            trace.inputs.append(x)
            x = torch.baddbmm(bias, x, weight)
            trace.outputs.append(x)
            if i < last:
                x = F.leaky_relu(x, self.network.slope)
        return x, trace

    def parameter_gradients(self, trace: Trace, gradient: Tensor, into: Layers) -> None:
        """The gradient of every weight and bias, written to `into`; gradient: that of the outputs."""
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


def _product_(out: Tensor, a: Tensor, b: Tensor) -> None:
    """a @ b, written to `out`; for R > 1, whose matrices do not lie side by side, as a copy.

    A product that writes there at once takes another path in the library, with other last digits.
    """
    if out.is_contiguous():
        torch.bmm(a, b, out=out)
    else:
        out.copy_(torch.bmm(a, b))
