"""The commands `results` (list, filter, delete stored runs) and `show` (an artifact's table and figure)."""

import argparse
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fedlib.cli import run
from fedlib.cli.output import draw_without_window, print_table, tell, terminal_width
from fedlib.errors import check, check_name
from fedlib.experiments.artifact import PROFILES
from fedlib.experiments.selection import SEEDS_HELP
from fedlib.run import count_of_runs

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from fedlib.experiments.artifact import Artifact
    from fedlib.experiments.store import Store

_FILTERS = {"data": "dataset", "partition": "partition", "method": "method", "profile": "profile"}
_CHOOSING = ("--data", "--partition", "--method", "--seeds")
_MOST_LINES = 40  # of a table that `show` prints
_ROUNDING = 1e-12  # of sums of float64
_LABEL = 90  # characters of a line beside a figure's curves
_MACHINE = ("device", "device_name", "threads", "torch", "fedlib")
_ORIGIN = ["paper", "artifact", "profile", "source", *_MACHINE, "commit", "dirty"]


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

    store, wanted = Store(arguments.store), _wanted(arguments)
    _check_ids(store, arguments.ids)
    found = stored_runs.find_runs(store, arguments.ids, **wanted)
    if not found:
        _check_filters(store, wanted)
        print(f"no such runs in {store.root}")
        return 0
    print_table(stored_runs.overview(found))
    if not arguments.delete:
        count = count_of_runs(len(found))
        print(f"{count} in {store.root}; one artifact: python -m fedlib show {found[0].run.id}")
        return 0
    check(arguments.yes, f"{count_of_runs(len(found))} would be deleted; allowed: --delete --yes")
    print(f"{count_of_runs(stored_runs.delete(store, found))} deleted")
    return 0


def add_show(parser: argparse.ArgumentParser) -> None:
    """The options of `show`, without the store's."""
    parser.add_argument("id", metavar="ID", help="e.g. start/curves")
    add_filters(parser)
    parser.add_argument(
        "--against", metavar="METHOD", help="show each method's accuracy less this one's, paired by seed"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="the figure, png, pdf or svg (default: build/figures/<ID>.png)"
    )


def show_command(arguments: argparse.Namespace) -> int:
    """Print an artifact's tables and draw its figure, from its grid or from the runs that fit the filters.

    Runs outside of the grid (another method, data set or setting) get a table of final accuracies and curves.
    """
    draw_without_window()
    from fedlib.plotting.style import FIGURE_FILES

    check_name("kind of figure file", _figure_path(arguments).suffix.removeprefix("."), FIGURE_FILES)
    from fedlib.analysis.tables import provenance_line
    from fedlib.papers import find_artifact
    from fedlib.plotting.style import labelled

    artifact = find_artifact(arguments.id)
    if arguments.profile is not None:
        artifact.check_profile(arguments.profile)
    rows, own = _rows(arguments, artifact)
    check(len(rows) > 0, f"no rows stored; {_how_to_compute(arguments)}")
    general = "test_accuracy" in rows
    chosen = own or arguments.against
    check(general or not chosen, "these rows have no accuracy; `show` without filters has their table")
    tables, plot = ((), None) if chosen else (artifact.tables, artifact.plot)
    usual = partial(_finals, against=arguments.against) if general else _without_origin
    for make in tables or (usual,):
        table = labelled(make(rows)) if tables else make(rows)
        if len(table):
            print(_text(table.head(_MOST_LINES).map(_rounded)))
            print(f"{_MOST_LINES} of {len(table)} lines\n" if len(table) > _MOST_LINES else "")
    print(textwrap.fill(provenance_line(rows), terminal_width()))
    if plot or general:
        print(f"figure: {_draw(plot or _curves, rows, arguments)}")
    return 0


def _how_to_compute(arguments: argparse.Namespace) -> str:
    """The command that computes what these filters ask for; of a list its first value, as `run` takes one."""
    asked = vars(arguments)
    first = {name: asked[name].split(",")[0] for name in ("data", "partition", "method") if asked[name]}
    given = f"{arguments.id}{run.options_of_runs(argparse.Namespace(**asked | first))}"
    whole = all(asked[name] == value for name, value in first.items())
    return f"python -m fedlib run {given} computes {'them' if whole else 'the first of them'}"


def _rows(arguments: argparse.Namespace, artifact: "Artifact") -> "tuple[pd.DataFrame, bool]":
    """Rows to show, and whether filters chose them or they are of runs outside of the artifact's grid.

    Of one profile: the one given, else the one that is shown without filters, or the largest other with rows.
    """
    from fedlib.experiments.results import finished_rows, rows_to_show
    from fedlib.experiments.store import Store
    from fedlib.experiments.stored_runs import rows_beside_grid
    from fedlib.reporting.verdicts import largest, loader

    store, wanted = Store(arguments.store), _wanted(arguments)
    (best,) = wanted.pop("profile", [largest(artifact.id, loader(store))])
    trains = any(map(artifact.runs, artifact.profiles))
    if not wanted:
        rows = rows_to_show(artifact, profile=best, store=store)
        if len(rows) or not trains:
            return rows, False
    check(trains, f"{artifact.id} has no runs to choose from; allowed: no {', '.join(_CHOOSING)}")
    others = [] if arguments.profile else [one for one in reversed(artifact.profiles) if one != best]
    for profile in (best, *others):
        rows = finished_rows(rows_beside_grid(artifact, profile, store, **wanted))
        if len(rows):
            _tell_absent(store, wanted, rows)
            return rows, True
    _check_filters(store, wanted)
    return rows, True


