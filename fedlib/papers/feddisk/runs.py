"""The runs behind FedDisk's figures and tables: every printed setting at `paper`, sizes elsewhere.

Sec. VI of the paper: 100 clients that all take part, 2 local epochs, SGD with learning rate 0.01,
batch 32 (FEDDISK-A14), 85 % of a client's images for training and 15 % for testing, pixels in [0, 1]
as they are, five trials. `SCALES` is the one place where the profiles differ.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fedlib.errors import check_name
from fedlib.experiments.artifact import by_profile
from fedlib.run import Run

CASES = {"mnist": "MNIST", "xray": "Chest-Xray", "femnist": "FEMNIST"}  # ours: the paper's name
ROUNDS = {"mnist": 1500, "xray": 500, "femnist": 1500}  # sec. VI.B.2
WIDTH = {"mnist": 16, "xray": 32, "femnist": 128}  # channels of both convolutions, sec. VI.B.2
MADE_HIDDEN = {"mnist": 30, "xray": 50, "femnist": 400}  # sec. VI.B.3
MADE_WIDTHS = (30, 50, 100, 200, 300, 400)
PROX_MU = {"mnist": 0.01, "xray": 0.01, "femnist": 1.0}  # sec. VI.B.1, chosen from the next line
PROX_GRID = (0.001, 0.01, 0.1, 1.0)
ROD_GRID = (1.0, 5.0, 10.0, 20.0)
METHODS = ("feddisk", "fedavg", "fedprox", "fedbn", "fedrod")

_AS_PIXELS = {"local_test": 0.15, "mean": [0.0], "std": [1.0]}
NOISE_STRENGTH = 0.3
_NOISE = {"client_noise": {"strength": NOISE_STRENGTH}, **_AS_PIXELS}  # x of fig. 3 (FEDDISK-A19)
_WRITERS = {"min_images": 256}  # of the loader's training part, 85 % of more than 300 (FEDDISK-A30)


@dataclass(frozen=True)
class Setting:
    """A data set with a profile's settings."""

    case: str  # key of CASES: which of the paper's data sets it is or stands for
    dataset: str
    dataset_options: Mapping[str, Any]
    partition: str
    num_clients: int = 100
    partition_options: Mapping[str, Any] = field(default_factory=dict)
    rounds: int | None = None  # None: the paper's, as for the next two
    width: int | None = None
    made_hidden: int | None = None
    batch_size: int | None = None  # None: the profile's
    phase1: Mapping[str, int] = field(default_factory=dict)  # further sizes, options of FedDisk


@dataclass(frozen=True)
class Scale:
    """Scale of a profile: sizes, data sets and networks."""

    settings: tuple[Setting, ...]
    batch_size: int = 32
    tuned: tuple[str, ...] = tuple(CASES)  # cases on which the grids of mu are run
    ablated: str = "mnist"  # the case of the ablations


_SMALL = {"made_batch_size": 10}  # no caps of its own: phase 1 ends by its stopping rules
_TINY = {"made_batch_size": 10, "made_max_rounds": 6, "ratio_max_epochs": 5}

SCALES = {
    "smoke": Scale(
        settings=(
            Setting(
                "mnist", "fmnist-embedded", {**_NOISE, "train_per_class": 30, "test_per_class": 10}, "iid",
                num_clients=10, rounds=3, made_hidden=10, phase1=_TINY,
            ),
            Setting(
                "xray", "standin-xray", {**_AS_PIXELS, "images": 900, "spread": 10}, "sources",
                num_clients=8, rounds=3, width=8, made_hidden=10, phase1=_TINY,
            ),
            Setting(
                "femnist", "standin-femnist", {**_AS_PIXELS, "writers": 3}, "natural",
                num_clients=3, partition_options=_WRITERS, rounds=3, width=8, made_hidden=10, phase1=_TINY,
            ),
        ),
        batch_size=8,
        tuned=("xray",),
    ),
    "reduced": Scale(
        settings=(
            Setting(
                "mnist", "mnist", {**_NOISE, "train_per_class": 600, "test_per_class": 20}, "iid",
                rounds=20, phase1=_SMALL,
            ),
            Setting(
                "xray", "pneumoniamnist-subset", {**_NOISE, "train_per_class": 388, "test_per_class": 100},
                "iid", num_clients=20, rounds=80, width=16, phase1=_SMALL,
            ),
            Setting(
                "xray", "standin-xray", {**_AS_PIXELS, "images": 2400, "spread": 10}, "sources",
                num_clients=30, rounds=30, width=16, batch_size=16, phase1=_SMALL,
            ),
            Setting(
                "femnist", "standin-femnist", {**_AS_PIXELS, "writers": 25}, "natural",
                num_clients=25, partition_options=_WRITERS, rounds=20, width=16, made_hidden=50,
            ),
        ),
        batch_size=8,
        tuned=("mnist", "xray"),  # the real pictures
    ),
    "paper": Scale(
        settings=(
            Setting("mnist", "mnist", _NOISE, "iid"),
            Setting("xray", "chest-xray", _AS_PIXELS, "sources"),
            Setting("femnist", "femnist", _AS_PIXELS, "natural", partition_options=_WRITERS),
        )
    ),
}  # fmt: skip

