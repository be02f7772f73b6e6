"""Steps recorded once as CUDA graphs and replayed: what a GPU spends on launches is spent once.

A `GraphBuffers` is memory that stays where it is: the local models of a pass, its settings, and the
mini-batches of the next few steps. A step reads the batch at a counter on the device and moves the
counter on, so that a pass is copies in, one replay per step, copies out, and nothing waits for the
host. There is one graph per number of lanes that still work (and per whether the batch is full, where
batch normalisation asks for it). Buffers are kept for the process and serve all rounds, seeds and
methods whose shapes are equal: learning rates and local rules are values in their memory.

Reference: PyTorch's CUDA graphs, https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fedlib.engine.batches import Batch, Samples, Schedule, Work
from fedlib.engine.hardware.device import current, side_stream
from fedlib.engine.layers.stackable import prints_all
from fedlib.engine.local_rule import LocalRule
from fedlib.engine.minibatches import Chunk, chunk_steps, mean_over_steps, spans
from fedlib.engine.state import LocalState
from fedlib.engine.steps.choose import make_step
from fedlib.engine.trainer import Trainer

WARM_UP = 3  # runs before a recording, on a stream of their own: libraries choose kernels and workspaces
_MOST_KEPT = 4
_LONGEST_CHUNK = 256  # steps
_KEPT: OrderedDict[Hashable, GraphBuffers] = OrderedDict()


class CudaRecorder:
    """Records steps as CUDA graphs that share one pool of memory.

    They may, since those of the same buffers never run side by side and leave no tensor in the pool.
    """

    def __init__(self, device: torch.device) -> None:
        self.device, self.pool = device, None

    def __call__(self, warm_up: Callable[[], None], step: Callable[[], None]) -> Callable[[], None]:
        """Run `warm_up` on the device's side stream, record `step` there and return the replay.

        The replay reads what `step` read at the same addresses and keeps none of it alive: whoever keeps
        the replay keeps `step`.
        """
        with current(self.device):
            now, side = torch.cuda.current_stream(), side_stream(self.device)
            side.wait_stream(now)
            with torch.cuda.stream(side):
                for _ in range(WARM_UP):
                    warm_up()
            now.wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool, stream=side):
                step()
        self.pool = graph.pool()
        return graph.replay


class CallRecorder:
    """Life cycle of a recorder without a GPU, for tests: warm up, then call the step itself."""

    def __call__(self, warm_up: Callable[[], None], step: Callable[[], None]) -> Callable[[], None]:
        for _ in range(WARM_UP):
            warm_up()
        return step


@dataclass(frozen=True)
class CapturedGraph:
    """A replay and the step it was recorded from, whose tensors the graph goes on reading."""

    replay: Callable[[], None]
    step: Callable[[], None]


class GraphBuffers:
    """Fixed memory for passes of up to `len(work)` lanes, and the steps recorded on it."""

    def __init__(
        self, trainer: Trainer, samples: Samples, state: LocalState, work: Work, rule: LocalRule | None
    ) -> None:
        self.lanes, self.device, batch = len(work), samples.device, trainer.batch_size
        self.trainer, self.samples = trainer, samples
        self.record = CudaRecorder(self.device) if self.device.type == "cuda" else CallRecorder()
        self.state = state.empty()
        self.rule = None if rule is None else rule.empty()
        self.rate = self._zeros(self.lanes)
        self.owner = self._zeros(2, self.lanes, dtype=torch.int64)  # replica, client
        self.steps = min(chunk_steps(samples, self.lanes, batch), _LONGEST_CHUNK)
        self.index = self._zeros(self.steps, self.lanes, batch, dtype=torch.int64)
        self.targets, self.key = torch.zeros_like(self.index), torch.zeros_like(self.index[:, :, 0])
        self.mask = torch.ones_like(self.index, dtype=torch.float32)
        self.share = self.mask / batch
        self.x = self._input_memory()
        self.losses = self._zeros(self.steps, self.lanes)
        self.cursor = self._zeros(1, dtype=torch.int64)
        self.inputs: dict[int, Tensor | None] = {}  # active lanes -> their part of `x`
        self.recorded: dict[tuple[int, bool], CapturedGraph] = {}
        self.normalises = any(isinstance(m, nn.BatchNorm2d) for m in trainer.model.modules())

    def _zeros(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def _input_memory(self) -> Tensor | None:
        """Room for the inputs of all steps; none where the objective makes its own inside the step."""
        if self.trainer.objective.inputs is not None:
            return None
        one = self.trainer.forward.fetch(self.samples, self.index[:1])
        return self._zeros(self.steps * one.numel(), dtype=one.dtype)

    def run(
        self, state: LocalState, work: Work, schedule: Schedule, samples: Samples, rule: LocalRule | None
    ) -> tuple[LocalState, Tensor]:
        """Run a pass; return the trained state, in the buffers' own memory, and the lanes' mean loss [C]."""
        fulls = [full or not self.normalises for full in schedule.full]
        kinds = [*zip(schedule.active, fulls, strict=True)]
        for kind in dict.fromkeys(kinds):  # before the state is loaded, since a warm-up trains
            if kind not in self.recorded:
                self.recorded[kind] = self._recording(*kind)
        now = self._load(state, work, rule)
        losses = self._zeros(len(schedule), len(work))
        for steps, active in spans(schedule, self.steps):
            self._fill(Chunk.gather(self.trainer, samples, schedule, steps, active), active)
            for at in range(steps.start, steps.stop):
                self.recorded[kinds[at]].replay()
            losses[steps, :active] = self.losses[: steps.stop - steps.start, :active]
        return now, mean_over_steps(losses, schedule)

    def _recording(self, active: int, full: bool) -> CapturedGraph:
        rule = None if self.rule is None else self.rule.select(slice(0, active))
        part = self.state.select(slice(0, active))
        prefix = make_step(self.trainer, part, rule, self.rate[:active])
        xs = self._inputs_of(active)

        def step() -> None:
            prefix.bind()
            batch, share = self._batch(active)
            if xs is None:
                x, batch = self.trainer.forward.inputs(self.samples, batch, self.trainer.objective)
            else:
                x = self._now(xs)
            loss = prefix(x, batch, share, full)
            self.losses[:, :active].index_copy_(0, self.cursor, loss[None])
            self.cursor.add_(1)

        def warm_up() -> None:
            self.cursor.zero_()
            step()

        return CapturedGraph(self.record(warm_up, step), step)

    def _inputs_of(self, active: int) -> Tensor | None:
        """[steps, ...] the inputs of `active` lanes, in the forward pass's layout."""
        if self.x is not None and active not in self.inputs:
            shape = self.trainer.forward.fetch(self.samples, self.index[:1, :active]).shape[1:]
            self.inputs[active] = self.x[: self.steps * shape.numel()].view(self.steps, *shape)
        return self.inputs.get(active)

    def _batch(self, active: int) -> tuple[Batch, Tensor]:
        index, mask, targets, key, share = (
            self._now(t[:, :active]) for t in (self.index, self.mask, self.targets, self.key, self.share)
        )
        return Batch(index, mask, targets, *self.owner[:, :active], key), share

    def _now(self, steps: Tensor) -> Tensor:
        """The entry of the present step, chosen on the device."""
        return steps.index_select(0, self.cursor)[0]

    def _load(self, state: LocalState, work: Work, rule: LocalRule | None) -> LocalState:
        now = self.state.select(slice(0, len(work)))
        now.copy_(state)
        self.rate[: len(work)] = work.learning_rate
        self.owner[0, : len(work)] = work.replica
        self.owner[1, : len(work)] = work.client
        if self.rule is not None:
            self.rule.select(slice(0, len(work))).copy_(rule)
        return now

    def _fill(self, chunk: Chunk, active: int) -> None:
        count = len(chunk.index)
        for name in ("index", "mask", "share", "targets", "key"):
            getattr(self, name)[:count, :active] = getattr(chunk, name)
        if self.x is not None:
            self._inputs_of(active)[:count] = chunk.x
        self.cursor.zero_()


