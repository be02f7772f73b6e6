"""Server aggregation: weighted means of stacked local models, one matrix product per tensor."""

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


def weighted_mean(stacked: Tensor, weights: Tensor) -> Tensor:
    """`w^{t+1} = sum_k alpha_k w_k` for each replica (FedDRL eq. (4); FedAvg eq. (1)).

    stacked: [R * K, ...] local values, replica by replica. weights: [R, K], used as they are
    (a method normalises its own). Returns [R, ...] in the dtype of `stacked`; integer tensors
    (BatchNorm's batch counts) are averaged in float64 and rounded down, as a count.
    """
    replicas, cohort = weights.shape
    local = stacked.view(replicas, cohort, -1)
    if not stacked.is_floating_point():
        mean = torch.bmm(weights.double().unsqueeze(1), local.double())
        return (mean + 1e-9).floor().to(stacked.dtype).view(replicas, *stacked.shape[1:])
    return torch.bmm(weights.to(stacked.dtype).unsqueeze(1), local).view(replicas, *stacked.shape[1:])


def aggregate(params: Tensors, buffers: Tensors, weights: Tensor) -> tuple[Tensors, Tensors]:
    """Weighted means of all parameters and buffers, [R * K, ...] -> [R, ...]."""
    return (
        {name: weighted_mean(tensor, weights) for name, tensor in params.items()},
        {name: weighted_mean(tensor, weights) for name, tensor in buffers.items()},
    )


def model_bytes(params: Tensors, buffers: Tensors) -> int:
    """Bytes that one copy of a model takes on the wire; tensors are [R, ...]."""
    return sum(t[0].numel() * t.element_size() for t in [*params.values(), *buffers.values()])
