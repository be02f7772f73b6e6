"""The loop that papers' code has: one model, loaded with the global weights for each client in turn.

It keeps the local models for the average; of more than memory takes, those that a running sum would not
have taken in yet.
No DataLoader and no copies between devices, so it is the fast form of that loop.
"""

from collections import deque
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.common import RATE, Clients, Contestant, default_device, make_network, slots_of
from fedlib.models.layers import step_key


def plain_loop(model: str, clients: Clients, **options: Any) -> Contestant:
    """One epoch of all clients, one after the other, with `torch.optim.SGD`."""
    device = default_device()
    x, y = (t.to(device) for t in clients.floats())
    network = make_network(model, **options).to(device).train()
    start = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    lists = [torch.from_numpy(index).to(device) for index in clients.lists]
    key = torch.tensor(1, device=device)  # of the dropout masks
    kept = slots_of(network)

    def run() -> None:
        local = deque(maxlen=kept)
        for index in lists:
            network.load_state_dict(start)
            optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
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
