"""FedLAW: aggregation weights are learned on the server's own images, by gradient descent.

Z. Li et al., "Revisiting Weighted Aggregation in Federated Learning with Neural Networks", ICML 2023,
https://arxiv.org/abs/2302.10911. In every round, by the authors' code (the paper's equations were not
checked, HEAD-A1):

    minimise over gamma, lambda   L_proxy(gamma sum_i lambda_i w_i),   gamma > 0, sum lambda_i = 1

with `gamma = exp(g)` and `lambda = softmax(z)`; z starts at log(n_i / n) and g at 0. gamma < 1 shrinks all
weights (global weight shrinking). The proxy data are images that the data-set option `server_share`
takes from the test set, disjoint from those that rows are evaluated on: 200, as many of each class
(HEAD-A2). Settings beside the paper's text follow the authors' public code (HEAD-A1): Adam with betas
(0.5, 0.999), the rate halved every 20 epochs. Where few clients of few labels train for a handful of
steps, their average is worse than a guess; 20 epochs on the server then shrink it until nothing is
left to train (HEAD-A3).
No reinforcement learning: this is the rival that sees what a learned policy has to guess.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedlib.data.dataset import first_per_class
from fedlib.engine import Batch, Objective, Samples, cross_entropy
from fedlib.engine.batches import on_device
from fedlib.engine.forward import Forward, make_forward
from fedlib.errors import check
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, require_server_images
from fedlib.federation.aggregate import Tensors, weighted_sum
from fedlib.federation.client_updates import (
    finish_round,
    initial_state,
    method_generators,
    sample_shares,
    train_cohort,
)
from fedlib.federation.task import given
from fedlib.run import Run

HALVED_EVERY = 20  # epochs


@dataclass(frozen=True)
class FedLAW(Method):
    """Learned weights; columns `gamma` and, as for every method, `weights` (gamma lambda_i)."""

    weights_sum_to_1: ClassVar[bool] = False  # but to gamma

    server_epochs: int = 20
    server_learning_rate: float = 0.005
    server_batch_size: int = 128
    proxy_images: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("server_epochs", "server_batch_size", "proxy_images"):
            check(getattr(self, name) >= 1, f"{name}={getattr(self, name)} given; allowed: 1 or more")
        rate = self.server_learning_rate
        check(rate > 0, f"server_learning_rate={rate} given for method 'fedlaw'; allowed: above 0")

    def check(self, run: Run) -> None:
        require_server_images("fedlaw", run)

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        state = initial_state(task)
        check(
            not state.buffers,
            f"model {task.run.model!r} has BatchNorm, whose statistics cannot be scaled by gamma; allowed "
            "for method 'fedlaw': models without",
        )
        return state

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        trained = train_cohort(task, state, cohort)
        local = {name: trained.state.params[name] for name in state.params}
        weights, gamma = self.learn(task, local, state, sample_shares(task, cohort), cohort.round)
        after, report = finish_round(task, state, cohort, trained, weights)
        report.columns["gamma"] = gamma.tolist()
        return after, report

    def learn(
        self, task: Task, local: Tensors, state: ServerState, shares: Tensor, round_index: int
    ) -> tuple[Tensor, Tensor]:
        """Weights gamma lambda [R, K] and gamma [R] after `server_epochs` epochs on the proxy images."""
        logits = shares.log().requires_grad_()  # z
        scale = torch.zeros(len(shares), device=shares.device, requires_grad=True)  # g
        optimizer = torch.optim.Adam([logits, scale], lr=self.server_learning_rate, betas=(0.5, 0.999))
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, HALVED_EVERY, gamma=0.5)
        proxy: Samples = given(task.server, "server_share")
        allowed = task.once(("proxy", self.proxy_images), lambda: self._proxy(task, proxy))
        generators = method_generators(task, "proxy order", round_index)
        forward = task.once("fedlaw", lambda: _forward(task))
        for _ in range(self.server_epochs):
            orders = torch.stack([torch.randperm(len(allowed), generator=g) for g in generators])
            for batch in on_device(orders.numpy(), task.device).split(self.server_batch_size, dim=1):
                weights = self._weights(logits, scale)
                params = {name: weighted_sum(stacked, weights) for name, stacked in local.items()}
                loss = mean_loss(forward, proxy, params, state.buffers, allowed[batch])
                optimizer.zero_grad()
                loss.sum().backward()
                optimizer.step()
            schedule.step()
        return self._weights(logits, scale).detach(), scale.detach().exp()

    def _proxy(self, task: Task, proxy: Samples) -> Tensor:
        """Positions of the proxy images among the server's, on the device."""
        labels = proxy.labels.cpu().numpy()
        count = self.proxy_images // len(np.unique(labels))  # the model may have more outputs
        return on_device(first_per_class(labels, max(count, 1)), task.device)

    def _weights(self, logits: Tensor, scale: Tensor) -> Tensor:
        return scale.exp().unsqueeze(1) * logits.softmax(dim=1)


def mean_loss(forward: Forward, samples: Samples, params: Tensors, buffers: Tensors, index: Tensor) -> Tensor:
    """[R] mean cross-entropy in nats of models [R, ...] on samples index [R, B], with a gradient."""
    forward.bind(params, buffers, training=False)
    zeros = torch.zeros(len(index), dtype=torch.int64, device=index.device)
    targets = samples.labels[index]
    batch = Batch(index, torch.ones_like(index, dtype=torch.float32), targets, zeros, zeros, zeros)
    outputs, _ = forward(samples, batch, Objective(), True)
    return cross_entropy(outputs, batch).mean(dim=1)


def _forward(task: Task) -> Forward:
    """All replicas in one pass, also where clients train one after the other."""
    backend = task.trainer.backend
    return make_forward(task.model, "vmap" if backend == "loop" else backend)
