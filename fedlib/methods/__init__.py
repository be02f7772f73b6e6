"""Federated algorithms by name, one module each, readable next to the paper's pseudocode.

A method is a frozen dataclass: its fields are the hyper-parameters (the options of a run),
its `init` and `apply` are pure functions over the server's state. A class of your own goes by
`package.module:Class`, or in a session by a name that you put into `METHODS`.
"""

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from fedlib.errors import check
from fedlib.federation import Method
from fedlib.methods.auto_fedrl import AutoFedRL
from fedlib.methods.baselines.centralized import SingleSet
from fedlib.methods.baselines.fedavg import FedAvg
from fedlib.methods.baselines.fedavgm import FedAvgM
from fedlib.methods.baselines.fedbn import FedBN
from fedlib.methods.baselines.feddyn import FedDyn
from fedlib.methods.baselines.fedexp import FedExP
from fedlib.methods.baselines.fedlaw import FedLAW
from fedlib.methods.baselines.fednova import FedNova
from fedlib.methods.baselines.fedopt import FedAdam, FedYogi
from fedlib.methods.baselines.fedprox import FedProx, JoinedFedProx
from fedlib.methods.baselines.fedrod import FedROD
from fedlib.methods.baselines.fedsgd import FedSGD
from fedlib.methods.baselines.power_of_choice import PowerOfChoice
from fedlib.methods.baselines.scaffold import Scaffold
from fedlib.methods.favor import Favor
from fedlib.methods.fedddrl.device_costs import DeviceCosts
from fedlib.methods.fedddrl.fedmarl import FedMarl
from fedlib.methods.fedddrl.heuristics import DropSlowest, FewestEpochs, RandomDrop
from fedlib.methods.fedddrl.method import FedDdrl
from fedlib.methods.feddisk.method import FedDisk
from fedlib.methods.feddrl.constant_weights import BestConstant
from fedlib.methods.feddrl.heuristics import HeuristicWeights
from fedlib.methods.feddrl.method import FedDRL
from fedlib.methods.frl.evaluatorfl import EvaluatorFL
from fedlib.methods.frl.schedulerfl import SchedulerFL
from fedlib.registry import Registry, check_takes, find_named
from fedlib.run import Run
from fedlib.validation import typed_options

METHODS: Registry[type[Method]] = Registry("method", {
    "singleset": SingleSet,
    "fedsgd": FedSGD,
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "fedavgm": FedAvgM,
    "fedadam": FedAdam,
    "fedyogi": FedYogi,
    "fednova": FedNova,
    "fedexp": FedExP,
    "scaffold": Scaffold,
    "feddyn": FedDyn,
    "power_of_choice": PowerOfChoice,
    "fedlaw": FedLAW,
    "feddrl": FedDRL,
    "best_constant": BestConstant,
    "heuristic_weights": HeuristicWeights,
    "fedbn": FedBN,
    "fedrod": FedROD,
    "feddisk": FedDisk,
    "fedmarl": FedMarl,
    "fedddrl": FedDdrl,
    "random_drop": RandomDrop,
    "drop_slowest": DropSlowest,
    "fewest_epochs": FewestEpochs,
    "evaluatorfl": EvaluatorFL,
    "schedulerfl": SchedulerFL,
    "favor": Favor,
    "auto_fedrl": AutoFedRL,
})  # fmt: skip


def method_class(name: str) -> type[Method]:
    """The class behind a method's name, or at `package.module:Class`; UsageError for an unknown one."""
    found = find_named("method", name, METHODS, "fedlib.methods.METHODS")
    fits = isinstance(found, type) and issubclass(found, Method)
    settings = getattr(found, "__dataclass_params__", None) if fits else None
    check(
        settings is not None and settings.frozen and not _loses_fields(found),
        f"method {name!r} given; allowed: a `Method` with `@dataclass(frozen=True)`, see docs/adding.md",
    )
    lacking = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
    check(not lacking, f"method {name!r} given without {lacking}; a `Method` needs init and apply")
    for step, base in vars(Method).items():
        if inspect.isfunction(base) and not step.startswith("_"):
            given = list(inspect.signature(base).parameters)
            if isinstance(inspect.getattr_static(found, step), staticmethod | classmethod):
                given = given[1:]
            what, allowed = f"{step} of method {name!r}", f"({', '.join(given)})"
            check_takes(what, getattr(found, step), *given, allowed=allowed)
    return found


def _loses_fields(found: type) -> bool:
    """Whether a class annotates fields that no decorator of its own makes options of."""
    return bool(vars(found).get("__annotations__")) and "__dataclass_params__" not in vars(found)


def method_options(name: str) -> dict[str, Any]:
    """The options of a method and their defaults, `dataclasses.MISSING` where required.

    Fields that its constructor does not take are none.
    """
    found: Any = method_class(name)  # a dataclass, as `method_class` checks
    return {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in dataclasses.fields(found)
        if f.init
    }


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """The method with its options set; UsageError for a wrong name, option or value."""
    maker, allowed = method_class(name), method_options(name)
    given = typed_options(f"method {name!r}", options or {}, maker, allowed)
    for option, default in allowed.items():
        required = default is dataclasses.MISSING
        check(not required or option in given, f"method {name!r} needs the option {option!r}")
    return maker(**given)


def method_of(runs: Sequence[Run]) -> Method:
    """The method of a group: that of its runs, or all of them joined; with device costs if asked."""
    members = [make_method(run.method, run.method_options) for run in runs]
    joined = [member for member in members if isinstance(member, FedAvg | FedProx)]
    same = all(member == members[0] for member in members)
    method = members[0] if same else JoinedFedProx(tuple(joined))
    return DeviceCosts(method) if runs[0].device_costs else method
