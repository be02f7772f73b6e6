"""The engine's own machinery: recorded steps, the written-out chain, passes, memory, precision."""

import copy
import gc
import warnings
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from emulated import ForgetfulRecorder

from fedlib.engine import (
    LocalRule,
    Objective,
    Trainer,
    choose_backend,
    cross_entropy,
    cuda_graphs,
    make_optimizer,
    train,
)
from fedlib.engine.cuda_graphs import forget_captures
from fedlib.engine.hardware.device import first_line, is_out_of_memory
from fedlib.engine.hardware.pass_size import MemoryWarning, cut, pass_lanes
from fedlib.engine.hardware.precision import check_precision
from fedlib.engine.layers.stacked import StackedConv2d, prefers_products
from fedlib.engine.steps.autograd import PrefixStep
from fedlib.engine.steps.choose import make_step
from fedlib.engine.steps.mlp import ChainStep
from fedlib.errors import MemoryShortage, UsageError
from fedlib.models import make_model
from tests.engine.test_backends import SIZES, assert_same, make_lanes, make_samples, start_state

CPU = torch.device("cpu")


def make_trainer(name="mlp", backend="stacked", *, optimizer="sgd", options=None, **fields):
    model = make_model(name, image_shape=(1, 28, 28), num_classes=10, generator_seed=1)
    return Trainer(model, backend, make_optimizer(optimizer, options or {}), 4, **fields)


def before_training(trainer, *, sizes=SIZES, device="cpu", **work):
    """What `trainer.train` is given: samples, local models, work and the local rule."""
    model = copy.deepcopy(trainer.model)
    rule = work.pop("rule", None)
    plan = make_lanes(sizes, device=device, **work)
    samples = make_samples((1, 28, 28), 10, count=max(40, sum(sizes)))
    if device != "cpu":
        tensors = {n: getattr(samples, n).to(device) for n in ("inputs", "labels", "mean", "std")}
        samples = replace(samples, **tensors)
    return samples, start_state(trainer, model, len(sizes)), plan, rule


def run(trainer, **work):
    return train(trainer, *before_training(trainer, **work))


def assert_equal(a, b):
    for ours, theirs in ((a.state.params, b.state.params), (a.state.buffers, b.state.buffers)):
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    slots = zip(a.state.optimizer.values(), b.state.optimizer.values(), strict=True)
    assert all(torch.equal(x, y) for mine, other in slots for x, y in zip(mine, other, strict=True))
    assert torch.equal(a.state.steps, b.state.steps)
    assert torch.equal(a.loss, b.loss)


# learning rates that differ: a single one is a number in eager steps and a tensor in recorded ones
RATES = [0.05, 0.04, 0.05, 0.03]
FEDPROX = LocalRule(proximal=np.array([0.0, 0.1, 1.0, 2.0]))
RECORDED = {
    "chain": {"name": "mlp", "learning_rate": RATES},
    "chain with FedProx": {"name": "mlp", "learning_rate": RATES, "rule": FEDPROX},
    "convolutions": {"name": "lenet", "learning_rate": RATES, "rule": LocalRule(proximal=0.1)},
    "dropout": {"name": "cnn-feddrl", "learning_rate": RATES, "epochs": 1},
    # eps: a bias before batch normalisation has no gradient but rounding, which Adam scales to whole steps
    "Adam": {"name": "cnn-feddisk", "sizes": [7, 4, 12], "learning_rate": [0.002, 0.001, 0.003],
             "optimizer": "adam", "options": {"eps": 1e-3}},
    "momentum": {"name": "mlp", "learning_rate": RATES, "options": {"momentum": 0.9}},
    "vmap": {"name": "lenet", "backend": "vmap", "learning_rate": RATES, "epochs": 1},
}  # fmt: skip
TRAINER_FIELDS = ("name", "backend", "optimizer", "options")


def fields_of(case):
    return {name: value for name, value in RECORDED[case].items() if name in TRAINER_FIELDS}


def work_of(case):
    return {name: value for name, value in RECORDED[case].items() if name not in TRAINER_FIELDS}


@pytest.mark.parametrize("case", RECORDED)
def test_recorded_steps_equal_eager_steps(case):
    """On the CPU a recording is the step itself: what is tested is the memory it works in."""
    forget_captures()
    fields, settings = fields_of(case), work_of(case)
    eager = run(make_trainer(**fields), **settings)
    for seed in (0, 5, 0):  # buffers that have trained other clients before give the same again
        recorded = run(make_trainer(**fields, capture=True), seed=seed, **settings)
    assert_equal(recorded, eager)
    assert len(cuda_graphs._KEPT) == 1


