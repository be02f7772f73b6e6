"""Look at stored results interactively: controls in JupyterLab, one static figure everywhere else.

Rows come from a session, so the store and the committed results; nothing is trained here.
"""

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import display
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.analysis.tables import summarise_seeds
from fedlib.experiments.progress import watched
from fedlib.papers import artifacts, paper_names
from fedlib.plotting.style import method_style
from fedlib.reporting.session import Session


def explore_results(session: Session, *, interactive: bool | None = None) -> None:
    """Show controls over curves and final accuracies of stored runs, or one figure where nobody moves them.

    interactive: by default, whether the kernel was started from a notebook server.
    """
    if watched() if interactive is None else interactive:
        display(make_explorer(session))
        return
    rows = explorable(session, "start/curves")
    if len(rows):
        display(draw_results(rows, sorted(rows.cell.unique())[0]))
        plt.close("all")


def explorable(session: Session, artifact_id: str) -> pd.DataFrame:
    """Rows with accuracies by round, with their cell in words; empty for an artifact without any."""
    rows = session.rows(artifact_id)
    if rows.empty or not {"method", "seed", "test_accuracy", "round"} <= set(rows):
        return pd.DataFrame()
    drawn = rows.cohort_size.map(lambda size: "" if pd.isna(size) else f", K = {size:.0f}")
    words = rows.dataset + ", " + rows.partition + ", N = " + rows.num_clients.astype(str) + drawn
    options = rows.method_options.where(rows.method_options.ne("{}"), "")
    return rows.assign(cell=words, variant=rows.method + options)[rows.test_accuracy.notna()]


def draw_results(
    rows: pd.DataFrame, cell: str, methods: tuple[str, ...] = (), seeds: tuple[int, ...] = ()
) -> Figure:
    """Accuracy per round of the chosen runs of one cell, and beside it the last round with its interval."""
    part = rows[rows.cell == cell]
    part = part[part.variant.isin(methods or tuple(part.variant.unique()))]
    part = part[part.seed.isin(seeds or tuple(part.seed.unique()))]
    part = part.assign(accuracy=100 * part.test_accuracy).drop_duplicates(["variant", "round", "seed"])
    plotting.use_style()
    fig, (curves, forest) = plt.subplots(1, 2, figsize=(9.2, 3.8), width_ratios=(3, 2))
    plotting.plot_curves(part, curves, y="accuracy", by="variant", y_label="accuracy (%)")
    curves.get_legend().remove()
    last = part[part["round"] == part.groupby(["variant", "seed"])["round"].transform("max")]
    for place, line in enumerate(summarise_seeds(last, "variant", "accuracy").itertuples()):
        style = method_style(line.variant)
        forest.plot(line.mean, place, style.marker, color=style.colour, label=style.label)
        forest.plot([line.low, line.high], [place, place], color=style.colour)
    names = [method_style(name).label for name in last.variant.unique()]
    forest.set_yticks(range(len(names)), names, fontsize=8)
    forest.invert_yaxis()
    forest.set_xlabel("last round (%), 95 % interval")
    fig.suptitle(cell, fontsize="medium")
    return fig


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
        artifact.options, artifact.value = trained, trained[0]

    def choose_artifact(_change: object = None) -> None:
        found["rows"] = explorable(session, artifact.value) if artifact.value else pd.DataFrame()
        cell.options = sorted(found["rows"].cell.unique()) if len(found["rows"]) else []

    def choose_cell(_change: object = None) -> None:
        rows = found["rows"]
        part = rows[rows.cell == cell.value] if len(rows) else rows
        methods.options = [*part.variant.unique()] if len(part) else []
        seeds.options = sorted(int(seed) for seed in part.seed.unique()) if len(part) else []
        redraw()

    def redraw(_change: object = None) -> None:
        area.clear_output(wait=True)
        with area:
            if cell.value is None:
                print("no rows with accuracies are stored")
                return
            figure = draw_results(found["rows"], cell.value, methods.value, seeds.value)
            display(figure)
            plt.close(figure)

    for control, react in ((paper, choose_paper), (artifact, choose_artifact), (cell, choose_cell)):
        control.observe(react, "value")
    for control in (methods, seeds):
        control.observe(redraw, "value")
    choose_paper()
    return widgets.VBox([widgets.HBox([paper, artifact, cell]), widgets.HBox([methods, seeds]), area])
