"""In which arithmetic clients train: float32, or one of two faster forms that round more.

| precision | what it changes | where |
|---|---|---|
| float32 | nothing: 24 bits of mantissa everywhere; the papers' setting and the default | CPU, CUDA |
| tf32 | products and convolutions read 11 bits of mantissa, sums stay float32 | CUDA |
| bf16 | products, convolutions and activations have 8 bits, updates and losses stay float32 | CPU, CUDA |

Only local training is affected: evaluation is always float32, so that accuracies of two precisions
differ by what was learned. Left to itself PyTorch lets cuDNN use TF32; here float32 means float32.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from fedlib.errors import check, check_name

PRECISIONS = ("float32", "tf32", "bf16")


def check_precision(name: str, device: torch.device) -> str:
    """The name if it exists and the device has it, else a UsageError."""
    check_name("precision", name, PRECISIONS)
    check(
        name != "tf32" or device.type == "cuda",
        f"precision 'tf32' given on {device.type}; allowed there: float32, bf16 (tf32 is a GPU's format)",
    )
    return name


@contextmanager
def products_in(precision: str, device: torch.device) -> Iterator[None]:
    """Within this context CUDA's products and convolutions use TF32 if asked for, else float32.

    They also repeat bit for bit: cuDNN takes algorithms without atomic sums, and none by timing them.
    """
    if device.type != "cuda":
        yield
        return
    products, convolutions, reduced = torch.backends.cuda.matmul, torch.backends.cudnn, precision == "tf32"
    wanted = [
        (products, "allow_tf32", reduced),
        (convolutions, "allow_tf32", reduced),
        (convolutions, "deterministic", True),
        (convolutions, "benchmark", False),
    ]
    before = [getattr(flags, name) for flags, name, _ in wanted]
    try:
        for flags, name, value in wanted:
            setattr(flags, name, value)
        yield
    finally:
        for (flags, name, _), value in zip(wanted, before, strict=True):
            setattr(flags, name, value)


def multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions for products of bfloat16 numbers (AVX512_BF16, AMX)."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def has_tiles() -> bool:
    """Whether this CPU multiplies matrices of bfloat16 numbers in tiles (AMX)."""
    return bool(torch.cpu._is_amx_tile_supported())


def type_of_products(precision: str) -> torch.dtype | None:
    """Of a training step's products, convolutions and activations; None: float32."""
    return torch.bfloat16 if precision == "bf16" else None


def reduced(dtype: torch.dtype | None, device: torch.device) -> AbstractContextManager:
    """The context of plain PyTorch's forward pass with products in `dtype`; None: as it is.

    Casts are not cached: the weights change in place between steps.
    """
    if dtype is None:
        return nullcontext()
    return torch.autocast(device.type, dtype, cache_enabled=False)


def in_float32(outputs: Any) -> Any:
    """bfloat16 outputs of a model, a tensor or a tuple of them, as float32 numbers; others as they are."""
    if isinstance(outputs, tuple):
        return tuple(in_float32(one) for one in outputs)
    return outputs.float() if outputs.dtype == torch.bfloat16 else outputs
