"""Look at stored results interactively: controls in JupyterLab, one static figure everywhere else.

Rows come from a session, so the store and the committed results; nothing is trained here.
"""

import dataclasses
import json
import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import display
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.analysis.tables import summarise_seeds
from fedlib.experiments.progress import watched
from fedlib.papers import artifacts, paper_names
from fedlib.plotting.style import METHOD_STYLES, MethodStyle, method_style
from fedlib.reporting.display import scale_words, show_figure
from fedlib.reporting.session import Session
from fedlib.run import Run

LABEL, LINES = 30, 3  # characters and lines of a method's name beside its interval
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777")
_MARKERS = ("o", "s", "^", "v", "D", "P", "X")
_IDENTITY = ("paper", "artifact", "profile", "seed", "method", "method_options")


def explore_results(session: Session, *, interactive: bool | None = None) -> None:
    """Show controls over curves and final accuracies of stored runs, or one figure where nobody moves them.

    interactive: by default, whether the kernel was started from a notebook server.
    """
    if watched() if interactive is None else interactive:
        display(make_explorer(session))
        return
    rows = explorable(session, "start/curves")
    if len(rows):
        show_figure(draw_results(rows, sorted(rows.cell.unique())[0]))


def explorable(session: Session, artifact_id: str) -> pd.DataFrame:
    """Rows with accuracies by round; empty for an artifact without any.

    Columns besides: `variant`, method and its options in words, and `cell`, the settings that runs of one
    figure share.
    """
    rows = session.rows(artifact_id)
    if rows.empty or not {"method", "run", "test_accuracy", "round"} <= set(rows):
        return pd.DataFrame()
    rows = rows[rows.test_accuracy.notna()]
    runs = rows.drop_duplicates("run").set_index("run")
    options = pd.concat([_words(own.method_options) for _, own in runs.groupby("method")])
    variant = runs.method.map(lambda name: method_style(name).label) + options
    return rows.assign(variant=rows.run.map(variant), cell=rows.run.map(_cells(runs, variant)))


def _cells(runs: pd.DataFrame, variant: pd.Series) -> pd.Series:
    """Data, partition and clients in words, and the settings in which runs of one method differ there."""
    cohort = runs.cohort_size.map(lambda size: "" if pd.isna(size) else f", K = {size:.0f}")
    words = runs.dataset + ", " + runs.partition + ", N = " + runs.num_clients.astype(str) + cohort
    for name in (field.name for field in dataclasses.fields(Run) if field.name not in _IDENTITY):
        if name in runs and runs.groupby([words, variant])[name].nunique(dropna=False).max() > 1:
            words = words + _words(runs[name])
    return words


def _words(values: pd.Series) -> pd.Series:
    """`, precision bf16`, nothing for a missing value; of several options (JSON) those that differ."""
    if not values.name.endswith("_options"):
        return values.map(lambda value: "" if pd.isna(value) else f", {_spaced(values.name)} {value}")
    found = {text: json.loads(text) for text in values.unique()}
    keys = dict.fromkeys(key for options in found.values() for key in options)
    alike = [key for key in keys if len({repr(options.get(key, "")) for options in found.values()}) == 1]
    differ = [key for key in keys if len(found) == 1 or key not in alike]
    told = {
        text: "".join(f", {_spaced(key)} {options[key]}" for key in differ if key in options)
        for text, options in found.items()
    }
    return values.map(told)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def draw_results(
    rows: pd.DataFrame, cell: str, methods: tuple[str, ...] = (), seeds: tuple[int, ...] = ()
) -> Figure:
    """Accuracy per round of the chosen runs of one cell, and beside it the last round with its interval."""
    part = rows[rows.cell == cell]
    styles = _styles(part.variant.unique())
    part = part[part.variant.isin(methods or tuple(styles))]
    part = part[part.seed.isin(seeds or tuple(part.seed.unique()))]
    part = part.assign(accuracy=100 * part.test_accuracy).drop_duplicates(["variant", "round", "seed"])
    names = list(part.variant.unique())
    plotting.use_style()
    height = max(3.6, 0.15 * LINES * len(names) + 1)
    fig, (curves, forest) = plt.subplots(1, 2, figsize=(9.2, height), width_ratios=(3, 2))
    plotting.plot_curves(part, curves, y="accuracy", by="variant", y_label="accuracy (%)", styles=styles)
    curves.get_legend().remove()
    last = part[part["round"] == part.groupby(["variant", "seed"])["round"].transform("max")]
    for line in summarise_seeds(last, "variant", "accuracy").itertuples():
        style, place = styles[line.variant], names.index(line.variant)
        forest.plot(line.mean, place, style.marker, color=style.colour)
        forest.plot([line.low, line.high], [place, place], color=style.colour)
    forest.set_yticks(range(len(names)), [styles[name].label for name in names], fontsize=8)
    forest.yaxis.tick_right()
    forest.invert_yaxis()
    forest.set_xlabel("last round (%)")
    told = f"{cell}; {scale_words(part)}"
    fig.suptitle(textwrap.fill(told, 110), fontsize="medium")
    return fig


