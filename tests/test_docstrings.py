"""A docstring's first line names the object or begins with a verb."""

import ast
import re

from project_files import ROOT

MODULES = sorted((ROOT / "fedlib").rglob("*.py"))
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NAMES_NOTHING = re.compile(r"(what|that|those|one|how|who|where|everything|the same|is|are)\b", re.IGNORECASE)


def vague_heads(source: str) -> list[str]:
    """First lines of docstrings whose first word names no object."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED)]
    heads = [(ast.get_docstring(node) or "").partition("\n")[0] for node in nodes]
    return [head for head in heads if NAMES_NOTHING.match(head)]


def test_vague_heads_are_found():
    source = 'def f():\n    """What comes out."""\ndef g():\n    """Draw a cohort.\n\n    What it is."""\n'
    assert vague_heads(source) == ["What comes out."]


def test_docstrings_begin_with_their_object_or_a_verb():
    found = {str(path.relative_to(ROOT)): vague_heads(path.read_text()) for path in MODULES}
    assert {path: heads for path, heads in found.items() if heads} == {}
