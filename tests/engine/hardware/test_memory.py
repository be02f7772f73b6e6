"""Reused memory is reused only when nothing can see it any more."""

import numpy as np
import pytest
import torch

from fedlib.engine.hardware import memory
from fedlib.engine.hardware.memory import (
    ALIGNMENT,
    IDLE_REQUESTS,
    LEAST_BYTES,
    BufferPool,
    copy_of,
    empty,
    picked,
)

LARGE = LEAST_BYTES // 4  # float32 numbers


@pytest.fixture
def blocks(monkeypatch):
    fresh = BufferPool()
    monkeypatch.setattr(memory, "_BLOCKS", fresh)
    return fresh


def large(value=0.0):
    return torch.full((4, LARGE // 4), value)


@pytest.mark.usefixtures("blocks")
def test_a_block_is_used_again_when_its_tensor_is_gone():
    first = copy_of(large())
    place = first.data_ptr()
    del first
    assert copy_of(large()).data_ptr() == place


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize(
    "keep", [lambda t: t, lambda t: t[1], lambda t: t.view(-1).detach(), lambda t: t.numpy()]
)
def test_a_tensor_or_view_that_lives_keeps_its_memory(keep):
    kept = keep(copy_of(large(1.0)))
    for _ in range(3):
        copy_of(large(2.0))
    assert (torch.as_tensor(kept) == 1).all()


def test_only_blocks_of_the_same_size_are_used_again(blocks):
    copy_of(large())
    empty((LARGE + 1,), large())
    assert sorted(len(b) for b in blocks.blocks.values() if len(b)) == [
        LEAST_BYTES + ALIGNMENT,
        LEAST_BYTES + 4 + ALIGNMENT,
    ]


def test_a_block_that_lies_idle_is_given_back(blocks):
    copy_of(large())
    for _ in range(IDLE_REQUESTS + 1):
        empty((LARGE + 1,), large())
    assert LEAST_BYTES + ALIGNMENT not in [len(b) for b in blocks.blocks.values()]


def test_small_tensors_stay_with_the_allocator(blocks):
    small = copy_of(torch.arange(10.0))
    assert small.tolist() == list(range(10))
    assert blocks.requests == 0


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_values_dtype_shape_and_alignment(dtype):
    source = torch.arange(8 * LEAST_BYTES).view(8, -1).to(dtype)
    copy, rows = copy_of(source), picked(source, torch.tensor([5, 0, 5]))
    assert copy.dtype == rows.dtype == dtype
    assert copy.is_contiguous()
    assert copy.data_ptr() % ALIGNMENT == rows.data_ptr() % ALIGNMENT == 0
    assert copy.equal(source)
    assert rows.equal(source[[5, 0, 5]])


@pytest.mark.usefixtures("blocks")
def test_a_copy_of_a_spread_tensor_is_written_out():
    copy = copy_of(torch.ones(1, LARGE).expand(3, LARGE))
    copy[0] = 2
    assert copy[1:].eq(1).all()


def test_memory_that_lies_idle_makes_room(blocks, monkeypatch):
    copy_of(large())
    real, asked = np.empty, []

    def scarce(size, dtype):
        asked.append(size)
        if len(asked) == 1:
            raise MemoryError
        return real(size, dtype)

    monkeypatch.setattr(memory.np, "empty", scarce)
    assert empty((LARGE + 1,), large()).numel() == LARGE + 1
    assert LEAST_BYTES + ALIGNMENT not in [len(b) for b in blocks.blocks.values()]


def test_without_an_interpreter_lock_nothing_is_shared(blocks, monkeypatch):
    monkeypatch.setattr(memory, "_COUNTS_HOLDERS", False)
    assert copy_of(large(3.0)).eq(3).all()
    assert blocks.requests == 0
