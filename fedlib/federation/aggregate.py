"""Server aggregation: weighted means of stacked local models, one matrix product per tensor."""

import torch
from torch import Tensor

Tensors = dict[str, Tensor]
LOSS_BYTES = 4  # of a client's loss on the wire, as float32


def weighted_sum(stacked: Tensor, weights: Tensor) -> Tensor:
    """`sum_k alpha_k w_k` for each replica: stacked [R * K, ...], weights [R, K] -> [R, ...].

    Integer tensors (BatchNorm's batch counts) are summed in float64, the others in their own type. A client
    of weight 0 is left out, even where its model has diverged.
    """
    replicas, cohort = weights.shape
    dtype = stacked.dtype if stacked.is_floating_point() else torch.float64
    local = stacked.view(replicas, cohort, -1).to(dtype)
    if weights.is_cuda or not weights.all():  # on a GPU without asking, which would wait for it
        local = local.masked_fill((weights == 0).unsqueeze(2), 0)  # since 0 * inf is not a number
    return torch.bmm(weights.to(dtype).unsqueeze(1), local).view(replicas, *stacked.shape[1:])


def in_type_of(summed: Tensor, like: Tensor) -> Tensor:
    """A weighted sum in the type of what was summed: a count is rounded, as float32 weights may miss 1."""
    return summed if like.is_floating_point() else summed.round().to(like.dtype)


def weighted_mean(stacked: Tensor, weights: Tensor) -> Tensor:
    """`w^{t+1} = sum_k alpha_k w_k` for each replica (FedDRL eq. (4); FedAvg eq. (1)).

    stacked: [R * K, ...] local values, replica by replica. weights: [R, K], used as they are
    (a method normalises its own). Returns [R, ...] in the dtype of `stacked`.
    """
    return in_type_of(weighted_sum(stacked, weights), stacked)


def aggregate(params: Tensors, buffers: Tensors, weights: Tensor) -> tuple[Tensors, Tensors]:
    """Weighted means of all parameters and buffers, [R * K, ...] -> [R, ...]."""
    return (
        {name: weighted_mean(tensor, weights) for name, tensor in params.items()},
        {name: weighted_mean(tensor, weights) for name, tensor in buffers.items()},
    )


def model_bytes(params: Tensors, buffers: Tensors) -> int:
    """Bytes that one copy of a model takes on the wire; tensors are [R, ...]."""
    return sum(t[0].numel() * t.element_size() for t in [*params.values(), *buffers.values()])
