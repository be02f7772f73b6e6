"""The grid that a command works on: the options that choose its runs, and what they would take."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fedlib.cli import hints
from fedlib.cli.parsers import Once
from fedlib.errors import UsageError, check, shortened
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.selection import SEEDS_HELP
from fedlib.validation import check_command_numbers
from fedlib.words import counted

if TYPE_CHECKING:
    from fedlib.experiments.artifact import Artifact
    from fedlib.experiments.store import Store
    from fedlib.run import Run

Plans = dict["Artifact", list["Run"]]
Told = Mapping[str, str]  # group key -> the settings that its line has (`labels.distinctions`)
_OPTIONS = {"dataset": "--data", "partition": "--partition", "method": "--method"}


def add_selection(parser: argparse.ArgumentParser, *, nargs: str = "+") -> None:
    """The options that choose runs, and `--dry-run`, which shows them; nargs: of the artifacts."""
    parser.add_argument(
        "artifacts", nargs=nargs, metavar="ID", help="e.g. start/curves, or a whole paper; see `fedlib list`"
    )
    profiles = f"one of {', '.join(PROFILES)} (default: smoke)"
    parser.add_argument("--profile", action=Once, default="smoke", help=profiles)
    parser.add_argument("--seeds", action=Once, help=f"{SEEDS_HELP}; default: the artifact's own")
    for option, words in (("data", "data set"), ("partition", "partition"), ("method", "method")):
        told = f"only this {words} of the grid, or this one in its place"
        parser.add_argument(f"--{option}", action=Once, help=told)
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT",
        help="only the lines of --dry-run that contain this, e.g. 'ce N=100 fedavg' (may be given again)",
    )  # fmt: skip
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="e.g. rounds=5; with --method feddrl: method.discount=0.5",
    )
    parser.add_argument(
        "--skip-committed", action="store_true", help="leave out runs whose rows are in data/results"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="show the runs, compute nothing (status 0 also where data are absent)",
    )


def add_training(parser: argparse.ArgumentParser) -> None:
    """The options that say how a process trains its groups of runs."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:<n> (default: auto)")
    parser.add_argument(
        "--max-clients-per-pass",
        type=int,
        metavar="N",
        help="most clients trained in one pass (default: found by the engine)",
    )
    parser.add_argument("--max-replicas", type=int, help="most seeds trained as one computation")
    parser.add_argument(
        "--checkpoint-seconds",
        type=float,
        default=20.0,
        metavar="S",
        help="least time between checkpoints (default: 20)",
    )
    parser.add_argument(
        "--resume-across-commits",
        action="store_true",
        help="go on with runs that another commit or other versions began; their rows are marked",
    )
    parser.add_argument("--retry-failed", action="store_true", help="compute failed runs again")


def planned_runs(arguments: argparse.Namespace) -> tuple[Plans, Told]:
    """The runs that the options ask for, artifact by artifact; UsageError for what does not exist.

    A line has the settings that tell it from the whole grid's, with --only and --skip-committed too: a
    text of a line finds that line under all of these options.
    """
    from fedlib.data import check_dataset
    from fedlib.experiments import labels, selection
    from fedlib.papers import find_artifacts

    chosen = find_artifacts(arguments.artifacts, arguments.profile)
    for artifact in chosen:
        artifact.check_profile(arguments.profile)
    check_command_numbers(
        arguments.max_replicas, arguments.max_clients_per_pass, arguments.checkpoint_seconds
    )
    data = arguments.data if arguments.data is None else check_dataset(arguments.data)
    names = {"dataset": data, "partition": arguments.partition, "method": arguments.method}
    settings = _settings(arguments.set)
    for field, option in _OPTIONS.items():
        check(
            names[field] is None or field not in settings,
            f"--set {field} and {option} given; allowed: one of them",
        )
    options = {
        "seeds": None if arguments.seeds is None else selection.parse_seeds(arguments.seeds),
        "names": {field: name for field, name in names.items() if name is not None},
        "settings": settings,
    }
    try:
        plans = {artifact: selection.expand(artifact, arguments.profile, **options) for artifact in chosen}
    except UsageError as error:
        runs = [run for artifact in chosen for run in artifact.runs(arguments.profile)]
        raise hints.of_unknown_setting(error, options["settings"], runs, options["names"]) from None
    if options["names"] or options["settings"]:
        plans = _trained(plans)
    told = labels.distinctions(all_of(plans))
    if arguments.only:
        plans = _only(plans, arguments.only, told)
    if arguments.skip_committed:
        plans = _uncommitted(plans)
    if options["names"] or options["settings"]:
        plans = _checked(plans, arguments.profile, options["names"], options["settings"])
    return plans, {**labels.distinctions(all_of(plans)), **told}  # `_checked` may change a number's type


def all_of(plans: Plans) -> list["Run"]:
    """The runs of all artifacts, shared ones as often as they are asked for."""
    return [run for runs in plans.values() for run in runs]


def _settings(given: Sequence[str]) -> dict[str, Any]:
    """The `KEY=VALUE` of --set; UsageError for a key that is given twice."""
    from fedlib.experiments import selection

    found: dict[str, Any] = {}
    for text in given:
        key, value = selection.parse_setting(text)
        check(key not in found, f"--set {key} given twice; allowed: each key once")
        found[key] = value
    return found


