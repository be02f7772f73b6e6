"""CUDA graphs of the step against `torch.compile` of the stacked forward and backward pass, per network.

    python -m benchmarks.compiled [--models mlp lenet …] [--batch 10] [--out FOLDER]

Ten clients; seconds until the first epoch is done (recording or compiling) and client-steps per second
after it. What is chosen once for all from this: `fedlib.engine.cuda_graphs`. Only where CUDA is.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import partial

import torch

from benchmarks.common import (
    Clients,
    Contestant,
    best_seconds,
    default_device,
    engine,
    make_parser,
    seconds_of,
    write_results,
)
from benchmarks.networks import NETWORKS
from fedlib.engine import Trainer
from fedlib.engine.cuda_graphs import forget_captures

CLIENTS = 10
NO_GPU = "left out: CUDA graphs need a GPU, and torch finds none"


Compiler = str | Callable


class Plain(Trainer):
    """A trainer whose backward pass makes gradients and updates nothing: what a compiler can take in."""

    fuses = False


def with_compiled_model(trainer: Trainer, compiler: Compiler = "inductor") -> Trainer:
    """The trainer with its stacked layers compiled; steps run one by one, nothing is recorded."""
    plain = Plain(**{field.name: getattr(trainer, field.name) for field in fields(trainer)})
    stacked = plain.forward.model
    stacked.module = torch.compile(stacked.module, backend=compiler)
    return plain


def contestants(model: str, clients: Clients) -> dict[str, Contestant]:
    """Eager steps, recorded steps and compiled ones."""
    eager = partial(engine, model, clients, backend="stacked", capture=False)
    return {
        "eager": eager(),
        "CUDA graphs": engine(model, clients, backend="stacked", capture=True),
        "torch.compile": eager(change=with_compiled_model),
    }


def compare(model: str, batch: int | None = None) -> list[dict]:
    """One record per contestant: seconds before the second epoch, client-steps per second from it on."""
    clients, records = Clients.of(model, CLIENTS, NETWORKS[model].steps, batch), []
    for name, run in contestants(model, clients).items():
        forget_captures()
        first = seconds_of(run)
        speed = CLIENTS * NETWORKS[model].steps / best_seconds(run, repeats=5)
        records.append(
            {
                "model": model,
                "batch": clients.batch,
                "contestant": name,
                "first_seconds": first,
                "speed": speed,
            }
        )
        print(f"{model:12} {name:13} {first:8.1f} s first {speed:10,.1f} client-steps/s", flush=True)
    return records


def main() -> None:
    parser = make_parser(__doc__, models=NETWORKS)
    parser.add_argument("--batch", type=int)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print(NO_GPU)
        return
    records = [record for model in args.models for record in compare(model, args.batch)]
    write_results("compiled", args.out, default_device(), clients=CLIENTS, records=records)


if __name__ == "__main__":
    main()
