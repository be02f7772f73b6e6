"""Figures of FedDRL's cells at the paper's length, seen together: its leads over FedAvg and controls."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedlib import plotting
from fedlib.analysis.intervals import Interval
from fedlib.analysis.numbers import RowsOf
from fedlib.papers.feddrl.cell_leads import CellLead, cell_leads
from fedlib.papers.feddrl.tables import LAST_ROUNDS
from fedlib.plotting.style import write_caption

LEADS = {  # title of a panel: field of `CellLead`
    "best round,\nless FedAvg": "best",
    f"last {LAST_ROUNDS},\nless FedAvg": "late",
    f"last {LAST_ROUNDS}, less\nuniform weights": "uniform",
    f"last {LAST_ROUNDS}, less\nuntrained policy": "trained",
    f"last {LAST_ROUNDS}, drawn\norder less FedAvg": "drawn",
}
LINEAR = 1.0  # points on either side of 0 within which the axes are linear


def plot_leads(rows_of: RowsOf) -> Figure:
    """FedDRL's leads in every cell of the paper's length, a panel for each comparison; UsageError without."""
    leads = cell_leads(rows_of)
    size = (9.2, 0.28 * len(leads) + 1.7)
    fig, axes = plotting.subplots(min(1, len(leads)), len(LEADS), figsize=size, sharey=True)
    at = np.arange(len(leads))
    for ax, (title, field) in zip(axes, LEADS.items(), strict=True):
        for place, lead in zip(at, leads, strict=True):
            _draw(ax, place, _shown(lead, field))
        ax.axvline(0, color="black", linewidth=0.8, zorder=0.5)
        ax.set_xscale("symlog", linthresh=LINEAR)
        ax.set_xlim(-4, 8)
        ax.set_xticks([-1, 0, 1, 5], ["−1", "0", "1", "5"])
        ax.set_xticks([], minor=True)
        ax.set_title(title, fontsize=8)
        ax.set_xlabel("points")
    axes[0].set_yticks(at, [lead.cell for lead in leads], fontsize=8)
    axes[0].invert_yaxis()
    seeds = sorted({lead.best.n for lead in leads})
    write_caption(
        fig, f"FedDRL's accuracy less another's, mean over {' to '.join(map(str, seeds))} seeds with 95 % t "
        f"interval: filled where it excludes 0, right of the line where FedDRL is ahead. Axes are linear "
        f"within {LINEAR:g} point of 0, logarithmic further out. No point: not run, or uniform weights are "
        "FedAvg's (CE). Data, profile and commit of each cell: its block below.",
    )  # fmt: skip
    return fig


def _shown(lead: CellLead, field: str) -> Interval | None:
    """The lead of a panel; none over uniform weights where these are FedAvg's."""
    return None if field == "uniform" and lead.equal else getattr(lead, field)


def _draw(ax: Axes, place: int, found: Interval | None) -> None:
    if found is None:
        return
    decided = found.low > 0 or found.high < 0
    colour = "#0072B2" if decided else "#777777"
    ends = plotting.arms([found.mean], [found.low], [found.high])
    ax.errorbar([found.mean], [place], xerr=ends, fmt="o", color=colour, capsize=2, markersize=4,
                markerfacecolor=colour if decided else "white")  # fmt: skip
