"""MADE: a masked autoencoder whose outputs are the conditionals of a density over pixels.

M. Germain, K. Gregor, I. Murray, H. Larochelle, "MADE: Masked Autoencoder for Distribution
Estimation", ICML 2015, https://arxiv.org/abs/1502.03509; used by FedDisk (IEEE TAI), section III.

* One hidden layer. Hidden unit k has a degree m(k), uniform in 1..D-1; it sees inputs d <= m(k) and is
  seen by outputs d > m(k), so output d depends on inputs before d only: `p(x) = prod_d p(x_d | x_<d)`.
* Natural order of the pixels, and degrees that depend on the size of the network alone: models that a
  server averages must share their masks (FEDDISK-A7). FedDisk's eq. (1) counts backwards, which is
  the same family of densities with the pixels renumbered.
* No connections from input to output (FEDDISK-A8); ReLU and orthogonal initial weights as in the
  reference's command for MNIST (FEDDISK-A9). For grey values x in [0, 1] the Bernoulli cross-entropy
  has real-valued targets (FEDDISK-A6).
"""

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlib import seeds
from fedlib.errors import check
from fedlib.models.cnn import check_whole


class MaskedLinear(nn.Linear):
    """A fully connected layer with weights `weight * mask`; mask [out, in] of zeros and ones.

    Weights outside the mask start at 0 and have no gradient.
    """

    def __init__(self, mask: Tensor, generator: torch.Generator) -> None:
        self._generator = generator
        super().__init__(mask.shape[1], mask.shape[0])
        # No buffer: it is no part of the state that is stacked, sent and averaged.
        self.mask = mask.to(self.weight.dtype)
        with torch.no_grad():
            self.weight.mul_(self.mask)
        del self._generator

    def reset_parameters(self) -> None:
        nn.init.orthogonal_(self.weight, generator=self._generator)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight * self.mask, self.bias)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        self.mask = fn(self.mask)  # follows the weights to a device or type
        return super()._apply(fn, recurse)


def draw_masks(features: int, hidden: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Masks [hidden, features] of the input and [features, hidden] of the output weights, bool.

    `M^in_{k,d} = 1[m(k) >= d]` and `M^out_{d,k} = 1[d > m(k)]`, m(k) uniform in 1..D-1 (sec. III).
    """
    return masks_of(torch.from_numpy(rng.integers(1, features, hidden)), features)


def masks_of(degree: Tensor, features: int) -> tuple[Tensor, Tensor]:
    """The masks of `draw_masks` for given m(k), degree [hidden] in 1..D-1."""
    pixel = torch.arange(1, features + 1)  # d
    return degree[:, None] >= pixel, pixel[:, None] > degree


def make_made(
    features: int, *, hidden: int = 30, generator_seed: tuple[int | str, ...] = (0,)
) -> nn.Sequential:
    """D-H-D network: x [batch, D] (or images of D values) in [0, 1] -> logits [batch, D] of the conditionals.

    Their sigmoid is FedDisk's vector u. 2 D H weights and H + D biases; H is 50, 400 and 30 for
    Chest X-ray, FEMNIST and MNIST. generator_seed: names of the stream of the initial weights.
    Raises UsageError for fewer than 2 features.
    """
    check(features >= 2, f"model made takes images of at least 2 values, not {features}")
    check_whole("made", "hidden", hidden)
    into, out = draw_masks(features, hidden, seeds.rng(0, "made-mask"))  # FEDDISK-A7
    generator = seeds.torch_generator(*generator_seed)
    layers = OrderedDict(
        flatten=nn.Flatten(),
        hidden=MaskedLinear(into, generator),
        relu=nn.ReLU(),
        output=MaskedLinear(out, generator),
    )
    return nn.Sequential(layers)


def negative_log_likelihood(logits: Tensor, x: Tensor) -> Tensor:
    """[...] `-sum_d x_d log u_d + (1 - x_d) log(1 - u_d)` in nats, u = sigmoid(logits); both [..., D].

    For x in {0, 1} this is -log p(x).
    """
    return F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=-1)
