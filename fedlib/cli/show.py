"""The command `show`: an artifact's tables and figure, from its grid or from runs that filters choose."""

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedlib.cli import run
from fedlib.cli.output import draw_without_window, tell, terminal_width
from fedlib.cli.results import add_filters, check_filters, wanted_fields
from fedlib.cli.show_tables import (
    bare_name,
    final_accuracies,
    less_method,
    table_text,
    with_accuracy,
    without_origin,
)
from fedlib.errors import UsageError, check, check_name
from fedlib.experiments.artifact import maker_name

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from fedlib.experiments.artifact import Artifact
    from fedlib.experiments.store import Store

_CHOOSING = ("--data", "--partition", "--method", "--seeds")
_MOST_LINES = 40  # of a table that `show` prints
_LABEL = 90  # characters of a line beside a figure's curves


def add_show(parser: argparse.ArgumentParser) -> None:
    """The options of `show`, without the store's."""
    parser.add_argument("id", metavar="ID", help="e.g. start/curves")
    add_filters(parser)
    parser.add_argument(
        "--against", metavar="METHOD", help="show each method's accuracy less this one's, paired by seed"
    )
    parser.add_argument("--all", action="store_true", help="every line of a long table")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="the figure, png, pdf or svg, or its folder (default: build/figures/<ID>.png)",
    )


def show_command(arguments: argparse.Namespace) -> int:
    """Print an artifact's tables and draw its figure, from its grid or from the runs that fit the filters.

    Runs outside of the grid (another method, data set or setting) get a table of final accuracies and curves.
    """
    draw_without_window()
    from fedlib.papers import find_artifact

    artifact = find_artifact(arguments.id)  # a wrong name is refused before the slow imports
    if arguments.profile is not None:
        artifact.check_profile(arguments.profile)
    from fedlib.analysis.tables import provenance_line
    from fedlib.plotting.style import FIGURE_FILES, labelled

    check_name("kind of figure file", _figure_path(arguments).suffix.removeprefix("."), FIGURE_FILES)
    rows, own = _rows(arguments, artifact)
    check(len(rows) > 0, f"no rows stored; {_how_to_compute(artifact, arguments)}")
    general = "test_accuracy" in rows
    chosen = own or arguments.against
    check(general or not chosen, "these rows have no accuracy; `show` without filters has their table")
    tables, plot = ((), None) if chosen else (artifact.tables, artifact.plot)
    found = [labelled(made) for make in tables if (made := _made(make, rows)) is not None and len(made)]
    notes: list[str] = []
    if not found and arguments.against:
        table, notes = less_method(rows, arguments.against)
        found = [table]
    print(_heading(artifact, rows, arguments))
    for table in found or [final_accuracies(rows) if general else without_origin(rows)]:
        few = table if arguments.all else table.head(_MOST_LINES)
        print(table_text(few))
        print(f"{len(few)} of {len(table)} lines; --all shows all\n" if len(few) < len(table) else "")
    for note in notes:
        print(note)
    print(textwrap.fill(provenance_line(rows), terminal_width()))
    figure = _made(plot, rows) if plot else None
    if figure is None and general:
        figure = _curves(rows)
    if figure is not None:
        print(f"figure: {_saved(figure, arguments)}")
    return 0


def _heading(artifact: "Artifact", rows: "pd.DataFrame", arguments: argparse.Namespace) -> str:
    """`feddrl/table3 at reduced (also stored: paper; --profile)`."""
    from fedlib.experiments.results import stored_counts
    from fedlib.experiments.store import Store

    (profile,) = rows["profile"].unique()
    others = [name for name in stored_counts(artifact, Store(arguments.store)) if name != profile]
    told = f" (also stored: {', '.join(others)}; --profile)" if others else ""
    return f"{artifact.id} at {profile}{told}"


def _made(make: "Callable[[pd.DataFrame], Any]", rows: "pd.DataFrame") -> Any:
    """A paper's table or plot of rows; a line and None where an incomplete grid does not suffice."""
    try:
        return make(rows)
    except UsageError as error:
        tell(f"fedlib: {maker_name(make)} left out: {error}")
        return None