def test_memory_of_a_forgotten_stage_is_free_at_once():
    """What ran out of memory is begun anew right after; the garbage collector may come much later."""
    forget_captures()
    run(make_trainer(capture=True), sizes=[4, 4], learning_rate=0.1)
    wider = {"sizes": [4, 4, 4], "learning_rate": 0.1}
    buffers = [weakref.ref(next(iter(cuda_graphs._KEPT.values())))]
    gc.collect()
    gc.disable()
    try:
        run(make_trainer(capture=True), **wider)  # takes the place of the narrower one
        buffers.append(weakref.ref(next(iter(cuda_graphs._KEPT.values()))))
        assert [kept() is None for kept in buffers] == [True, False]
        forget_captures()
        assert [kept() is None for kept in buffers] == [True, True]
    finally:
        gc.enable()


def test_a_stage_serves_fewer_lanes_other_rates_and_other_methods():
    forget_captures()
    run(make_trainer(capture=True), learning_rate=RATES)
    kept = next(iter(cuda_graphs._KEPT.values()))
    few = {"sizes": [5, 3], "learning_rate": [0.1, 0.2]}
    assert_equal(run(make_trainer(capture=True), **few), run(make_trainer(), **few))
    assert next(iter(cuda_graphs._KEPT.values())) is kept
    assert {lanes for lanes, _ in kept.recorded} <= {1, 2, 3, 4}


def test_a_method_that_makes_its_objective_anew_each_round_keeps_its_stage():
    forget_captures()
    alpha = torch.linspace(0.5, 2, 40)

    def weighted(tensor):
        return Objective(losses=lambda outputs, batch: tensor[batch.index] * cross_entropy(outputs, batch))

    for _ in range(3):
        recorded = run(make_trainer(capture=True, objective=weighted(alpha)), learning_rate=RATES)
    assert len(cuda_graphs._KEPT) == 1
    assert_equal(recorded, run(make_trainer(objective=weighted(alpha)), learning_rate=RATES))
    run(make_trainer(capture=True, objective=weighted(alpha.clone())), learning_rate=RATES)
    assert len(cuda_graphs._KEPT) == 2


@pytest.mark.parametrize("case", RECORDED)
def test_a_stage_keeps_all_that_its_recorded_steps_read(case, monkeypatch):
    """A CUDA graph holds on to nothing: it would go on reading memory that has been given to others."""
    forget_captures()
    monkeypatch.setattr(cuda_graphs, "CallRecorder", ForgetfulRecorder)
    eager = run(make_trainer(**fields_of(case)), **work_of(case))
    recorded = run(make_trainer(**fields_of(case), capture=True), **work_of(case))
    forget_captures()
    assert_equal(recorded, eager)


@pytest.mark.parametrize("work", [{}, {"learning_rate": RATES}, {"rule": LocalRule(proximal=0.5)}])
def test_written_out_chain_equals_autograd(work, monkeypatch):
    chain = run(make_trainer(), **work)
    monkeypatch.setattr("fedlib.engine.eager.make_step", PrefixStep)
    assert_equal(run(make_trainer(), **work), chain)


def test_which_step_is_taken():
    def kind(trainer):
        state = start_state(trainer, trainer.model, 2)
        return type(make_step(trainer, state, None, 0.1))

    assert kind(make_trainer()) is ChainStep
    assert kind(make_trainer("lenet")) is PrefixStep
    assert kind(make_trainer(options={"momentum": 0.9})) is PrefixStep
    assert kind(make_trainer(precision="bf16")) is PrefixStep
    assert kind(make_trainer(objective=Objective(losses=lambda o, b: cross_entropy(o, b)))) is PrefixStep


class Starved(Trainer):
    """A trainer on a machine whose memory holds two clients, and now and then fails in mid-pass."""

    def fused_updates(self, params, rule, rate):
        if len(next(iter(params.values()))) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().fused_updates(params, rule, rate)


@pytest.mark.parametrize("capture", [False, True])
def test_out_of_memory_is_answered_by_half_the_clients(capture):
    forget_captures()
    plain = make_trainer()
    starved = Starved(plain.model, "stacked", plain.optimizer, 4, capture=capture)
    with pytest.warns(MemoryWarning, match="training 4 clients in one pass does not fit .*going on with 2"):
        halved = run(starved)
    assert starved.limit.lanes == 2
    assert_same(halved, run(plain))
    with warnings.catch_warnings():  # it is known now, also to trainers made from this one
        warnings.simplefilter("error")
        run(replace(starved, batch_size=4))