def _tell_absent(store: "Store", wanted: Mapping[str, Sequence[Any]], rows: "pd.DataFrame") -> None:
    """Say which values of a filter have no rows beside those of others; UsageError for unknown ones."""
    absent = {}
    for field, values in wanted.items():
        known = set(rows[field])
        if missing := [one for one in values if one not in known]:
            absent[field] = missing
    if absent:
        _check_filters(store, absent)
    for field, values in absent.items():
        tell(f"fedlib: no rows stored of {field} {', '.join(map(str, values))}")


def _wanted(arguments: argparse.Namespace) -> dict[str, list[Any]]:
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


def _check_filters(store: "Store", wanted: Mapping[str, Sequence[Any]]) -> None:
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


def _finals(rows: "pd.DataFrame", against: str | None = None) -> "pd.DataFrame":
    """Accuracy (%) after the last round, mean over seeds with its 95 % t interval.

    against: a method of the rows; each one's accuracy less its, paired by seed, in points.
    """
    from fedlib.analysis.tables import summarise_seeds

    known = _with_accuracy(rows)
    last = known[known["round"] == known.groupby("run")["round"].transform("max")]
    last = last.assign(accuracy=100 * last.test_accuracy)
    if against is not None:
        check_name("method to compare with", against, last.method.unique())
        base = last[last.method == against].set_index(["cell", "seed"]).accuracy.rename("base")
        last = last[last.method != against].join(base, on=["cell", "seed"], how="inner")
        check(len(last) > 0, f"no other method has a seed in common with {against}; allowed: --method A,B")
        last = last.assign(accuracy=last.accuracy - last.base)
    table = summarise_seeds(last, ["cell", "method"], "accuracy")
    mean = "final accuracy %" if against is None else f"final accuracy less {against}'s (points)"
    return table.rename(columns={"mean": mean, "low": "95 % low", "high": "95 % high", "n": "seeds"})


def _without_origin(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The rows without the columns that the line of provenance has."""
    return rows.drop(columns=_ORIGIN, errors="ignore")


def _rounded(value: object) -> object:
    """Three decimals, or three digits of small numbers; what differs from 0 by rounding is 0."""
    if not isinstance(value, float):
        return value
    if abs(value) < _ROUNDING:
        return 0.0
    return round(value, 3) if abs(value) >= 0.1 else float(f"{value:.3g}")


def _text(table: "pd.DataFrame") -> str:
    """As wide as the terminal: where texts are too long, they are cut so that two and numbers fit."""
    from fedlib.analysis.tables import format_table

    width = terminal_width()
    text, most = format_table(table, width), width * 3 // 8
    if max(map(len, text.splitlines())) <= width:
        return text

    def cut(value: object) -> object:
        return value[: most - 1] + "…" if isinstance(value, str) and len(value) > most else value

    return format_table(table.map(cut), width)


def _with_accuracy(rows: "pd.DataFrame") -> "pd.DataFrame":
    known = rows[rows.test_accuracy.notna()]
    data, partition = (
        _told_apart(known[name], known[f"{name}_options"]) for name in ("dataset", "partition")
    )
    options = known.method_options.map(lambda text: _in_brackets(json.loads(text)))
    method = known.method + options + known.get("settings", "")
    return known.assign(cell=data + " " + partition + " N=" + known.num_clients.astype(str), method=method)


def _told_apart(names: "pd.Series", options: "pd.Series") -> "pd.Series":
    """Names with those of their options (JSON) that tell them from others of the same name."""
    import pandas as pd

    texts = {}
    for name, own in options.groupby(names):
        given = {text: json.loads(text) for text in own.unique()}
        known = dict.fromkeys(option for one in given.values() for option in one)
        same = {o for o in known if len({json.dumps(one.get(o)) for one in given.values()}) == 1}
        for text, one in given.items():
            differing = {option: value for option, value in one.items() if option not in same}
            texts[name, text] = f"{name}{_in_brackets(differing)}"
    return pd.Series([texts[pair] for pair in zip(names, options, strict=True)], names.index, dtype=object)


def _in_brackets(options: Mapping[str, Any]) -> str:
    """Options as labels have them: `(mu=0.1)`."""
    return f"({', '.join(f'{name}={value}' for name, value in options.items())})" if options else ""


def _curves(rows: "pd.DataFrame") -> object:
    """Accuracy per round, a panel for each cell, its methods above it."""
    import matplotlib.pyplot as plt

    from fedlib import plotting

    plotting.use_style()
    parts = list(_with_accuracy(rows).groupby("cell"))
    heights = [3.6 + 0.25 * part.method.nunique() for _, part in parts]
    fig, axes = plt.subplots(len(parts), 1, figsize=(9, sum(heights)), squeeze=False, height_ratios=heights)
    for ax, (cell, part) in zip(axes[:, 0], parts, strict=True):
        percent = part.assign(accuracy=100 * part.test_accuracy)
        distinct = percent.drop_duplicates(["method", "round", "seed"])
        plotting.plot_curves(distinct, ax, y="accuracy", y_label="test accuracy (%)")
        handles, labels = ax.get_legend_handles_labels()
        labels = [textwrap.fill(label, _LABEL) for label in labels]
        ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
        ax.set_xlabel(f"round\n{textwrap.fill(cell, _LABEL)}")
    return fig


def _draw(plot: object, rows: "pd.DataFrame", arguments: argparse.Namespace) -> str:
    from fedlib import plotting

    path = _figure_path(arguments)
    return str(plotting.save_figure(plot(rows), path.stem, path.parent, path.suffix.removeprefix(".")))


def _figure_path(arguments: argparse.Namespace) -> "Path":
    from pathlib import Path

    from fedlib.paths import project_root

    if arguments.out:
        return Path(arguments.out) if Path(arguments.out).suffix else Path(f"{arguments.out}.png")
    return project_root() / "build" / "figures" / f"{arguments.id}.png"