# How far apart the three acquisition styles of the X-ray stand-in are, in percent, beside fig. 3's. One
# style to a client, and averaged BatchNorm statistics fit no style once they are far apart.
SPREADS = (25, 100)
STYLE_METHODS = ("fedavg", "fedbn")

# what a reader will ask for, beside FedDisk and FedAvg: name -> (method, options or `run.<field>`);
# of two that fit a run the first is its name
ABLATIONS = {
    "feddisk_shuffled": ("feddisk", {"control": "shuffled"}),
    "feddisk_global": ("feddisk", {"feed": "global"}),  # FEDDISK-A3
    "feddisk_mean": ("feddisk", {"scale": "raw", "control": "mean"}),  # a learning rate times mean alpha
    "feddisk_raw": ("feddisk", {"scale": "raw"}),  # FEDDISK-A5
    "fedavg_2_steps": ("fedavg", {"run.local_steps": 2}),  # FEDDISK-A13, as the next
    "feddisk_2_steps": ("feddisk", {"run.local_steps": 2}),
}

scale_of = by_profile(SCALES)


def case_of(dataset: str) -> str:
    """Which of the paper's data sets a data set is or stands for: key of `CASES`."""
    known = {s.dataset: s.case for scale in SCALES.values() for s in scale.settings}
    return known[check_name("data set of feddisk", dataset, known)]


def options_of(setting: Setting, method: str) -> dict[str, Any]:
    """A method's options where they are not its defaults."""
    if method == "feddisk":
        hidden = setting.made_hidden or MADE_HIDDEN[setting.case]
        return {"made_hidden": hidden, **setting.phase1}
    return {"mu": PROX_MU[setting.case]} if method == "fedprox" else {}


def run_of(profile: str, setting: Setting, method: str, artifact: str = "fig3", **options: Any) -> Run:
    """Run of a method on a data set; options are added to those of the paper."""
    return Run(
        paper="feddisk",
        artifact=artifact,
        profile=profile,
        dataset=setting.dataset,
        dataset_options=setting.dataset_options,
        method=method,
        method_options={**options_of(setting, method), **options},
        partition=setting.partition,
        partition_options=setting.partition_options,
        model="cnn-feddisk",
        model_options={"width": setting.width or WIDTH[setting.case]},
        num_clients=setting.num_clients,
        rounds=setting.rounds or ROUNDS[setting.case],
        local_epochs=2,
        batch_size=setting.batch_size or scale_of(profile).batch_size,
        client_eval="all",  # fig. 7: the global model's loss on the clients' training data
    )


def fig3(profile: str) -> list[Run]:
    """All five methods on every data set; figs. 4 to 7 and table 1 are made of the same runs."""
    return [run_of(profile, s, m) for s in scale_of(profile).settings for m in METHODS]


def fig5(profile: str) -> list[Run]:
    """FedDisk's runs of fig. 3: phase 1 is told in their row of round 0."""
    return [run for run in fig3(profile) if run.method == "feddisk"]


def fedprox_grid(profile: str) -> list[Run]:
    """FedProx over its grid of mu; the value that the paper reports is a run of fig. 3."""
    runs = []
    for setting in _tuned(profile):
        for mu in PROX_GRID:
            owner = "fig3" if mu == PROX_MU[setting.case] else "sec6b-fedprox"
            runs.append(run_of(profile, setting, "fedprox", owner, mu=mu))
    return runs


