"""Imports stand at the top of a module, where the layers contract of `make lint` sees them."""

import ast

import pytest
from project_files import ROOT

MODULES = sorted(path for path in (ROOT / "fedlib").rglob("*.py") if "cli" not in path.parts)


def nested_imports(source: str) -> list[str]:
    """Imports of fedlib inside functions and classes, as text."""
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [node for node in ast.parse(source).body if isinstance(node, scopes)]
    nodes = [node for scope in found for node in ast.walk(scope)]
    named = [(node, node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    named += [(node, alias.name) for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return [ast.unparse(node) for node, name in named if (name or "").split(".")[0] == "fedlib"]


def test_nested_imports_are_found():
    source = "import fedlib\ndef f():\n    import fedlib.run\n    from fedlib import data\n    import json\n"
    assert nested_imports(source) == ["from fedlib import data", "import fedlib.run"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "fedlib")))
def test_fedlib_is_imported_at_the_top_of_a_module(path):
    assert nested_imports(path.read_text()) == []
