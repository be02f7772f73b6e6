"""The Flower app: what it imports of fedlib exists. Its own tests need flwr (`make flower`)."""

import ast
import importlib

import pytest
from project_files import ROOT

FILES = sorted((ROOT / "integrations" / "flower").rglob("*.py"))


def imported(path) -> list[tuple[str, str]]:
    """(module, name) of every `from fedlib... import ...`."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return [(n.module, a.name) for n in nodes if n.module.split(".")[0] == "fedlib" for a in n.names]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_flower_apps_imports_from_fedlib_exist(path):
    for module, name in imported(path):
        found = importlib.import_module(module)
        assert hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}"), f"{module}.{name}"


def test_the_flower_app_imports_something():
    assert sum(len(imported(path)) for path in FILES) > 10


def test_flower_is_no_requirement_of_the_suite():
    texts = [(ROOT / name).read_text() for name in ("requirements.txt", "constraints.txt", "environment.yml")]
    assert not any("flwr" in text or "ray==" in text for text in texts)
