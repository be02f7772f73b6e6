"""Apple's pfl-research: `FederatedAveraging.train_one_user` for each client (`pip install "pfl[pytorch]"`).

On float images made beforehand, without the cost of its backend and callbacks; its model compiled
(`use_torch_compile`) or not.
"""

from types import SimpleNamespace

import torch

from benchmarks.common import Clients, Contestant, make_network
from benchmarks.networks import NETWORKS
from benchmarks.peers.plain import local_optimizer
from fedlib.models.layers import step_key


def pfl_research(model: str, clients: Clients, *, compiled: bool = False) -> Contestant:
    """One epoch of all clients, one user after the other as it does."""
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.hyperparam import NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel

    x, y = clients.floats()
    network = make_network(model)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def loss(self, x, y, eval=False):
            with step_key(torch.tensor(1)):
                return torch.nn.functional.cross_entropy(self.network(x), y)

        def metrics(self, x, y, eval=False):
            return {}

    module = Module()
    wrapped = PyTorchModel(
        module,
        local_optimizer(model),
        torch.optim.SGD(module.parameters(), lr=1.0),
        use_torch_compile=compiled,
    )
    users = [Dataset((x[i], y[i])) for i in map(torch.from_numpy, clients.lists)]
    settings = NNTrainHyperParams(
        local_num_epochs=1, local_learning_rate=NETWORKS[model].rate, local_batch_size=clients.batch
    )
    algorithm, context = FederatedAveraging(), SimpleNamespace(model_train_params=settings)

    def run() -> None:
        start = wrapped.get_parameters()
        for user in users:
            wrapped.set_parameters(start)
            algorithm.train_one_user(start, wrapped, user, context)
        wrapped.set_parameters(start)

    return run