def _how_to_compute(artifact: "Artifact", arguments: argparse.Namespace) -> str:
    """The command that computes what these filters ask for; of a list its first value, as `run` takes one.

    Without a profile `run` takes smoke, where the artifact has that.
    """
    asked = vars(arguments)
    if asked["profile"] is None and "smoke" not in artifact.profiles:
        asked = {**asked, "profile": artifact.profiles[0]}
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
    from fedlib.experiments.stored_runs import rows_beside_grid, with_settings
    from fedlib.papers import largest
    from fedlib.reporting.verdicts import loader

    store, asked = Store(arguments.store), wanted_fields(arguments)
    against = [bare_name(arguments.against)] if arguments.against else []
    (best,) = asked.pop("profile", [largest(artifact.id, loader(store))])
    trains = any(map(artifact.runs, artifact.profiles))
    if not asked and not (against and trains):
        rows = rows_to_show(artifact, profile=best, store=store)
        if len(rows) and trains and not artifact.tables:
            return with_settings(rows, artifact.runs(best)), False
        if len(rows) or not trains:
            return rows, False
    check(trains, f"{artifact.id} has no runs to choose from; allowed: no {', '.join(_CHOOSING)}")
    wanted = asked | {"method": [*asked["method"], *against]} if "method" in asked else asked
    others = [] if arguments.profile else [one for one in reversed(artifact.profiles) if one != best]
    only: pd.DataFrame | None = None  # of the method to compare with
    for profile in (best, *others):
        rows = finished_rows(rows_beside_grid(artifact, profile, store, **wanted))
        if len(rows) and not rows.method.isin(against).all():
            break
        only = rows if only is None and len(rows) else only
    else:
        rows = rows if only is None else only
    if len(rows) and against and not rows.method.isin(against).any():
        check_filters(store, {"method": against})
        given = argparse.Namespace(
            **vars(arguments) | {"method": against[0], "profile": rows.profile.iloc[0]}
        )
        check(False, f"no rows of {against[0]} stored to compare with; {_how_to_compute(artifact, given)}")
    if len(rows) and against and not rows.method.isin(asked.get("method", rows.method)).any():
        check_filters(store, {"method": asked["method"]})
        given = argparse.Namespace(**vars(arguments) | {"profile": rows.profile.iloc[0]})
        names = ", ".join(map(str, asked["method"]))
        check(False, f"no rows of {names} stored to compare; {_how_to_compute(artifact, given)}")
    if len(rows):
        _tell_absent(store, asked, rows)
    else:
        check_filters(store, asked)
    return rows, True


def _tell_absent(store: "Store", wanted: Mapping[str, Sequence[Any]], rows: "pd.DataFrame") -> None:
    """Say which values of a filter have no rows beside those of others; UsageError for unknown ones."""
    absent = {}
    for field, values in wanted.items():
        known = set(rows[field])
        if missing := [one for one in values if one not in known]:
            absent[field] = missing
    if absent:
        check_filters(store, absent)
    for field, values in absent.items():
        tell(f"fedlib: no rows stored of {field} {', '.join(map(str, values))}")


def _curves(rows: "pd.DataFrame") -> object:
    """Accuracy per round, a panel for each cell, its methods above it."""
    import matplotlib.pyplot as plt

    from fedlib import plotting

    plotting.use_style()
    parts = list(with_accuracy(rows).groupby("cell"))
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


def _saved(figure: object, arguments: argparse.Namespace) -> str:
    from fedlib import plotting

    path = _figure_path(arguments)
    return str(plotting.save_figure(figure, path.stem, path.parent, path.suffix.removeprefix(".")))


def _figure_path(arguments: argparse.Namespace) -> "Path":
    from pathlib import Path

    from fedlib.paths import project_root

    if arguments.out:
        path = Path(arguments.out)
        if path.is_dir():
            return path / f"{arguments.id.rpartition('/')[2]}.png"
        return path if path.suffix else Path(f"{path}.png")
    return project_root() / "build" / "figures" / f"{arguments.id}.png"
