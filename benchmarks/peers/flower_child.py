"""Rounds of Flower's simulation engine; run by an interpreter that has Flower, Ray and PyTorch.

    python flower_child.py NETWORK CLIENTS STEPS BATCH RATE

Prints `round:SECONDS` for each round behind the first: local training of all clients in Ray actors, one
per core, with the parameters going there and back, and FedAvg. Message API, flwr 1.38 or newer. Reference:
D. J. Beutel et al., "Flower: A friendly federated learning research framework", 2020,
https://arxiv.org/abs/2007.14390.
"""

import os
import sys
import time
from itertools import pairwise

import torch
import torch.nn.functional as F
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

ROUNDS = 4


def make_network(name):
    from fedlib.models import make_model

    return make_model(name, image_shape=(1, 28, 28), num_classes=10, generator_seed=0)


def make_client_app(name, steps, batch, rate):
    app = ClientApp()

    @app.train()
    def train(message, context):
        from fedlib.models.layers import step_key

        torch.set_num_threads(1)
        network = make_network(name)
        network.load_state_dict(message.content["arrays"].to_torch_state_dict())
        x, y = torch.randn(steps * batch, 1, 28, 28), torch.randint(0, 10, (steps * batch,))
        optimizer = torch.optim.SGD(network.train().parameters(), lr=rate)
        for index in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            with step_key(torch.tensor(1)):
                F.cross_entropy(network(x[index]), y[index]).backward()
            optimizer.step()
        metrics = MetricRecord({"num-examples": len(x)})
        arrays = ArrayRecord(network.state_dict())
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app


class Timed(FedAvg):
    """FedAvg over all nodes that notes when each round starts."""

    def __init__(self, clients, times):
        super().__init__(fraction_evaluate=0.0, min_train_nodes=clients, min_available_nodes=clients)
        self.times = times

    def configure_train(self, *args, **kwargs):
        self.times.append(time.perf_counter())
        return super().configure_train(*args, **kwargs)


def make_server_app(name, clients, times):
    app = ServerApp()

    @app.main()
    def main(grid, context):
        start = ArrayRecord(make_network(name).state_dict())
        Timed(clients, times).start(grid, start, num_rounds=ROUNDS + 1)

    return app


def main():
    name = sys.argv[1]
    clients, steps, batch = map(int, sys.argv[2:5])
    times = []
    run_simulation(
        server_app=make_server_app(name, clients, times),
        client_app=make_client_app(name, steps, batch, float(sys.argv[5])),
        num_supernodes=clients,
        backend_config={
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": os.cpu_count()},
        },
    )
    for before, after in pairwise(times[1:]):
        print(f"round:{after - before}", flush=True)


if __name__ == "__main__":
    main()
