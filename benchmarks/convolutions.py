"""Grouped convolution against unfold and batched products, layer by layer, forward and backward.

    python -m benchmarks.convolutions [--clients 10] [--out FOLDER]

The table says for each layer shape of the suite's networks which form was faster and which one the
engine's rule (`fedlib.engine.layers.stacked.prefers_products`) takes on this device.
"""

import pandas as pd
import torch
from torch import nn

from benchmarks.common import best_seconds, default_device, make_parser, watch_layers, write_results
from benchmarks.networks import NETWORKS
from fedlib.engine.layers.stacked import StackedConv2d, prefers_products


def layer_shapes(model: str) -> list[tuple[nn.Conv2d, torch.Size]]:
    """The different convolutions of a network with the shape of their input [B, in, H, W]."""
    found = {}

    def note(layer: nn.Conv2d, inputs: tuple, _: torch.Tensor) -> None:
        found.setdefault((repr(layer), inputs[0].shape), (layer, inputs[0].shape))

    watch_layers(model, note, lambda layer: isinstance(layer, nn.Conv2d))
    return list(found.values())


def seconds(layer: nn.Conv2d, shape: torch.Size, clients: int, by_products: bool) -> float:
    """Forward and backward of `clients` clients."""
    device = default_device()
    stacked = StackedConv2d(
        layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride, layer.padding,
        groups=layer.groups, bias=False,
    )  # fmt: skip
    stacked.by_products = by_products
    weight = torch.randn(clients, *layer.weight.shape, device=device, requires_grad=True)
    stacked._parameters["weight"] = weight
    x = torch.randn(shape[0], clients * shape[1], *shape[2:], device=device)
    if device.type == "cpu":
        x = x.contiguous(memory_format=torch.channels_last)
    x.requires_grad_()

    def run() -> None:
        output = stacked(x)
        torch.autograd.grad(output, (weight, x), torch.ones_like(output))
        if device.type == "cuda":
            torch.cuda.synchronize()

    return best_seconds(run)


def measure(model: str, clients: int) -> list[dict]:
    """One record per layer shape without groups of its own; depthwise ones stay grouped."""
    records = []
    for layer, shape in layer_shapes(model):
        if layer.groups > 1:
            continue
        took = [seconds(layer, shape, clients, by_products) for by_products in (False, True)]
        weight = torch.zeros(clients, *layer.weight.shape, device=default_device())
        pixels = shape[-2] * shape[-1]
        chosen = prefers_products(weight, layer.groups, layer.dilation, default_device(), pixels)
        records.append({
            "model": model, "in": layer.in_channels, "out": layer.out_channels,
            "kernel": layer.kernel_size[0], "side": shape[-1],
            "grouped_ms": took[0] * 1e3, "products_ms": took[1] * 1e3,
            "faster": "products" if took[1] < took[0] else "grouped",
            "rule": "products" if chosen else "grouped",
        })  # fmt: skip
    return records


def main() -> None:
    parser = make_parser(__doc__, models=[name for name in NETWORKS if name != "mlp"])
    parser.add_argument("--clients", type=int, default=10)
    args = parser.parse_args()
    records = [record for model in args.models for record in measure(model, args.clients)]
    print(pd.DataFrame(records).to_string(index=False, float_format="{:.2f}".format))
    write_results("convolutions", args.out, default_device(), clients=args.clients, records=records)


if __name__ == "__main__":
    main()
