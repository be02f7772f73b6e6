"""FEDDRL-A4: losses and accuracies are measured without dropout, on every backend."""

from dataclasses import replace

import pytest
import torch
from worlds import make_world

from fedlib.engine import evaluate_clients, evaluate_lanes
from fedlib.federation import initial_state
from fedlib.models import make_model


def measure(backend, dropout):
    """Losses of one model on four clients, by both routes, [2, 4]."""
    model = make_model(
        "cnn-feddrl", image_shape=(1, 16, 16), num_classes=3, generator_seed=0, dropout=dropout
    )
    task = make_world(shape=(16, 16), model=model)
    task = replace(task, runs=(replace(task.run, model="cnn-feddrl", model_options={"dropout": dropout}),))
    trainer, state = replace(task.trainer, backend=backend), initial_state(task)
    copies = {n: t.expand(4, *t.shape[1:]).contiguous() for n, t in state.params.items()}
    by_lanes = evaluate_lanes(trainer, task.train, copies, {}, task.clients[0])
    by_client = evaluate_clients(trainer, task.train, state.params, {}, task.clients)[0]
    return torch.stack([by_lanes.loss, by_client.loss])


@pytest.mark.parametrize("backend", ["loop", "vmap", "stacked"])
def test_losses_are_those_of_the_model_without_dropout(backend):
    torch.testing.assert_close(measure(backend, 0.5), measure("loop", 0.0))
