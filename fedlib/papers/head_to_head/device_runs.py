"""Runs of the methods that choose by time, on the same simulated devices."""

from dataclasses import replace
from typing import Any

from fedlib.papers.head_to_head.runs import base_run, scale_of
from fedlib.run import Run

CLIENTS, EPOCHS = 20, 5
ROUNDS = {"smoke": 3, "reduced": 60, "extended": 200, "paper": 200}
# Episodes have as many rounds: `reduced` makes the 600 updates of FedDdrl's paper (40 episodes of 15 rounds)
TRAINING_EPISODES = {"smoke": 1, "reduced": 10, "extended": 10, "paper": 40}
# Where it is not the comparison's: training before round 1 is ten runs long (HEAD-A24)
MODELS = dict.fromkeys(("reduced", "extended"), "mlp")
_SCHEDULER = {"devices": "fedddrl", "time_epochs": EPOCHS, "share": 0.5, "stop_below": 2}
LEARN_BEFORE = ("fedddrl", "fedmarl")

# Name in our tables -> method and options
CONTESTANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "FedAvg": ("fedavg", {}),
    "faster half alone": ("drop_slowest", {"keep_share": 0.5}),
    "faster half alone, random": ("random_drop", {"keep_share": 0.5}),
    "FedDdrl": ("fedddrl", {}),
    "FedDdrl, random": ("fedddrl", {"deployed": "random"}),
    "FedDdrl, untrained": ("fedddrl", {"episodes": 0}),
    "FedDdrl, permuted rewards": ("fedddrl", {"reward_order": "permuted"}),
    "FedMarl": ("fedmarl", {}),
    "FedMarl, random": ("fedmarl", {"deployed": "random"}),
    "FedMarl, untrained": ("fedmarl", {"episodes": 0}),
    "FedMarl, permuted rewards": ("fedmarl", {"reward_order": "permuted"}),
    "SchedulerFL": ("schedulerfl", _SCHEDULER),
    "SchedulerFL, random": ("schedulerfl", {**_SCHEDULER, "policy": "shuffled"}),
    "SchedulerFL, untrained": ("schedulerfl", {**_SCHEDULER, "policy": "untrained"}),
    "SchedulerFL, permuted rewards": ("schedulerfl", {**_SCHEDULER, "reward_order": "permuted"}),
    "EvaluatorFL": ("evaluatorfl", {}),
    "EvaluatorFL, random": ("evaluatorfl", {"agent": "shuffled"}),
    "EvaluatorFL, untrained": ("evaluatorfl", {"agent": "untrained"}),
    "EvaluatorFL, redrawn selections": ("evaluatorfl", {"agent": "redrawn"}),
}
TIMED = ("FedDdrl", "FedMarl", "SchedulerFL", "EvaluatorFL")  # learn whom to wait for, or to average
PERMUTED, REDRAWN = "itself with permuted rewards", "itself taught on redrawn selections"


def at_random(name: str) -> str:
    """The contestant that takes as many clients at random."""
    return f"{name}, random"


def untrained(name: str) -> str:
    """The contestant with the policy that its training starts from (HEAD-A17)."""
    return f"{name}, untrained"


def uninformed(name: str) -> str:
    """The contestant that is taught on rewards of other decisions (HEAD-A17)."""
    return f"{name}, {'redrawn selections' if name == 'EvaluatorFL' else 'permuted rewards'}"


def rivals(name: str) -> dict[str, str]:
    """Whom a method that learns is compared with: words -> contestant."""
    return {
        "as many clients at random": at_random(name),
        "the faster half alone": "faster half alone",
        "FedAvg": "FedAvg",
    }


def twins(name: str) -> dict[str, str]:
    """Itself without what it learns: words -> contestant."""
    words = REDRAWN if name == "EvaluatorFL" else PERMUTED
    return {"its untrained policy": untrained(name), words: uninformed(name)}


def runs(profile: str) -> list[Run]:
    """Every contestant in the first cell of the protocol."""
    scale = scale_of(profile)
    base = replace(
        base_run(profile, "devices", scale.datasets[0], scale.cells[0]),
        num_clients=CLIENTS, cohort_size=None, local_epochs=EPOCHS, rounds=ROUNDS[profile],
        local_learning_rate=0.05, device_costs=True, model=MODELS.get(profile, scale.model),
    )  # fmt: skip
    trained = {"episodes": TRAINING_EPISODES[profile]}
    return [
        replace(
            base, method=method, method_options={**(trained if method in LEARN_BEFORE else {}), **options}
        )
        for method, options in CONTESTANTS.values()
    ]
