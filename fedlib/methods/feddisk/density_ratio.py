"""FedDisk, phase 1: the ratio classifiers of all clients, and the sample weights that follow.

FedDisk (IEEE TAI), section IV.C, eqs. (12) to (15); FEDDISK-A1 to A5, A27. On each client a network h
learns to tell the outputs of the global MADE, `u_glob` (label 1), from those of its local one,
`u_loc` (label 0), and `alpha = h / (1 - h)`.

Note FEDDISK-A4: both MADEs see the same x, so h separates the *models*. On `u_loc`, which the paper
feeds to h in the end, a good h says 0 whatever x is; on `u_glob` its odds grow where the two models
disagree. With exact densities that is where x looks like other clients' data, and alpha then follows
the true ratio (a test holds that). With fitted MADEs it still does where the global one is averaged
after every step; with the method's local epochs each client's copy goes to its own density between two
averages, the average has little of the mixture, and alpha need not follow on either feed (further
tests, and the toy of notebook 02).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlib import seeds
from fedlib.engine import Batch, Objective, Samples, Trainer, Work, make_optimizer, make_work, train
from fedlib.federation import Task, broadcast
from fedlib.federation.aggregate import Tensors
from fedlib.methods.feddisk.density_models import (
    MadeSettings,
    evaluate_by_columns,
    lane_work,
    made_trainer,
    pixels,
    stacked_trainer,
)
from fedlib.methods.feddisk.early_stopping import EarlyStopping, FitState, Fitted, first_state, steps_taken

FEEDS = ("local", "global")  # MADE whose outputs h weighs (FEDDISK-A3)
CLIP = 0.01  # h is kept within [CLIP, 1 - CLIP] (FEDDISK-A5)


@dataclass(frozen=True)
class RatioSettings:
    """Settings of h and its training; `FedDisk` documents the fields."""

    hidden: int
    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int
    least: float


@dataclass(frozen=True)
class Outputs:
    """Outputs of both MADEs for the samples of a replica, client after client: u [M, D] in (0, 1).

    starts: [N + 1] where each client's samples begin. log_ratio: [M] `log gd(x) - log ld_k(x)` in
    nats, the ratio that the two densities give themselves; the paper does not use it.
    """

    local: Tensor
    shared: Tensor
    starts: np.ndarray
    log_ratio: Tensor | None = None

    def places(self, client: int) -> np.ndarray:
        """Positions of a client's samples in the tables, in the order of `task.clients`."""
        return np.arange(self.starts[client], self.starts[client + 1])


def made_outputs(task: Task, made: MadeSettings, local: Fitted, shared: Fitted, replica: int) -> Outputs:
    """Both MADEs on all training samples of one replica's clients (step 4)."""
    trainer, samples = made_trainer(task, made), pixels(task)
    whole = lane_work(task, task.clients, made.learning_rate, "made-outputs")
    work = whole.select(np.flatnonzero(whole.replica.cpu().numpy() == replica))
    at = slice(replica * len(work), (replica + 1) * len(work))
    own = {name: tensor[at] for name, tensor in local.params.items()}
    both = [own, broadcast(shared.params, work.replica)]
    (u_local, nll_local), (u_shared, nll_shared) = (
        _conditionals(trainer, samples, params, work) for params in both
    )
    return Outputs(u_local, u_shared, np.cumsum([0, *work.sizes]), nll_local - nll_shared)


def _conditionals(trainer: Trainer, samples: Samples, params: Tensors, work: Work) -> tuple[Tensor, Tensor]:
    """[M, D] sigmoid outputs and [M] negative log-likelihoods, lane after lane."""
    parts = []
    for _, logits, batch in evaluate_by_columns(trainer, samples, params, work):
        parts.append((logits.sigmoid(), trainer.objective.losses(logits, batch), batch.mask.bool()))
    u, nll, mask = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
    return u[mask], nll[mask]


def start_ratio(task: Task, ratio: RatioSettings, outputs: Outputs, replica: int) -> FitState:
    """Initialise a replica's classifiers."""
    trainer = _trainer(task, ratio, outputs, replica)
    clients = task.run.num_clients
    template = trainer.model.named_parameters()
    return first_state(trainer, {n: p.detach().expand(clients, *p.shape) for n, p in template})


