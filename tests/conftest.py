"""Strict numerics for every test: fixed threads, deterministic algorithms, warnings as errors."""

import os

import pytest
import torch

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


@pytest.fixture(autouse=True, scope="session")
def _strict_numerics():
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)


@pytest.fixture(autouse=True)
def _new_process():
    """No test finds what another one computed."""
    from fedlib.methods.remembered import forget

    forget()
