"""The hook of the local step: every backend against the reference loop, and a rule outside of the engine."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from emulated import ForgetfulRecorder

from fedlib.engine import LocalRule, cuda_graphs
from fedlib.engine.cuda_graphs import forget_captures
from fedlib.errors import UsageError
from fedlib.federation import (
    Method,
    client_updates,
    finish_round,
    rounds,
    sample_shares,
    train_and_average,
    train_cohort,
)
from fedlib.methods import make_method
from tests.engine.test_backends import SIZES, assert_same, start_state
from tests.engine.test_engine import RATES, assert_equal, make_trainer, run
from tests.federation.test_rounds import flat, play
from tests.support.worlds import make_world


def tensors_like(trainer, scale, names=None):
    """Parameters [C, ...] that differ between clients, for all or some names."""
    generator = torch.Generator().manual_seed(0)
    params = start_state(trainer, trainer.model, len(SIZES)).params
    drawn = {n: scale * torch.randn(t.shape, generator=generator) for n, t in params.items()}
    return {n: t for n, t in drawn.items() if names is None or n in names}


def rules(trainer):
    """FedProx, SCAFFOLD, FedDyn, and terms for some of the parameters only."""
    mu, some = np.array([0.0, 0.1, 1.0, 2.0]), [n for n, _ in trainer.model.named_parameters()][1:3]
    return {
        "proximal": LocalRule(mu),
        "anchor": LocalRule(0.5, tensors_like(trainer, 0.1)),
        "offset": LocalRule(offset=tensors_like(trainer, 0.01)),
        "both": LocalRule(torch.tensor(mu), offset=tensors_like(trainer, 0.01)),
        "some": LocalRule(0.5, tensors_like(trainer, 0.1, some), tensors_like(trainer, 0.01, some[:1])),
    }


WAYS = {
    "vmap": {"backend": "vmap"},
    "stacked": {},
    "graph": {"capture": True},
}  # fmt: skip


KINDS = ["proximal", "anchor", "offset", "both", "some"]
CASES = [
    *(("mlp", way, kind, RATES) for way in WAYS for kind in KINDS),
    *(("mlp", "stacked", kind, 0.05) for kind in KINDS),  # on a CPU a common rate is a number
    *(("lenet", way, "both", RATES) for way in WAYS),  # autograd's step, where the MLP's is written out
]


@pytest.mark.parametrize(("model", "way", "kind", "rates"), CASES)
def test_every_backend_equals_the_reference_loop(model, way, kind, rates):
    forget_captures()
    loop, fast = make_trainer(model, "loop"), make_trainer(model, **WAYS[way])
    rule = rules(loop)[kind]
    reference = run(loop, learning_rate=rates, rule=rule, epochs=1)
    assert_same(run(fast, learning_rate=rates, rule=rule, epochs=1), reference)
    free = run(fast, learning_rate=rates, epochs=1)
    assert any(not torch.allclose(t, reference.state.params[n]) for n, t in free.state.params.items())


@pytest.mark.parametrize("optimizer", ["adam", "adadelta"])
def test_optimizers_see_the_rule_as_part_of_the_gradient(optimizer):
    loop, fast = (make_trainer("mlp", b, optimizer=optimizer) for b in ("loop", "stacked"))
    rule = rules(loop)["both"]
    assert_same(run(fast, rule=rule), run(loop, rule=rule), 1e-4)


def test_an_offset_is_added_to_the_gradient():
    """Plain SGD: a step with offset h ends at the step without it, minus eta h."""
    offset = tensors_like(make_trainer(), 0.1)
    work = {"learning_rate": RATES, "steps_limit": 1}
    plain, moved = run(make_trainer(), **work), run(make_trainer(), rule=LocalRule(offset=offset), **work)
    for name, h in offset.items():
        step = torch.tensor(RATES).view(-1, *[1] * (h.ndim - 1)) * h
        torch.testing.assert_close(plain.state.params[name] - moved.state.params[name], step)


def test_narrow_passes_take_their_own_part_of_a_rule():
    rule = rules(make_trainer())["both"]
    whole, narrow = (run(make_trainer(max_lanes=m), rule=rule) for m in (None, 2))
    assert_same(narrow, whole)


def test_recorded_steps_read_the_rule_of_the_present_round(monkeypatch):
    """One set of graph buffers serves all values of a rule; another kind of rule has one of its own."""
    forget_captures()
    monkeypatch.setattr(cuda_graphs, "CallRecorder", ForgetfulRecorder)
    trainer = make_trainer(capture=True)
    for scale in (0.1, 0.3):
        rule = LocalRule(scale, offset=tensors_like(trainer, scale))
        assert_equal(
            run(trainer, learning_rate=RATES, rule=rule), run(make_trainer(), learning_rate=RATES, rule=rule)
        )
    assert len(cuda_graphs._KEPT) == 1
    run(trainer, learning_rate=RATES, rule=replace(rule, proximal=None))
    assert len(cuda_graphs._KEPT) == 2
    forget_captures()


def test_wrong_rules_are_one_line():
    with pytest.raises(UsageError, match="local rule for parameter 'nowhere' given; allowed: "):
        run(make_trainer(), rule=LocalRule(offset={"nowhere": torch.zeros(4)}))
    with pytest.raises(UsageError, match="a local rule with an anchor needs `proximal`"):
        run(make_trainer(), rule=LocalRule(anchor={}))


class ToyDrift(Method):
    """A method with a rule of its own: clients drift along the last round's change, damped by a penalty."""

    def init(self, task):
        state = make_method("fedavg").init(task)
        return replace(state, memory={"change": {n: torch.zeros_like(t) for n, t in state.params.items()}})

    def apply(self, task, state, cohort):
        drift = {n: -0.1 * t[torch.as_tensor(cohort.replica)] for n, t in state.memory["change"].items()}
        trained = train_cohort(task, state, cohort, rule=LocalRule(proximal=0.1, offset=drift))
        after, report = finish_round(task, state, cohort, trained, sample_shares(task, cohort))
        change = {n: after.params[n] - t for n, t in state.params.items()}
        return replace(after, memory={"change": change}), report


def test_a_rule_from_outside_of_the_engine():
    task = make_world(seeds=(0, 1), cohort_size=2)
    looped = replace(task, trainer=replace(task.trainer, backend="loop"))
    ours, reference = ([*rounds(t, ToyDrift())][-1].state for t in (task, looped))
    torch.testing.assert_close(flat(ours), flat(reference))
    assert not torch.allclose(flat(ours), flat(play(task, "fedprox", mu=0.1)[-1].state))


def test_a_cohort_that_trains_in_parts_takes_each_slots_rule(monkeypatch):
    task = make_world(seeds=(0, 1))
    state = make_method("fedavg").init(task)
    cohort = client_updates.Cohort(1, np.tile(np.arange(4), (2, 1)))
    h = {n: torch.linspace(-1, 1, 8).view(8, *[1] * (t.ndim - 1)) + 0 * t.repeat(4, *[1] * (t.ndim - 1))
         for n, t in state.params.items()}  # fmt: skip
    rule = LocalRule(np.linspace(0, 1, 8), offset=h)
    shares = sample_shares(task, cohort)
    whole, _ = train_and_average(task, state, cohort, shares, rule=rule)
    monkeypatch.setattr(client_updates, "LOCAL_MODELS_BYTES", 1)
    parts, _ = train_and_average(task, state, cohort, shares, rule=rule)
    for name, tensor in whole.params.items():
        torch.testing.assert_close(parts.params[name], tensor)
