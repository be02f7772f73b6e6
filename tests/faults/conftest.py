"""Faults are met anew: verdicts that another test kept would answer before a damaged file is read."""

import pytest

from fedlib.reporting import verdict_cache


@pytest.fixture(autouse=True)
def _own_verdicts(tmp_path_factory, monkeypatch):
    monkeypatch.setattr(verdict_cache, "_file", tmp_path_factory.mktemp("verdicts").joinpath)