def _checked(plans: Plans, profile: str, names: Mapping[str, str], settings: Mapping[str, Any]) -> Plans:
    """Runs that options changed, checked before any work. Those of an artifact's own grid pass by test.

    So they do on another data set, whose name is checked, and with another partition, which is: nothing
    else of a run depends on them.
    """
    from fedlib.experiments import selection

    data = {field: name for field, name in names.items() if field == "dataset"}
    own = {selection.override(run, data).group_key for artifact in plans for run in artifact.runs(profile)}
    groups = [members for runs in plans.values() for members in selection.group(runs)]
    if all(members[0].group_key in own for members in groups):
        return plans
    changed = {*(names.keys() - data), *(key.partition(".")[0] for key in settings)}
    if changed <= {"partition"}:
        return {a: [_with_partition_checked(run, settings) for run in runs] for a, runs in plans.items()}
    # imports torch: the options that exist, and their types, are those of methods' and models' code
    from fedlib.experiments.preflight import check_run_names, with_numbers_as_annotated

    plans = {a: [with_numbers_as_annotated(run, settings) for run in runs] for a, runs in plans.items()}
    try:
        for runs in plans.values():
            for members in selection.group(runs):
                check_run_names(members[0])
    except UsageError as error:
        methods = {run.method for runs in plans.values() for run in runs}
        told = hints.of_control(error, settings, methods)
        raise hints.of_other_methods_option(told, settings, methods) from None
    return plans


def _with_partition_checked(run: "Run", settings: Iterable[str]) -> "Run":
    """The run, the numbers of its partition's options that were set as annotated; imports no torch."""
    from fedlib.partition import check_partition

    options = run.partition_options
    typed = check_partition(run.partition, options)
    given = {key.removeprefix("partition.") for key in settings} & typed.keys()
    return replace(run, partition_options={**options, **{option: typed[option] for option in given}})


def _trained(plans: Plans) -> Plans:
    """The artifacts that train runs: the others have none that options could narrow or change."""
    kept = {artifact: runs for artifact, runs in plans.items() if runs}
    check(
        bool(kept),
        f"--data, --partition, --method or --set given; {', '.join(a.id for a in plans)} "
        "trains no runs that they could narrow or change; allowed: none of them",
    )
    return kept


def _only(plans: Plans, texts: Sequence[str], told: Told) -> Plans:
    """The runs whose line of `--dry-run` contains one of the texts; UsageError for a text in no line."""
    from fedlib.experiments import labels, selection

    groups = [(a, members) for a, runs in plans.items() for members in selection.group(runs)]
    lines = [labels.group_label(members, told) for _, members in groups]
    for text in texts:
        check(
            any(text in line for line in lines),
            f"--only {shortened(text)!r} given; allowed: a part of a line of --dry-run"
            + (f", such as {lines[0]!r}" if lines else ", but these artifacts train nothing"),
        )
    kept: Plans = {}
    for (artifact, members), line in zip(groups, lines, strict=True):
        if any(text in line for text in texts):
            kept.setdefault(artifact, []).extend(members)
    return kept


def _uncommitted(plans: Plans) -> Plans:
    from fedlib.experiments.result_files import without_committed

    left = {}
    for artifact, runs in plans.items():
        left[artifact] = without_committed(runs)
        if runs and not left[artifact]:
            print(f"{artifact.id}: {counted(len(runs), 'run')}, all committed")
            del left[artifact]
    return left


def show_groups(plans: Plans, told: Told, store: "Store") -> None:
    """Print a line per group of runs: rounds, how many are stored, the time that the others take."""
    from fedlib.experiments import labels, selection
    from fedlib.experiments.durations import Timings

    timings = Timings()
    for runs in plans.values():
        for members in selection.group(runs):
            missing = [run for run in members if store.get(run) is None]
            count = f"{len(members) - len(missing)} of {len(members)} stored"
            time = f", {timings.of_runs(missing).text(brief=True)}" if missing else ""
            print(f"{labels.group_label(members, told)}: {members[0].rounds} rounds, {count}{time}")


def show_absent_data(plans: Plans, profile: str, store: "Store", *, again: bool = False) -> None:
    """Print a line per absent data set that runs or measurements which are not stored need."""
    from fedlib.data import absence
    from fedlib.experiments.measurements import load_measurement

    absent: dict[str, str | None] = {}
    for artifact, runs in plans.items():
        measured = artifact.measurement and load_measurement(artifact.measurement, profile, store) is not None
        if not runs and (again or not measured):
            absent |= {name: absence(name) for name in artifact.needs(profile)}
    for run in (run for runs in plans.values() for run in runs):
        if run.dataset not in absent and store.get(run) is None:
            absent[run.dataset] = absence(run.dataset)
    for line in filter(None, absent.values()):
        print(line)


def show_times(plans: Plans, profile: str, store: "Store", *, again: bool = False) -> None:
    """Print stored runs and expected time per artifact, then the total (shared runs count once)."""
    from fedlib.experiments.durations import Expected, Timings, expected_measurement
    from fedlib.experiments.measurements import how_it_is_stored, load_measurement

    measured, all_missing, timings = {}, {}, Timings()
    for artifact, runs in plans.items():
        missing, measurement = [run for run in runs if store.get(run) is None], artifact.measurement
        time, stored = Expected(), "no training"
        if runs:
            all_missing |= {run.key: run for run in missing}
            time = timings.of_runs(missing)
            stored = f"{counted(len(runs), 'run')}, {len(runs) - len(missing)} stored"
        elif measurement and (again or load_measurement(measurement, profile, store) is None):
            time = expected_measurement(measurement, profile)
            stored = how_it_is_stored(measurement, profile, store)
            measured[measurement.id] = time
        print(f"{artifact.id} at {profile}: {stored}; {time.text(brief=len(plans) > 1)}")
    if len(plans) > 1:
        total = sum(measured.values(), timings.of_runs(all_missing.values()))
        print(f"{len(plans)} artifacts: {total.text()}")
