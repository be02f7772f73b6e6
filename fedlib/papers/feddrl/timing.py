"""fig. 9: what a round costs on the server, and the agent's share of a whole round, on this machine.

FEDDRL-A44: `perf_counter` around state -> alpha and around eq. (4), 100 calls after 10 warm-ups.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from fedlib import seeds
from fedlib.errors import check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.stopwatch import round_player, timed, timed_in_turns
from fedlib.federation import aggregate, prepare
from fedlib.methods.feddrl.agent import AgentState
from fedlib.methods.feddrl.method import FedDRL
from fedlib.models import make_model
from fedlib.papers.feddrl.runs import base_run
from fedlib.processors import cores, torch_threads
from fedlib.run import Run

CALLS = {"smoke": 5, "reduced": 100, "paper": 100}
WARM_UPS = {"smoke": 1, "reduced": 10, "paper": 10}
LENGTHS = (40, 1000)  # experiences in D when the updates of Algorithm 1 are timed
SETTINGS = (("mlp", "fmnist"), ("cnn-feddrl", "fmnist"), ("cnn-feddrl", "mnist"), ("vgg11", "cifar100"))
TRAINED = {"smoke": SETTINGS[:2], "reduced": SETTINGS, "paper": SETTINGS}  # where decisions are timed
COHORTS = {"smoke": (), "reduced": (20, 30, 40, 50), "paper": (20, 30, 40, 50)}  # beside 10


def fig9(profile: str) -> pd.DataFrame:
    """Median, quartiles and deciles (ms) of the decision, the averaging, Algorithm 1, and whole rounds.

    Column timed_on: where the clients train and the models are averaged (the CPU and, where there is
    one, the GPU); the agent is on the CPU. The decision is timed within rounds, right after clients of
    that network trained on those data. Algorithm 1 is not in the paper's figure; it makes floor(|D| / 4)
    updates a round (FEDDRL-A19), so that its time grows with the rounds: it is told for the end of a run
    of 40 and of 1000 rounds, alone ("learning") and as part of whole rounds ("round, 40 in D"); "round"
    alone is one whose agent never learns. Whole rounds are timed with one CPU thread, which leaves a
    core to Algorithm 1's side thread, and with one for each core.
    """
    check_name("profile", profile, PROFILES)
    calls, few = (CALLS[profile], WARM_UPS[profile]), max(2, CALLS[profile] // 20)
    rows = []
    for device in ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):
        found = []
        for model, data in TRAINED[profile]:
            decisions = time_decisions(one_batch_run(profile, model, data, 10), device, *calls)
            found.append(_row("decision", model, data, 10, decisions))
        for model, data in SETTINGS:
            found.append(_row("averaging", model, data, 10, time_averaging(model, 10, device, *calls)))
        for size in COHORTS[profile]:
            decisions = time_decisions(one_batch_run(profile, "mlp", "fmnist", size), device, *calls)
            found.append(_row("decision", "mlp", "fmnist", size, decisions))
        found = [row | {"threads": torch.get_num_threads()} for row in found]
        for threads in sorted({1, cores()}):
            for model, count in (("mlp", 3 * few), ("cnn-feddrl", few)):
                with torch_threads(threads):
                    whole = time_whole_rounds(whole_run(profile, model), device, count)
                found += [_row(w, model, "fmnist", 10, s) | {"threads": threads} for w, s in whole.items()]
        rows += [row | {"timed_on": device} for row in found]
    for length in LENGTHS:
        times = time_learning(10, length, few)
        row = _row(f"learning, {length} in D", "any", "any", 10, times)
        rows.append(row | {"threads": 1, "timed_on": "cpu"})
    return pd.DataFrame(rows)


def _row(what: str, model: str, data: str, size: int, seconds: list[float]) -> dict[str, Any]:
    ms = 1000 * np.array(seconds)
    names = {"p10_ms": 10, "p25_ms": 25, "median_ms": 50, "p75_ms": 75, "p90_ms": 90}
    spread = {name: float(np.percentile(ms, level)) for name, level in names.items()}
    return {"what": what, "model": model, "data": data, "cohort_size": size, "calls": len(ms), **spread}


def time_learning(size: int, length: int, calls: int) -> list[float]:
    """Lines 19 and 20 with `length` experiences in the buffer: b = floor(length / 4) updates."""
    method, rng = FedDRL(mode="online"), np.random.default_rng(0)
    learner = _filled(method.start([seeds.torch_generator(0, "method", "agent")], size), length)
    return timed(lambda: method.learn(learner, [rng]), calls, 1)


def _filled(learner: AgentState, length: int) -> AgentState:
    """A learner with `length` random experiences in its buffers."""
    rng, replay, slots = np.random.default_rng(0), learner.replay, learner.slots
    replicas = len(replay.rewards)
    for _ in range(length):
        state, after = (torch.from_numpy(rng.random((replicas, 3 * slots), np.float32)) for _ in range(2))
        action = torch.from_numpy(rng.random((replicas, 2 * slots), np.float32))
        replay = replay.add(state, action, torch.zeros(replicas), after, capacity=max(length, 1))
    return replace(learner, replay=replay)


def time_averaging(model: str, size: int, device: str, calls: int, warm_ups: int) -> list[float]:
    """Eq. (4) over `size` stacked local models."""
    classes = 100 if model == "vgg11" else 10
    shape = (3, 32, 32) if model == "vgg11" else (1, 28, 28)
    built = make_model(model, image_shape=shape, num_classes=classes, generator_seed=0)
    params = {
        name: p.detach().expand(size, *p.shape).clone().to(device) for name, p in built.named_parameters()
    }
    weights = torch.full((1, size), 1 / size, device=device)
    return timed(lambda: aggregate(params, {}, weights), calls, warm_ups)


def one_batch_run(profile: str, model: str, data: str, size: int) -> Run:
    """`size` clients of one mini-batch each: the least that trains before a decision."""
    run = base_run(profile, "fig9", data, "iid", 10)
    per_class = max(1, size * run.batch_size // (100 if data == "cifar100" else 10))
    images = {**run.dataset_options, "train_per_class": per_class}
    return replace(
        run, model=model, model_options={}, num_clients=size, cohort_size=size, local_epochs=1,
        dataset_options=images, partition_options={},
    )  # fmt: skip


def whole_run(profile: str, model: str) -> Run:
    """Fashion-MNIST, CE, 10 of 100 clients with E = 5."""
    run = base_run(profile, "fig9", "fmnist", "ce", 100)
    return replace(run, model=model, model_options={}, local_epochs=5)


def time_decisions(run: Run, device: str, calls: int, warm_ups: int) -> list[float]:
    """Seconds of the decisions in rounds of a run whose agent does not learn.

    The decision is all from the clients' reports to alpha: lines 13 to 15 of Algorithm 2.
    """
    decisions: list[float] = []

    class Timed(FedDRL):
        def decide(self, *reports: Any) -> Any:
            began = time.perf_counter()
            decided = super().decide(*reports)
            decisions.append(time.perf_counter() - began)
            return decided

    task, method = prepare([run], device=device), Timed(mode="online", agent="untrained")
    timed(round_player(task, method, method.init(task)), calls, warm_ups)
    return decisions[warm_ups:]


def time_whole_rounds(run: Run, device: str, calls: int) -> dict[str, list[float]]:
    """Seconds of rounds whose agent never learns, and learns from each of `LENGTHS` experiences.

    A round of each in turn, after one of each as a warm-up.
    """
    task, players = prepare([run], device=device), {}
    for length in (0, *LENGTHS):
        method = FedDRL(
            mode="online",
            agent="learning" if length else "untrained",
            capacity=max(length, FedDRL.batch_size),
        )
        state = method.init(task)
        learner = _filled(AgentState.unpack(state.memory["learner"]), length)
        what = f"round, {length} in D" if length else "round"
        players[what] = round_player(task, method, replace(state, memory={"learner": learner.pack()}))
    return timed_in_turns(players, calls, 1)
