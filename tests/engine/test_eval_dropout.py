"""FEDDRL-A4: the option that keeps dropout on while losses and accuracies are measured."""

from dataclasses import replace

import pytest
import torch
from worlds import make_world

from fedlib.engine import evaluate_rows, evaluate_segments
from fedlib.federation import initial_state
from fedlib.models import make_model
from fedlib.models.layers import Dropout, dropout_mask, step_key


def measure(backend, eval_dropout):
    """Losses of one model on four clients, by both routes, [2, 4]."""
    task = world_with_dropout({"dropout": 0.5, "eval_dropout": eval_dropout})
    trainer = replace(task.trainer, backend=backend)
    state = initial_state(task)
    copies = {n: t.expand(4, *t.shape[1:]).contiguous() for n, t in state.params.items()}
    by_rows = evaluate_rows(trainer, task.train, copies, {}, task.clients[0])
    by_segments = evaluate_segments(trainer, task.train, state.params, {}, task.clients)[0]
    return torch.stack([by_rows.loss, by_segments.loss])


def world_with_dropout(options):
    model = make_model("cnn-feddrl", image_shape=(1, 16, 16), num_classes=3, generator_seed=0, **options)
    task = make_world(shape=(16, 16), model=model)
    run = replace(task.run, model="cnn-feddrl", model_options=options)
    return replace(task, runs=(run,))


@pytest.mark.parametrize("backend", ["vmap", "stacked"])
@pytest.mark.parametrize("eval_dropout", [False, True])
def test_backends_agree_with_the_loop(backend, eval_dropout):
    torch.testing.assert_close(measure(backend, eval_dropout), measure("loop", eval_dropout))


def test_the_option_changes_the_losses_and_repeats():
    off, on = measure("stacked", False), measure("stacked", True)
    assert (off - on).abs().min() > 1e-4
    assert torch.equal(on, measure("stacked", True))


def test_dropout_in_evaluation_by_hand():
    """Kept values are doubled at p = 1/2, the others are 0; usual layers pass everything."""
    x, key = torch.ones(2, 6), torch.zeros((), dtype=torch.int64)
    layer = Dropout(0.5, in_evaluation=True).eval()
    with step_key(key):
        dropped = layer(x)
    assert torch.equal(dropped, 2.0 * dropout_mask(key, 0, 2, 6, 0.5).view(2, 6))
    assert 0 < dropped.count_nonzero() < 12
    assert torch.equal(Dropout(0.5).eval()(x), x)
