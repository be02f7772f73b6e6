"""FedROD: a generic head for all clients and a personalised one for each, on a shared body.

H.-Y. Chen, W.-L. Chao, "On Bridging Generic and Personalized Federated Learning for Image
Classification", ICLR 2022, https://arxiv.org/abs/2107.00778 (linear variant, without
hypernetwork); a competitor in FedDisk (IEEE TAI). The balanced softmax is from J. Ren et al.,
"Balanced Meta-Softmax for Long-Tailed Visual Recognition", NeurIPS 2020, eq. (4).

* Body and generic head minimise the balanced softmax loss; they are averaged and sent.
* The personalised head learns, with plain cross-entropy, what to add to the generic logits; it
  stays with its client (FEDDISK-A26) and its loss reaches neither the generic head nor the body
  (`personal_trains_body`: reaches the body).
* mu multiplies the personalised head's loss, and the generic head is evaluated by default
  (FEDDISK-A25). With both defaults mu cannot change the model that is evaluated.
* The personalised head starts at 0: at first a client's prediction is the generic one.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlib.engine import Batch, Objective, Trainer, cross_entropy
from fedlib.errors import UsageError, check, check_name
from fedlib.federation import Cohort, Method, RoundReport, ServerState, Task, refuse_mixup
from fedlib.federation.aggregate import Tensors
from fedlib.federation.client_updates import (
    finish_round,
    gather,
    initial_state,
    put_back,
    replica_of_lanes,
    sample_shares,
    train_cohort,
)
from fedlib.run import Run

PERSONAL = "personal"  # name of the personalised head's layer


class TwoHeads(nn.Sequential):
    """A task model ending in a fully connected head, with a second head beside it.

    The task model's tensors keep their names. Returns (generic, own) logits, [batch, classes] each.
    """

    stackable = True  # `fedlib.engine.layers.stackable.unstackable_layers`

    def __init__(self, model: nn.Module, *, personal_trains_body: bool = False) -> None:
        super().__init__()
        for name, layer in model.named_children():
            self.add_module(name, layer)
        head = next(reversed(self._modules.values()))
        self.add_module(PERSONAL, nn.utils.skip_init(nn.Linear, head.in_features, head.out_features))
        self.personal_trains_body = personal_trains_body

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        *body, generic, personal = self._modules.values()
        for layer in body:
            x = layer(x)
        return generic(x), personal(x if self.personal_trains_body else x.detach())


def balanced_softmax(logits: Tensor, targets: Tensor, counts: Tensor) -> Tensor:
    """[*C, B] `-log(n_y e^{z_y} / sum_c n_c e^{z_c})` in nats: cross-entropy of logit_c + log n_c.

    logits [*C, B, classes], targets [*C, B], counts [*C, classes] samples of each class that the
    client has; a class that it has not leaves the sum.
    """
    # log 0 as a finite number: a padded sample may be of any class, and its loss is multiplied by 0
    shifted = logits + counts.log().clamp(min=-1e4).unsqueeze(-2)
    losses = F.cross_entropy(shifted.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view(targets.shape)


@dataclass(frozen=True)
class FedROD(Method):
    """FedAvg over body and generic head; the personalised heads are in `memory["heads"]`, [R, N, ...]."""

    mu: float = 1.0  # FedDisk sec. VI.B.1; 5, 10, 20 are said to be similar
    evaluate: str = "generic"  # or "personalised": clients are evaluated with both heads' sum
    personal_trains_body: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self.mu >= 0, f"mu={self.mu} given for method 'fedrod'; allowed: 0 or more")
        check_name("evaluate of method 'fedrod'", self.evaluate, ("generic", "personalised"))

    def check(self, run: Run) -> None:
        refuse_mixup("fedrod", run)

    def init(self, task: Task) -> ServerState:
        self.check(task.run)
        head = _head(task)
        state, lead = initial_state(task), (len(task.runs), task.run.num_clients)
        shapes = {"weight": head.weight.shape, "bias": head.bias.shape}
        heads = {f"{PERSONAL}.{n}": torch.zeros(*lead, *s, device=task.device) for n, s in shapes.items()}
        return replace(state, memory={"heads": heads})

    def apply(self, task: Task, state: ServerState, cohort: Cohort) -> tuple[ServerState, RoundReport]:
        two_heads = replace(task, trainer=task.once(("fedrod", self), lambda: self._trainer(task)))
        own = gather(state.memory["heads"], cohort.clients)
        trained = train_cohort(two_heads, state, cohort, personal=own)
        heads = put_back(state.memory["heads"], cohort.clients, trained.state.params)
        return finish_round(task, state, cohort, trained, sample_shares(task, cohort), heads=heads)

    def client_models(self, task: Task, state: ServerState, clients: np.ndarray) -> tuple[Tensors, Tensors]:
        """The models that clients are evaluated with, [R * K, ...] in the task model's names.

        Generic logits plus own logits are the logits of one head whose weights are the sum.
        """
        replica = replica_of_lanes(task, clients)
        params = {name: t[replica] for name, t in state.params.items()}
        if self.evaluate == "personalised":
            name, own = _head_name(task), gather(state.memory["heads"], clients)
            for part in ("weight", "bias"):
                params[f"{name}.{part}"] = params[f"{name}.{part}"] + own[f"{PERSONAL}.{part}"]
        return params, {name: t[replica] for name, t in state.buffers.items()}

    def _trainer(self, task: Task) -> Trainer:
        counts = _class_counts(task)

        def losses(outputs: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
            generic, own = outputs
            balanced = balanced_softmax(generic, batch.targets, counts[batch.replica, batch.client])
            return balanced + self.mu * cross_entropy(generic.detach() + own, batch)

        model = TwoHeads(task.model, personal_trains_body=self.personal_trains_body).to(task.device)
        return replace(task.trainer, model=model, objective=Objective(losses))


def _head_name(task: Task) -> str:
    return [name for name, _ in task.model.named_children()][-1]


def _head(task: Task) -> nn.Linear:
    """The task model's last layer; UsageError if that is no fully connected one with a bias."""
    model, name = task.model, type(task.model).__name__
    last = [*model.children()][-1] if isinstance(model, nn.Sequential) and len(model) else None
    if type(last) is not nn.Linear or last.bias is None:
        told = name if last is None else f"which ends in {last}"
        raise UsageError(
            f"method 'fedrod' given the model {task.run.model!r}, {told}; allowed: a torch.nn.Sequential "
            "that ends in a torch.nn.Linear with a bias"
        )
    return last


def _class_counts(task: Task) -> Tensor:
    """[R, N, classes] float32 n_{k,c}: samples of class c that client k trains on."""
    labels, classes = task.train.labels.cpu().numpy(), task.dataset.num_classes
    counts = [[np.bincount(labels[index], minlength=classes) for index in lists] for lists in task.clients]
    return torch.from_numpy(np.array(counts, dtype=np.float32)).to(task.device)
