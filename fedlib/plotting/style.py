"""Style of all figures: rc parameters, a fixed colour and marker per method, saving.

Colours are the eight of Okabe and Ito (https://jfly.uni-koeln.de/color/) and further ones of Paul
Tol's "muted" scheme (https://personal.sron.nl/~pault/), which people with colour-blindness can
tell apart; markers and lines differ too, so that figures survive a black-and-white print.
"""

import io
import textwrap
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from fedlib.errors import check, check_name
from fedlib.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

DPI = 150
# kind of file: its metadata without what changes from day to day
FIGURE_FILES: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
_LETTERS_PER_INCH = 16  # of captions
WHITE = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5}  # box behind words in a figure
# columns of tables: names of methods, names with underscores, and other headers
_METHOD_COLUMNS = ("variant", "method", "contestant", "policy", "control", "less", "FedDRL less")
_PLAIN_COLUMNS = ("quantity", "metric", "compared", "reading")
_HEADERS = {"role": "data", "dataset": "data"}


@dataclass(frozen=True)
class MethodStyle:
    """Colour, marker and line of a method in every figure."""

    colour: str
    marker: str
    label: str
    line: str = "-"


METHOD_STYLES: dict[str, MethodStyle] = {
    "singleset": MethodStyle("#000000", "s", "SingleSet", "--"),
    "fedavg": MethodStyle("#0072B2", "o", "FedAvg"),
    "fedprox": MethodStyle("#E69F00", "^", "FedProx"),
    "fedsgd": MethodStyle("#56B4E9", "v", "FedSGD"),
    "feddrl": MethodStyle("#D55E00", "D", "FedDRL"),
    "fedbn": MethodStyle("#009E73", "P", "FedBN"),
    "fedrod": MethodStyle("#CC79A7", "X", "FedROD"),
    "feddisk": MethodStyle("#882255", "*", "FedDisk"),
    "fedmarl": MethodStyle("#44AA99", "<", "FedMarl"),
    "fedddrl": MethodStyle("#332288", ">", "FedDdrl"),
    "evaluatorfl": MethodStyle("#AA4499", "h", "EvaluatorFL"),
    "schedulerfl": MethodStyle("#999933", "d", "SchedulerFL"),
    "favor": MethodStyle("#A6761D", "p", "FAVOR"),
    "auto_fedrl": MethodStyle("#6A3D9A", "8", "Auto-FedRL"),
    "fedavgm": MethodStyle("#0072B2", "s", "FedAvgM", "--"),
    "fedadam": MethodStyle("#56B4E9", "^", "FedAdam", "-."),
    "fedyogi": MethodStyle("#56B4E9", "P", "FedYogi", "--"),
    "fednova": MethodStyle("#E69F00", "s", "FedNova", ":"),
    "fedexp": MethodStyle("#6699CC", "v", "FedExP", "-."),
    "scaffold": MethodStyle("#117733", "X", "SCAFFOLD", "-."),
    "feddyn": MethodStyle("#661100", "<", "FedDyn", "-."),
    "power_of_choice": MethodStyle("#CC6677", "P", "Power-of-Choice", "--"),
    "fedlaw": MethodStyle("#DDCC77", "*", "FedLAW", "-."),
    # variants of a learned method: its colour, another line and marker
    "feddrl_untrained": MethodStyle("#D55E00", "1", "FedDRL, untrained", ":"),
    "feddrl_shuffled": MethodStyle("#D55E00", "2", "FedDRL, clients shuffled", ":"),
    "feddrl_permuted": MethodStyle("#D55E00", "3", "FedDRL, permuted rewards", ":"),
    "favor_untrained": MethodStyle("#A6761D", "1", "FAVOR, untrained", ":"),
    "favor_permuted": MethodStyle("#A6761D", "3", "FAVOR, permuted rewards", ":"),
    "auto_fedrl_untrained": MethodStyle("#6A3D9A", "1", "Auto-FedRL, untrained", ":"),
    "auto_fedrl_permuted": MethodStyle("#6A3D9A", "3", "Auto-FedRL, permuted rewards", ":"),
    "feddrl_online": MethodStyle("#D55E00", "d", "FedDRL, online", "--"),
    "fedprox_uniform": MethodStyle("#E69F00", "v", "FedProx, uniform weights", "-."),
    "keep": MethodStyle("#D55E00", "p", "FedDRL, keeps stage 1's experience", "-."),
    "fedrod_personal": MethodStyle("#CC79A7", "x", "FedROD, personal head", "--"),
    "feddisk_global": MethodStyle("#882255", "p", "FedDisk, u_glob", "--"),
    "feddisk_shuffled": MethodStyle("#882255", "2", "FedDisk, alpha shuffled", ":"),
    "feddisk_mean": MethodStyle("#882255", "+", "FedDisk, alpha = its mean", "-."),
    "feddisk_raw": MethodStyle("#882255", "x", "FedDisk, raw odds", "--"),
    "feddisk_2_steps": MethodStyle("#882255", "1", "FedDisk, 2 steps a round", ":"),
    "fedavg_2_steps": MethodStyle("#0072B2", "1", "FedAvg, 2 steps a round", ":"),
    "evaluatorfl_code": MethodStyle("#332288", "H", "EvaluatorFL as coded", "--"),
    "evaluatorfl_old": MethodStyle("#44AA99", "v", "old global model rewarded", "-."),
    "evaluatorfl_local": MethodStyle("#117733", "^", "workers' own models rewarded", "-."),
    "evaluatorfl_initial": MethodStyle("#CC6677", "s", "average starts at theta_G^0's accuracy", ":"),
    "evaluatorfl_shuffled": MethodStyle("#777777", "2", "as many, at random", ":"),
    "schedulerfl_unit": MethodStyle("#332288", "s", "SchedulerFL, state as coded", "--"),
    "schedulerfl_draws": MethodStyle("#44AA99", "P", "SchedulerFL, draws stored", ":"),
    "schedulerfl_literal": MethodStyle("#CC6677", "p", "SchedulerFL, draw rewarded", "-."),
    "schedulerfl_undecayed": MethodStyle("#117733", "v", "SchedulerFL, no weight decay", "-."),
    "schedulerfl_explores": MethodStyle("#882255", "^", "SchedulerFL, noise and memory", ":"),
    "fedavg_uniform": MethodStyle("#0072B2", "+", "FedAvg, uniform weights", "-."),
    # controls: greys and thin lines, so that they stand back
    "random": MethodStyle("#777777", "x", "random policy", ":"),
    "uniform": MethodStyle("#999999", "+", "uniform weights", "-."),
    "untrained": MethodStyle("#555555", "1", "untrained policy", ":"),
    "shuffled": MethodStyle("#AAAAAA", "2", "shuffled input", "--"),
    "drawn": MethodStyle("#CC6677", "D", "FedDRL, slots in drawn order", "-."),
    "drawn_online": MethodStyle("#CC6677", "X", "FedDRL (online), slots in drawn order", "-."),
    "repaired": MethodStyle("#009E73", "*", "repaired FedDRL", "-"),
    "repaired_permuted": MethodStyle("#AAAAAA", "x", "repaired, permuted rewards", ":"),
    "repaired_untrained": MethodStyle("#777777", "1", "repaired, untrained", ":"),
    "permuted": MethodStyle("#AAAAAA", "3", "permuted rewards", ":"),
    "best_constant": MethodStyle("#333333", "_", "best constant weights", "--"),
    "small_groups": MethodStyle("#117733", "^", "small groups up", "--"),
    "main_group": MethodStyle("#661100", "v", "main group up", "--"),
    "largest_losses": MethodStyle("#6699CC", "s", "four largest losses up", "--"),
    "proportional": MethodStyle("#DDCC77", "d", "in proportion to the loss", "--"),
    "random_drop": MethodStyle("#777777", "3", "random dropping", ":"),
    "drop_slowest": MethodStyle("#555555", "4", "keep the fastest", "-."),
    "fewest_epochs": MethodStyle("#AAAAAA", "d", "fewest epochs for the slowest", "--"),
    "evaluatorfl_untrained": MethodStyle("#555555", "P", "EvaluatorFL, untrained", ":"),
    "evaluatorfl_redrawn": MethodStyle("#AAAAAA", "P", "EvaluatorFL, taught on redrawn selections", ":"),
    "schedulerfl_permuted": MethodStyle("#AAAAAA", "X", "SchedulerFL, permuted rewards", ":"),
    "learned_rate": MethodStyle("#6699CC", "x", "random at the learned rate", ":"),
    "keep_all": MethodStyle("#999999", "o", "keep all", "-."),
    "fastest": MethodStyle("#333333", "|", "the fastest workers", "--"),
}
_OTHERS = ("#117733", "#661100", "#6699CC", "#DDCC77")  # for methods that a user adds
_MARKERS, _LINES = ("o", "s", "^", "v", "D", "P", "X"), ("-", "--", "-.", ":")


