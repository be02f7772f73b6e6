"""What a GPU needs around the engine, on stand-ins for `torch.cuda` where no GPU is at hand."""

import pytest
import torch
from fake_cuda import FakeCuda

from fedlib.local import gpu
from fedlib.local.capture import WARM_UP, CudaRecorder


@pytest.fixture
def cuda(monkeypatch):
    gpu._stream.cache_clear()
    yield FakeCuda().install(monkeypatch)
    gpu._stream.cache_clear()


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
    with gpu.current(torch.device("cpu")), gpu.current(torch.device("cuda:3")):
        assert cuda.device == 3
    assert cuda.device == 0
