"""fedlib: the module behind the notebooks of the FRL reproducibility suite."""

import importlib as _importlib
import pkgutil as _pkgutil
from typing import Any as _Any

__version__ = "0.1.0"

# Loaded on first use, so that `import fedlib` costs nothing.
_PUBLIC = {"load_results": "fedlib.papers:load_results", "load_agent": "fedlib.experiments.agents:load_agent"}


def __getattr__(name: str) -> _Any:
    if name in _PUBLIC:
        return _pkgutil.resolve_name(_PUBLIC[name])
    if name in _submodules():
        return _importlib.import_module(f"fedlib.{name}")
    raise AttributeError(f"module 'fedlib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["__version__", *_PUBLIC, *_submodules()])


def _submodules() -> set[str]:
    return {found.name for found in _pkgutil.iter_modules(__path__) if not found.name.startswith("_")}
