"""How the cost of training grows with clients, rounds and parameters; engine and plain loop.

    python -m benchmarks.growth [--out FOLDER] [--figures FOLDER]

Three sweeps: clients (LeNet-size network), rounds (the whole round loop, with evaluation) and
parameters (one hidden layer of growing width). Each point is the best of a few runs after a warm-up;
engine and plain loop alternate, and the median of their ratios stands beside the engine's seconds.
"""

import io
from pathlib import Path

import pandas as pd

from benchmarks.common import (
    FIGURES,
    Clients,
    Contestant,
    best_seconds,
    contest,
    default_device,
    engine,
    make_network,
    make_parser,
    slug,
    times_as_fast,
    write_results,
)
from benchmarks.peers.plain import plain_loop
from benchmarks.round_loop import make_task
from fedlib.experiments.provenance import device_name
from fedlib.federation import rounds
from fedlib.files import write_atomically
from fedlib.methods import make_method
from fedlib.models import count_parameters

COUNTS = (1, 2, 5, 10, 20, 50, 100, 200)
ROUNDS = (1, 2, 4, 8)
WIDTHS = (4, 16, 64, 256, 1024)
STEPS = 5


def pair(sweep: str, x: int, runs: dict[str, Contestant]) -> list[dict]:
    """One point of engine and plain loop."""
    found = contest(runs)
    records = [
        {"sweep": sweep, "x": x, "contestant": name, "seconds": min(seconds)}
        for name, seconds in found.items()
    ]
    records[0]["times_plain_loop"] = times_as_fast(found["engine"], found["plain loop"])
    return records


def by_clients() -> list[dict]:
    """Seconds for one epoch of so many clients of a LeNet-size network."""
    records = []
    for count in COUNTS:
        clients = Clients.of("lenet", count, STEPS)
        runs = {"engine": engine("lenet", clients), "plain loop": plain_loop("lenet", clients)}
        records += pair("clients", count, runs)
    return records


def by_rounds() -> list[dict]:
    """Seconds for so many rounds of FedAvg, each with an evaluation of 2,000 images."""
    records = []
    for count in ROUNDS:
        task = make_task(count, train=3000, test=2000)
        seconds = best_seconds(lambda task=task: list(rounds(task, make_method("fedavg"))), repeats=2)
        records.append({"sweep": "rounds", "x": count, "contestant": "engine", "seconds": seconds})
    return records


def by_parameters() -> list[dict]:
    """Seconds for one epoch of 10 clients, by the size of an MLP."""
    clients, records = Clients.of("mlp", 10, STEPS), []
    for width in WIDTHS:
        size = count_parameters(make_network("mlp", hidden=width))
        runs = {
            "engine": engine("mlp", clients, hidden=width),
            "plain loop": plain_loop("mlp", clients, hidden=width),
        }
        records += pair("parameters", size, runs)
    return records


def draw(records: list[dict], folder: Path, caption: str) -> Path:
    """Three panels, seconds over each sweep's variable, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), constrained_layout=True)
    frame = pd.DataFrame(records)
    labels = {"clients": "clients", "rounds": "rounds", "parameters": "parameters of the network"}
    for axis, (sweep, label) in zip(axes, labels.items(), strict=True):
        part = frame[frame["sweep"] == sweep]
        for name, points in part.groupby("contestant"):
            style = {"engine": ("o-", "tab:blue"), "plain loop": ("s--", "tab:gray")}[name]
            axis.loglog(points["x"], points["seconds"], style[0], color=style[1], label=name)
        axis.set_xlabel(label)
        axis.xaxis.set_minor_formatter("")  # decades and measured places only
        axis.yaxis.set_minor_formatter("")
        if part["seconds"].max() < 100 * part["seconds"].min():  # too few decades to read values from
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:g}")
        if sweep == "rounds":
            axis.set_xticks(sorted(part["x"].unique()), [f"{x:g}" for x in sorted(part["x"].unique())])
        axis.set_ylabel("seconds")
        axis.legend(frameon=False)
    figure.suptitle(caption, fontsize=9)
    path = folder / f"growth-{slug(device_name(default_device()))}.png"
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=150)
    write_atomically(path, drawn.getvalue())
    return path


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--figures", type=Path, default=FIGURES)
    args = parser.parse_args()
    records = [*by_clients(), *by_rounds(), *by_parameters()]
    print(pd.DataFrame(records).to_string(index=False, float_format="{:.3g}".format))
    write_results("growth", args.out, default_device(), steps=STEPS, records=records)
    where = device_name(default_device())
    caption = f"LeNet-size network, rounds of FedAvg, MLPs; batch 10, {STEPS} steps per client; {where}"
    print(f"drawn: {draw(records, args.figures, caption).name}")


if __name__ == "__main__":
    main()