def train_ratio(
    task: Task, ratio: RatioSettings, outputs: Outputs, replica: int, course: FitState, steps: int
) -> FitState:
    """Up to `steps` more epochs of the classifiers that have not stopped; `course` stays as it is.

    Each client has 2 N_k examples, classes of equal size, so that eq. (15) holds. It stops once its training
    loss has not fallen by `least` for `patience` epochs (A27). `course.losses` has the training loss twice.
    """
    count, clients = len(outputs.local), range(task.run.num_clients)
    labels = torch.arange(2 * count, device=task.device) // count
    samples = Samples(torch.cat([outputs.local, outputs.shared]), labels)
    lists = [np.concatenate([outputs.places(k), count + outputs.places(k)]) for k in clients]
    work, trainer = _work(task, ratio, lists, replica), _trainer(task, ratio, outputs, replica)
    state, step, losses = course.local_state(trainer), course.step, [course.losses]
    patience = EarlyStopping(len(work), ratio.patience, task.device, ratio.least, course.patience)
    while step < min(course.step + steps, ratio.max_epochs) and bool(patience.active.any()):
        running = patience.active
        epochs = step + running.cpu().numpy().astype(np.int64)
        now = replace(work, epochs=epochs, first_epoch=np.full(len(work), step))
        step += 1
        loss = train(trainer, samples, state, now).loss
        patience.update(step, loss)
        masked = torch.where(running, loss, torch.nan)
        losses.append(masked.expand(2, 1, -1))
    return replace(
        course, step=step, params=state.params, best={}, patience=patience.state,
        losses=torch.cat(losses, dim=1), optimizer=state.optimizer, taken=state.steps,
    )  # fmt: skip


def epochs_taken(course: FitState, ratio: RatioSettings) -> Tensor:
    """[N] epochs until each classifier stopped."""
    return steps_taken(course.patience["at"], ratio.patience, course.step).cpu()


def probabilities(
    task: Task, ratio: RatioSettings, outputs: Outputs, replica: int, course: FitState
) -> dict[str, Tensor]:
    """h [M] of each feed, client after client."""
    trainer = _trainer(task, ratio, outputs, replica)
    plan = _work(task, ratio, [outputs.places(k) for k in range(task.run.num_clients)], replica)
    labels = torch.zeros(len(outputs.local), dtype=torch.int64, device=task.device)
    return {
        feed: _probabilities(trainer, Samples(u, labels), course.params, plan)
        for feed, u in zip(FEEDS, (outputs.local, outputs.shared), strict=True)
    }


def _trainer(task: Task, ratio: RatioSettings, outputs: Outputs, replica: int) -> Trainer:
    model = make_classifier(outputs.local.shape[1], ratio.hidden, task.seeds[replica]).to(task.device)
    objective = Objective(_logistic)
    return stacked_trainer(task, model, make_optimizer("sgd"), ratio.batch_size, objective)


def _probabilities(trainer: Trainer, samples: Samples, params: Tensors, work: Work) -> Tensor:
    """[M] sigmoid of the classifiers' outputs, lane after lane."""
    parts = [
        (logits[..., 0].sigmoid(), batch.mask.bool())
        for _, logits, batch in evaluate_by_columns(trainer, samples, params, work)
    ]
    h, mask = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
    return h[mask]


def make_classifier(features: int, hidden: int, seed: int) -> nn.Sequential:
    """h without its sigmoid: D-100-1 with ReLU, 78,601 parameters for 784 inputs."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seeds.derive(seed, "ratio"))
        return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, 1))


def _logistic(outputs: Tensor, batch: Batch) -> Tensor:
    targets = batch.targets.to(outputs.dtype)
    return F.binary_cross_entropy_with_logits(outputs[..., 0], targets, reduction="none")


def _work(task: Task, ratio: RatioSettings, lists: list[np.ndarray], replica: int) -> Work:
    clients = np.arange(len(lists))
    names = [seeds.derive(task.seeds[replica], "ratio", int(k)) for k in clients]
    key = torch.tensor(names, dtype=torch.int64) & 0xFFFFFFFF
    return make_work(
        lists, replica=np.full(len(lists), replica), client=clients, key=key,
        epochs=1, learning_rate=ratio.learning_rate, device=task.device,
    )  # fmt: skip


def odds(h: Tensor) -> Tensor:
    """Eq. (15), `alpha = h / (1 - h)`, with h clipped to [0.01, 0.99]: never 0, never infinite."""
    h = h.clamp(CLIP, 1 - CLIP)
    return h / (1 - h)


def to_mean_one(alpha: Tensor) -> Tensor:
    """A client's weights divided by their mean, as E_q[p / q] = 1."""
    return alpha / alpha.mean()


def to_zero_two(alpha: Tensor) -> Tensor:
    """A client's weights stretched to [0, 2], as in the authors' repository; equal weights become 1."""
    span = alpha.max() - alpha.min()
    return torch.where(span > 0, 2 * (alpha - alpha.min()) / span, torch.ones_like(alpha))


SCALES: dict[str, Callable[[Tensor], Tensor]] = {  # FEDDISK-A5
    "mean1": to_mean_one,
    "raw": lambda alpha: alpha,
    "minmax": to_zero_two,
}


def effective_sample_size(alpha: Tensor) -> float:
    """`(sum alpha)^2 / sum alpha^2`: n for equal weights, 1 if a single one counts."""
    return float(alpha.sum().square() / alpha.square().sum())
