"""What a GPU needs around the engine, on stand-ins for `torch.cuda` where no GPU is at hand."""

import warnings

import numpy as np
import pytest
import torch
from emulated import GPU, emulated_gpu
from fake_cuda import FakeCuda
from torch import nn
from worlds import make_world

from fedlib.engine import (
    MemoryWarning,
    RaggedIndex,
    Trainer,
    evaluate_clients,
    evaluate_lanes,
    make_optimizer,
)
from fedlib.engine.cuda_graphs import WARM_UP, CudaRecorder, _model_key
from fedlib.engine.evaluation import padded_sums, places_of
from fedlib.engine.forward import StackedForward
from fedlib.engine.hardware import device
from fedlib.engine.hardware.device import to_host
from fedlib.engine.hardware.precision import products_in
from fedlib.errors import MemoryShortage
from fedlib.federation import initial_state, rounds
from fedlib.methods import make_method
from fedlib.models import make_model


@pytest.fixture
def cuda(monkeypatch):
    device._stream.cache_clear()
    yield FakeCuda().install(monkeypatch)
    device._stream.cache_clear()


def test_a_graph_is_recorded_on_its_own_device_on_the_stream_that_it_was_warmed_up_on(cuda):
    seen = []

    def note():
        seen.append((cuda.device, cuda.current_stream()))

    CudaRecorder(torch.device("cuda:1"))(note, note)
    assert len(seen) == WARM_UP + 1
    assert set(seen) == {*cuda.recorded}
    assert cuda.recorded[0][0] == 1
    assert cuda.device == 0  # as it was before


def test_all_recordings_of_a_device_share_a_stream(cuda):
    for name in ("cuda:0", "cuda:1", "cuda:0", "cuda:1"):
        recorder = CudaRecorder(torch.device(name))
        recorder(lambda: None, lambda: None)
        recorder(lambda: None, lambda: None)
    assert cuda.streams_made == 2
    assert len({stream for device, stream in cuda.recorded if device == 0}) == 1


def test_current_leaves_a_cpu_alone(cuda):
    with device.current(torch.device("cpu")), device.current(torch.device("cuda:3")):
        assert cuda.device == 3
    assert cuda.device == 0


def short_of(most, monkeypatch):
    """A machine whose memory holds `most` images in one forward pass."""
    real = StackedForward.outputs

    def outputs(self, x, batch, full):
        if batch.index.numel() > most:
            raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate")
        return real(self, x, batch, full)

    monkeypatch.setattr(StackedForward, "outputs", outputs)


def evaluated(task):
    state = initial_state(task)
    clients = evaluate_clients(task.trainer, task.train, state.params, state.buffers, task.clients)
    lanes = evaluate_lanes(
        task.trainer, task.train, state.params, state.buffers, [np.arange(26), np.arange(5, 16)]
    )
    return [value for found in (*clients, lanes) for value in (found.loss, found.accuracy, found.count)]


@pytest.mark.parametrize("most", [11, 2])
def test_an_evaluation_that_does_not_fit_goes_on_in_smaller_passes(most, monkeypatch):
    reference, task = evaluated(make_world(seeds=(0, 1))), make_world(seeds=(0, 1))
    short_of(most, monkeypatch)
    with pytest.warns(MemoryWarning, match=r"evaluating \d+ images in one pass does not fit"):
        torch.testing.assert_close(evaluated(task), reference)
    assert task.trainer.limit.images <= most
    with warnings.catch_warnings():  # it is known now
        warnings.simplefilter("error")
        torch.testing.assert_close(evaluated(task), reference)


def test_an_image_that_does_not_fit_is_one_clear_line(monkeypatch):
    short_of(0, monkeypatch)
    with (
        pytest.warns(MemoryWarning),
        pytest.raises(MemoryShortage, match=r"evaluating a single image .* cpu"),
    ):
        evaluated(make_world())


