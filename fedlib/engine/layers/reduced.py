"""Stacked fully connected layers with products in bfloat16 and float32 weights, updates and sums.

Autograd's own casts give the weight's gradient as a transposed view of 16 bits, and adding that to the
float32 weights took longer than all products of the step (benchmarks/NOTES.md, note 33). Here the
weight is rounded once per step, and its update is float32: a fused update reads the rounded activations
and gradients as float32 numbers, so nothing that is added to a weight is rounded a second time.
"""

from typing import Any

import torch
from torch import Tensor

from fedlib.engine.layers.fused_sgd import Update


def reduced_linear(
    x: Tensor, weight: Tensor, bias: Tensor | None, update: Update | None, dtype: torch.dtype
) -> Tensor:
    """x [C, B, in], weight [C, out, in], bias [C, out] float32 -> [C, B, out] of `dtype`."""
    return _ReducedLinear.apply(x, weight, bias, update, dtype)


class _ReducedLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, update, dtype) -> Tensor:
        rounded, given = weight.to(dtype), x.dtype
        x = x.to(dtype)
        ctx.save_for_backward(x, rounded, weight)
        ctx.update, ctx.given = update, given
        product = torch.bmm(x, rounded.transpose(1, 2))
        return product if bias is None else product.add_(bias.unsqueeze(1))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, rounded, weight = ctx.saved_tensors
        grad = grad.to(x.dtype)
        grad_x = torch.bmm(grad, rounded).to(ctx.given) if ctx.needs_input_grad[0] else None
        exact = grad.float()
        grad_bias = exact.sum(dim=1) if ctx.needs_input_grad[2] else None
        if ctx.update is None:
            return grad_x, torch.bmm(grad.transpose(1, 2), x).float(), grad_bias, None, None
        ctx.update(weight, exact, x.float())
        return grad_x, None, grad_bias, None, None
