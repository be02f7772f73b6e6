"""Client-steps per second and peak memory of the engine, beside other libraries.

    python -m benchmarks.engine [--clients 10 100 1000] [--models mlp …]
                                [--batch B] [--fedjax PYTHON] [--flower PYTHON] [--keep]

A client-step is one mini-batch of one client: forward, backward, update. All contestants train the same
numbers of clients and mini-batches for one epoch (`benchmarks.networks`: each network's mini-batch and
local optimiser, unless --batch is told) and alternate; the median of the repeats counts, after warm-ups.
Peak memory is that of a process which runs one contestant alone, over its imports. Results of another
batch size lie in a file of their own. A contestant that is not installed is left out:

- plain loop: one model, loaded for each client in turn, written as papers' code has it;
- engine: fedlib as it is used, with its own choice of backend and clients per pass;
- engine, bf16: with `precision: bf16` (10 clients), where the rule takes it for the network;
- loop, vmap, stacked: fedlib's three backends, all clients in one pass;
- pfl-research: in this environment (`pip install "pfl[pytorch]"`), as it is and, with 10 clients, compiled;
- fedjax, jax, flower: in environments of their own, whose interpreters the options or the variables
  FEDLIB_BENCH_FEDJAX and FEDLIB_BENCH_FLOWER name. Flower's figure is that of whole rounds of its
  simulation, one actor per core, without the first.
"""

import importlib.util
import json
import multiprocessing
import os
import re
import statistics
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pandas as pd
import torch

from benchmarks.common import (
    Clients,
    Contestant,
    default_device,
    engine,
    make_network,
    make_parser,
    results_path,
    seconds_of,
    write_results,
)
from benchmarks.networks import NETWORKS
from benchmarks.peers.child import Child
from benchmarks.peers.pfl_research import pfl_research
from benchmarks.peers.plain import plain_loop
from fedlib.engine import choose_precision
from fedlib.experiments.provenance import environment, now
from fedlib.files import write_atomically
from fedlib.models import count_parameters

JAX_NETWORKS = tuple(name for name in NETWORKS if name not in ("vgg11", "mobilenetv2"))
FLOWER_SECONDS = 120
ALONE = ("plain loop", "engine", "pfl-research")  # contestants whose memory is measured by a fork


Case = tuple[str | None, int, int | None, str]  # network, clients, batch, contestant


def repeats_for(model: str, count: int) -> int:
    """Five repeats count; three of a thousand clients, and of a small network's hundred."""
    return 5 if count == 10 or (count < 1000 and model not in JAX_NETWORKS) else 3


def warm_ups_for(model: str, count: int) -> int:
    """Two; one of a thousand clients of a large network, which is a minute of it."""
    return 2 if count < 1000 or model in JAX_NETWORKS else 1


