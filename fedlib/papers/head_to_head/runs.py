"""The protocol of the head to head: its contestants, the search of their settings, its runs.

Every method sees the same clients, cohorts, initial models and rounds. Each is tuned by the same number
of trials on Fashion-MNIST, in shorter runs (HEAD-A11), and takes its settings to the other data sets. A
trial is judged on images that its clients hold back from training (`local_test`), never on test data. The
server keeps a tenth of the test images for methods that learn on them (FedLAW, FAVOR, Auto-FedRL); all
methods are tested on the rest. Before round 1 FAVOR's training has as many local trainings as a run of T
rounds with its ten clients each, and the repaired agent's first stage twice as many: two workers of T rounds.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from fedlib.experiments.artifact import by_profile
from fedlib.papers.feddrl.repair import REPAIRED
from fedlib.run import Run

PAPER = "head_to_head"
# Name in our tables -> partition and its options; FILE_SETTINGS' sizes do not apply
CELLS: dict[str, tuple[str, dict[str, Any]]] = {
    "cluster skew": ("ce", {"delta": 0.6}),
    "Dirichlet 0.1": ("dirichlet_balanced", {"alpha": 0.1}),
    "two labels": ("equal_shards", {"shards_per_client": 2}),
    "volume and labels": ("label_volume", {"label_skew": "balanced", "volume_skew": True}),
}
CELL_WORDS = {"Dirichlet 0.1": "Dirichlet shares (0.1)"}  # in sentences, where the name has a number
RATES = (0.01, 0.03, 0.1, 0.3)  # of local SGD
TUNING_SEEDS = (100, 101)
# The next value of each option whose chosen one is an end of its grid, and a rate at which SCAFFOLD may not
# diverge (HEAD-A13); the other settings as chosen
BEYOND: dict[str, dict[str, Any]] = {
    "scaffold": {"rate": 0.01},
    "fedprox": {"options": {"mu": 0.001}},
    "fedavgm": {"options": {"beta": 0.97}},
    "fedadam": {"options": {"learning_rate": 0.03}},
    "fedyogi": {"options": {"learning_rate": 0.03}},
    "feddyn": {"options": {"alpha": 1.0}},
    "power_of_choice": {"options": {"candidates": 45}},
    "auto_fedrl": {"options": {"agent_rate": 0.001}},
    "favor": {"options": {"agent_rate": 0.01}},
}
CHOSEN = "settings.json"


@dataclass(frozen=True)
class Contestant:
    """A method with its fixed options and the settings that are tried; what learns, and its twins."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    trials: tuple[tuple[float, Mapping[str, Any]], ...] = tuple((rate, {}) for rate in RATES)
    learns: bool = False
    twin_of: str = ""  # takes the settings of this contestant instead of trials of its own


def _grid(name: str, values: tuple[Any, Any]) -> tuple[tuple[float, dict[str, Any]], ...]:
    """Two values of an option at the two middle learning rates: as many trials as `RATES`."""
    return tuple((rate, {name: value}) for value in values for rate in RATES[1:3])


