"""Training with products in bfloat16: close to float32, repeatable, and only where it is faster."""

import numpy as np
import pytest
import torch

from fedlib.engine import LocalRule, choose_backend, choose_precision, evaluate_lanes, forward
from fedlib.engine.cuda_graphs import forget_captures
from fedlib.federation import prepare, rounds
from fedlib.methods import make_method
from fedlib.models import make_model
from tests.engine.test_backends import make_samples, start_state
from tests.engine.test_engine import RATES, assert_equal, make_trainer, run
from tests.federation.test_rounds import flat
from tests.support.worlds import make_run, make_world, through_a_file

CPU = torch.device("cpu")
SHARE = 0.2  # of the way from the start to the float32 model that the bf16 model may be off; found: 0.16

CASES = {
    "convolutions": {"name": "lenet"},
    "dropout": {"name": "cnn-feddrl"},
    "BatchNorm, ragged": {"name": "cnn-feddisk", "sizes": [7, 5, 12]},
    "Adadelta": {"name": "cnn-frl", "optimizer": "adadelta", "learning_rate": 1.0},
    "momentum": {"name": "mlp", "options": {"momentum": 0.9}},
    "local rule": {"name": "lenet", "rule": LocalRule(np.array([0.0, 0.1, 1.0, 2.0]))},
}


def split(case):
    fields = {k: v for k, v in CASES[case].items() if k in ("name", "optimizer", "options")}
    return fields, {k: v for k, v in CASES[case].items() if k not in fields}


@pytest.mark.parametrize("backend", ["loop", "stacked", "vmap"])
@pytest.mark.parametrize("case", CASES)
def test_bf16_ends_near_float32_with_float32_parameters(case, backend):
    fields, work = split(case)
    exact = run(make_trainer(**fields, backend=backend), epochs=1, **work)
    trainer = make_trainer(**fields, backend=backend, precision="bf16")
    rough = run(trainer, epochs=1, **work)
    start = {name: p.detach() for name, p in trainer.model.named_parameters()}
    off, way = [], []
    for name, tensor in exact.state.params.items():
        assert rough.state.params[name].dtype == torch.float32
        off.append((rough.state.params[name] - tensor).flatten())
        way.append((tensor - start[name]).flatten())
    assert torch.cat(off).norm() < SHARE * torch.cat(way).norm()
    torch.testing.assert_close(rough.loss, exact.loss, rtol=0.02, atol=0.01)
    assert not torch.equal(rough.loss, exact.loss)


@pytest.mark.parametrize("case", ["convolutions", "BatchNorm, ragged", "local rule"])
def test_bf16_repeats_bit_for_bit_and_recorded_steps_do_too(case):
    forget_captures()
    fields, work = split(case)
    work["learning_rate"] = RATES[: len(work.get("sizes", RATES))]
    eager, again, recorded = (
        run(make_trainer(**fields, precision="bf16", capture=way), **work) for way in (None, None, True)
    )
    assert_equal(again, eager)
    assert_equal(recorded, eager)


def bf16_world(**changes):
    task = make_world(seeds=(0, 1), model="lenet", shape=(20, 20), cohort_size=2, **changes)
    object.__setattr__(task.trainer, "precision", "bf16")
    return task


def test_bf16_resumes_bit_for_bit():
    whole = [*rounds(bf16_world(rounds=4), make_method("fedavg"))]
    state = through_a_file(whole[2].state)
    resumed = [*rounds(bf16_world(rounds=4), make_method("fedavg"), state)]
    assert torch.equal(flat(resumed[-1].state), flat(whole[-1].state))
    exact = [*rounds(make_world(seeds=(0, 1), model="lenet", shape=(20, 20), cohort_size=2, rounds=4),
                     make_method("fedavg"))]  # fmt: skip
    assert not torch.equal(flat(exact[-1].state), flat(whole[-1].state))


@pytest.mark.parametrize("backend", ["stacked", "vmap"])
def test_evaluation_stays_float32(backend):
    trained = make_trainer("lenet", backend, precision="bf16")
    run(trained, epochs=1)
    state, samples = start_state(trained, trained.model, 2), make_samples((1, 28, 28), 10)
    lists = [np.arange(10), np.arange(10, 30)]
    found = [
        evaluate_lanes(trainer, samples, state.params, state.buffers, lists)
        for trainer in (trained, make_trainer("lenet", backend))
    ]
    assert torch.equal(found[0].loss, found[1].loss)


@pytest.mark.parametrize("has", [True, False])
def test_which_networks_take_bf16_on_a_cpu(has, monkeypatch):
    monkeypatch.setattr(forward, "multiplies_bfloat16", lambda: has)
    monkeypatch.setattr(forward, "has_tiles", lambda: True)
    taken = "bf16" if has else "float32"

    def chosen(name, backend="auto", shape=(1, 28, 28)):
        model = make_model(name, image_shape=shape, num_classes=10, generator_seed=0)
        return choose_precision("bf16", model, CPU, backend)

    assert [chosen(name) for name in ("lenet", "cnn-feddrl", "cnn-frl", "cnn-feddisk")] == [taken] * 4
    assert chosen("vgg11", shape=(3, 32, 32)) == taken
    assert {chosen("mlp"), chosen("mobilenetv2", shape=(3, 32, 32)), chosen("lenet", "vmap")} == {"float32"}
    assert (chosen("lenet", "loop"), chosen("cnn-frl", "loop")) == ("float32", taken)


@pytest.mark.parametrize(
    ("name", "without"),
    [("lenet", "float32"), ("lenet5", "float32"), ("cnn-feddisk", "bf16"), ("cnn-feddrl", "bf16")],
)
def test_without_amx_convolutions_of_few_channels_stay_in_float32(name, without, monkeypatch):
    """Widest inputs: 10, 6, 16 and 32 channels."""
    monkeypatch.setattr(forward, "multiplies_bfloat16", lambda: True)
    model = make_model(name, image_shape=(1, 28, 28), num_classes=10, generator_seed=0)
    for tiles, expected in ((False, without), (True, "bf16")):
        monkeypatch.setattr(forward, "has_tiles", lambda tiles=tiles: tiles)
        assert choose_precision("bf16", model, CPU) == expected


def test_bf16_stacks_what_float32_trains_one_by_one():
    vgg = make_model("vgg11", image_shape=(3, 32, 32), num_classes=10, generator_seed=0)
    assert choose_backend(vgg, CPU) == "loop"
    assert choose_backend(vgg, CPU, precision="bf16") == "stacked"


def test_a_task_tells_the_precision_that_it_takes(monkeypatch):
    monkeypatch.setattr(forward, "multiplies_bfloat16", lambda: True)
    run = make_run(
        dataset="fmnist-embedded", partition="iid", precision="bf16", num_clients=2, rounds=1,
    )  # fmt: skip
    assert prepare([run]).facts["precision"] == "float32"
