"""FedDRL's state, action, impact factors and reward: sec. 3.3 and eqs. (5) to (7) of the paper.

Shapes: R replicas, K slots (clients sorted by number, or in an order drawn anew, FEDDRL-A5); everything is
[R, ...], float32 on the CPU. An action is the vector (mu_1..mu_K, sigma_1..sigma_K), sigma a standard
deviation (FEDDRL-A11).
"""

import torch
from torch import Tensor

STATES = ("shares", "raw", "losses")


def observe(before: Tensor, after: Tensor, sizes: Tensor, scaling: str = "shares") -> Tensor:
    """s_t = (l_1b..l_Kb, l_1a..l_Ka, n_1..n_K) [R, 3K] from three [R, K] reports (sec. 3.3.2).

    scaling: "shares" divides each block by its sum over the slots, "raw" leaves nats and counts
    (FEDDRL-A6); "losses" leaves nats and divides the counts alone, so that the critic sees the level of the
    loss, on which the reward depends.
    """
    blocks = torch.stack([before, after, sizes.to(before.dtype)], dim=1)
    if scaling != "raw":
        tiny = torch.finfo(blocks.dtype).tiny  # all losses exactly 0: shares 0, not 0 / 0
        total = blocks.sum(dim=2, keepdim=True).clamp(min=tiny)
        if scaling == "losses":
            total[:, :2] = 1
        blocks = blocks / total
    return blocks.flatten(1)


def by_client(values: Tensor, order: Tensor) -> Tensor:
    """Values [R, K] of slots, given back to the clients that had them: slot j was client order[j]'s."""
    return torch.empty_like(values).scatter(1, order, values)


def shuffle_slots(state: Tensor, order: Tensor) -> Tensor:
    """The state [R, 3K] with its clients in another order [R, K], the same in all three blocks."""
    blocks = state.unflatten(1, (3, -1))
    return blocks.gather(2, order.unsqueeze(1).expand_as(blocks)).flatten(1)


def gaussians(outputs: Tensor, beta: float) -> Tensor:
    """The policy's head: network outputs [..., 2K] -> (mu, sigma) [..., 2K] (FEDDRL-A8).

    mu = sigmoid(u), sigma = beta * mu * sigmoid(v): in [0, 1], and constraint (6) holds.
    """
    u, v = outputs.chunk(2, dim=-1)
    mu = u.sigmoid()
    return torch.cat([mu, beta * mu * v.sigmoid()], dim=-1)


def explore(action: Tensor, noise: Tensor, beta: float) -> Tensor:
    """pi(s) + eps, clipped to [0, 1] (FEDDRL-A13), then constraint (6): sigma <= beta * mu."""
    mu, sigma = (action + noise).clamp(0, 1).chunk(2, dim=-1)
    return torch.cat([mu, torch.minimum(sigma, beta * mu)], dim=-1)


def impact_factors(action: Tensor, draw: Tensor) -> Tensor:
    """Eq. (5): alpha [R, K] from an action [R, 2K] and a standard normal draw [R, K].

    The draw comes first, z = mu + sigma * draw, then alpha = softmax(z) (FEDDRL-A10).
    """
    mu, sigma = action.chunk(2, dim=-1)
    return torch.softmax(mu + sigma * draw, dim=-1)


def reward(before: Tensor) -> Tensor:
    """Eq. (7) [R] of the losses [R, K] of the global model on the clients' data, in nats.

    Mean plus gap between the worst and the best client is a cost: it is negated (FEDDRL-A1).
    """
    return -(before.mean(dim=1) + (before.amax(dim=1) - before.amin(dim=1)))


def centre(earned: Tensor, mean: Tensor | None, rate: float) -> tuple[Tensor, Tensor]:
    """The reward [R] less its running mean [R] so far, and the mean that includes it.

    The level of the loss falls over the rounds whatever the agent does, and moves the reward far more than
    an action does. mean <- (1 - rate) mean + rate r; None: no reward yet, so nothing to compare with, 0.
    rate 1 subtracts the last reward: the change of the loss.
    """
    if mean is None:
        return torch.zeros_like(earned), earned
    return earned - mean, torch.lerp(mean, earned, rate)
