"""fedlib: the module behind the notebooks of the FRL reproducibility suite."""

import pkgutil
from typing import Any

__version__ = "0.1.0"

# Loaded on first use, so that `import fedlib` costs nothing.
_PUBLIC = {"load_results": "fedlib.papers:load_results", "load_agent": "fedlib.experiments.agents:load_agent"}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'fedlib' has no attribute {name!r}")
    return pkgutil.resolve_name(_PUBLIC[name])


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
