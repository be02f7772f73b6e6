"""How far a step is from what the machine can do: floor, achieved, share.

    python -m benchmarks.roofline [--models mlp lenet …] [--out FOLDER]

Operations are counted layer by layer: a fully connected layer or convolution costs 2 x multiply-adds
forward, the same for its weight's gradient, and the same for its input's gradient, which the first
layer does not need. Bytes are those that cannot be avoided: every parameter is read once and written
once per step, and a batch of uint8 images is read; activations may stay in the cache. The machine's
two ceilings, a large matrix product and a large copy, are measured in the same run, so

    floor = max(operations / peak, bytes / bandwidth),   share = floor / measured time.

The share of a step on a cache that holds the parameters can exceed what the second ceiling allows.
"""

import argparse
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from benchmarks.common import (
    BATCH,
    RESULTS,
    SHAPES,
    Clients,
    best_seconds,
    default_device,
    engine,
    make_network,
    write_results,
)
from benchmarks.engine import STEPS
from benchmarks.peers.plain import plain_loop
from fedlib.models import count_parameters
from fedlib.models.layers import step_key

CLIENTS = 10


def count_operations(model: str) -> int:
    """Floating-point operations of one client-step (mini-batch of `BATCH`), products only."""
    network, total, first = make_network(model).eval(), 0, True

    def count(layer: nn.Module, _: tuple, output: torch.Tensor) -> None:
        nonlocal total, first
        products = output.numel() * layer.weight[0].numel()
        total += 2 * products * (2 if first else 3)
        first = False

    for layer in network.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            layer.register_forward_hook(count)
    with torch.no_grad(), step_key(torch.tensor(0)):
        network(torch.zeros(BATCH, *SHAPES[model]))
    return total


def count_bytes(model: str) -> int:
    """Bytes that one client-step moves at least."""
    pixels = torch.Size(SHAPES[model]).numel()
    return 2 * 4 * count_parameters(make_network(model)) + BATCH * pixels


def matrix_product_rate(device: torch.device) -> float:
    """Operations per second of a float32 matrix product that is large enough."""
    size = 8192 if device.type == "cuda" else 2048
    a, b = torch.randn(2, size, size, device=device)

    def run() -> None:
        for _ in range(5):
            a @ b
        if device.type == "cuda":
            torch.cuda.synchronize()

    return 5 * 2 * size**3 / best_seconds(run)


def bandwidth(device: torch.device) -> float:
    """Bytes per second of a copy that no cache holds, reads and writes counted."""
    source = torch.ones(2**28 if device.type == "cuda" else 2**26, device=device)
    target = torch.empty_like(source)

    def run() -> None:
        for _ in range(5):
            target.copy_(source)
        if device.type == "cuda":
            torch.cuda.synchronize()

    return 5 * 2 * 4 * source.numel() / best_seconds(run)


def measure(model: str, peak: float, stream: float) -> dict[str, float | str]:
    """Seconds per client-step of engine and plain loop, beside the floor."""
    clients = Clients.of(model, CLIENTS, STEPS[model])
    operations, moved = count_operations(model), count_bytes(model)
    by = {"arithmetic": operations / peak, "memory": moved / stream}
    steps = CLIENTS * STEPS[model]
    took = {
        name: best_seconds(build(model, clients)) / steps
        for name, build in (("engine", engine), ("plain", plain_loop))
    }
    floor = max(by.values())
    return {
        "model": model, "operations": operations, "bytes": moved, "floor_us": floor * 1e6,
        "bound_by": max(by, key=by.get), "engine_us": took["engine"] * 1e6, "plain_us": took["plain"] * 1e6,
        "engine_gflops": operations / took["engine"] / 1e9,
        "engine_share": floor / took["engine"], "plain_share": floor / took["plain"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    device = default_device()
    peak, stream = matrix_product_rate(device), bandwidth(device)
    records = [measure(model, peak, stream) for model in args.models]
    ceilings = {"matrix_product_gflops": peak / 1e9, "copy_gbytes_per_second": stream / 1e9}
    print(
        "ceilings: {matrix_product_gflops:.0f} GFLOP/s, {copy_gbytes_per_second:.1f} GB/s".format(**ceilings)
    )
    print(pd.DataFrame(records).to_string(index=False, float_format="{:.3g}".format))
    write_results("roofline", args.out, device, clients=CLIENTS, ceilings=ceilings, records=records)


if __name__ == "__main__":
    main()
