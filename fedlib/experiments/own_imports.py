"""Files of the user's that one of the user's modules imports: read off its source, not by running it.

Left out are fedlib, torch, the standard library and installed packages, whose versions a run stores.
"""

import ast
import functools
import importlib.util
import sys
import sysconfig
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

NOT_OWN = {"fedlib", "torch", *sys.stdlib_module_names}
_INSTALLED = tuple(
    Path(path).resolve()
    for name, path in sysconfig.get_paths().items() if name in ("stdlib", "platstdlib", "purelib", "platlib")
)  # fmt: skip


def own_imports(module: ModuleType) -> dict[str, Path]:
    """Map the user's modules that a module with a file imports, at once or through others, to their files.

    In the order of their names, whether they are imported by now or only once a run comes to it.
    """
    found, waiting = {module.__name__: Path(str(module.__file__))}, [module.__name__]
    while waiting:
        path = found[at := waiting.pop()]
        package = at if path.name == "__init__.py" else at.rpartition(".")[0]
        for name in _imported_names(path.read_bytes(), package) if path.is_file() else ():
            if name not in found and (file := _own_file(name)):
                found[name] = file
                waiting.append(name)
    return {name: found[name] for name in sorted(found) if name != module.__name__}


def _own_file(name: str) -> Path | None:
    spec = None if name.partition(".")[0] in NOT_OWN else _spec(name)
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin).resolve()
    installed = any(path.is_relative_to(place) for place in _INSTALLED)
    return path if path.is_file() and not installed else None


def _spec(name: str) -> ModuleSpec | None:
    """Spec of a module; imports nothing, where `importlib.util.find_spec` would import its package."""
    if known := getattr(sys.modules.get(name), "__spec__", None):
        return known
    package = name.rpartition(".")[0]
    if not package:
        return None if name in sys.modules else importlib.util.find_spec(name)
    inside = _spec(package)
    places = inside.submodule_search_locations if inside else None
    return PathFinder.find_spec(name, places) if places else None


@functools.cache
def _imported_names(source: bytes, package: str) -> tuple[str, ...]:
    """Absolute names of what statements import, with each package on the way; none of a broken source."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # edited since it was imported, which the digests tell
        return ()
    names, depth = [], len(package.split(".")) if package else 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level <= depth:
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    parts = [name.split(".") for name in names]
    return tuple(dict.fromkeys(".".join(one[:end]) for one in parts for end in range(1, len(one) + 1)))
