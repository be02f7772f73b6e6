"""Fully connected networks of R replicas, and Adam, on flat parameters.

The agents here are small, so their time goes into the number of operations, not into
arithmetic. All parameters of a network are one row of a tensor [R, P]: an update of Adam or of
a target network is a handful of operations for all layers and replicas, and a checkpoint is
that tensor.

D. P. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", ICLR 2015,
https://arxiv.org/abs/1412.6980, Algorithm 1.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlib.agents.layers import Layers

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Mlp:
    """A multi-layer perceptron; a critic's action joins the inputs of one of its layers.

    sizes: units from the input to the output. slope: of LeakyReLU after every layer but the
    last (0: ReLU). action_size: width of the action, 0 for a policy. action_layer: the layer
    that takes it (0 in FedDRL; 2 in the FRL report's critic). last_bound: the last layer
    starts at U(-last_bound, last_bound) (FEDDRL-A15), None: like the others.
    """

    sizes: tuple[int, ...]
    slope: float = 0.01
    action_size: int = 0
    action_layer: int = 0
    last_bound: float | None = 0.003

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
    flat: Tensor, moments: Tensor, gradient: Tensor, *, rate: float, step: int, scratch: Tensor | None = None
) -> None:
    """One descent step in place: flat [R, P], moments [2, R, P] (first, second), step 1, 2, ...

    scratch: memory [R, P] that it may write to; None: its own.
    """
    first, second = moments
    first.lerp_(gradient, 1 - BETA_1)
    second.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
    spread = torch.sqrt(second, out=scratch).div_(math.sqrt(1 - BETA_2**step)).add_(EPSILON)
    flat.addcdiv_(first, spread, value=-rate / (1 - BETA_1**step))


def soft_update_(target: Tensor, main: Tensor, rho: float) -> None:
    """`phi' <- (1 - rho) phi' + rho phi` in place (FEDDRL-A16; FRL F12: rho weighs the main network)."""
    target.lerp_(main, rho)


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread: operations this small lose more by waiting for a second one than they gain.

    On a busy machine that is ten times and more. It also makes an agent's numbers independent of
    the number of threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
