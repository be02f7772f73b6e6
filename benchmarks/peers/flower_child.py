"""Rounds of Flower's simulation engine; run by an interpreter that has Flower, Ray and PyTorch.

    python flower_child.py NETWORK CLIENTS STEPS BATCH RATE

Prints `round:SECONDS` for each round behind the first: local training of all clients in Ray actors, one
per core, with the parameters going there and back, and FedAvg. Reference: D. J. Beutel et al.,
"Flower: A friendly federated learning research framework", 2020, https://arxiv.org/abs/2007.14390.
"""

import os
import sys
import time
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F

ROUNDS = 4


def make_network(name):
    from fedlib.models import make_model

    return make_model(name, image_shape=(1, 28, 28), num_classes=10, generator_seed=0)


def make_client_app(name, steps, batch, rate):
    from flwr.client import ClientApp, NumPyClient

    class Client(NumPyClient):
        def fit(self, parameters, config):
            from fedlib.models.layers import step_key

            torch.set_num_threads(1)
            network = make_network(name)
            state = network.state_dict()
            network.load_state_dict(
                {n: torch.from_numpy(np.array(v)) for n, v in zip(state, parameters, strict=True)}
            )
            x, y = torch.randn(steps * batch, 1, 28, 28), torch.randint(0, 10, (steps * batch,))
            optimizer = torch.optim.SGD(network.train().parameters(), lr=rate)
            for index in torch.randperm(len(x)).split(batch):
                optimizer.zero_grad()
                with step_key(torch.tensor(1)):
                    F.cross_entropy(network(x[index]), y[index]).backward()
                optimizer.step()
            return [t.numpy() for t in network.state_dict().values()], len(x), {}

    return ClientApp(client_fn=lambda context: Client().to_client())


def make_server_app(name, clients, times):
    from flwr.common import ndarrays_to_parameters
    from flwr.server import ServerApp, ServerAppComponents, ServerConfig
    from flwr.server.strategy import FedAvg

    class Timed(FedAvg):
        def configure_fit(self, *args, **kwargs):
            times.append(time.perf_counter())
            return super().configure_fit(*args, **kwargs)

    def server(context):
        start = [t.numpy() for t in make_network(name).state_dict().values()]
        strategy = Timed(
            fraction_fit=1.0, fraction_evaluate=0.0, min_fit_clients=clients, min_available_clients=clients,
            initial_parameters=ndarrays_to_parameters(start),
        )  # fmt: skip
        return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=ROUNDS + 1))

    return ServerApp(server_fn=server)


def main():
    from flwr.simulation import run_simulation

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
