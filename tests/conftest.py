"""Strict numerics for every test: fixed threads, deterministic algorithms, warnings as errors."""

import os
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings
from matplotlib import font_manager  # noqa: F401  built here once: it warns where that takes long
from order import longest_first

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
# The same examples every time, however slow the machine is at them.
settings.register_profile(
    "suite", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: longest_first(os.path.relpath(item.path, TESTS)))


@pytest.fixture(autouse=True, scope="session")
def _strict_numerics():
    torch.set_num_threads(1)  # a core for each worker: threads that wait for a busy core spin
    torch.use_deterministic_algorithms(True)


@pytest.fixture(autouse=True, scope="session")
def _own_store(tmp_path_factory):
    """The user's runs, and those of notebooks that run beside the tests, are not seen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDLIB_STORE", str(tmp_path_factory.mktemp("own") / "runs"))
        yield


@pytest.fixture(autouse=True)
def _new_process():
    """No test finds what another one computed or drew."""
    from fedlib.methods.pretraining_cache import forget

    forget()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
