"""The one place that imports torchvision, which takes seconds: `load_torchvision()`.

PyPI's torchvision is built for CUDA. Beside a CPU build of torch its compiled library does
not load, which it tolerates, but it then describes the operators `torchvision::nms` and
`torchvision::qnms` to torch's tracer, and stops with `operator torchvision::nms does not
exist`. Declaring the two is enough, since nothing here uses a compiled operator of
torchvision. Where the compiled library loads, nothing is declared.
"""

import functools
import importlib
import sys
from types import ModuleType

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@functools.cache
def load_torchvision() -> ModuleType:
    """The package, imported at the first call."""
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error) or "does not exist" not in str(error):
            raise
    import torch

    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", _SCHEMA)
    # the failed attempt leaves submodules behind that would otherwise be taken half-initialised
    for module in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[module]
    return importlib.import_module("torchvision")
