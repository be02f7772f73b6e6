"""fig. 9: what a round costs on the server, and the agent's share of a whole round, on this machine.

FEDDRL-A44: `perf_counter` around state -> alpha and around eq. (4), 100 calls after 10 warm-ups.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedlib.errors import check_name
from fedlib.papers import PROFILES
from fedlib.papers.feddrl_grid import base_run

if TYPE_CHECKING:
    import pandas as pd
    import torch

CALLS = {"smoke": 5, "reduced": 100, "paper": 100}
WARM_UPS = {"smoke": 1, "reduced": 10, "paper": 10}
LENGTHS = (40, 1000)  # experiences in D when the updates of Algorithm 1 are timed
MODELS = {"mlp": (1, 28, 28), "cnn-feddrl": (1, 28, 28), "vgg11": (3, 32, 32)}
COHORTS = {"smoke": (10,), "reduced": (10, 20, 30, 40, 50), "paper": (10, 20, 30, 40, 50)}


def fig9(profile: str) -> "pd.DataFrame":
    """Median, quartiles and deciles (ms) of the decision, the averaging, Algorithm 1, and whole rounds.

    Algorithm 1 is not in the paper's figure; it makes floor(|D| / 4) updates a round (FEDDRL-A19), so
    that its time grows with the rounds: it is told for the end of a run of 40 and of 1000 rounds.
    """
    import pandas as pd
    import torch

    check_name("profile", profile, PROFILES)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    calls = CALLS[profile], WARM_UPS[profile]
    rows = []
    for model in MODELS:
        for size in COHORTS[profile]:
            rows.append(_row("decision", model, size, time_decision(size, *calls)))
        rows.append(_row("averaging", model, 10, time_averaging(model, 10, device, *calls)))
    for length in LENGTHS:
        times = time_learning(10, length, max(2, calls[0] // 20))
        rows.append(_row(f"learning, {length} in D", "any", 10, times))
    for model in ("mlp", "cnn-feddrl"):
        rows.append(_row("round", model, 10, time_round(profile, model, max(2, calls[0] // 20))))
    return pd.DataFrame(rows).assign(threads=torch.get_num_threads())


def _row(what: str, model: str, size: int, seconds: list[float]) -> dict[str, Any]:
    ms = 1000 * np.array(seconds)
    names = {"p10_ms": 10, "p25_ms": 25, "median_ms": 50, "p75_ms": 75, "p90_ms": 90}
    spread = {name: float(np.percentile(ms, level)) for name, level in names.items()}
    return {"what": what, "model": model, "cohort_size": size, "calls": len(ms), **spread}


def timed(call: Callable[[], Any], calls: int, warm_ups: int) -> list[float]:
    """Seconds of each call after the warm-ups; a GPU is waited for."""
    import torch

    seconds = []
    for number in range(warm_ups + calls):
        began = time.perf_counter()
        call()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        if number >= warm_ups:
            seconds.append(time.perf_counter() - began)
    return seconds


def time_decision(size: int, calls: int, warm_ups: int) -> list[float]:
    """From the clients' reports to alpha, the agent not learning: lines 13 to 15 of Algorithm 2."""
    import torch

    from fedlib.methods.feddrl import FedDRL

    method = FedDRL(mode="online", agent="untrained")
    mind, rng = method.start([0], size), np.random.default_rng(0)
    before, after = (torch.from_numpy(rng.random((1, size), np.float32)) for _ in range(2))
    sizes = torch.full((1, size), 200.0)
    return timed(lambda: method.step(mind, before, after, sizes, lambda name: [rng]), calls, warm_ups)


def time_learning(size: int, length: int, calls: int) -> list[float]:
    """Lines 19 and 20 with `length` experiences in the buffer: b = floor(length / 4) updates."""
    import torch

    from fedlib.agents import Replay
    from fedlib.methods.feddrl import FedDRL

    method, rng = FedDRL(mode="online"), np.random.default_rng(0)
    replay = Replay.empty(1, 3 * size, 2 * size)
    for _ in range(length):
        state, after = (torch.from_numpy(rng.random((1, 3 * size), np.float32)) for _ in range(2))
        action = torch.from_numpy(rng.random((1, 2 * size), np.float32))
        replay = replay.add(state, action, torch.zeros(1), after, capacity=method.capacity)
    agent, ddpg = method.start([0], size).agent, method.ddpg(size)
    return timed(lambda: ddpg.learn(agent, replay, [rng], batch_size=method.batch_size), calls, 1)


def time_averaging(model: str, size: int, device: "torch.device", calls: int, warm_ups: int) -> list[float]:
    """Eq. (4) over `size` stacked local models."""
    import torch

    from fedlib.federation import aggregate
    from fedlib.models import make_model

    classes = 100 if model == "vgg11" else 10
    built = make_model(model, image_shape=MODELS[model], num_classes=classes, generator_seed=0)
    params = {
        name: p.detach().expand(size, *p.shape).clone().to(device) for name, p in built.named_parameters()
    }
    weights = torch.full((1, size), 1 / size, device=device)
    return timed(lambda: aggregate(params, {}, weights), calls, warm_ups)


def time_round(profile: str, model: str, calls: int) -> list[float]:
    """Whole rounds without learning on Fashion-MNIST, CE, 10 of 100 clients with E = 5."""
    from fedlib.federation import prepare, sample_cohort
    from fedlib.methods import make_method

    run = base_run(profile, "fig9", "fmnist", "ce", 100)
    task = prepare([replace(run, model=model, model_options={}, local_epochs=5)])
    method = make_method("feddrl", {"mode": "online", "agent": "untrained"})
    states = [method.init(task)]

    def play() -> None:
        number = states[-1].round + 1
        cohort = sample_cohort(task.seeds, number, run.num_clients, task.cohort_size)
        states[:] = [method.apply(task, states[-1], cohort)[0]]

    return timed(play, calls, 1)
