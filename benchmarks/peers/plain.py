"""The loop that papers' code has: one model, loaded with the global weights for each client in turn.

It keeps the local models for the average; of more than memory takes, those that a running sum would not
have taken in yet.
No DataLoader and no copies between devices, so it is the fast form of that loop.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.common import Clients, Contestant, default_device, make_network, models_at_once
from benchmarks.networks import NETWORKS
from fedlib.models.layers import step_key

OPTIMIZERS = {"sgd": torch.optim.SGD, "adadelta": torch.optim.Adadelta}


def local_optimizer(model: str) -> Callable[..., torch.optim.Optimizer]:
    """A function (parameters, lr) that makes PyTorch's own optimiser with the network's options."""
    local = NETWORKS[model]
    return partial(OPTIMIZERS[local.optimizer], **local.options)


def plain_loop(model: str, clients: Clients, **options: Any) -> Contestant:
    """One epoch of all clients, one after the other, with PyTorch's own optimiser."""
    device = default_device()
    x, y = (t.to(device) for t in clients.floats())
    network = make_network(model, **options).to(device).train()
    start = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    lists = [torch.from_numpy(index).to(device) for index in clients.lists]
    key = torch.tensor(1, device=device)  # of the dropout masks
    kept, make_optimizer = models_at_once(network), local_optimizer(model)

    def run() -> None:
        local = deque(maxlen=kept)
        for index in lists:
            network.load_state_dict(start)
            optimizer = make_optimizer(network.parameters(), lr=NETWORKS[model].rate)
            for batch in index[torch.randperm(len(index))].split(clients.batch):
                optimizer.zero_grad()
                with step_key(key):
                    loss = F.cross_entropy(network(x[batch]), y[batch])
                loss.backward()
                optimizer.step()
            local.append({name: tensor.clone() for name, tensor in network.state_dict().items()})
        if device.type == "cuda":
            torch.cuda.synchronize()

    return run
