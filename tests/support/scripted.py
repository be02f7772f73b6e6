"""Local training by script: clients return given models, so that a server rule can be worked out by hand."""

import torch
from torch import nn
from worlds import make_world

from fedlib.engine import Trained
from fedlib.federation import Cohort, client_updates


class OneWeight(nn.Module):
    """A model whose only parameter is the number `w`."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.w * torch.ones(len(x), 3)


def scripted_world(monkeypatch, module, local_models, *, start, **changes):
    """A task with one weight w, first `start`; in round t client k returns `local_models[t - 1][k]`.

    module: the method's, whose imported `train_cohort` is replaced as well.
    """
    task = make_world(model=OneWeight(), **changes)

    def train_cohort(task, state, cohort, **work):
        values = torch.tensor([local_models[cohort.round - 1][k] for k in cohort.client])
        local = task.trainer.start({"w": values.view(-1, 1).float()}, {})
        return Trained(local, torch.zeros(len(values)))

    monkeypatch.setattr(client_updates, "train_cohort", train_cohort)
    if hasattr(module, "train_cohort"):
        monkeypatch.setattr(module, "train_cohort", train_cohort)
    first = {"w": torch.full((len(task.runs), 1), float(start))}
    initial = client_updates.ServerState(0, first, {})
    monkeypatch.setattr(module, "initial_state", lambda task: initial)
    return task


def play(task, method, rounds):
    """The global weight after each round with everybody taking part, and the last report."""
    state, seen = method.init(task), []
    for t in range(1, rounds + 1):
        state, report = method.apply(task, state, Cohort(t, task.everyone()))
        seen.append(state.params["w"][0].item())
    return seen, report, state
