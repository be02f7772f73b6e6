"""The engine on a real GPU: recorded graphs against the loop, waits for the host, short memory.

Skipped where there is none. What a recording emulated on the CPU cannot show is here: the addresses that
a graph reads, CUDA's kernels, and what PyTorch itself calls a wait.
"""

import inspect
import warnings
from functools import partial

import pytest
import torch
from worlds import make_world

from fedlib.engine import train
from fedlib.engine.cuda_graphs import forget_captures
from fedlib.engine.hardware.pass_size import MemoryWarning
from fedlib.federation import rounds
from fedlib.methods import make_method
from tests.engine.test_backends import SIZES
from tests.engine.test_engine import (
    RECORDED,
    assert_equal,
    before_training,
    fields_of,
    make_trainer,
    run,
    work_of,
)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def make_on_gpu(**fields):
    trainer = make_trainer(**fields)
    trainer.model.to("cuda")
    return trainer


def on_gpu(*, sizes=SIZES, **fields):
    return run(make_on_gpu(**fields), sizes=sizes, device="cuda", learning_rate=0.05)


def on_cpu(result):
    return {n: t.cpu() for n, t in result.state.params.items()}


@pytest.mark.parametrize("case", RECORDED)
def test_cuda_graphs_equal_the_loop_on_the_cpu(case):
    forget_captures()
    reference = run(make_trainer(**{**fields_of(case), "backend": "loop"}), **work_of(case))
    trainer = make_on_gpu(**fields_of(case))
    for _ in range(2):
        result = run(trainer, device="cuda", **work_of(case))
    torch.testing.assert_close(on_cpu(result), reference.state.params, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(result.loss.cpu(), reference.loss, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("case", RECORDED)
def test_graphs_read_no_memory_that_has_been_freed(case, monkeypatch):
    if "check_input_liveness" not in inspect.signature(torch.cuda.graph.__init__).parameters:
        pytest.skip(f"torch {torch.__version__} cannot tell")
    forget_captures()
    monkeypatch.setattr(torch.cuda, "graph", partial(torch.cuda.graph, check_input_liveness=True))
    for _ in range(2):
        run(make_on_gpu(**fields_of(case)), device="cuda", **work_of(case))
    forget_captures()  # graphs that look at their memory are not for the tests that follow


@pytest.mark.parametrize("case", RECORDED)
def test_graphs_compute_the_same_after_others_have_used_the_memory(case):
    forget_captures()
    trainer = make_on_gpu(**fields_of(case))
    first = run(trainer, device="cuda", **work_of(case))
    filled = [torch.full((n,), torch.nan, device="cuda") for n in range(1, 2_000)]
    assert_equal(run(trainer, device="cuda", **work_of(case)), first)
    del filled


@pytest.mark.parametrize("name", ["mlp", "lenet"])
def test_training_on_a_gpu_waits_for_nothing(name):
    trainer = make_on_gpu(name=name)
    run(trainer, device="cuda")  # records
    given = before_training(trainer, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        train(trainer, *given)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_round_waits_once_for_its_row():
    results = rounds(make_world(seeds=(0, 1), device=torch.device("cuda"), rounds=3), make_method("fedavg"))
    next(results), next(results)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            next(results)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    waits = [w for w in told if "synchronizing CUDA operation" in str(w.message)]
    assert len(waits) == 1, [f"{w.filename}:{w.lineno}" for w in waits]


@pytest.mark.parametrize("name", ["mlp", "lenet", "cnn-feddrl", "cnn-feddisk", "mobilenetv2"])
def test_cuda_graphs_equal_eager_steps_and_repeat_bit_for_bit(name):
    """Also with batch normalisation, in a fresh stage as in a used one."""
    forget_captures()
    first, again, eager = on_gpu(name=name), on_gpu(name=name), on_gpu(name=name, capture=False)
    assert_equal(again, first)
    torch.testing.assert_close(on_cpu(first), on_cpu(eager), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_shorter_mantissas_train_nearly_as_float32_on_a_gpu(precision):
    exact, rough = on_gpu(name="lenet"), on_gpu(name="lenet", precision=precision)
    torch.testing.assert_close(on_cpu(rough), on_cpu(exact), rtol=0.1, atol=0.01)
    assert all(t.dtype == torch.float32 for t in rough.state.params.values())


def test_a_gpu_whose_memory_is_short_trains_in_narrower_passes():
    sizes = [4] * 32  # with 582,026 parameters each
    forget_captures()
    torch.cuda.reset_peak_memory_stats()
    reference = on_gpu(name="cnn-feddrl", sizes=sizes)
    whole = torch.cuda.get_device_properties(0).total_memory
    share = 0.6 * torch.cuda.max_memory_reserved() / whole
    forget_captures()
    torch.cuda.set_per_process_memory_fraction(share)
    try:
        with pytest.warns(MemoryWarning, match="does not fit in the memory of cuda"):
            halved = on_gpu(name="cnn-feddrl", sizes=sizes)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    torch.testing.assert_close(on_cpu(halved), on_cpu(reference), rtol=1e-3, atol=1e-4)