def fedrod_grid(profile: str) -> list[Run]:
    """FedROD over its grid of mu, where mu can matter: the personalised head's loss reaches the body.

    With our default it does not, and mu cannot change the generic model that is evaluated (A25).
    """
    return [
        run_of(profile, setting, "fedrod", "sec6b-fedrod", mu=mu, personal_trains_body=True)
        for setting in _tuned(profile)
        for mu in ROD_GRID
    ]


def _tuned(profile: str) -> list[Setting]:
    """A setting for each case on which mu is varied: the first, whose data are the realest."""
    scale = scale_of(profile)
    first = {s.case: s for s in reversed(scale.settings)}
    return [first[case] for case in scale.tuned]


def ablations(profile: str) -> list[Run]:
    """FedDisk and FedAvg of fig. 3, and FedDisk with one thing changed at a time."""
    scale = scale_of(profile)
    setting = next(s for s in scale.settings if s.case == scale.ablated)
    whole = [run_of(profile, setting, method) for method in ("feddisk", "fedavg")]
    return whole + [_ablated(profile, setting, *ABLATIONS[name]) for name in ABLATIONS]


def _ablated(profile: str, setting: Setting, method: str, changes: Mapping[str, Any]) -> Run:
    """A run with other options of the method or other fields of its own."""
    fields = {name.removeprefix("run."): v for name, v in changes.items() if name.startswith("run.")}
    options = {name: value for name, value in changes.items() if not name.startswith("run.")}
    return replace(run_of(profile, setting, method, "ablations", **options), **fields)


def styles(profile: str) -> list[Run]:
    """FedAvg and FedBN on sources as in fig. 3, and with the styles of a stand-in further apart."""
    setting = next(s for s in scale_of(profile).settings if s.partition == "sources")
    runs = [run_of(profile, setting, method) for method in STYLE_METHODS]
    for spread in SPREADS if "spread" in setting.dataset_options else ():
        further = replace(setting, dataset_options={**setting.dataset_options, "spread": spread})
        runs += [run_of(profile, further, method, "styles") for method in STYLE_METHODS]
    return runs


CONVERGED = {"smoke": (2, 1), "extended": (1500, 10)}  # rounds, and rounds between evaluations
CONVERGED_TRIALS, TRIALS_AT_LENGTH = 5, 3  # of `converged`, as many as the paper's; of others as long
WIDTH_TRIALS = {"smoke": 1, "reduced": 5, "extended": TRIALS_AT_LENGTH, "paper": 5}  # of `made_widths`


def converged(profile: str) -> list[Run]:
    """All five methods on MNIST as long as the paper's curves, with two mini-batches a round (A13).

    Two epochs of 32 mini-batches would be sixteen times the work. Which of the two the paper means by
    "local iterations are set to 2" is open.
    """
    whole = profile if profile in SCALES else "paper"
    setting = next(s for s in SCALES[whole].settings if s.case == "mnist")
    rounds, eval_every = CONVERGED[profile]
    return [
        replace(
            run_of(whole, setting, method, "converged"),
            profile=profile, rounds=rounds, eval_every=eval_every, local_steps=2,
        )
        for method in METHODS
    ]  # fmt: skip


def converged_weights(profile: str) -> list[Run]:
    """FedDisk of `converged`, and the same with its weights on other samples."""
    own = next(run for run in converged(profile) if run.method == "feddisk")
    shuffled = {**own.method_options, "control": "shuffled"}
    return [own, replace(own, artifact="converged_weights", method_options=shuffled)]


# Two local epochs on fewer images: 64 for training on each of the 100 clients, two whole mini-batches an
# epoch. Rounds, rounds between evaluations, training images a class (None: the profile's).
TWO_EPOCHS = {"smoke": (2, 1, None), "extended": (300, 10, 750)}
TWO_EPOCH_METHODS = ("feddisk", "fedavg", "fedprox")
_UNCAPPED = {**_SMALL, "ratio_max_epochs": 5000}  # the classifiers end by their stopping rule