CONTESTANTS: dict[str, Contestant] = {
    "fedavg": Contestant("fedavg"),
    "uniform": Contestant("fedavg", {"weights": "uniform"}),
    "fedprox": Contestant("fedprox", trials=_grid("mu", (0.01, 0.1))),
    "fedavgm": Contestant("fedavgm", trials=_grid("beta", (0.7, 0.9))),
    "fedadam": Contestant("fedadam", trials=_grid("learning_rate", (0.003, 0.01))),
    "fedyogi": Contestant("fedyogi", trials=_grid("learning_rate", (0.003, 0.01))),
    "fednova": Contestant("fednova"),
    "fedexp": Contestant("fedexp", {"averaged": 2}),  # HEAD-A19
    "scaffold": Contestant("scaffold"),
    "feddyn": Contestant("feddyn", trials=_grid("alpha", (0.01, 0.1))),
    "power_of_choice": Contestant("power_of_choice", trials=_grid("candidates", (20, 30))),
    "fedlaw": Contestant("fedlaw", trials=_grid("server_epochs", (1, 20))),  # HEAD-A3
    "feddrl": Contestant("feddrl", {"mode": "online"}, learns=True),
    "feddrl_untrained": Contestant("feddrl", {"agent": "untrained"}, twin_of="feddrl"),
    "feddrl_shuffled": Contestant("feddrl", {"mode": "online", "agent": "shuffled"}, twin_of="feddrl"),
    "feddrl_permuted": Contestant("feddrl", {"mode": "online", "agent": "permuted"}, twin_of="feddrl"),  # A14
    "repaired": Contestant("feddrl", REPAIRED, learns=True),
    "repaired_untrained": Contestant("feddrl", {**REPAIRED, "agent": "untrained"}, twin_of="repaired"),
    "repaired_permuted": Contestant("feddrl", {**REPAIRED, "agent": "permuted"}, twin_of="repaired"),
    "favor": Contestant("favor", trials=_grid("agent_rate", (1e-4, 1e-3)), learns=True),
    "favor_untrained": Contestant("favor", {"agent": "untrained"}, twin_of="favor"),
    "favor_permuted": Contestant("favor", {"agent": "permuted"}, twin_of="favor"),
    "auto_fedrl": Contestant("auto_fedrl", trials=_grid("agent_rate", (0.01, 0.1)), learns=True),
    "auto_fedrl_untrained": Contestant("auto_fedrl", {"agent": "untrained"}, twin_of="auto_fedrl"),
    "auto_fedrl_permuted": Contestant("auto_fedrl", {"agent": "permuted"}, twin_of="auto_fedrl"),
}


@dataclass(frozen=True)
class Scale:
    """Scale of a profile: data sets, images, network, rounds."""

    datasets: tuple[str, ...]
    cells: tuple[str, ...]
    rounds: int
    train_per_class: int | None
    test_per_class: int | None
    model: str = "lenet"
    num_clients: int = 100
    trials: int | None = None  # of each contestant's trials the first so many; None: all


# `extended` has the protocol's rounds, on as many images as `reduced`; `paper` is the protocol (HEAD-A12)
SCALES = {
    "smoke": Scale(("fmnist-embedded",), ("cluster skew",), 3, 120, 20, "mlp", 40, trials=1),
    "reduced": Scale(("fmnist",), ("cluster skew", "Dirichlet 0.1"), 80, 1000, 300),
    "extended": Scale(("fmnist",), tuple(CELLS), 300, 1000, 300),
    "paper": Scale(("fmnist", "mnist", "cifar10"), tuple(CELLS), 300, None, None),
}
PROFILE_WORDS = {  # what a profile of the head to head is, on the first screen
    "reduced": "60 rounds in simulated time, on at most a sixth of the training images",
    "extended": f"the protocol's {SCALES['extended'].rounds} rounds on at most a sixth of the images",
    "paper": "the whole protocol",
}

scale_of = by_profile(SCALES)


def base_run(profile: str, artifact: str, dataset: str, cell: str) -> Run:
    """FedAvg in one cell: N = 100, K = 10, E = 1, B = 10, a tenth of each client's images held back."""
    scale = scale_of(profile)
    partition, options = CELLS[cell]
    images = {"train_per_class": scale.train_per_class, "test_per_class": scale.test_per_class}
    return Run(
        paper=PAPER, artifact=artifact, profile=profile, dataset=dataset,
        dataset_options={
            **{name: size for name, size in images.items() if size is not None},
            "local_test": 0.1,
            "server_share": 0.1,
        },
        method="fedavg", partition=partition, partition_options=options, model=scale.model,
        num_clients=scale.num_clients, cohort_size=10, rounds=scale.rounds, local_epochs=1, batch_size=10,
        client_eval="none",
    )  # fmt: skip


def with_settings(run: Run, name: str, rate: float, options: Mapping[str, Any]) -> Run:
    """The run of a contestant with a learning rate and options of its own."""
    one = CONTESTANTS[name]
    return replace(
        run, method=one.method, method_options={**one.options, **options}, local_learning_rate=rate,
    )  # fmt: skip