def test_what_memory_did_not_hold_is_told_and_resumed_with(monkeypatch):
    task = make_world(rounds=2)
    short_of(10, monkeypatch)
    with pytest.warns(MemoryWarning):
        *_, last = rounds(task, make_method("fedavg"))
    assert task.facts["images_per_pass_by_memory"] == 6
    fresh = make_world(rounds=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(rounds(fresh, make_method("fedavg"), last.state))
    assert fresh.trainer.limit.images == 6


def test_copies_to_the_host_are_one_per_dtype():
    with emulated_gpu() as gpu:
        values = [torch.ones(2, 3, device=GPU), torch.zeros(4), torch.full((2,), 7, device=GPU)]
        found = to_host([*values, torch.full((1,), 2.0, device=GPU)])
        assert gpu.waits == ["cpu", "cpu"]
    assert [t.tolist() for t in found] == [[[1.0] * 3] * 2, [0.0] * 4, [7, 7], [2.0]]
    assert found[1] is values[1]


def test_padded_sums_are_those_of_the_lists():
    sizes, values = np.array([3, 0, 5, 1]), torch.arange(9.0) ** 2
    assert padded_sums(values, torch.from_numpy(places_of(sizes))).tolist() == [5.0, 0.0, 135.0, 64.0]
    whole = RaggedIndex.of([np.arange(n) for n in sizes], torch.device("cpu"))
    assert whole.sums(values).tolist() == [5.0, 0.0, 135.0, 64.0]
    assert whole.count.tolist() == [3, 0, 5, 1]


def test_a_round_waits_for_the_gpu_once_and_uploads_no_test_set():
    with emulated_gpu() as gpu:
        task = make_world(seeds=(0, 1), device=GPU, rounds=3)
        results = rounds(task, make_method("fedavg"))
        next(results), next(results)
        gpu.waits.clear()
        next(results)
        assert gpu.waits == ["cpu"]


def test_nothing_that_is_summed_on_a_gpu_is_added_in_an_order_of_chance(monkeypatch):
    with emulated_gpu():
        task = make_world(seeds=(0, 1), device=GPU)
        monkeypatch.setattr(torch.Tensor, "index_add_", None)
        on_gpu = [t.cpu() for t in evaluated(task)]
    monkeypatch.undo()
    torch.testing.assert_close(on_gpu, evaluated(make_world(seeds=(0, 1))))


def test_convolutions_repeat_bit_for_bit_and_evaluation_is_float32():
    cudnn, gpu_device = torch.backends.cudnn, torch.device("cuda")
    before = cudnn.allow_tf32, cudnn.deterministic, cudnn.benchmark
    for precision in ("float32", "tf32"):
        with products_in(precision, gpu_device):
            assert cudnn.allow_tf32 == torch.backends.cuda.matmul.allow_tf32 == (precision == "tf32")
            assert (cudnn.deterministic, cudnn.benchmark) == (True, False)
    assert (cudnn.allow_tf32, cudnn.deterministic, cudnn.benchmark) == before
    seen = []
    with emulated_gpu():
        task = make_world(seeds=(0, 1), device=GPU)
        real = task.trainer.forward.model.module.forward
        task.trainer.forward.model.module.forward = lambda x: (seen.append(cudnn.allow_tf32), real(x))[1]
        evaluated(task)
    assert set(seen) == {False}
    assert cudnn.allow_tf32 == before[0]


def test_two_models_that_print_alike_share_a_stage():
    """Also MobileNetV2, made of torchvision's containers; a layer of one's own may hide what it computes."""

    def key(network):
        trainer = Trainer(network, "stacked", make_optimizer("sgd"), 4)
        return _model_key(trainer)

    def make(**options):
        return make_model("mobilenetv2", image_shape=(3, 32, 32), num_classes=10, generator_seed=0, **options)

    assert key(make()) == key(make()) != key(make(dropout=0.5))

    class Hidden(nn.Sequential):
        stackable = True

    assert key(Hidden(nn.Flatten(), nn.Linear(4, 2))) != key(Hidden(nn.Flatten(), nn.Linear(4, 2)))
