"""fedlib: the module behind the notebooks of the FRL reproducibility suite."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Loaded on first use, so that `import fedlib` costs nothing.
_PUBLIC = {"load_results": "fedlib.papers", "load_agent": "fedlib.experiments.agents"}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'fedlib' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
