"""Look at partitions interactively: controls in JupyterLab, one static figure everywhere else.

ipywidgets is imported only when controls are shown. A run without a front end (papermill, nbval,
a script) or without ipywidgets draws the figure for the starting values instead.
"""

import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from fedlib import seeds
from fedlib.errors import UsageError
from fedlib.partition import label_counts, make_partition, skew_properties
from fedlib.plotting.partitions import KINDS, partition_figsize, plot_partition


@dataclass(frozen=True)
class Strength:
    """The one option of a partition that its slider moves."""

    option: str
    low: float
    high: float
    start: float
    step: float


STRENGTHS: dict[str, Strength] = {
    "equal_shards": Strength("shards_per_client", 1, 10, 2, 1),
    "nonequal_shards": Strength("max_shards", 10, 20, 14, 1),
    "pa": Strength("spread", 0.0, 2.5, 1.6, 0.1),
    "ce": Strength("delta", 0.1, 1.0, 0.6, 0.1),
    "cn": Strength("spread", 0.0, 0.5, 0.11, 0.01),
    "majority": Strength("sigma", 0.1, 1.0, 0.8, 0.05),
    "label_volume": Strength("labels_per_client", 1, 10, 3, 1),
    "dirichlet": Strength("alpha", 0.05, 5.0, 0.5, 0.05),
}
FAMILIES = ("iid", *STRENGTHS)  # those that need neither groups nor a file


def draw_choice(
    labels: np.ndarray,
    num_classes: int,
    class_names: Sequence[str] | None,
    *,
    name: str = "ce",
    num_clients: int = 10,
    strength: float | None = None,
    seed: int = 0,
    kind: str = "bubbles",
) -> Figure:
    """A figure of one partition, its measured skew in the title; `strength` sets its main option."""
    options = _options(name, num_classes, strength)
    partition = make_partition(
        name,
        labels=labels,
        num_classes=num_classes,
        num_clients=num_clients,
        rng=seeds.rng(seed, "partition"),
        **options,
    )
    skew = skew_properties(label_counts(partition, labels, num_classes))
    fig, ax = plt.subplots(figsize=partition_figsize(num_clients, num_classes, kind), layout="constrained")
    plot_partition(partition, labels, ax=ax, kind=kind, class_names=class_names, num_classes=num_classes)
    shown = ", ".join(f"{option} {value}" for option, value in options.items()) or "no options"
    fig.suptitle(
        f"{name}: {shown}; seed {seed}\n{sum(map(len, partition))} of {len(labels)} images; "
        f"EMD {skew.emd:.2f}, size spread {skew.size_spread:.2f}",
        fontsize="small",
    )
    return fig


def explore_partitions(
    labels: np.ndarray,
    num_classes: int,
    class_names: Sequence[str] | None = None,
    *,
    interactive: bool | None = None,
) -> None:
    """Show controls that redraw a partition, or one static figure where nobody can move them.

    interactive: by default, whether the kernel was started from a notebook server (JupyterLab
    names the session's notebook in JPY_SESSION_NAME) and ipywidgets is installed.
    """
    if interactive is None:
        interactive = bool(os.environ.get("JPY_SESSION_NAME")) and bool(
            importlib.util.find_spec("ipywidgets")
        )
    if not interactive:
        draw_choice(labels, num_classes, class_names)
        plt.show()
        return
    from IPython.display import display

    display(make_explorer(lambda **choice: draw_choice(labels, num_classes, class_names, **choice)))


def make_explorer(draw: Callable[..., Figure]):
    """The controls (an ipywidgets box) over an output area in which `draw(**choice)` is shown."""
    import ipywidgets as widgets

    whole = {"style": {"description_width": "initial"}}  # labels are not cut
    name = widgets.Dropdown(options=FAMILIES, value="ce", description="partition", **whole)
    clients = widgets.SelectionSlider(options=(5, 10, 20, 50, 100), value=10, description="clients", **whole)
    strength = widgets.FloatSlider(continuous_update=False, layout={"width": "24em"}, **whole)
    seed = widgets.IntSlider(value=0, min=0, max=9, description="seed", continuous_update=False, **whole)
    kind = widgets.ToggleButtons(options=KINDS, description="drawn as", **whole)
    area = widgets.Output()

    def redraw(_change: object = None) -> None:
        moved = strength.value if name.value in STRENGTHS else None
        choice = dict(name=name.value, num_clients=clients.value, seed=seed.value, kind=kind.value)
        _show(area, lambda: draw(**choice, strength=moved))

    def rename(_change: object = None) -> None:
        strength.unobserve(redraw, "value")  # one redraw per choice, not one per property set
        _set_range(strength, STRENGTHS.get(name.value))
        strength.observe(redraw, "value")
        redraw()

    name.observe(rename, "value")
    for control in (clients, seed, kind):
        control.observe(redraw, "value")
    rename()
    return widgets.VBox([widgets.HBox([name, clients]), widgets.HBox([strength, seed]), kind, area])


def _options(name: str, num_classes: int, strength: float | None) -> dict[str, object]:
    """The options drawn: the strength, and what a data set of this many classes needs besides."""
    options: dict[str, object] = {}
    if name in ("pa", "ce", "cn") and num_classes not in (10, 100):
        options["labels_per_client"] = max(1, num_classes // 5)
    if name == "label_volume":
        options |= {"label_skew": "balanced", "volume_skew": True}
    main = STRENGTHS.get(name)
    if main is not None:
        value = main.start if strength is None else strength
        options[main.option] = int(value) if main.step == 1 else round(float(value), 4)
    return options


def _set_range(slider, strength: Strength | None) -> None:
    slider.layout.visibility = "visible" if strength else "hidden"
    if strength is None:
        return
    slider.description = strength.option.replace("_", " ")
    slider.readout_format = "d" if strength.step == 1 else ".2f"
    slider.min, slider.max = min(slider.min, strength.low), max(slider.max, strength.high)  # never min > max
    slider.step, slider.value = strength.step, strength.start
    slider.min, slider.max = strength.low, strength.high


def _show(area, draw: Callable[[], Figure]) -> None:
    """Replace what the output area shows by the figure, or by the one line of a refused choice."""
    from IPython.display import display

    area.clear_output(wait=True)
    with area:
        try:
            fig = draw()
        except UsageError as error:
            print(error)
        else:
            display(fig)
            plt.close(fig)