def two_epochs(profile: str) -> list[Run]:
    """FedDisk, FedAvg and FedProx of `converged` with two epochs a round, the other reading of A13."""
    rounds, eval_every, images = TWO_EPOCHS[profile]
    further = {"feddisk": _UNCAPPED if profile == "extended" else {}}
    return [
        replace(
            _with_images(run, **({"train_per_class": images} if images else {})),
            artifact="two_epochs", rounds=rounds, eval_every=eval_every, local_steps=None,
            method_options={**run.method_options, **further.get(run.method, {})},
        )
        for run in converged(profile) if run.method in TWO_EPOCH_METHODS
    ]  # fmt: skip


def without_noise(profile: str) -> list[Run]:
    """All five methods on the X-rays of one source as they are; fig. 3 adds MNIST's noise to them."""
    noisy = next(s for s in scale_of(profile).settings if s.case == "xray")
    images = {name: value for name, value in noisy.dataset_options.items() if name != "client_noise"}
    setting = replace(noisy, dataset_options=images)
    return [run_of(profile, setting, method, "without_noise") for method in METHODS]


READING_ROUNDS = {"smoke": 2, "reduced": 150, "extended": 1000, "paper": 1500}
EPOCHS_READING_ROUNDS = {**READING_ROUNDS, "extended": 100}  # of two epochs: 32 mini-batches each, not 2
READING_EVALS = {"smoke": 1, "reduced": 1, "extended": 10, "paper": 10}  # every so many rounds
NOISE_TIMES = (1, 10, 30, 100)  # what the printed strength is multiplied by


def readings(profile: str) -> list[Run]:
    """FedAvg on MNIST under every combination of work a round, noise and clipping (FEDDISK-A13, A19).

    Then, with the printed noise, a tenth of the images, and 16 outputs as the text has it.
    """
    whole = profile if profile in SCALES else "paper"
    setting = next(s for s in SCALES[whole].settings if s.case == "mnist")
    base = replace(
        run_of(whole, setting, "fedavg", "readings"),
        profile=profile, eval_every=READING_EVALS[profile], client_eval="none",
    )  # fmt: skip
    images = base.dataset_options.get("train_per_class", 6000)
    times = NOISE_TIMES[:2] if profile == "smoke" else NOISE_TIMES
    noises = list(itertools.product(times, ("variance", "std"), (True, False)))
    runs = []
    for steps, rounds in ((None, EPOCHS_READING_ROUNDS), (2, READING_ROUNDS)):
        own = replace(base, local_steps=steps, rounds=rounds[profile])
        runs += [_with_images(own, client_noise=_noise(*noise)) for noise in noises]
        runs += [_with_images(own, train_per_class=images // 10), _with_images(own, num_classes=16)]
    return runs


def _noise(times: float, noise_as: str, clip: bool) -> dict[str, Any]:
    """Options of `add_client_noise`; those at their defaults are left out."""
    further = {} if noise_as == "variance" else {"noise_as": noise_as}
    return {"strength": times * NOISE_STRENGTH, **further, **({} if clip else {"clip": False})}


def _with_images(run: Run, **options: Any) -> Run:
    return replace(run, dataset_options={**run.dataset_options, **options})


def made_widths(profile: str) -> list[tuple[Run, tuple[int, ...]]]:
    """FedDisk's runs of fig. 3 and the widths of the MADE tried on them.

    `extended`: MNIST as printed, the X-rays as in fig. 3 at `reduced`. `reduced`: a fifth of the clients.
    """
    if profile == "paper":
        return [(run, MADE_WIDTHS) for run in fig5(profile)]
    if profile == "extended":
        scales = {"paper": SCALES["paper"].settings[0], "reduced": SCALES["reduced"].settings[1]}
        found = [run_of(scale, setting, "feddisk", "made-width") for scale, setting in scales.items()]
        return [(replace(run, profile=profile), MADE_WIDTHS) for run in found]
    runs = []
    for setting in scale_of(profile).settings[:2]:  # nothing in the paper's grid is wider than FEMNIST's 400
        clients = max(10, setting.num_clients // 5) if profile == "reduced" else setting.num_clients
        images = {**setting.dataset_options}
        if "train_per_class" in images:  # as many for each client as in fig. 3
            images["train_per_class"] = images["train_per_class"] * clients // setting.num_clients
        smaller = replace(setting, num_clients=clients, dataset_options=images)
        runs.append(run_of(profile, smaller, "feddisk", "made-width"))
    return [(run, MADE_WIDTHS[:2] if profile == "smoke" else MADE_WIDTHS[:4]) for run in runs]