def run_captured(
    trainer: Trainer,
    samples: Samples,
    state: LocalState,
    work: Work,
    schedule: Schedule,
    rule: LocalRule | None,
) -> tuple[LocalState, Tensor]:
    """`run_steps` on recorded steps: the trained local state and the lanes' mean training loss [C].

    The state returned is the buffers' own: copy it before the next pass.
    """
    key = _key(trainer, samples, state, rule)
    if key not in _KEPT or _KEPT[key].lanes < len(work):
        if key in _KEPT:
            _forget(key)
        while len(_KEPT) >= _MOST_KEPT:
            _forget(next(iter(_KEPT)))
        _KEPT[key] = GraphBuffers(trainer, samples, state, work, rule)
    _KEPT.move_to_end(key)
    return _KEPT[key].run(state, work, schedule, samples, rule)


def forget_captures() -> None:
    """Free the memory of all buffers and graphs."""
    while _KEPT:
        _forget(next(iter(_KEPT)))
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _forget(key: Hashable) -> None:
    # Break the cycle buffers → steps → buffers, so that GPU memory is freed before garbage collection.
    _KEPT.pop(key).recorded.clear()


def _key(trainer: Trainer, samples: Samples, state: LocalState, rule: LocalRule | None) -> Hashable:
    """Key of the buffers that are kept: all that the recorded kernels or their memory depend on."""
    return (
        samples.device,
        _model_key(trainer),
        trainer.backend,
        trainer.batch_size,
        trainer.precision,
        trainer.optimizer.name,
        repr(sorted(trainer.optimizer.options.items())),
        _function_key(trainer.objective.losses),
        _function_key(trainer.objective.inputs),
        _own_inputs_key(samples) if trainer.objective.inputs is not None else None,
        (samples.inputs.shape[1:], samples.dtype),
        tuple((name, t.shape[1:], t.dtype) for name, t in {**state.params, **state.buffers}.items()),
        None if rule is None else rule.kind(),
    )


def _model_key(trainer: Trainer) -> Hashable:
    """Models of known layers are equal if they print alike; of others only the same object is."""
    if all(prints_all(m) for m in trainer.model.modules()):
        return repr(trainer.model)
    return trainer.model


def _own_inputs_key(samples: Samples) -> Hashable:
    """Cache key of the inputs that a step reads at the addresses of the recording."""
    return tuple(id(t) for t in (samples.inputs, samples.labels, samples.mean, samples.std))


def _function_key(function: Any) -> Hashable:
    """A function by its code and the objects it has closed over: a method may make it anew each round."""
    cells = getattr(function, "__closure__", None)
    if not cells:
        return function
    return function.__code__, tuple(id(cell.cell_contents) for cell in cells)
