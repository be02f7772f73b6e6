"""The command `results`: stored runs listed, filtered, deleted."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedlib.cli.output import print_table
from fedlib.errors import check, check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.selection import SEEDS_HELP
from fedlib.words import counted

if TYPE_CHECKING:
    from fedlib.experiments.store import Store

_FILTERS = {"data": "dataset", "partition": "partition", "method": "method", "profile": "profile"}


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Options that choose among stored runs."""
    parser.add_argument("--profile", help="only this profile")
    parser.add_argument("--data", help="only this data set, or these: a,b")
    parser.add_argument("--partition", help="only this partition, or these: a,b")
    parser.add_argument("--method", help="only this method, or these: a,b")
    parser.add_argument("--seeds", help=f"only these: {SEEDS_HELP}")


def add_results(parser: argparse.ArgumentParser) -> None:
    """The options of `results`, without the store's."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="artifacts or papers; default: all")
    add_filters(parser)
    parser.add_argument("--delete", action="store_true", help="delete the runs found, with --yes")
    parser.add_argument("--yes", action="store_true", help="delete without asking again")


def results_command(arguments: argparse.Namespace) -> int:
    """List the stored runs that fit the filters, one line a description; delete them if asked to."""
    from fedlib.experiments import stored_runs
    from fedlib.experiments.store import Store
    from fedlib.papers import artifacts

    store, wanted = Store(arguments.store), wanted_fields(arguments)
    _check_ids(store, arguments.ids)
    found = stored_runs.find_runs(store, arguments.ids, **wanted)
    if not found:
        check_filters(store, wanted)
        print(f"no such runs in {store.root}")
        return 0
    print_table(stored_runs.overview(found))
    if not arguments.delete:
        count = counted(len(found), "run")
        shown = [stored.run.id for stored in found if stored.run.id in artifacts()]  # not of `run_runs` alone
        hint = f"; one artifact: python -m fedlib show {shown[0]}" if shown else ""
        print(f"{count} in {store.root}{hint}")
        return 0
    check(arguments.yes, f"{counted(len(found), 'run')} would be deleted; allowed: --delete --yes")
    print(f"{counted(stored_runs.delete(store, found), 'run')} deleted")
    return 0


def wanted_fields(arguments: argparse.Namespace) -> dict[str, list[Any]]:
    """Field of a run -> values that the filters allow, of the filters that are given."""
    from fedlib.data.medmnist_npz import canonical
    from fedlib.experiments.selection import parse_seeds

    given = {field: getattr(arguments, option) for option, field in _FILTERS.items()}
    wanted = {field: value.split(",") for field, value in given.items() if value is not None}
    if "dataset" in wanted:
        wanted["dataset"] = [canonical(name) for name in wanted["dataset"]]
    return wanted if arguments.seeds is None else wanted | {"seed": parse_seeds(arguments.seeds)}


def _check_ids(store: "Store", ids: Sequence[str]) -> None:
    """UsageError for an artifact or paper that neither the catalogue nor the store has."""
    from fedlib.experiments.stored_runs import places
    from fedlib.papers import LISTED_BY, PAPERS, artifacts

    stored = places(store)
    known = dict.fromkeys([*PAPERS, *artifacts(), *(place.split("/")[0] for place in stored), *stored])
    for name in ids:
        check_name("artifact or paper", name, known, listed_by=LISTED_BY)


def check_filters(store: "Store", wanted: Mapping[str, Sequence[Any]]) -> None:
    """UsageError for a value of a filter that exists neither in fedlib nor in the store."""
    from fedlib.experiments.stored_runs import find_runs

    for field in (field for field in ("profile", "dataset", "partition", "method") if field in wanted):
        kind, known, find = _known_names(field)
        stored = {getattr(found.run, field): None for found in find_runs(store)}
        for given in wanted[field]:
            if find and ":" in given and given not in stored:
                find(given)
            else:
                check_name(kind, given, dict.fromkeys([*known, *stored]))


def _known_names(field: str) -> tuple[str, Iterable[str], Callable[[str], object] | None]:
    """A field in words, its names in fedlib, and what imports a name of the form `module:object`.

    Imports no more than that field needs: torch for methods alone.
    """
    if field == "profile":
        return "profile", PROFILES, None
    if field == "dataset":
        from fedlib.data import dataset_names

        return "data set", dataset_names(), None
    if field == "partition":
        from fedlib.partition import PARTITIONS, partition_function

        return "partition", PARTITIONS, partition_function
    from fedlib.methods import METHODS, method_class

    return "method", METHODS, method_class
