"""Stand-ins for the parts of `torch.cuda` that choose a device and record graphs, without a GPU.

They keep account: which device is current, which stream is, and which of both a graph was recorded on.
"""

from contextlib import contextmanager

import torch


class FakeStream:
    def __init__(self, device):
        self.device = torch.device(device).index if not isinstance(device, int) else device

    def wait_stream(self, other):
        assert other.device == self.device, "streams of two devices"


class FakeCuda:
    """`install` it; then `recorded` tells (current device, stream) of every graph."""

    def __init__(self):
        self.device, self.recorded, self.streams_made = 0, [], 0
        self.streams = {}  # device -> the stream that is current there

    def install(self, monkeypatch):
        for name in ("current_stream", "stream", "graph", "current_device"):
            monkeypatch.setattr(torch.cuda, name, getattr(self, name))
        monkeypatch.setattr(torch.cuda, "device", self.on_device)
        monkeypatch.setattr(torch.cuda, "Stream", self.make_stream)
        monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: FakeGraph())
        return self

    def make_stream(self, device):
        self.streams_made += 1
        return FakeStream(device)

    @contextmanager
    def on_device(self, device):
        before, self.device = self.device, torch.device(device).index or 0
        try:
            yield
        finally:
            self.device = before

    def current_device(self):
        return self.device

    def current_stream(self, device=None):
        at = self.device if device is None else torch.device(device).index
        return self.streams.setdefault(at, FakeStream(at))

    @contextmanager
    def stream(self, stream):
        with self.on_device(f"cuda:{stream.device}"):
            before = self.current_stream()
            self.streams[stream.device] = stream
            try:
                yield
            finally:
                self.streams[stream.device] = before

    @contextmanager
    def graph(self, graph, pool=None, stream=None):
        stream = FakeStream(self.device) if stream is None else stream
        self.recorded.append((self.device, stream))
        with self.stream(stream):
            yield


class FakeGraph:
    def pool(self):
        return (0, 1)

    def replay(self):
        pass
