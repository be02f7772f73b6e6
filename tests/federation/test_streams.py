"""Random streams of methods: shared within a cell, independent between cells."""

from dataclasses import replace

import pytest
import torch
from worlds import make_world

from fedlib.federation import method_generators, method_rng

OTHER_CELLS = (
    {"dataset": "x"},
    {"dataset_options": {"train_per_class": 1}},
    {"partition": "x"},
    {"partition_options": {"delta": 0.9}},
    {"num_clients": 99},
    {"cohort_size": 1},
    {"seed": 7},
)


def draws(**changes):
    task = make_world()
    task = replace(task, runs=tuple(replace(run, **changes) for run in task.runs))
    first = torch.rand(3, generator=method_generators(task, "agent")[0])
    return {*method_rng(task, 0, "act", 1).random(3).tolist(), *first.tolist()}


def test_methods_of_one_cell_share_their_draws():
    assert draws() == draws(method="other", method_options={"mu": 1.0}, rounds=999, artifact="b", model="c")


@pytest.mark.parametrize("change", OTHER_CELLS, ids=lambda change: next(iter(change)))
def test_two_cells_share_no_draw(change):
    assert not draws() & draws(**change)
