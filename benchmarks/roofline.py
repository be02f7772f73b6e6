"""How far a step is from what the machine can do: floor, achieved, share.

    python -m benchmarks.roofline [--models mlp lenet …] [--out FOLDER]

Operations are counted layer by layer: a fully connected layer or convolution costs 2 x multiply-adds
forward, the same for its weight's gradient, and the same for its input's gradient, which the first
layer does not need. Bytes are those that cannot be avoided: every parameter and every moment of the
local optimiser is read once and written once per step, and a batch of uint8 images is read; activations
may stay in the cache. The machine's ceilings are measured in the same run: the best of matrix products of
several sizes and of a convolution (whose algorithm may need fewer operations than are counted), and a
large copy. So

    floor = max(operations / peak, bytes / bandwidth),   share = floor / measured time.

A second floor, `uncached`, has the activations too, as if no cache held any: each layer's outputs are
written and read, and so are their gradients. The share of a step on a cache that holds the parameters can
exceed what the copy allows, and the more so that of the second floor. Engine and plain loop alternate; the
best repeat of each counts, and the median of their ratios stands beside them.
"""

from collections.abc import Callable

import pandas as pd
import torch
from torch import nn

from benchmarks.common import (
    Clients,
    best_seconds,
    contest,
    default_device,
    engine,
    make_network,
    make_parser,
    times_as_fast,
    wait_for,
    watch_layers,
    write_results,
)
from benchmarks.networks import NETWORKS
from benchmarks.peers.plain import plain_loop
from fedlib.engine import make_optimizer
from fedlib.engine.hardware.precision import products_in
from fedlib.models import count_parameters

CLIENTS = 10
PRODUCTS = {"cpu": (512, 1024, 2048, 4096), "cuda": (4096, 8192, 16384)}  # rows and columns


def count_operations(model: str) -> int:
    """Floating-point operations of one client-step (one mini-batch), products only."""
    total, first = 0, True

    def count(layer: nn.Module, _: tuple, output: torch.Tensor) -> None:
        nonlocal total, first
        products = output.numel() * layer.weight[0].numel()
        total += 2 * products * (2 if first else 3)
        first = False

    watch_layers(model, count, lambda layer: isinstance(layer, nn.Linear | nn.Conv2d))
    return total


def count_bytes(model: str) -> int:
    """Bytes that one client-step moves at least."""
    local = NETWORKS[model]
    kept = 1 + len(make_optimizer(local.optimizer, local.options).state_keys)  # the parameter and its moments
    values = kept * count_parameters(make_network(model))
    return 2 * 4 * values + local.batch * torch.Size(local.shape).numel()


def count_activation_bytes(model: str) -> int:
    """Bytes of the activations of one client-step that no cache holds; views and layers in place: none."""
    values = 0

    def count(layer: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        nonlocal values
        if output.data_ptr() != inputs[0].data_ptr():
            values += output.numel()

    watch_layers(model, count, lambda layer: not [*layer.children()])
    return 4 * 4 * values  # float32; outputs and gradients, each written and read


def arithmetic_rates(device: torch.device) -> dict[str, float]:
    """Operations per second of float32 matrix products and of a convolution, by name."""
    sizes = PRODUCTS[device.type]
    with products_in("float32", device):  # a GPU's convolutions are TF32 else
        found = {f"product of {size}": _product_rate(size, device) for size in sizes}
        return {**found, "convolution 3x3": _convolution_rate(device)}


def _product_rate(size: int, device: torch.device) -> float:
    a, b = torch.randn(2, size, size, device=device)
    return _rate(lambda: a @ b, 2 * size**3, device)


def _convolution_rate(device: torch.device) -> float:
    """Of a layer as VGG-11 has them, in the layout that suits the device."""
    channels, side, images = 256, 16, 512 if device.type == "cuda" else 32
    x = torch.randn(images, channels, side, side, device=device).to(memory_format=torch.channels_last)
    weight = torch.randn(channels, channels, 3, 3, device=device).to(memory_format=torch.channels_last)
    operations = 2 * images * channels * side**2 * channels * 9
    return _rate(lambda: torch.conv2d(x, weight, padding=1), operations, device)


def _rate(compute: Callable[[], torch.Tensor], operations: int, device: torch.device) -> float:
    def run() -> None:
        for _ in range(5):
            compute()
        wait_for(device)

    return 5 * operations / best_seconds(run)


def bandwidth(device: torch.device) -> float:
    """Bytes per second of a copy that no cache holds, reads and writes counted."""
    source = torch.ones(2**28 if device.type == "cuda" else 2**26, device=device)
    target = torch.empty_like(source)

    def run() -> None:
        for _ in range(5):
            target.copy_(source)
        wait_for(device)

    return 5 * 2 * 4 * source.numel() / best_seconds(run)


def measure(model: str, peak: float, stream: float) -> dict[str, float | str]:
    """Seconds per client-step of engine and plain loop, beside the floor."""
    clients = Clients.of(model, CLIENTS, NETWORKS[model].steps)
    operations, moved, activations = (
        count(model) for count in (count_operations, count_bytes, count_activation_bytes)
    )
    by = {"arithmetic": operations / peak, "memory": moved / stream}
    uncached = max(by["arithmetic"], (moved + activations) / stream)
    steps = CLIENTS * NETWORKS[model].steps
    found = contest({"engine": engine(model, clients), "plain": plain_loop(model, clients)})
    took = {name: min(seconds) / steps for name, seconds in found.items()}
    floor = max(by.values())
    return {
        "model": model, "operations": operations, "bytes": moved, "floor_us": floor * 1e6,
        "bound_by": max(by, key=by.get), "engine_us": took["engine"] * 1e6, "plain_us": took["plain"] * 1e6,
        "times_plain_loop": times_as_fast(found["engine"], found["plain"]),
        "engine_gflops": operations / took["engine"] / 1e9,
        "engine_share": floor / took["engine"], "plain_share": floor / took["plain"],
        "activation_bytes": activations, "uncached_floor_us": uncached * 1e6,
        "engine_uncached_share": uncached / took["engine"],
    }  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__, models=NETWORKS)
    args = parser.parse_args()
    device = default_device()
    rates, stream = arithmetic_rates(device), bandwidth(device)
    best = max(rates, key=rates.get)
    peak = rates[best]
    records = [measure(model, peak, stream) for model in args.models]
    ceilings = {
        "arithmetic_gflops": peak / 1e9, "arithmetic_by": best, "copy_gbytes_per_second": stream / 1e9,
        "gflops": {name: rate / 1e9 for name, rate in rates.items()},
    }  # fmt: skip
    print(f"ceilings: {peak / 1e9:.0f} GFLOP/s ({best}), {stream / 1e9:.1f} GB/s")
    print(pd.DataFrame(records).to_string(index=False, float_format="{:.3g}".format))
    write_results("roofline", args.out, device, clients=CLIENTS, ceilings=ceilings, records=records)


if __name__ == "__main__":
    main()
