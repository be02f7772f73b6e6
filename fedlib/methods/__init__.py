"""Federated algorithms by name, one module each, readable next to the paper's pseudocode.

A method is a frozen dataclass: its fields are the hyper-parameters (the options of a run),
its `init` and `apply` are pure functions over the server's state. To try one of your own in
a session, put its class into `METHODS` and name it in a run.
"""

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from fedlib.errors import UsageError, check_name
from fedlib.federation import Method

METHODS: dict[str, str | type] = {
    "singleset": "fedlib.methods.singleset:SingleSet",
    "fedsgd": "fedlib.methods.fedsgd:FedSGD",
    "fedavg": "fedlib.methods.fedavg:FedAvg",
    "fedprox": "fedlib.methods.fedprox:FedProx",
    "feddrl": "fedlib.methods.feddrl:FedDRL",
    "best_constant": "fedlib.methods.best_constant:BestConstant",
    "fedbn": "fedlib.methods.fedbn:FedBN",
    "fedrod": "fedlib.methods.fedrod:FedROD",
    "feddisk": "fedlib.methods.feddisk:FedDisk",
    "fedmarl": "fedlib.methods.fedmarl:FedMarl",
    "fedddrl": "fedlib.methods.fedddrl:FedDdrl",
    "random_drop": "fedlib.methods.rules:RandomDrop",
    "drop_slowest": "fedlib.methods.rules:DropSlowest",
    "fewest_epochs": "fedlib.methods.rules:FewestEpochs",
    "evaluatorfl": "fedlib.methods.evaluatorfl:EvaluatorFL",
    "schedulerfl": "fedlib.methods.schedulerfl:SchedulerFL",
}


def method_class(name: str) -> type:
    """The class behind a method's name; UsageError for an unknown one."""
    entry = METHODS[check_name("method", name, METHODS)]
    if isinstance(entry, str):
        module, _, attribute = entry.partition(":")
        entry = getattr(importlib.import_module(module), attribute)
    return entry


def method_options(name: str) -> dict[str, Any]:
    """The options of a method and their defaults; fields that its constructor does not take are none."""
    return {f.name: f.default for f in dataclasses.fields(method_class(name)) if f.init}


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """The method with its options set; UsageError for a wrong name, option or value."""
    allowed = method_options(name)
    for option in options or {}:
        if not allowed:
            raise UsageError(f"method {name!r} has no options, but {option!r} was given")
        check_name(f"option of method {name!r}", option, allowed)
    return method_class(name)(**(options or {}))


def join(members: Sequence[Method]) -> Method:
    """The method of a group whose replicas have these methods: the one they share, or all of them joined."""
    if all(member == members[0] for member in members):
        return members[0]
    from fedlib.methods.joined import Joined

    return Joined(tuple(members))