def steps_for(model: str, count: int) -> int:
    """Mini-batches per client in one repeat: as many client-steps as 10 clients have, at least one each."""
    return max(1, NETWORKS[model].steps * 10 // count)


def builders(model: str, count: int, batch: int | None) -> dict[str, Callable[[], Contestant]]:
    """Name -> a function that gives the contestant, of those in this environment."""
    clients = Clients.of(model, count, steps_for(model, count), batch)
    found = {"plain loop": lambda: plain_loop(model, clients), "engine": lambda: engine(model, clients)}
    if count == 10:
        for backend in ("loop", "vmap", "stacked"):
            found[backend] = lambda backend=backend: engine(model, clients, backend=backend)
        if choose_precision("bf16", make_network(model), default_device()) == "bf16":
            found["engine, bf16"] = lambda: engine(model, clients, precision="bf16")
    if has_pfl():
        found["pfl-research"] = lambda: pfl_research(model, clients)
        if count == 10:
            found["pfl-research, compiled"] = lambda: pfl_research(model, clients, compiled=True)
    return found


def jax_forms(model: str, count: int) -> list[str]:
    """Forms of peers/jax_child.py that are contestants; one computation where it is no slower (note 37)."""
    in_one = model == "mlp" and count == 10
    return ["fedjax", "jax"][: 1 + in_one] if model in JAX_NETWORKS else []


def has_pfl() -> bool:
    """Whether pfl-research is a contestant here."""
    return importlib.util.find_spec("pfl") is not None and not torch.cuda.is_available()


def measure_speed(
    model: str, count: int, batch: int | None, fedjax: str | None
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Client-steps per second of each contestant, one figure per repeat, alternating; MiB of children."""
    work = count * steps_for(model, count)
    with ExitStack() as children:
        ready = {name: build() for name, build in builders(model, count, batch).items()}
        for run in [*ready.values()] * warm_ups_for(model, count):
            run()
        asks = {name: lambda run=run: seconds_of(run) for name, run in ready.items()}
        jax: dict[str, Child] = {}
        for form in jax_forms(model, count) if fedjax else ():
            settings = [model, count, steps_for(model, count), batch or NETWORKS[model].batch, form]
            jax[form] = children.enter_context(Child(fedjax, "jax_child.py", settings))
            jax[form].ask("run")  # its second warm-up
            asks[form] = lambda child=jax[form]: child.ask("run")
        speeds: dict[str, list[float]] = {name: [] for name in asks}
        for _ in range(repeats_for(model, count)):
            for name, ask in asks.items():
                speeds[name].append(work / ask())
        return speeds, {name: child.ask("peak") for name, child in jax.items()}


def flower_speed(interpreter: str, model: str, count: int, batch: int | None) -> list[float]:
    """Client-steps per second of Flower's simulation, one figure per round behind the first."""
    script = Path(__file__).parent / "peers" / "flower_child.py"
    local = NETWORKS[model]
    settings = [model, count, steps_for(model, count), batch or local.batch, local.rate]
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [interpreter, str(script), *map(str, settings)]
    try:
        done = subprocess.run(
            command, env=path, capture_output=True, text=True, check=True, timeout=FLOWER_SECONDS
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"flower left out: {error}", flush=True)
        return []
    seconds = re.findall(r"^round:([\d.]+)$", done.stdout, re.MULTILINE)
    return [count * steps_for(model, count) / float(value) for value in seconds]


def _peak_kib(
    model: str | None, count: int, batch: int | None, name: str, result: multiprocessing.Queue
) -> None:
    if model is not None:
        builders(model, count, batch)[name]()()
    if torch.cuda.is_available():
        result.put(torch.cuda.max_memory_allocated() // 1024)
        return
    status = Path("/proc/self/status").read_text()  # not ru_maxrss, which a child inherits from its parent
    result.put(int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)))


def _memory_server(wanted: list[Case], result: multiprocessing.Queue) -> None:
    """Fork one process per case: this one has imported everything and computed nothing."""
    context, found = multiprocessing.get_context("fork"), {}
    if any(case[-1] == "pfl-research" for case in wanted):  # its imports are not its memory either
        importlib.import_module("pfl.algorithm.federated_averaging")
        importlib.import_module("pfl.model.pytorch")
    for case in wanted:
        answer = context.Queue()
        child = context.Process(target=_peak_kib, args=(*case, answer))
        child.start()
        found[case] = answer.get() / 1024
        child.join()
    result.put(found)


def measure_memory(cases: list[Case]) -> dict[Case, float]:
    """Peak memory in MiB of a process that runs one contestant alone, over one that only imports."""
    nothing: Case = (None, 0, None, "")
    context = multiprocessing.get_context("spawn")
    result = context.Queue()
    server = context.Process(target=_memory_server, args=([nothing, *cases], result))
    server.start()
    peaks = result.get()
    server.join()
    return {case: peaks[case] - peaks[nothing] for case in cases}


def measure(
    model: str,
    count: int,
    batch: int | None,
    fedjax: str | None,
    flower: str | None,
    memory: dict[Case, float],
) -> list[dict]:
    """One record per contestant."""
    speeds, peaks = measure_speed(model, count, batch, fedjax)
    if flower and count == 10 and model == "lenet":
        speeds |= {"flower": found} if (found := flower_speed(flower, model, count, batch)) else {}
    plain = statistics.median(speeds["plain loop"])
    facts = environment(default_device())
    sitting = {"measured": now(), "commit": facts["commit"], "dirty": facts["dirty"]}
    records = []
    for name, values in speeds.items():
        median = statistics.median(values)
        record = {
            "model": model, "parameters": count_parameters(make_network(model)), "clients": count,
            "contestant": name, "client_steps_per_second": median, "times_plain_loop": median / plain,
            "repeats": values, "steps_per_client": steps_for(model, count),
            "batch": batch or NETWORKS[model].batch, **sitting,
            "peak_mib": peaks.get(name, memory.get((model, count, batch, name))),
        }  # fmt: skip
        records.append(record)
        print(
            f"{model:12} {count:4} clients  {name:22} {median:9,.1f} client-steps/s {median / plain:6.2f}x",
            flush=True,
        )
    return records


def table(records: list[dict]) -> str:
    """One row per network, number of clients and contestant."""
    frame = pd.DataFrame(records)
    frame["speed"] = frame["client_steps_per_second"].map("{:,.1f}".format)
    frame["of plain loop"] = frame["times_plain_loop"].map("{:.2f}x".format)
    frame["peak MiB"] = frame["peak_mib"].map(lambda mib: "" if pd.isna(mib) else f"{mib:,.0f}")
    columns = ["model", "parameters", "batch", "clients", "contestant", "speed", "of plain loop", "peak MiB"]
    return frame[columns].to_string(index=False)


def file_name(batch: int | None) -> str:
    """Of the results: those of the networks' own batch sizes have the plain name."""
    return f"engine-batch-{batch}" if batch else "engine"


def with_earlier(records: list[dict], folder: Path, name: str = "engine") -> list[dict]:
    """These records and those of earlier sittings of networks and numbers of clients not among them."""
    path = results_path(name, folder)
    earlier = json.loads(path.read_text())["records"] if path.is_file() else []
    now_measured = {(r["model"], r["clients"]) for r in records}
    kept = [r for r in earlier if (r["model"], r["clients"]) not in now_measured]
    order = list(NETWORKS)
    return sorted([*kept, *records], key=lambda r: (order.index(r["model"]), r["clients"]))


def main() -> None:
    parser = make_parser(__doc__, models=NETWORKS)
    parser.add_argument("--clients", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--batch", type=int, help="of all networks; default: each its own")
    parser.add_argument("--fedjax", default=os.environ.get("FEDLIB_BENCH_FEDJAX"), metavar="PYTHON")
    parser.add_argument("--flower", default=os.environ.get("FEDLIB_BENCH_FLOWER"), metavar="PYTHON")
    parser.add_argument("--keep", action="store_true", help="keep what the file has of other cases")
    args = parser.parse_args()
    if args.batch is not None and args.batch < 1:
        parser.error(f"--batch {args.batch} given; allowed: 1 or more")
    cases = [(model, count, args.batch) for model in args.models for count in args.clients]
    alone = [name for name in ALONE if name != "pfl-research" or has_pfl()]
    memory = measure_memory([(*case, name) for case in cases for name in alone])
    records = []
    for case in cases:
        records += measure(*case, args.fedjax, args.flower, memory)
    if args.keep:
        records = with_earlier(records, args.out, file_name(args.batch))
    settings = {"threads": torch.get_num_threads()}
    path = write_results(
        file_name(args.batch), args.out, default_device(), settings=settings, records=records
    )
    write_atomically(path.with_suffix(".txt"), (table(records) + "\n").encode())
    print(table(records))


if __name__ == "__main__":
    main()
