"""FedLAW: aggregation weights are learned on the server's own images, by gradient descent.

Z. Li et al., "Revisiting Weighted Aggregation in Federated Learning with Neural Networks", ICML 2023,
https://arxiv.org/abs/2302.10911, eq. (3): in every round

    minimise over gamma, lambda   L_proxy(gamma sum_i lambda_i w_i),   gamma > 0, sum lambda_i = 1

with `gamma = exp(g)` and `lambda = softmax(z)`; z starts at log(n_i / n) and g at 0. gamma < 1 shrinks all
weights (global weight shrinking). The proxy data are the images that the data-set option `server_share`
takes from the test set, disjoint from those that rows are evaluated on. Settings beside the paper's text
follow the authors' public code: Adam with betas (0.5, 0.999), the rate halved every 20 epochs.
No reinforcement learning: this is the rival that sees what a learned policy has to guess.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, vmap

from fedlib.engine import Samples
from fedlib.errors import check
from fedlib.federation import (
    Cohort,
    Method,
    RoundReport,
    ServerState,
    Task,
    finish_round,
    initial_state,
    method_generators,
    sample_shares,
    train_cohort,
)
from fedlib.federation.aggregate import Tensors, weighted_sum
from fedlib.federation.task import given
from fedlib.run import Run

HALVED_EVERY = 20  # epochs


@dataclass(frozen=True)
class FedLAW(Method):
    """Learned weights; columns `gamma` and, as for every method, `weights` (gamma lambda_i)."""

    server_epochs: int = 20
    server_learning_rate: float = 0.005
    server_batch_size: int = 128

    def __post_init__(self) -> None:
        for name in ("server_epochs", "server_batch_size"):
            check(getattr(self, name) >= 1, f"{name}={getattr(self, name)} given; allowed: 1 or more")
        rate = self.server_learning_rate
        check(rate > 0, f"server_learning_rate={rate} given for method 'fedlaw'; allowed: above 0")

    def check(self, run: Run) -> None:
        check(
            run.dataset_options.get("server_share") is not None,
            "method 'fedlaw' learns on the server's own images, and the server has none; allowed: the "
            "data-set option server_share (e.g. dataset.server_share=0.1)",
        )

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
        (generator, *_) = method_generators(task, "proxy order", round_index)
        proxy: Samples = given(task.server, "server_share")
        forward = vmap(
            lambda params, buffers, inputs: functional_call(task.model, {**params, **buffers}, (inputs,)),
            in_dims=(0, 0, None),
        )
        for _ in range(self.server_epochs):
            order = torch.randperm(len(proxy.labels), generator=generator)
            for batch in order.split(self.server_batch_size):
                at = batch.to(task.device)
                weights = self._weights(logits, scale)
                params = {name: weighted_sum(stacked, weights) for name, stacked in local.items()}
                outputs = forward(params, state.buffers, proxy.fetch(at))  # [R, B, classes]
                labels = proxy.labels[at].expand(len(shares), -1)
                loss = F.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="sum")
                optimizer.zero_grad()
                (loss / len(at)).backward()
                optimizer.step()
            schedule.step()
        return self._weights(logits, scale).detach(), scale.detach().exp()

    def _weights(self, logits: Tensor, scale: Tensor) -> Tensor:
        return scale.exp().unsqueeze(1) * logits.softmax(dim=1)
