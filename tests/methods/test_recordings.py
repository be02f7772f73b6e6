"""One graph per shape: on a GPU nothing is recorded twice, whatever the round, the seed and the method."""

from collections import Counter

import pytest
import torch
from emulated import GPU, emulated_gpu

from fedlib.engine import Trainer, cuda_graphs, make_optimizer
from fedlib.federation import rounds
from fedlib.methods import make_method
from tests.methods.test_on_gpu import CASES, world


@pytest.fixture
def recorded(monkeypatch):
    """Counts recordings by what is computed, on how many rows."""
    seen, real = Counter(), cuda_graphs.GraphBuffers._recording

    def recording(self, active, full):
        trainer, objective = self.trainer, self.trainer.objective
        functions = [
            getattr(f, "__qualname__", type(f).__name__) for f in (objective.losses, objective.inputs)
        ]
        seen[repr(trainer.model), self.lanes, self.rule is None, *functions, active, full] += 1
        return real(self, active, full)

    monkeypatch.setattr(cuda_graphs.GraphBuffers, "_recording", recording)
    return seen


def play(method, case, seeds=(0, 1), **changes):
    task = world(method, GPU, seeds=seeds, **changes)
    for _ in rounds(task, make_method(method, case)):
        pass


def some_of(method):
    """Cohorts whose largest client differs from round to round: FedSGD's batch is all of it."""
    if method == "fedsgd":
        return {"cohort_size": 1, "seeds": (0,)}
    need_all = ("singleset", "best_constant", "evaluatorfl", "schedulerfl")
    return {} if method in need_all else {"cohort_size": 3}


@pytest.mark.parametrize("method", CASES)
def test_no_round_records_what_an_earlier_one_has(method, recorded):
    with emulated_gpu():
        play(method, CASES[method], **some_of(method))
    assert recorded
    assert set(recorded.values()) == {1}, [what for what, times in recorded.items() if times > 1]


def test_methods_and_seeds_share_what_is_recorded(recorded):
    with emulated_gpu():
        play("fedavg", {})
        before = dict(recorded)
        play("fedavg", {}, seeds=(5, 6))
        play("feddrl", {**CASES["feddrl"], "mode": "online"})
        assert recorded == before
        play("fedprox", {"mu": 0.1})
        both = dict(recorded)
        play("fedprox", {"mu": 1.0}, seeds=(7, 8))
        assert recorded == both != before


def test_poolings_that_print_alike_and_differ_share_nothing():
    def key(**options):
        layers = torch.nn.Sequential(
            torch.nn.AvgPool2d(2, **options), torch.nn.Flatten(), torch.nn.Linear(4, 2)
        )
        return cuda_graphs._model_key(Trainer(layers, "stacked", make_optimizer("sgd"), 4))

    assert key() == key()
    settings = [{}, {"ceil_mode": True}, {"count_include_pad": False}, {"divisor_override": 3}]
    assert len({key(**options) for options in settings}) == len(settings)