def method_style(name: str) -> MethodStyle:
    """The fixed style of a method of the suite; any other name gets one that depends on it alone.

    A method given as `package.module:Class` goes by its class.
    """
    if name in METHOD_STYLES:
        return METHOD_STYLES[name]
    number = zlib.crc32(name.encode())
    marker, line = _MARKERS[number // 4 % len(_MARKERS)], _LINES[number // 28 % len(_LINES)]
    method, options = name.partition("{")[::2]  # of `fedlib show`: options as JSON, whose colons stay
    label = method.rpartition(":")[2].replace("_", " ") + (f" {{{options}" if options else "")
    return MethodStyle(_OTHERS[number % len(_OTHERS)], marker, label, line)


def labelled(frame: "pd.DataFrame") -> "pd.DataFrame":
    """A table with the names of methods as figures have them, in the columns that hold such names."""
    labels = {name: style.label for name, style in METHOD_STYLES.items()}
    words = {
        column: frame[column].map(lambda name: labels.get(name, str(name).replace("_", " ")))
        for column in _METHOD_COLUMNS
        if column in frame
    }
    plain = {column: frame[column].str.replace("_", " ") for column in _PLAIN_COLUMNS if column in frame}
    return frame.assign(**words, **plain).rename(columns=_HEADERS)


def use_style() -> None:
    """Set matplotlib's rc parameters for all figures that follow."""
    mpl.rcParams.update(
        {
            "axes.axisbelow": True,
            "axes.grid": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "figure.dpi": 100,
            "figure.figsize": (6.4, 4.0),
            "font.size": 10,
            "grid.alpha": 0.3,
            "grid.linewidth": 0.6,
            "image.cmap": "viridis",
            "legend.fontsize": "small",
            "legend.frameon": False,
            "lines.linewidth": 1.5,
            "lines.markersize": 5,
            "savefig.dpi": DPI,
        }
    )


def write_caption(fig: Figure, *paragraphs: str) -> None:
    """Below the figure, in lines no wider than it: what is drawn, data, profile, seeds, device, commit."""
    width = int(_LETTERS_PER_INCH * fig.get_figwidth())
    lines = [line for text in paragraphs for line in textwrap.wrap(text, width)]
    fig.supxlabel("\n".join(lines), fontsize=8)


def save_figure(fig: Figure, name: str, folder: str | Path = "figures", kind: str = "png") -> Path:
    """Write `<folder>/<name>.<kind>` and return its path; `name` may hold folders, as in feddrl/fig5.

    kind: png, pdf or svg. The same figure gives the same bytes: fixed resolution, no version or time in the
    metadata.
    """
    check_name("kind of figure file", kind, FIGURE_FILES)
    plain = bool(name) and not Path(name).is_absolute() and ".." not in Path(name).parts
    check(
        plain and not Path(name).suffix, f"figure name {name!r}; allowed: a relative name without extension"
    )
    path = Path(folder) / f"{name}.{kind}"
    drawn = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "fedlib"}):  # of the names inside a file
        fig.savefig(drawn, format=kind, dpi=DPI, metadata=FIGURE_FILES[kind])
    write_atomically(path, drawn.getvalue())
    return path