def tuning(profile: str) -> list[Run]:
    """Every trial of every contestant in the first cell of the first data set (seeds `TUNING_SEEDS`)."""
    scale = scale_of(profile)
    run = base_run(profile, "tuning", scale.datasets[0], scale.cells[0])
    return [
        with_settings(run, name, rate, options)
        for name, one in CONTESTANTS.items()
        if not one.twin_of
        for rate, options in one.trials[: scale.trials]
    ]


def chosen() -> dict[str, dict[str, Any]]:
    """Contestant -> its tuned `rate` and `options` (`tuned.choose` of the committed rows of the search)."""
    text = resources.files(__package__).joinpath(CHOSEN).read_text()
    return json.loads(text)


def comparison(profile: str) -> list[Run]:
    """All contestants with their chosen settings in all cells of the protocol."""
    scale, settings = scale_of(profile), chosen()
    return [
        with_settings(base_run(profile, "comparison", dataset, cell), name, **settings[one.twin_of or name])
        for dataset in scale.datasets
        for cell in scale.cells
        for name, one in CONTESTANTS.items()
    ]


# On other data sets (HEAD-A18, HEAD-A21) all contestants; on all images (HEAD-A23) FedAvg, four strong
# baselines, who learns with its untrained policy, and the controls of who leads CIFAR-10 in a cell
OTHER_SETS = {
    "second_set": {"extended": "cifar10-jpeg", "paper": "cifar10"},
    "third_set": {"extended": "mnist", "paper": "mnist"},
}
TRANSFERRED = (
    "fedavg", "fedyogi", "fedexp",
    *(name for name, one in CONTESTANTS.items() if one.learns or one.options.get("agent") == "untrained"),
)  # fmt: skip
RAN_FIRST = (*TRANSFERRED, "fedavgm", "fedadam", "feddrl_shuffled", "feddrl_permuted")
RAN_ELSEWHERE = {**dict.fromkeys(OTHER_SETS, tuple(CONTESTANTS)), "full_size": RAN_FIRST}


def on_other_set(name: str, profile: str) -> list[Run]:
    """Contestants of `RAN_ELSEWHERE` in all cells, with the settings found on Fashion-MNIST.

    name: of `OTHER_SETS`. `paper` has these runs in its comparison; `extended` on as many images as its own.
    """
    settings, artifact = chosen(), "comparison" if profile == "paper" else name
    cells = [base_run(profile, artifact, OTHER_SETS[name][profile], cell) for cell in CELLS]
    return [
        with_settings(cell, contestant, **settings[CONTESTANTS[contestant].twin_of or contestant])
        for cell in cells
        for contestant in RAN_ELSEWHERE[name]
    ]


def full_size(profile: str) -> list[Run]:
    """The first contestants of the second set on all images of Fashion-MNIST, in the first cell (HEAD-A23).

    Runs of `paper`'s comparison, filed there.
    """
    scale, settings = scale_of(profile), chosen()
    shared = base_run(profile, "comparison", scale.datasets[0], scale.cells[0])
    return [
        with_settings(shared, name, **settings[CONTESTANTS[name].twin_of or name])
        for name in RAN_ELSEWHERE["full_size"]
    ]


def beyond_search(profile: str) -> list[Run]:
    """Each contestant of `BEYOND` with its chosen setting and with the further one; FedAvg beside them.

    In the cell of the search; SCAFFOLD in all of the comparison's cells on that data set.
    """
    scale, settings = scale_of(profile), chosen()
    found = []
    for cell in scale.cells:
        names = ("scaffold",) if found else tuple(BEYOND)
        shared = base_run(profile, "comparison", scale.datasets[0], cell)
        found += [with_settings(shared, name, **settings[name]) for name in ("fedavg", *names)]
        own = replace(shared, artifact="beyond_search")
        found += [with_settings(own, name, **(settings[name] | BEYOND[name])) for name in names]
    return found
