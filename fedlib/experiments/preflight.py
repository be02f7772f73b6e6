"""Checks of a run before any work: names and options exist, and options have values of their types."""

import inspect
import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fedlib.data import check_dataset, dataset_options
from fedlib.engine import PRECISIONS, SAMPLE_ORDERS, make_optimizer
from fedlib.engine.optimizers import OPTION_TYPES
from fedlib.errors import check, check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.federation.client_data import TASK_OPTIONS
from fedlib.federation.task import check_run_numbers
from fedlib.methods import method_class, method_of
from fedlib.models import model_builder, model_options
from fedlib.partition import add_client_noise, check_partition, partition_function
from fedlib.run import Run
from fedlib.validation import as_number, check_value, typed_options

_OF_NOISE = ("images", "clients", "rng")  # arguments of `add_client_noise` that are no options


def check_run_names(run: Run) -> None:
    """Refuse a run whose names or options do not exist, before anything is loaded or computed."""
    check_name("profile", run.profile, PROFILES)
    known = check_dataset(run.dataset)
    check(run.dataset == known, f"data set {run.dataset!r} given in a run; allowed: its name, {known!r}")
    check_dataset_options(run.dataset, run.dataset_options)
    check_partition(run.partition, run.partition_options)
    builder, defaults = model_builder(run.model), model_options(run.model)
    typed_options(f"model {run.model!r}", run.model_options, builder, defaults)
    method_of([run]).check(run)
    for option, value in run.local_optimizer_options.items():
        hint = OPTION_TYPES.get(option, float)
        check_value(f"local optimizer {run.local_optimizer!r}: {option}", value, hint)
    make_optimizer(run.local_optimizer, run.local_optimizer_options)
    check_run_numbers(run)
    check_name("precision", run.precision, PRECISIONS)
    check_name("sample order", run.sample_order, SAMPLE_ORDERS)


def with_numbers_as_annotated(run: Run, settings: Iterable[str]) -> Run:
    """The run with the numbers of these options (`method.mu`) as their annotations have them.

    As `selection.override` has fields: 1 where a float belongs is 1.0.
    """
    makers: dict[str, Any] = {
        "partition": partition_function(run.partition), "model": model_builder(run.model),
        "method": method_class(run.method),
    }  # fmt: skip
    options = {kind: dict(getattr(run, f"{kind}_options")) for kind in makers}
    for key in settings:
        kind, _, option = key.partition(".")
        if option and makers.get(kind):
            hint = typing.get_type_hints(makers[kind]).get(option)
            options[kind][option] = as_number(options[kind][option], hint)
    fields: dict[str, Any] = {f"{kind}_options": own for kind, own in options.items()}
    return replace(run, **fields)


def check_dataset_options(name: str, options: Mapping[str, Any]) -> None:
    """UsageError for an option that it lacks, or a `TASK_OPTIONS` value that no data set can be used with."""
    known = list(dict.fromkeys([*dataset_options(name), *TASK_OPTIONS]))
    for option in options:
        check_name(f"option of the data set {name}", option, known)
    for option in TASK_OPTIONS.keys() & options.keys():
        check_value(f"data set {name!r}: {option}", options[option], TASK_OPTIONS[option])
    for option in {"train_per_class", "test_per_class"} & options.keys():
        count = options[option]
        check(
            count is None or count >= 1,
            f"data set {name!r}: {option}={count} given; allowed: 1 or more, or null for all images",
        )
    for option in {"mean", "std"} & options.keys():
        given = options[option]
        channels = len(given) in (1, 3) and (option == "mean" or min(given) > 0)
        above = " above 0" if option == "std" else ""
        check(
            channels,
            f"data set {name!r}: {option}={given} given; allowed: 1 or 3 numbers{above}, one per channel",
        )
    if options.get("client_noise") is not None:
        _check_noise(name, options["client_noise"])


def _check_noise(name: str, noise: Mapping[str, Any]) -> None:
    hints = typing.get_type_hints(add_client_noise)
    known = [option for option in inspect.signature(add_client_noise).parameters if option not in _OF_NOISE]
    for option, value in noise.items():
        check_name(f"option of client_noise of data set {name!r}", option, known)
        check_value(f"data set {name!r}, client_noise: {option}", value, hints[option])
    check("strength" in noise, f"data set {name!r}: client_noise={dict(noise)} given; it needs strength")
