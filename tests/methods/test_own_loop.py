"""Agents without fedlib's round loop, as docs/adding.md shows them."""

import pytest
import torch

from fedlib.paths import project_root


def example(heading: str) -> dict:
    """The names that the example of a section leaves."""
    page = (project_root() / "docs" / "adding.md").read_text()
    _, _, section = page.partition(f"## {heading}")
    names: dict = {}
    exec(section.split("```python\n")[1].split("```")[0], names)
    return names


def test_feddrls_agent_decides_and_learns():
    names = example("FedDRL's agent in a loop of yours")
    assert names["weights"].shape == (1, names["clients"])
    assert names["weights"].sum().item() == pytest.approx(1)
    assert len(names["state"].replay) == 4
    assert torch.isfinite(names["loss"]).all()


def test_auto_fedrl_and_favor_decide_and_learn():
    names = example("Other agents in a loop of yours")
    assert names["weights"].sum().item() == pytest.approx(1)
    assert names["agent"].steps == 2  # the first round has nothing to compare its reward with
    assert names["seen"].shape == (1, 11, 4)
    assert names["chosen"].shape == (1, 3)
    assert torch.isfinite(names["loss"]).all()
