"""FedDRL's agent without fedlib's engine, as docs/adding.md shows it."""

import pytest
import torch

from fedlib.paths import project_root


def test_the_example_of_the_page_decides_and_learns():
    page = (project_root() / "docs" / "adding.md").read_text()
    _, _, section = page.partition("## FedDRL's agent in a loop of yours")
    names = {}
    exec(section.split("```python\n")[1].split("```")[0], names)
    assert names["weights"].shape == (1, names["clients"])
    assert names["weights"].sum().item() == pytest.approx(1)
    assert len(names["mind"].replay) == 4
    assert torch.isfinite(names["loss"]).all()