def _styles(names: list[str]) -> dict[str, MethodStyle]:
    """The suite's colour of each method that has one; of others by their place, so that no two look alike.

    A method with options (`FedProx, mu 0.01`) has the method's own, unless another of the names has it.
    """
    by_label = {style.label: style for style in METHOD_STYLES.values()}
    known = {name: by_label[name] for name in names if name in by_label}
    bare = {name: name.split(", ")[0] for name in names if name not in known}
    once = [label for label in bare.values() if list(bare.values()).count(label) == 1 and label not in known]
    known |= {name: by_label[label] for name, label in bare.items() if label in once and label in by_label}
    taken = {style.colour for style in known.values()}
    spare = [colour for colour in _COLOURS if colour not in taken] or _COLOURS
    others = [name for name in names if name not in known]
    return {name: dataclasses.replace(style, label=_label(name)) for name, style in known.items()} | {
        name: MethodStyle(spare[at % len(spare)], _MARKERS[at % 7], _label(name), "-")
        for at, name in enumerate(others)
    }


def _label(name: str) -> str:
    return "\n".join(textwrap.wrap(name, LABEL, max_lines=LINES, placeholder=" …"))


def make_explorer(session: Session):
    """The controls (an ipywidgets box): paper, artifact, cell, methods, seeds; the figure follows."""
    import ipywidgets as widgets

    whole = {"style": {"description_width": "initial"}}  # labels are not cut
    paper = widgets.Dropdown(options=paper_names(), description="paper", **whole)
    artifact = widgets.Dropdown(description="artifact", **whole)
    cell = widgets.Dropdown(description="cell", layout={"width": "28em"}, **whole)
    methods = widgets.SelectMultiple(description="methods", rows=7, layout={"width": "32em"}, **whole)
    seeds = widgets.SelectMultiple(description="seeds", rows=7, **whole)
    area, found = widgets.Output(), {}

    def choose_paper(_change: object = None) -> None:
        trained = [a.id for a in artifacts(paper.value).values() if a.runs("smoke")]
        offer(artifact, choose_artifact, trained, 0)
        choose_artifact()

    def choose_artifact(_change: object = None) -> None:
        found["rows"] = explorable(session, artifact.value)
        cells = sorted(found["rows"].cell.unique()) if len(found["rows"]) else []
        offer(cell, choose_cell, cells, 0 if cells else None)
        choose_cell()

    def choose_cell(_change: object = None) -> None:
        rows = found["rows"]
        part = rows[rows.cell == cell.value] if len(rows) else rows
        offer(methods, redraw, [*part.variant.unique()] if len(part) else [], ())
        offer(seeds, redraw, sorted(int(seed) for seed in part.seed.unique()) if len(part) else [], ())
        redraw()

    def offer(control, react, options: list, index: object) -> None:
        """Replace the choices of a control without a redraw for each trait that this sets."""
        control.unobserve(react, "value")
        none = () if isinstance(control, widgets.SelectMultiple) else None
        control.index = none  # or the front end looks for a choice that is gone
        control.options = options
        control.index = index  # a dropdown without a choice takes none by itself
        control.observe(react, "value")

    def redraw(_change: object = None) -> None:
        area.clear_output(wait=True)
        with area:
            if cell.value is None:
                print("no rows with accuracies are stored")
                return
            show_figure(draw_results(found["rows"], cell.value, methods.value, seeds.value), cell.value)

    for control, react in ((paper, choose_paper), (artifact, choose_artifact), (cell, choose_cell)):
        control.observe(react, "value")
    for control in (methods, seeds):
        control.observe(redraw, "value")
    choose_paper()
    return widgets.VBox([widgets.HBox([paper, artifact, cell]), widgets.HBox([methods, seeds]), area])