def test_memory_that_does_not_hold_one_client_is_an_error(monkeypatch):
    def never(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("fedlib.engine.eager.make_step", never)
    wanted = (
        r"single client of 79,510 parameters in batches of 4 does not fit in the memory of cpu \(CUDA out"
    )
    with pytest.warns(MemoryWarning), pytest.raises(MemoryShortage, match=wanted):
        run(make_trainer())


def test_an_error_of_another_kind_is_no_shortage_of_memory(monkeypatch):
    def never(*_):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr("fedlib.engine.eager.make_step", never)
    with pytest.raises(RuntimeError, match="shapes"):
        run(make_trainer())


def test_a_pass_that_has_changed_the_state_in_place_is_not_begun_anew(monkeypatch):
    """On a CPU lanes that lie side by side are trained in the state's own memory."""

    def late(*settings):
        if len(settings[1].steps) < 4:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 1 byte")
        return make_step(*settings)

    monkeypatch.setattr("fedlib.engine.eager.make_step", late)
    with pytest.raises(RuntimeError, match="not enough memory"):
        run(make_trainer(), sizes=[12, 8, 8, 4])


SHORTAGES = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("FIND was unable to find an engine to execute this computation"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: not enough memory"),
    MemoryError(),
]


@pytest.mark.parametrize("error", SHORTAGES, ids=lambda error: first_line(error)[:40])
def test_shortages_of_memory_are_known_by_all_their_names(error):
    assert is_out_of_memory(error)
    end = RuntimeError("CUDA error: operation failed due to a previous error during capture")
    assert not is_out_of_memory(end)
    end.__context__ = error  # what ending a recording raises after its step ran out of memory
    assert is_out_of_memory(end)
    assert not is_out_of_memory(RuntimeError("CUDA error: device-side assert triggered"))
    assert is_out_of_memory(RuntimeError("could not create a primitive"))  # oneDNN under `ulimit -v`
    assert not is_out_of_memory(RuntimeError("could not create a primitive descriptor for a convolution"))


def test_a_pass_that_fails_late_leaves_the_state_as_it_was(monkeypatch):
    calls = []

    def sometimes(*settings):
        calls.append(len(settings[1].steps))
        if calls == [4, 2]:  # two lanes go on when the others are done
            raise torch.OutOfMemoryError("CUDA out of memory")
        return make_step(*settings)

    reference = run(make_trainer())
    monkeypatch.setattr("fedlib.engine.eager.make_step", sometimes)
    with pytest.warns(MemoryWarning):
        assert_same(run(make_trainer()), reference)


def test_passes_are_of_nearly_equal_width():
    assert [len(part) for part in cut(np.arange(7), 3)] == [3, 2, 2]
    assert [len(part) for part in cut(np.arange(4), None)] == [4]
    assert list(cut(np.arange(0), 3)) == []


def test_pass_width_follows_the_number_of_parameters():
    assert pass_lanes(582_026, "stacked", CPU) < pass_lanes(79_510, "stacked", CPU)
    assert pass_lanes(10**9, "stacked", CPU) == 10
    assert pass_lanes(10**9, "loop", CPU) is None
    assert pass_lanes(582_026, "stacked", torch.device("cuda")) is None


def test_a_single_convolutional_network_trains_in_the_loop_on_a_cpu():
    lenet, mlp = make_trainer("lenet").model, make_trainer().model
    assert choose_backend(lenet, CPU, lanes=1) == "loop"
    assert choose_backend(lenet, CPU, lanes=2) == choose_backend(lenet, CPU) == "stacked"
    assert choose_backend(mlp, CPU, lanes=1) == "stacked"
    assert choose_backend(lenet, torch.device("cuda"), lanes=1) == "stacked"
    assert choose_backend(lenet, CPU, "vmap", lanes=1) == "vmap"


def test_precisions_that_do_not_exist_are_one_line():
    with pytest.raises(UsageError, match="unknown precision 'float16'"):
        check_precision("float16", CPU)
    with pytest.raises(UsageError, match="precision 'tf32' given on cpu; allowed there: float32, bf16"):
        check_precision("tf32", CPU)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(5, 1, 0), (3, 2, 1), (1, 1, 0), ((3, 2), (1, 2), (1, 0))]
)
def test_convolution_by_products_equals_the_grouped_one(kernel, stride, padding):
    torch.manual_seed(0)
    layer = StackedConv2d(3, 4, kernel, stride, padding)
    lanes, batch = 3, 2
    grads, outputs = [], []
    weight, bias = torch.randn(lanes, *layer.weight.shape), torch.randn(lanes, 4)
    image = torch.randn(batch, lanes * 3, 9, 8)
    for by_products in (True, False):
        tensors = [t.clone().requires_grad_() for t in (weight, bias, image)]
        layer._parameters.update(weight=tensors[0], bias=tensors[1])
        layer.by_products = by_products
        outputs.append(layer(tensors[2]))
        grads.append(torch.autograd.grad(outputs[-1].square().sum(), tensors))
    torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-4)
    for ours, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


def test_which_convolutions_become_products():
    weight, gpu = torch.zeros(10, 4, 3, 5, 5), torch.device("cuda")
    assert prefers_products(weight, 1, (1, 1), gpu, 64)
    assert not prefers_products(weight, 1, (1, 1), CPU, 16)
    assert not prefers_products(weight[:1], 1, (1, 1), gpu, 64)
    assert not prefers_products(weight, 3, (1, 1), gpu, 64)
    low = weight.bfloat16()
    assert [prefers_products(low, 1, (1, 1), CPU, pixels) for pixels in (16, 64)] == [True, False]
